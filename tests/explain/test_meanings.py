"""`postrender explain CODE`: each text has an example that a run of postrender confirms."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from pathlib import Path
from random import Random
from string import ascii_letters, digits

import pytest

from postrender.cli import main
from postrender.errors import CODES
from postrender.explain.meanings import finding_section, fitted, risk_texts
from tests.e2e.plugins import write_script
from tests.pages import ROOT

PAGE = ROOT / "docs" / "reference" / "findings.md"

Run = Callable[..., tuple[int, str, str]]
CONFIG_MAP = """\
apiVersion: v1
kind: ConfigMap
metadata: {name: web-config}
data: {greeting: hello}
"""
WORKER = """\
# Source: shop/templates/worker.yaml
apiVersion: apps/v1
kind: Deployment
metadata: {name: worker}
spec:
  template: {spec: {containers: [{name: worker, envFrom: [{configMapRef: {name: web-config}}]}]}}
"""
# Stores three revisions of the release shop in the namespace prod, and lists no other namespaces.
HELM = """\
case "$*" in
"history shop "*" --namespace prod"*)
  echo '[1, 2, 3]' | sed -E 's/[0-9]/{"revision": &, "status": "deployed"}/g' ;;
"get "*) ;;
*) echo 'Error: release: not found' >&2; exit 1 ;;
esac
"""
# The commands that report the code; the others report it in `explain`.
COMMANDS = {
    "broken-reference": ["check"],
    "short-ttl": ["render"],
    "release-size": ["render", "--attacher-image=a:1", "--previous=helm:prod/shop"],
    "last-owner": ["render", "--previous=previous.yaml"],
}


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str], tmp_path: Path) -> Run:
    """Return a function that runs a command line in a repository with the folder of a chart."""
    for folder in (".git", "shop/templates"):
        (tmp_path / "repository" / folder).mkdir(parents=True)
    monkeypatch.chdir(tmp_path / "repository")
    Path("shop/Chart.yaml").write_text("name: shop\n")
    Path("shop/templates/worker.yaml").touch()
    write_script(tmp_path / "helm", HELM)
    monkeypatch.setenv("HELM_BIN", str(tmp_path / "helm"))

    def call(*arguments: str) -> tuple[int, str, str]:
        code = main.run(arguments)
        return code, *capfd.readouterr()

    return call


@pytest.mark.parametrize("code", CODES)
def test_the_example_before_has_the_finding_and_the_one_after_does_not(code: str, run: Run) -> None:
    text = finding_section(code)
    [before, after] = re.findall(r"^```yaml\n(.*?)^```$", text, re.M | re.S)
    for is_expected, example in ((True, before), (False, after)):
        err = findings_of(code, before, example, run)
        is_found = bool(re.search(rf"\[{code}\]$", err, re.M))
        assert is_found == is_expected, err


# What has no code: an error, and a note about the configuration in use.
WITHOUT_CODE = re.compile(
    r"(error: .+\. [A-Z].+\.|note: postrender (uses the|does not use a) configuration.*\.)"
)
WITH_CODE = re.compile(r"(error|warning|note): \S.*: .+\. [A-Z].+\. \[([a-z0-9-]+)\]")


@pytest.mark.parametrize("command", ["render", "explain", "check", "diff"])
@pytest.mark.parametrize("code", CODES)
def test_a_message_has_a_place_a_problem_a_fix_and_a_code(
    code: str, command: str, run: Run
) -> None:
    before = re.findall(r"^```yaml\n(.*?)^```$", finding_section(code), re.M | re.S)[0]
    err = findings_of(code, before, before, run, [command, *["app.yaml"] * (command == "diff")])
    for line in err.splitlines():
        found = WITH_CODE.fullmatch(line)
        assert found or WITHOUT_CODE.fullmatch(line), line
        assert not found or found[2] in CODES


STRICT = re.findall(r"^- ((?:`[a-z-]+`(?:, | and )?)+)(?:$|, which)", PAGE.read_text("utf-8"), re.M)


@pytest.mark.parametrize("code", re.findall("`([a-z-]+)`", " ".join(STRICT)))
def test_a_finding_of_the_strict_list_is_an_error_of_check(code: str, run: Run) -> None:
    before = re.findall(r"^```yaml\n(.*?)^```$", finding_section(code), re.M | re.S)[0]
    assert re.search(
        rf"^error: .*\[{code}\]$", findings_of(code, before, before, run, ["check"]), re.M
    )


def findings_of(code: str, before: str, example: str, run: Run, command: Sequence[str] = ()) -> str:
    """Run postrender in the state of an example; return stderr."""
    command = command or COMMANDS.get(code, ["explain"])
    objects = [CONFIG_MAP, WORKER]
    if file := re.match(r"# (\S*postrender\.yaml)(, passed with --config)?\n", example):
        Path(file[1]).write_text(example)
        command = [*command, f"--config={file[1]}"] if file[2] else command
        example = "" if before.startswith("#") else before
    named_again = "metadata: {name: web-config" in example
    objects = [*objects[named_again:], *filter(None, [example])]
    if example != before and code in ("by-name", "hook-on-helm-3", "selector"):
        objects.append(before)  # the fix is in the ConfigMap
    if example.startswith("# values.yaml\n"):
        objects = [example]
    if code == "no-hash-key":
        Path("hash-key").write_text("0123456789abcdef")
        objects += [
            text.replace("ConfigMap", "Secret").replace("configMap", "secret") for text in objects
        ]
    if code == "last-owner":
        Path("app.yaml").write_text("---\n".join(objects).replace("worker}", "web}"))
        Path("previous.yaml").write_text(run("render", "app.yaml")[1])
    text = "---\n".join(objects)
    if "…" in text:
        text = text.replace("…", "".join(Random(1).choices(ascii_letters + digits, k=1_000_000)))
    Path("app.yaml").write_text(text)
    result = run(*command, "app.yaml")[2]
    for name in ("postrender.yaml", "../postrender.yaml", "shop/postrender.yaml"):
        Path(name).unlink(missing_ok=True)
    return result


def test_every_code_has_a_text_that_explain_prints(run: Run) -> None:
    for code in (*CODES, *risk_texts()):
        result, out, err = run("explain", code)
        assert (result, err) == (0, "")
        assert out.startswith(f"## {code}\n\n")
    assert "OutOfSync" in run("explain", "unstable-render")[1]
    assert run("explain", "broken-reference")[1].count("## broken-reference") == 2


def test_a_misspelt_code_and_a_file_with_the_name_of_a_code(run: Run) -> None:
    code, out, err = run("explain", "by-nam")
    assert (code, out) == (2, "")
    assert "neither a file nor the code of a finding or risk. Write by-name." in err
    Path("by-name").write_text(CONFIG_MAP)
    assert "ConfigMap/web-config" in run("explain", "by-name")[1]


@pytest.mark.parametrize("width", [40, 80])
def test_the_prose_of_a_meaning_wraps_and_examples_stay(width: int) -> None:
    for text in (*map(finding_section, CODES), *risk_texts().values()):
        parts, before = fitted(text, width).split("```"), text.split("```")
        assert parts[1::2] == before[1::2]
        assert "".join(parts[::2]).split() == "".join(before[::2]).split() or width < 80
        assert max(len(line) for part in parts[::2] for line in part.split("\n")) <= width
        assert [part.count("\n- ") for part in parts] == [part.count("\n- ") for part in before]
        assert fitted(text, None) == text
