"""The command line behaves as users of helm, kubectl and click expect."""

from __future__ import annotations

import io
import re
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from unittest import mock

import pytest

from postrender.cli import main
from postrender.cli import report as reporting
from postrender.cli.arguments import with_command_first
from postrender.cli.options import COMMANDS, load

ROOT = Path(__file__).resolve().parents[2]
MANIFESTS = str(ROOT / "examples" / "rendered" / "v1.yaml")
IMAGE = "--attacher-image=registry.example.com/postrender:1"

Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str], tmp_path: Path) -> Run:
    """Return a function that runs a command line in an empty folder."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / ".git").mkdir()

    def call(*arguments: str) -> tuple[int, str, str]:
        code = main.run(arguments)
        out, err = capfd.readouterr()
        return code, out, err

    return call


@pytest.mark.parametrize("name", COMMANDS)
@pytest.mark.parametrize("option", ["-h", "--help"])
def test_each_command_has_help_with_an_example(name: str, option: str, run: Run) -> None:
    code, out, _ = run(*name.split(), option)
    assert code == 0
    assert load(name).summary in " ".join(out.split())
    example = "".join(f"  {line}\n" for line in load(name).example.splitlines())
    assert f"Example:\n{example}" in out


def test_the_name_of_a_command_in_a_group_is_two_words(run: Run) -> None:
    assert "No such command 'config show'" in run("config show")[2]


@pytest.mark.parametrize("name", ["render", "check"])
def test_an_interrupt_has_its_own_exit_code(
    name: str, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With and without click."""
    interrupted = mock.Mock(side_effect=KeyboardInterrupt)
    monkeypatch.setattr("postrender.inventory.build._Reader.read", interrupted)
    code, out, err = run(name, MANIFESTS)
    assert (code, out, err.strip()) == (reporting.INTERRUPTED, "", "")


@pytest.mark.parametrize(
    ("name", "is_path"), [("app.yaml", True), ("apps/web", True), ("web", False)]
)
def test_an_unknown_command_that_looks_like_a_path(name: str, is_path: bool, run: Run) -> None:
    code, _, err = run(name)
    assert code == reporting.FAULT
    assert f"No such command '{name}'" in err
    assert (f"To render a file, run: postrender render {name}" in err) == is_path


def test_the_list_of_commands_does_not_cut_summaries(run: Run) -> None:
    _, out, _ = run("--help")
    assert "..." not in out.partition("Commands:")[2]


@pytest.mark.parametrize("name", COMMANDS)
def test_each_option_shows_its_variable_and_default(name: str, run: Run) -> None:
    _, out, _ = run(*name.split(), "--help")
    shown = "".join(out.split())
    for option in load(name).all_options:
        assert option.variable in shown
        assert option.shown_default.replace(" ", "") in shown


@pytest.mark.parametrize("option", ["-n", "--namespace"])
def test_the_namespace_has_a_short_option(option: str, run: Run) -> None:
    assert "namespace: prod  # --namespace" in run("config", "show", option, "prod")[1]


@pytest.mark.parametrize("option", ["-o", "--output", "--format"])
def test_the_output_format_has_three_spellings(option: str, run: Run) -> None:
    assert run("explain", option, "json", MANIFESTS)[1].startswith("{")
    assert run("diff", option, "mermaid", MANIFESTS, MANIFESTS)[1].startswith("flowchart")


@pytest.mark.parametrize("option", ["-f", "--filename"])
def test_a_file_can_be_passed_with_f_as_in_kubectl(option: str, run: Run) -> None:
    expected = run("render", "--no-attacher", MANIFESTS)
    assert expected[0] == 0
    assert run("render", "--no-attacher", option, MANIFESTS) == expected
    assert run(option, MANIFESTS, "--no-attacher") == expected
    assert run("check", option, MANIFESTS, option, MANIFESTS)[0] == 0


def test_a_file_cannot_be_given_twice(run: Run) -> None:
    code, out, err = run("render", "-f", MANIFESTS, MANIFESTS)
    assert (code, out) == (2, "")
    assert "INPUT and -f FILE are both set" in err


def test_diff_explains_how_to_pass_its_files(run: Run) -> None:
    code, _, err = run("diff", "-f", MANIFESTS, MANIFESTS)
    assert code == 2
    assert "Pass the file as an argument, without -f." in err


@pytest.mark.parametrize("command", ["render", "explain"])
def test_a_second_file_has_a_hint(run: Run, command: str) -> None:
    code, _, err = run(command, MANIFESTS, MANIFESTS)
    assert code == 2
    assert err.endswith("Pass one file, with a line `---` between the manifests.\n")


def test_an_option_like_another_only_in_its_dashes_is_not_suggested(run: Run) -> None:
    assert "Did you mean" not in run("render", "--naming", "sequence")[2]
    assert "Did you mean '--attacher-image'?" in run("render", "--attacher-imge", "x")[2]


def test_a_usage_error_fits_the_terminal(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("postrender.cli.click_app.columns_on", lambda _: 60)
    _, _, err = run("explain", "old-manifests.yaml", "new-manifests.yaml")
    assert max(map(len, err.splitlines())) <= 60
    assert err.endswith("\n  Pass one file, with a line `---` between the manifests.\n")


@pytest.mark.parametrize("group", ["A B", "-a", "a-", "é", "a/b"])
def test_a_group_is_checked_as_in_the_configuration(run: Run, group: str) -> None:
    code, _, err = run("render", f"--group={group}", MANIFESTS)
    assert code == 2
    assert f'error: the attach group is "{group}", expected letters, digits, ' in err
    assert run("render", "--no-attacher", "--group=A_b.c", MANIFESTS)[0] == 0


@pytest.mark.parametrize("command", [["config", "show"], ["attach"], ["completion"]])
def test_a_command_without_files_does_not_suggest_a_file(command: list[str], run: Run) -> None:
    code, _, err = run(*command, "-f", MANIFESTS)
    assert code == 2
    assert "No such option" in err
    assert "Pass the file" not in err


def test_quiet_prints_errors_only(run: Run) -> None:
    assert "note: " in run("render", "--no-attacher", MANIFESTS)[2]
    assert run("render", "-q", "--no-attacher", MANIFESTS)[2] == ""
    assert "error: " in run("render", "-q", "absent.yaml")[2]


def test_quiet_still_prints_the_findings_that_fail_a_run(run: Run, tmp_path: Path) -> None:
    revision = run("render", "--no-attacher", MANIFESTS)[1]
    (tmp_path / "edited.yaml").write_text(revision.replace("debug", "trace").replace("info", "no"))
    code, _, err = run("render", "-q", "--strict", "--no-attacher", "edited.yaml")
    assert code == 1
    assert "error: edited.yaml" in err
    assert "[stale-revision]" in err


def test_verbose_prints_the_path_of_the_configuration(run: Run, tmp_path: Path) -> None:
    assert (
        "note: postrender does not use a configuration file."
        in run("render", "-v", IMAGE, MANIFESTS)[2]
    )
    (tmp_path / "postrender.yaml").write_text("strict: true\n")
    err = run("render", "-v", IMAGE, MANIFESTS)[2]
    assert f"note: postrender uses the configuration {tmp_path / 'postrender.yaml'}." in err


@pytest.mark.parametrize(
    ("options", "variables", "is_coloured"),
    [
        ((), {}, False),
        (("--color=always",), {}, True),
        (("--color=always",), {"NO_COLOR": "1"}, True),
        (("--colour", "always"), {}, True),
        (("--color=never",), {"FORCE_COLOR": "1"}, False),
        ((), {"FORCE_COLOR": "1"}, True),
        ((), {"FORCE_COLOR": "1", "NO_COLOR": "1"}, False),
    ],
)
def test_colours_can_be_switched(
    options: tuple[str, ...],
    variables: dict[str, str],
    is_coloured: bool,
    run: Run,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name in ("NO_COLOR", "FORCE_COLOR"):
        monkeypatch.delenv(name, raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    new = str(ROOT / "examples" / "rendered" / "v2.yaml")
    assert ("\x1b[" in run("diff", *options, MANIFESTS, new)[1]) is is_coloured
    assert ("\x1b[" in run("render", *options, MANIFESTS)[2]) is is_coloured


@pytest.mark.parametrize(("term", "is_coloured"), [("dumb", False), ("xterm", True)])
def test_a_dumb_terminal_has_no_colours(
    term: str, is_coloured: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("NO_COLOR", "FORCE_COLOR"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TERM", term)
    stream = io.StringIO()
    monkeypatch.setattr(stream, "isatty", lambda: True, raising=False)
    assert reporting.is_coloured(stream) is is_coloured


def test_a_function_does_not_wait_for_a_person(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", SimpleNamespace(isatty=lambda: True))
    code, _, err = run("fn")
    assert code == 2
    assert "stdin is a terminal, expected a ResourceList. Pass manifests to" in err


def test_the_version_is_a_command_and_an_option(run: Run) -> None:
    assert run("version")[1].startswith("postrender ")
    assert run("--version")[1].startswith("postrender 0.")


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("-n prod explain a.yaml", "explain -n prod a.yaml"),
        ("-q check a.yaml", "check -q a.yaml"),
        ("-qnprod explain", "explain -qnprod"),
        ("--namespace=prod -v diff a b", "diff --namespace=prod -v a b"),
        ("-o json diff a b", "diff -o json a b"),
        ("--strict config show", "config show --strict"),
        ("--attacher-image x check", "check --attacher-image x"),
        ("-n explain a.yaml", "render -n explain a.yaml"),
        ("-n prod a.yaml", "render -n prod a.yaml"),
        ("-n prod -- explain", "render -n prod -- explain"),
        ("--config=a", "render --config=a"),
        ("-", "render -"),
        ("- diff", "render - diff"),
        ("", "render"),
        ("diff -n a", "diff -n a"),
        ("--help diff", "--help diff"),
    ],
)
def test_options_can_be_before_the_command(words: str, expected: str) -> None:
    assert " ".join(with_command_first(words.split())) == expected


def test_the_error_of_a_variable_names_the_variable(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("POSTRENDER_STRICT", "maybe")
    code, _, err = run("render", MANIFESTS)
    assert code == 2
    assert 'POSTRENDER_STRICT is "maybe", expected true or false. Correct the variable' in err


def test_a_rule_without_a_match_is_a_note_of_explain(run: Run, tmp_path: Path) -> None:
    config = tmp_path / "rules.yaml"
    rules = ("{name: web-confg}", "{name: '*'}", "{kind: Secret}")
    config.write_text("rules:\n" + "".join(f"- match: {r}\n  strategy: ignore\n" for r in rules))
    err = run("explain", "--config", str(config), MANIFESTS)[2]
    assert re.findall(r"^note: .*(rules\[\d\]) does not match any object", err, re.M) == [
        "rules[0]"
    ]


def test_a_configuration_is_created_once(run: Run, tmp_path: Path) -> None:
    assert run("config", "init")[:2] == (0, "postrender created postrender.yaml\n")
    assert run("config", "validate")[:2] == (0, f"{tmp_path / 'postrender.yaml'} is valid\n")
    code, _, err = run("config", "init")
    assert code == 2
    assert "the file already exists" in err
    assert (
        "the folder of the file does not exist"
        in run("config", "init", "absent/postrender.yaml")[2]
    )
    assert "the path is a folder, expected a new file" in run("config", "init", ".")[2]
    assert (
        "cannot write the file (Not a directory)" in run("config", "init", "postrender.yaml/x")[2]
    )


def test_diff_reads_stdin_at_most_once(run: Run) -> None:
    code, _, err = run("diff", "-", "-")
    assert code == reporting.FAULT
    assert "OLD and NEW are both -, expected at most one -" in err


def test_validate_needs_a_file(run: Run) -> None:
    code, _, err = run("config", "validate")
    assert code == 2
    assert "postrender config init" in err


def test_validate_reports_the_line_of_a_mistake(run: Run, tmp_path: Path) -> None:
    (tmp_path / "other.yaml").write_text("# a comment\nstrict: maybe\n")
    code, _, err = run("config", "validate", "other.yaml")
    assert code == 2
    assert err.startswith(
        'error: other.yaml:2 strict: the value is "maybe", expected true or false.'
    )


def test_validate_checks_the_file_that_the_variable_sets(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "postrender.yaml").write_text("strict: true\n")
    (tmp_path / "other.yaml").write_text("strict: maybe\n")
    monkeypatch.setenv("POSTRENDER_CONFIG", "other.yaml")
    assert run("config", "validate")[2].startswith("error: other.yaml:1 strict: ")
    assert run("config", "validate", "postrender.yaml")[0] == 0
    monkeypatch.delenv("POSTRENDER_CONFIG")
    assert run("config", "validate", "--config=other.yaml")[0] == 2


def test_a_number_outside_of_the_limits_is_reported_with_the_limits(run: Run) -> None:
    for value in ("-1", "x", "9" * 20):
        code, _, err = run("diff", "a.yaml", "b.yaml", "-U", value)
        assert code == 2
        assert f'the value is "{value}", expected a whole number from 0 to 1000000.' in err


def test_an_empty_name_is_not_a_file(run: Run) -> None:
    assert run("render", "")[2].startswith("error: the name of an input is empty. Pass a file")


def test_show_prints_the_source_of_each_value(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = "strict: true\nattacher:\n  image: a:1\nrules:\n- strategy: ignore\n"
    (tmp_path / "postrender.yaml").write_text(text)
    monkeypatch.setenv("POSTRENDER_NAMESPACE", "prod")
    lines = run("config", "show", "--secrets")[1].splitlines()
    file = tmp_path / "postrender.yaml"
    assert lines[0].startswith(f"# {file} (the file can ")
    assert "namespace: prod  # POSTRENDER_NAMESPACE" in lines
    assert "secrets: true  # --secrets" in lines
    assert "strict: false  # --no-strict" in run("config", "show", "--no-strict")[1].splitlines()
    assert f"strict: true  # {file}:1" in lines
    assert f"  image: a:1  # {file}:3" in lines
    assert "  timeout: 90  # default" in lines
    assert f"rules:  # {file}:5" in lines


def test_show_reads_the_spec_of_a_configuration_object(run: Run, tmp_path: Path) -> None:
    text = "apiVersion: postrender/v1alpha1\nkind: Postrender\nspec:\n  strict: true\n"
    (tmp_path / "postrender.yaml").write_text(text)
    assert f"strict: true  # {tmp_path / 'postrender.yaml'}:4" in run("config", "show")[1]


@pytest.mark.parametrize(
    ("variable", "is_reported"),
    [("POSTRENDER_STRCT", True), ("POSTRENDER_NAMESPCE", True), ("POSTRENDER_E2E_CACHE", False)],
)
def test_a_misspelt_variable_is_reported(
    variable: str, is_reported: bool, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(variable, "true")
    err = run("render", IMAGE, MANIFESTS)[2]
    assert (f"warning: postrender does not read the variable {variable}" in err) is (is_reported)


@pytest.mark.parametrize(
    ("variable", "fix"),
    [
        ("POSTRENDER_ATTACHER_REQUIRED", "Set the key attacher.required."),
        ("POSTRENDER_ATTACHER_GROUP", "Use POSTRENDER_GROUP."),
        ("POSTRENDER_HISTORY_KEEP", "Set the key history.keep."),
        ("POSTRENDER_ATTACHER_RBAC_CREATE", "Set the key attacher.rbac.create."),
    ],
)
def test_a_variable_with_the_name_of_a_key(
    variable: str, fix: str, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(variable, "true")
    err = run("render", IMAGE, MANIFESTS)[2]
    assert f"postrender does not read the variable {variable}. {fix}" in err


@pytest.mark.parametrize("command", ["render", "explain", "check", "diff", "attach", "adopt"])
def test_every_command_accepts_the_options_of_the_cluster(command: str) -> None:
    names = {option.name for option in load(command).options}
    assert {"namespace", "kube-context", "kubeconfig"} <= names
    assert "context" not in names


def test_a_misspelt_variable_is_reported_once_in_a_function_call(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("POSTRENDER_STRCT", "true")
    text = "apiVersion: config.kubernetes.io/v1\nkind: ResourceList\nitems: []\n"
    (tmp_path / "list.yaml").write_text(text)
    assert run("render", "list.yaml")[2].count("POSTRENDER_STRCT") == 1


IGNORED = """\
apiVersion: v1
kind: ConfigMap
metadata: {name: rules, annotations: {postrender/strategy: ignore}}
data: {key: VALUE}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      volumes: [{name: rules, configMap: {name: rules}}]
      containers:
      - {name: web, image: web, volumeMounts: [{name: rules, mountPath: /rules}]}
      - {name: SIDECAR, image: x, volumeMounts: [{name: rules, mountPath: /rules}]}
"""


@pytest.mark.parametrize(("sidecar", "code"), [("other", 4), ("config-reloader", 0)])
def test_a_change_that_a_sidecar_reloads_is_no_risk(
    sidecar: str, code: int, run: Run, tmp_path: Path
) -> None:
    text = IGNORED.replace("SIDECAR", sidecar)
    for value in ("old", "new"):
        (tmp_path / value).write_text(text.replace("VALUE", value))
    sides = (str(tmp_path / "old"), str(tmp_path / "new"))
    done, out, _ = run("diff", "--fail-on=risk", *sides)
    assert (done, "not renamed, because the annotation" in out) == (code, True), out


@pytest.mark.parametrize("previous", ["nope.yaml", "git:nope:foo", "-", ""])
def test_diff_reads_the_previous_output(previous: str, run: Run) -> None:
    code, _, err = run("diff", f"--previous={previous}", MANIFESTS, MANIFESTS)
    assert code == (2 if previous else 0)
    assert bool(previous) == bool(err.startswith("error: "))


@pytest.mark.parametrize("namespace", ["A B", "prod ", "-a", "a" * 64, "a.b", "prod", "<path:x#y>"])
@pytest.mark.parametrize("command", ["render", "explain", "check"])
def test_a_namespace_is_a_name(command: str, namespace: str, run: Run) -> None:
    is_name = namespace in ("prod", "<path:x#y>")
    code, _, err = run(command, f"--namespace={namespace}", MANIFESTS)
    assert (code == 2 and "error: the namespace is" in err) != is_name
    assert ("--namespace or POSTRENDER_NAMESPACE" in err) != is_name


def test_a_new_configuration_is_written_to_stdout(run: Run) -> None:
    code, out, _ = run("config", "init", "-")
    assert (code, out.startswith("# The configuration of postrender.")) == (0, True)
    assert run("config", "init", "")[0] == 2


def test_a_code_can_be_written_in_other_ways_but_has_no_format(run: Run) -> None:
    assert run("explain", "by-name") == run("explain", "BY_NAME")
    code, out, err = run("explain", "-o", "json", "by-name")
    assert (code, out) == (2, "")
    assert "a code has no output format json" in err
