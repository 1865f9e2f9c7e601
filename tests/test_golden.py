"""Every golden case is rendered, twice, with both parsers, and held against the reference.

tests/golden_cases.py describes the files of a case. `pytest --update-golden` rewrites what is
expected.
"""

from __future__ import annotations

import io
import os
import re
import sys
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from postrender.cli import main
from postrender.yaml import parser
from tests.golden_cases import Case, cases
from tests.reference import InputError, Obj, comparable, normalise, reference_render
from tests.update_golden import Update

# What the reference implementation does not look at: limits of size and depth, the cut-off end of
# a stream, the configuration's own errors, and YAML that the program need not read either.
# History has a naive model of its own, in test_history_model.py.
NO_REFERENCE_PREFIXES = (
    "history-",
    "error-history-",
    "error-cut-off-",
    "error-configuration-",
    "error-unknown-configuration-",
    "error-function-",
    "function-",
    "kustomize-",
)
NO_REFERENCE = {
    "argo-sync-options-that-say-prune": "it adds an option beside the one that contradicts it",
    "attacher-long-workload-names": "each cuts a long name in its own way",
    "custom-path-rule-by-name-and-any-key": "it knows no globs in reference rules",
    "error-alias-shared-with-another-string": "aliases are copies to it",
    "error-aliases-that-expand": "it has no limits",
    "error-anchor-inside-itself": "it has no limits",
    "error-annotation-not-a-string": "it checks data only",
    "error-annotations-not-a-mapping": "it checks data only",
    "error-comments-only": "an empty stream is a stream to it",
    "error-empty-input": "an empty stream is a stream to it",
    "error-mount-path-not-absolute": "it mounts where it is told",
    "error-mount-path-taken": "it mounts where it is told",
    "error-mount-two-at-one-path": "it mounts where it is told",
    "error-name-not-a-string": "it checks data only",
    "error-nested-too-deep": "it has no limits",
    "error-not-utf-8": "it takes text",
    "error-nul-byte": "it takes text",
    "error-name-is-taken": "it lets two objects bear one name",
    "error-reference-is-a-mapping": "it checks data only",
    "error-reference-not-a-string": "it checks data only",
    "error-rule-path-ends-at-a-list": "it checks data only",
    "error-template-annotations-not-a-mapping": "it checks data only",
    "error-utf-16": "it takes text",
    "input-data-null-and-empty": "it hashes `data: {}` as kustomize does, not as no data",
    "input-literal-with-tab": "its parser refuses what libyaml refuses",
    "input-unread-document-with-odd-yaml": "it reads every document",
    "input-unread-last-document-with-odd-yaml": "it reads every document",
    "input-duplicate-by-namespace-option": "it compares namespaces as they are written",
    "mount-beside-a-volume-without-a-proper-name": "it takes names for text",
    "mount-both": "it mounts behind what is there",
    "mount-containers": "it mounts behind what is there",
    "mount-env-from": "it mounts behind what is there",
    "mount-long-name-and-taken-volume-name": "it mounts behind what is there",
    "mount-path-beside-other-volumes": "it mounts behind what is there",
    "reference-ingress-nginx-configmap": "it knows one annotation for ConfigMaps",
    "reference-role-all-resources": "it takes `*` for no resource",
    "secret-that-a-tool-finds-by-name": "it knows no types of Secrets",
}


def parametrised(chosen: list[Case]) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("case", chosen, ids=lambda case: case.name)


every_case = parametrised(cases())
good_cases = parametrised([case for case in cases() if not case.is_error])


@dataclass(frozen=True)
class Result:
    """What a run left behind."""

    code: int
    stdout: bytes
    stderr: str


class Runner:
    """Runs the program in this process, in the folder of a case."""

    def __init__(
        self, monkeypatch: pytest.MonkeyPatch, capture: pytest.CaptureFixture[bytes], empty: Path
    ) -> None:
        self.monkeypatch = monkeypatch
        self.capture = capture
        self.empty = empty
        for name in [name for name in os.environ if name.startswith("POSTRENDER_")]:
            monkeypatch.delenv(name)

    def run(self, case: Case, data: bytes) -> Result:
        """Run the program on data as the case says."""
        # A configuration must be the case's own, and messages name it without its folder.
        self.monkeypatch.chdir(case.path if case.needs_files else self.empty)
        stdin = SimpleNamespace(buffer=io.BytesIO(data), isatty=lambda: False)
        self.monkeypatch.setattr(sys, "stdin", stdin)
        self.capture.readouterr()
        code = main.run(["render", *case.options])
        out, err = self.capture.readouterr()
        return Result(code, out, err.decode())


@pytest.fixture
def runner(
    monkeypatch: pytest.MonkeyPatch, capfdbinary: pytest.CaptureFixture[bytes], tmp_path: Path
) -> Runner:
    (tmp_path / ".git").mkdir()  # no postrender.yaml is looked for above it
    return Runner(monkeypatch, capfdbinary, tmp_path)


def check(case: Case, result: Result) -> None:
    has_c_parser = vars(parser)["CParser"] is not None
    if not has_c_parser and "not valid YAML" in case.stderr:
        # Each parser has its own words for what it does not understand.
        assert "not valid YAML" in result.stderr
        assert (result.code, result.stdout) == (1, b"")
        return
    assert result.stderr == case.stderr
    assert result.stdout.decode("utf-8", "backslashreplace") == case.expected.decode()
    assert result.stdout == case.expected
    assert result.code == (1 if case.is_error else 0)


@pytest.mark.golden
@every_case
def test_output(case: Case, runner: Runner, update_golden: Update | None) -> None:
    result = runner.run(case, case.input)
    if update_golden:
        update_golden(case.name, case.update(result.stdout, result.stderr))
        assert result.code in (0, 1)
        return
    check(case, result)


@every_case
def test_output_with_the_pure_parser(
    case: Case, runner: Runner, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(parser, "CParser", None)
    check(case, runner.run(case, case.input))


@good_cases
def test_second_pass_changes_nothing(case: Case, runner: Runner) -> None:
    reason = case.files.get("not-stable.txt")
    if reason is not None:
        pytest.skip(reason.decode().strip())
    second = runner.run(case, case.expected)
    assert second.stdout.decode() == case.expected.decode()
    assert second.code == 0


def documents(text: str) -> list[str]:
    """Cut a stream by the plainest of rules: at a line that begins with `---` or `%`."""
    return [part for part in re.split(r"(?m)^(?=---(?:\s|$)|%)", text) if part.strip()]


def data_of(text: str) -> list[Obj] | None:
    """Return the objects in a text, or None where it is not YAML for everyone."""
    try:
        return normalise(text)
    except InputError:
        return None


@good_cases
def test_documents_that_need_no_edit_keep_their_bytes(case: Case) -> None:
    before = case.input.decode("utf-8-sig")
    after = case.expected.decode("utf-8-sig")
    if before[:1] == "{":
        pytest.skip("JSON values have no document markers")
    there = [data_of(part) for part in documents(after)]
    for part in documents(before):
        data = data_of(part)
        if data is None or (data and data in there):
            # An open end is closed where a copy or the attacher's objects follow.
            assert part in after or (not before.endswith("\n") and before.endswith(part))


def without_render_ids(value: Any) -> Any:
    """Return data without the annotations that hash the names of volumes."""
    if isinstance(value, dict):
        return {
            key: without_render_ids(child)
            for key, child in value.items()
            if key != "postrender/render-id"
        }
    return [without_render_ids(child) for child in value] if isinstance(value, list) else value


def reference_of(case: Case) -> list[Obj]:
    """Return what the reference implementation makes of the input of a case."""
    options = case.options
    return reference_render(
        case.input.decode("utf-8-sig"),
        namespace=options[options.index("--namespace") + 1] if "--namespace" in options else None,
        secrets="--secrets" in options,
        keep_original="--keep-original" in options,
        attacher="--no-attacher" not in options,
        config=case.config,
    )


@every_case
def test_agrees_with_the_reference(case: Case) -> None:
    if case.name in NO_REFERENCE:
        pytest.skip(NO_REFERENCE[case.name])
    if case.name.startswith(NO_REFERENCE_PREFIXES) or "--strict" in case.options:
        pytest.skip("the reference implementation makes no such errors and no findings")
    if case.is_error:
        with pytest.raises(InputError):
            reference_of(case)
        return
    wanted = comparable(reference_of(case), volume_names=False)
    found = comparable(normalise(case.expected.decode("utf-8-sig")), volume_names=False)
    if "mount" in case.name:  # the names of volumes are each one's own
        wanted, found = without_render_ids(wanted), without_render_ids(found)
    assert found == wanted


def test_cases_are_complete() -> None:
    for case in cases():
        names = set(case.files)
        known = {"expected.yaml", "stderr.txt", "options.txt", "not-stable.txt"}
        known |= {"postrender.yaml", "previous.yaml"}
        assert len(names & {"input.yaml", "input.json"}) == 1, case.name
        assert names - known <= {"input.yaml", "input.json"}, case.name
        assert "expected.yaml" in names or case.is_error or not case.input, case.name


FILE = """#### options: --secrets
#### input
kind: Service
#### output
kind: Job
#### stderr
a note
"""


def test_an_update_writes_the_sections_of_a_case(tmp_path: Path) -> None:
    path = tmp_path / "a-case.yaml"
    path.write_text(FILE)
    assert Case(path).options == ["--secrets"]
    assert not Case(path).update(b"kind: Job\n", "a note\n")
    assert path.read_text() == FILE
    assert Case(path).update(b"kind: Pod\n", "")
    assert path.read_text() == "".join(FILE.partition("#### stderr")[0]).replace("Job", "Pod")
    assert Case(path).update(b"", "error: no\n")
    assert Case(path).is_error
    assert not Case(path).expected


def test_an_update_writes_the_files_of_a_case(tmp_path: Path) -> None:
    (tmp_path / "input.json").write_text("{}")
    assert Case(tmp_path).options == ["--no-attacher"]
    assert Case(tmp_path).update(b"out\n", "")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["expected.yaml", "input.json"]
    assert Case(tmp_path).update(b"", "error: no\n")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["input.json", "stderr.txt"]


def test_an_update_refuses_an_output_that_looks_like_a_section(tmp_path: Path) -> None:
    path = tmp_path / "a-case.yaml"
    path.write_text(FILE)
    with pytest.raises(ValueError, match="make the case a folder"):
        Case(path).update(b"#### stderr\n", "a note\n")
    assert path.read_text() == FILE
