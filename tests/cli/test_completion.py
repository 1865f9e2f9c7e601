"""Completion in bash, zsh and fish: the words that a shell has after the Tab key."""

from __future__ import annotations

import os
import pty
import select
import shlex
import shutil
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.cli.test_processes import environment, run

SHELLS = {
    "bash": ("bash", "--norc", "--noprofile", "-i"),
    "zsh": ("zsh", "--no-rcs", "-i"),
}
# What a user types before the Tab key, and the line afterwards.
LINES = {
    "postrender expl": "postrender explain",
    "postrender -n prod expl": "postrender -n prod explain",
    "postrender --secrets di": "postrender --secrets diff",
    "postrender --namespace=prod -q chec": "postrender --namespace=prod -q check",
    "postrender -o json dif": "postrender -o json diff",
    "postrender -n prod conf": "postrender -n prod config",
    "postrender -n prod config valid": "postrender -n prod config validate",
    "postrender config rba": "postrender config rbac",
    "postrender -n prod --attacher-im": "postrender -n prod --attacher-image",
    "postrender -n prod diff --uni": "postrender -n prod diff --unified",
    "postrender --stri": "postrender --strict",
    "postrender diff --output=ht": "postrender diff --output=html",
    "postrender diff --output ht": "postrender diff --output html",
    "postrender --attacher-mode=ext": "postrender --attacher-mode=external",
    "postrender --color=al": "postrender --color=always",
    "postrender --config=cha": "postrender --config=chart.yaml",
    "postrender --config cha": "postrender --config chart.yaml",
    "postrender try x --values=cha": "postrender try x --values=chart.yaml",
    "postrender --set=a=b tr": "postrender --set=a=b try",
    "postrender diff --output=text cha": "postrender diff --output=text chart.yaml",
    "postrender diff my": "postrender diff my\\ file.yaml",
    "postrender diff my\\ file.yaml cha": "postrender diff my\\ file.yaml chart.yaml",
    "postrender check -f cha": "postrender check -f chart.yaml",
}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with files to complete, and a program `postrender` on PATH."""
    for name in ("chart.yaml", "my file.yaml"):
        (tmp_path / name).touch()
    program = tmp_path / "bin" / "postrender"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\nexec {sys.executable} -m postrender "$@"\n')
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{program.parent}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def typed(shell: str, lines: Sequence[str], end: str) -> str:
    """What a shell on a terminal prints, until a text; the lines end with Tab or Enter."""
    process, terminal = pty.fork()
    if process == 0:
        os.execvpe(shell, SHELLS[shell], environment(TERM="dumb", PS1="", PROMPT=""))
    output = b""
    try:
        os.write(terminal, "".join(lines).encode())
        deadline = time.monotonic() + 120
        while end.encode() not in output and time.monotonic() < deadline:
            if select.select([terminal], [], [], 1)[0]:
                output += os.read(terminal, 65536)
    finally:
        os.close(terminal)
        os.waitpid(process, 0)
    return output.decode(errors="replace")


@pytest.mark.parametrize("shell", ["bash", "zsh"])
def test_the_tab_key(shell: str, folder: Path) -> None:
    if not shutil.which(shell):
        pytest.skip(f"no {shell} here")
    # Control-A is the start of the line, and Control-E the end.
    write = "\x01printf '%s|' \x05 >> completed; echo >> completed\r"
    lines = [f'eval "$(postrender completion {shell})"\r']
    lines += [f"{line}\t{write}" for line in LINES]
    typed(shell, [*lines, "echo fini\\shed\r"], "finished")
    done = (folder / "completed").read_text().splitlines()
    assert [line.rstrip("|").split("|") for line in done] == list(map(shlex.split, LINES.values()))


@pytest.mark.usefixtures("folder")
def test_the_tab_key_in_fish() -> None:
    if not shutil.which("fish"):
        pytest.skip("no fish here")
    script = ["postrender completion fish | source"]
    script += [f"complete --do-complete {shlex.quote(line)}; echo ==" for line in LINES]
    done = subprocess.run(
        ["fish", "--no-config", "--command", "\n".join(script)],
        env=environment(),
        capture_output=True,
        text=True,
        check=True,
    )
    *shown, rest = done.stdout.split("==\n")
    found = [[line.split("\t")[0] for line in text.splitlines()] for text in shown]
    # The completion of "postrender expl" is "explain".
    assert found == [[shlex.split(line)[-1]] for line in LINES.values()]
    assert (rest, done.stderr) == ("", "")


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_scripts(shell: str) -> None:
    script = run("", "completion", shell)
    assert (script.code, script.err) == (0, "")
    assert f"_POSTRENDER_COMPLETE={shell}_complete".encode() in script.out
    assert run("", variables={"_POSTRENDER_COMPLETE": f"{shell}_source"}).out == script.out


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("postrender ", b"plain,config\nplain,diff\n"),
        ("postrender -n ", b""),
        ("postrender -n prod ", b"file,\nplain,adopt\n"),
        ("postrender -n prod -", b"plain,--strict\n"),
        ("postrender -U 3 ", b"plain,diff\n"),
        ("postrender --unknown x ", b"file,\n"),
        ("postrender --ver", b"plain,--version"),
        ("postrender 'a", b"plain,adopt\n"),
    ],
)
def test_completions_of_a_line(words: str, expected: bytes) -> None:
    variables = {"_POSTRENDER_COMPLETE": "bash_complete", "COMP_WORDS": words}
    done = run("", variables=variables)
    assert (done.code, done.err) == (0, "")
    assert expected in done.out.replace(b"plain,adopt\nplain,attach\n", b"plain,adopt\n")
    assert bool(expected) == bool(done.out.strip())
