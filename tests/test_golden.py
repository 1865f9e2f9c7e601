"""Every golden case is rendered twice, and with both parsers.

tests/golden_cases.py describes the files of a case. `pytest --update-golden` rewrites the expected
output.
"""

from __future__ import annotations

import io
import os
import re
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random
from types import SimpleNamespace

import pytest

from postrender.cli import main
from postrender.errors import Location
from postrender.inventory import build as inventory_build
from postrender.plan import build
from postrender.yaml import parser
from postrender.yaml.document import parse_document
from postrender.yaml.stream import read_stream
from tests.effort import IS_FUZZ
from tests.golden_cases import Case, cases
from tests.lost_references import lost_references
from tests.manifests import InputError, Obj, dump, go_json, normalise
from tests.update_golden import Update

# The cases that print the finding `never-deleted`.
NEVER_DELETED_PREFIX = "never-deleted-"


def parametrised(selected: list[Case]) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("case", selected, ids=lambda case: case.name)


# tests/manifests.py rejects a tab that postrender leaves alone.
UNREADABLE = (
    "input-unread-document-with-odd-yaml",
    "input-unread-last-document-with-odd-yaml",
)
READABLE = [case for case in cases() if not case.is_error and case.name not in UNREADABLE]

every_case = parametrised(cases())
readable_cases = parametrised(READABLE)


@dataclass(frozen=True)
class Result:
    """The exit code and the output of a run."""

    code: int
    stdout: bytes
    stderr: str


class Runner:
    """A runner of the program in this process, in the folder of a case."""

    def __init__(
        self, monkeypatch: pytest.MonkeyPatch, capture: pytest.CaptureFixture[bytes], empty: Path
    ) -> None:
        self.monkeypatch = monkeypatch
        self.capture = capture
        self.empty = empty
        for name in [name for name in os.environ if name.startswith("POSTRENDER_")]:
            monkeypatch.delenv(name)

    def run(self, case: Case, data: bytes, options: Sequence[str] | None = None) -> Result:
        """Run the program on data, with the options of a case or with other options."""
        # In the folder of its case, the program shows file names without a folder. The other cases
        # run in an empty folder, where the program finds no configuration.
        self.monkeypatch.chdir(case.path if case.needs_files else self.empty)
        if not case.name.startswith(NEVER_DELETED_PREFIX):
            # Most cases have no attacher, and would all print this finding.
            self.monkeypatch.setattr(build, "find_never_deleted", lambda _: [])
        stdin = SimpleNamespace(buffer=io.BytesIO(data), isatty=lambda: False)
        self.monkeypatch.setattr(sys, "stdin", stdin)
        self.capture.readouterr()
        code = main.run([case.command, *(case.options if options is None else options)])
        out, err = self.capture.readouterr()
        return Result(code, out, err.decode())


@pytest.fixture
def runner(
    monkeypatch: pytest.MonkeyPatch, capfdbinary: pytest.CaptureFixture[bytes], tmp_path: Path
) -> Runner:
    (tmp_path / ".git").mkdir()  # the program looks for postrender.yaml up to this folder
    return Runner(monkeypatch, capfdbinary, tmp_path)


def check(case: Case, result: Result) -> None:
    has_c_parser = vars(parser)["CParser"] is not None
    if not has_c_parser and "not valid YAML" in case.stderr:
        # The two parsers describe a syntax error differently.
        assert "not valid YAML" in result.stderr
        assert (result.code, result.stdout) == (2, b"")
        return
    assert result.stderr == case.stderr
    assert result.stdout.decode("utf-8", "backslashreplace") == case.expected.decode()
    assert result.stdout == case.expected
    assert result.code == (2 - (", because strict is true" in case.stderr) if case.is_error else 0)


@pytest.mark.golden
@every_case
def test_output(
    case: Case, runner: Runner, update_golden: Update | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also with the output as the input; and, as for a large stream, with no parsed document kept.

    The last run also uses the parser of ruamel.yaml in pure Python.
    """
    result = runner.run(case, case.input)
    if update_golden:
        update_golden(case.name, case.update(result.stdout, result.stderr))
        assert result.code in (0, 1, 2)
        return
    check(case, result)
    if not case.is_error and "not-stable.txt" not in case.files:
        second = runner.run(case, case.expected)
        assert second.stdout.decode() == case.expected.decode()
        assert second.code == 0
    monkeypatch.setattr(parser, "CParser", None)
    monkeypatch.setattr(inventory_build, "_MAX_KEPT", 0)
    check(case, runner.run(case, case.input))


def documents(text: str) -> list[str]:
    """Split a stream before each line that begins with `---` or `%`."""
    return [part for part in re.split(r"(?m)^(?=---(?:\s|$)|%)", text) if part.strip()]


def objects_of(text: str) -> list[Obj]:
    """Return the objects of a stream."""
    return normalise(text, pure=IS_FUZZ)


def data_of(text: str) -> list[Obj] | None:
    """Return the objects of a document, or None if the document alone is not valid."""
    try:
        return objects_of(text)
    except InputError:
        return None


@readable_cases
def test_an_output_keeps_bytes_and_content(case: Case) -> None:
    """Documents without edits keep their bytes, and references the content that they had."""
    before, after = (text.decode("utf-8-sig") for text in (case.input, case.expected))
    written = [data_of(document) for document in documents(after)]
    # JSON values have no document markers.
    for document in [] if before[:1] == "{" else documents(before):
        # A last line without a line break gets one if appended objects follow.
        is_last = not before.endswith("\n") and before.endswith(document)
        if document not in after and not is_last:
            data = data_of(document)
            assert data is not None, document
            assert not data or data not in written, document
    options = case.options
    namespace = options[options.index("--namespace") + 1] if "--namespace" in options else ""
    assert not lost_references(objects_of(before), objects_of(after), namespace)


@pytest.mark.random_inputs
@parametrised([case for case in READABLE if "previous.yaml" not in case.files])
def test_the_order_of_the_documents_does_not_change_objects(case: Case, runner: Runner) -> None:
    objects = objects_of(case.input.decode("utf-8-sig"))
    options = [option for option in case.options if option != "--no-attacher"]
    outputs = []
    for seed in range(4 if IS_FUZZ else 2):
        order = Random(seed).sample(objects, len(objects)) if seed else objects
        result = runner.run(case, dump(order).encode(), options)
        texts = list(read_stream(result.stdout, "output").texts)
        outputs.append(sorted(go_json(parse_document(text, Location("")).data) for text in texts))
    assert outputs == outputs[:1] * len(outputs)


def test_cases_are_complete() -> None:
    for case in cases():
        names = set(case.files)
        inputs = {"input.yaml", "input.json"}
        optional = {"expected.yaml", "stderr.txt", "options.txt", "not-stable.txt"}
        optional |= {"postrender.yaml", "previous.yaml", "hash-key.txt"}
        assert len(names & inputs) == 1, case.name
        assert names - optional <= inputs, case.name
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


def test_an_update_rejects_an_output_with_a_section_marker(tmp_path: Path) -> None:
    path = tmp_path / "a-case.yaml"
    path.write_text(FILE)
    with pytest.raises(ValueError, match="make the case a folder"):
        Case(path).update(b"#### stderr\n", "a note\n")
    assert path.read_text() == FILE
