"""Break each defence of the threat model in a copy of the repository, and run its test.

    python -m tests.security.defences [TEXT]

A test that still passes does not hold its promise. TEXT selects the defences with this text in the
file, the code or the test. The exit code is 1 if any test passes.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from postrender.errors import Location
from postrender.records import NamedTuple
from postrender.yaml.document import parse_document

ROOT = Path(__file__).parents[2]
LIST = Path(__file__).with_suffix(".yaml")
LONGEST = 120  # seconds; a test takes a few
NOT_COPIED = shutil.ignore_patterns(".git", ".venv", ".cache", ".hypothesis", "__pycache__")


class Defence(NamedTuple):
    """A defence: a text in a file, the text without it, and the test that then fails."""

    file: str
    code: str
    broken: str
    test: str


def defences() -> list[Defence]:
    data = parse_document(LIST.read_text(), Location("defences.yaml")).data
    assert isinstance(data, list)
    return [Defence(**entry) for entry in data]


def is_noticed(defence: Defence, copy: Path) -> bool:
    """Whether the test fails without the defence; copy: of the repository."""
    file = copy / defence.file
    text = file.read_text()
    assert text.count(defence.code) == 1, defence
    file.write_text(text.replace(defence.code, defence.broken))
    command = [sys.executable, "-B", "-m", "pytest", "-qx", "-n0", "-pno:cacheprovider"]
    # The folder of the copy is before the installed package, also in the programs that a test runs.
    environment = {**os.environ, "PYTHONPATH": str(copy)}
    try:
        done = subprocess.run(
            [*command, defence.test],
            cwd=copy,
            env=environment,
            capture_output=True,
            check=False,
            timeout=LONGEST,
        )
    except subprocess.TimeoutExpired:
        return True  # without a deadline, a test does not end
    finally:
        file.write_text(text)
    return done.returncode == 1  # other codes mean that no test ran


def main() -> int:
    wanted = (*sys.argv, "")[1]
    passed = 0
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / "copy"
        shutil.copytree(ROOT, copy, ignore=NOT_COPIED, symlinks=True)
        for defence in defences():
            if not any(wanted in text for text in defence):
                continue
            noticed = is_noticed(defence, copy)
            passed += not noticed
            verdict = "fails" if noticed else "PASSES"
            print(
                f"{verdict:6}  {defence.test}\n        without: {defence.code.strip()}", flush=True
            )
    print(f"{passed} tests pass without their defence")
    return bool(passed)


if __name__ == "__main__":
    sys.exit(main())
