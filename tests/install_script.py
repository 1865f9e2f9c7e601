"""A run of a script that installs Debian packages, on a machine made of small programs."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path
from typing import NamedTuple

BASH = shutil.which("bash")
RECORD = "echo $* >> CALLS"
# Answers only after an update of the package lists.
NOT_FOUND_BEFORE_UPDATE = "[[ $* = *update* ]] && : > CALLS.new; echo $* >> CALLS; [ -e CALLS.new ]"


class Run(NamedTuple):
    """A finished run; calls: the arguments of each call of apt-get, one line each."""

    code: int
    stderr: str
    calls: str


def run_script(script: Path, folder: Path, **programs: str) -> Run:
    """Run a script with only these programs on PATH.

    folder: an empty folder, for the programs.
    programs: the text of each program, in which CALLS is the file of the calls.
    """
    calls = folder / "calls"
    for name, text in programs.items():
        path = folder / name.replace("_", "-")
        path.write_text(f"#!{BASH}\n{text.replace('CALLS', str(calls))}\n", "utf-8")
        path.chmod(0o755)
    done = subprocess.run(
        [str(BASH), str(script)], env={"PATH": str(folder)}, capture_output=True, text=True
    )
    return Run(done.returncode, done.stderr, calls.read_text("utf-8") if calls.exists() else "")
