"""Texts of manifests that reach a terminal, a log file or the log of a CI job."""

from __future__ import annotations

import json
import logging
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from postrender.attach.command import configure_log
from postrender.cli.report import log_note, set_log_file, without_commands, write_changes
from postrender.diff.formats import REPORTERS
from postrender.text import visible, visible_json
from tests.diff.reporters import COMPLETE
from tests.forked import run_fork

# Characters without a shape of their own: fillers, blanks and variation selectors.
INVISIBLE = "\u3164\uffa0\u115f\u1160\u2800\u034f\u17b4\u17b5\ufe0f\ufe00\U000e0101\u180b\U0001d159"
BIDIRECTIONAL = "\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069\u200e\u200f\u061c"
COMMANDS = ("::error::x", "  ::add-mask::x", "\t::stop-commands::x", "##[add-mask]x", "a ##[x]")
# Azure Pipelines and TeamCity find these anywhere in a line.
OTHER_COMMANDS = (
    "x ##vso[task.setvariable variable=PATH]/tmp",
    "##teamcity[x]",
)
CONFIG = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: web\ndata:\n  a: |\n"


@pytest.mark.parametrize(
    "character", [*INVISIBLE, *BIDIRECTIONAL, "\x1b", "\x07", "\x9b", "\u200b"]
)
def test_an_invisible_character_is_shown_as_an_escape(character: str) -> None:
    assert character not in visible(f"a{character}b")
    assert visible(f"a{character}b").isascii()


def test_visible_characters_stay() -> None:
    text = "äöü 漢字 кириллица ñ हिन्दी 😀 → …"
    assert visible(text) == text


def test_an_accent_apart_from_its_letter_is_shown_as_an_escape() -> None:
    """Both forms of the letter look equal, and a cluster sees two values."""
    assert visible("\u00e9 e\u0301") == "\u00e9 e\\u0301"


def test_a_log_file_has_no_control_characters(tmp_path: Path) -> None:
    log = tmp_path / "log"
    set_log_file(str(log))
    log_note("a\x1b]0;title\x07b\u202e")
    assert log.read_text() == "note: a\\x1b]0;title\\x07b\\u202e.\n"


def test_a_message_has_no_control_characters(tmp_path: Path) -> None:
    file = tmp_path / "a.yaml"
    file.write_text('apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata: {"a\\eb": 1}\n')
    command = [sys.executable, "-m", "postrender", "check", "--", str(file)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert "a\\x1bb" in done.stderr
    assert "\x1b" not in done.stderr


def test_the_log_of_attach_has_no_control_characters(capsys: pytest.CaptureFixture[str]) -> None:
    configure_log("info", is_json=False)
    logging.getLogger("postrender.attach.test").info("a\x1b[2Jb")
    assert capsys.readouterr().err == "info: a\\x1b[2Jb\n"


def test_a_report_of_changes_has_no_control_characters(capfd: pytest.CaptureFixture[str]) -> None:
    """collect and adopt print owners and workloads, whose names the API server does not check."""
    write_changes("collect", ["keeps it for Widget/a\x1b[2J\u202e\n::error::x"], needs_yes=False)
    assert capfd.readouterr().out == "keeps it for Widget/a\\x1b[2J\\u202e\\n::error::x\n"


# YAML with a hostile text as each name, kind, key and value. Two objects are equal.
MARK = '"H\\n\\n# Forged\\e[31m\\u202E"'
HOSTILE = f"""---
apiVersion: v1
kind: ConfigMap
metadata: {{name: cfg, labels: {{{MARK}: {MARK}}}, annotations: {{{MARK}: {MARK}}}}}
data: {{{MARK}: {MARK}, b: old}}
---
apiVersion: example.com/v1
kind: {MARK}
metadata: {{name: {MARK}, namespace: {MARK}}}
spec: {{configMapName: cfg, {MARK}: {{configMap: {{name: cfg}}}}, a: old}}
---
apiVersion: example.com/v1
kind: {MARK}
metadata: {{name: other, uid: {MARK}}}
spec: {{{MARK}: {{configMap: {{name: cfg}}}}, a: old}}
---
apiVersion: apps/v1
kind: Deployment
metadata: {{name: {MARK}, namespace: {MARK}}}
spec:
  template:
    spec:
      containers: [{{name: {MARK}, image: {MARK}, envFrom: [{{configMapRef: {{name: cfg}}}}]}}]
      volumes: [{{name: {MARK}, configMap: {{name: {MARK}}}}}]
"""


@pytest.mark.parametrize(
    "arguments",
    [
        *(["explain", f"--format={form}", "new.yaml"] for form in ("text", "json")),
        *(["check", f"--format={form}", "new.yaml"] for form in ("text", "json", "sarif")),
        *(["diff", f"--format={form}", "old.yaml", "new.yaml"] for form in REPORTERS),
        ["--verbose", "render", "new.yaml"],
    ],
    ids=" ".join,
)
def test_no_command_prints_text_of_manifests_as_it_is(arguments: list[str], tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    (tmp_path / "old.yaml").write_text(HOSTILE)
    (tmp_path / "new.yaml").write_text(HOSTILE.replace("old", "new"))
    code, out, err = run_fork(arguments, b"", dict(os.environ), tmp_path)
    assert code in (0, 1, 2), err
    printed = err if "render" in arguments else out + err
    assert b"Forged" in printed or "mermaid" in arguments[1]
    assert not re.search("^# Forged|\u202e|\x1b", printed.decode(), re.MULTILINE)


@pytest.mark.parametrize("character", [*INVISIBLE, *BIDIRECTIONAL, "\x9b", "\u2028"])
def test_json_shows_each_character(character: str) -> None:
    document = {"a": [f"b{character}c\n"]}
    text = visible_json(document)
    assert character not in text
    assert json.loads(text) == document


def is_command(line: str) -> bool:
    """Return whether the runner of a CI system may read a line as a command."""
    return line.strip().startswith("::") or re.search(r"##[a-z]*\[", line) is not None


@pytest.mark.parametrize("form", sorted(REPORTERS.keys() - {"json"}))
@pytest.mark.parametrize("command", [*COMMANDS, *OTHER_COMMANDS])
def test_a_line_of_a_result_is_not_a_workflow_command(form: str, command: str) -> None:
    escapes = REPORTERS[form].escapes
    text = without_commands(f"first\n{command}\nlast {command}\n", escapes)
    assert not any(map(is_command, text.splitlines()))
    assert text.startswith("first\n")


def test_json_keeps_its_meaning() -> None:
    text = json.dumps({"a": [*COMMANDS, *OTHER_COMMANDS]}, indent=1)
    done = without_commands(text, REPORTERS["json"].escapes)
    assert not any(map(is_command, done.splitlines()))
    assert json.loads(done) == json.loads(text)


@pytest.mark.parametrize("runner", ["GITHUB_ACTIONS", "TF_BUILD", "TEAMCITY_VERSION"])
@pytest.mark.parametrize("form", REPORTERS)
def test_a_preview_in_a_job_does_not_contain_workflow_commands(
    form: str, runner: str, tmp_path: Path
) -> None:
    body = "".join(f"    {command}\n" for command in (*COMMANDS, *OTHER_COMMANDS))
    (tmp_path / ".git").mkdir()
    (tmp_path / "old.yaml").write_text(f"{CONFIG}    first\n{body}")
    (tmp_path / "new.yaml").write_text(f"{CONFIG}    second\n{body}")
    arguments = ["diff", "--format", form, "old.yaml", "new.yaml"]
    environment = {**os.environ, runner: "true"}
    code, output, _ = run_fork(arguments, b"", environment, tmp_path)
    lines = output.decode().splitlines()
    assert code == 0
    assert lines or form not in COMPLETE
    assert not any(map(is_command, lines))
    if runner != "TF_BUILD":
        return
    # A file keeps the text of the manifests.
    command = [sys.executable, "-m", "postrender", *arguments]
    environment["PYTHONPATH"] = str(Path(__file__).resolve().parents[2])
    with open(tmp_path / "result", "wb") as result:
        subprocess.run(command, cwd=tmp_path, env=environment, stdout=result, check=True)
    in_file = any(map(is_command, (tmp_path / "result").read_text("utf-8").splitlines()))
    assert in_file or form == "json" or form not in COMPLETE


VSO = "##vso[task.setvariable variable=PATH]/tmp"


@pytest.mark.parametrize(
    "arguments", [["render"], ["check"], ["check", "--format=json"], ["check", "--format=sarif"]]
)
def test_no_message_or_document_has_a_command_of_a_runner(
    arguments: list[str], tmp_path: Path
) -> None:
    """A message is on stderr, which a runner reads too, and names objects, keys and files."""
    (tmp_path / f"{VSO.replace('/', '')}.yaml").write_text(
        f"apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: '{VSO}'}}\ndata: {{'{VSO}': 1}}\n"
    )
    [file] = tmp_path.iterdir()
    environment = {**os.environ, "TF_BUILD": "True", "POSTRENDER_LOG_FILE": str(tmp_path / "log")}
    _, out, err = run_fork([*arguments, f"./{file.name}"], b"", environment, tmp_path)
    printed = err + (tmp_path / "log").read_bytes() + (b"" if arguments == ["render"] else out)
    assert b"vso[task.setvariable" in printed
    assert not any(map(is_command, printed.decode().splitlines()))


@pytest.mark.parametrize("is_json", [False, True])
def test_the_log_of_attach_has_no_command_of_a_runner(
    *, is_json: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    configure_log("info", is_json=is_json)
    logging.getLogger("postrender.attach.test").info(VSO)
    line = capsys.readouterr().err
    assert "vso[task" in line
    assert not is_command(line)
    assert not is_json or json.loads(line)["msg"] == VSO


def test_a_report_of_changes_has_no_command_of_a_runner(capfd: pytest.CaptureFixture[str]) -> None:
    write_changes("collect", [f"keeps it for Widget/{VSO}"], needs_yes=False)
    assert not is_command(capfd.readouterr().out)


def test_a_shown_configuration_has_no_command_of_a_runner(tmp_path: Path) -> None:
    folder = tmp_path / f"a\n{COMMANDS[0]}"
    (folder / ".git").mkdir(parents=True)
    annotation = f"a: |\n          {VSO}\n          ::add-mask::x\n"
    template = f"podTemplate:\n    metadata:\n      annotations:\n        {annotation}"
    (folder / "postrender.yaml").write_text(f"attacher:\n  {template}")
    environment = {**os.environ, "GITHUB_ACTIONS": "true"}
    for arguments in (["config", "show"], ["config", "validate"]):
        code, out, err = run_fork(arguments, b"", environment, folder)
        assert code == 0, err
        assert not any(map(is_command, out.decode().splitlines()))
