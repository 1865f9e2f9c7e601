"""`plugin/install` with small programs in place of Python: which one it uses, what it blames."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from tests.e2e.plugins import TOOLS, write_script

ROOT = Path(__file__).resolve().parents[1]
# Prints its name for `-I -c`. `-I -m venv FOLDER` writes a Python whose pip does what PIP says.
PYTHON = """
case $2 in
  -c) echo "$0"; exit ;;
esac
mkdir -p "$4/bin"
printf '#!/bin/sh\\n%s\\n' {pip!r} > "$4/bin/python"
printf '#!/bin/sh\\necho %s\\n' "$0" > "$4/bin/postrender"
chmod +x "$4/bin/python" "$4/bin/postrender"
"""
GOOD = PYTHON.format(pip="exit 0")


def failing(message: str) -> str:
    return PYTHON.format(pip=f"echo {message} >&2; exit 1")


NO_WHEEL = failing("ERROR: Failed building wheel for rpds-py")
NO_INDEX = failing("ERROR: No matching distribution found for attrs==26.1.0")
BARE = '[ "$2" = -c ] && { echo "$0"; exit; }; echo No module named venv >&2; exit 1'
TOO_OLD = "exit 0"  # `python3 -c` prints nothing


class Machine:
    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.venv = folder / "plugin folder" / ".plugin" / "venv"
        self.script = folder / "plugin folder" / "plugin" / "install"
        shutil.copytree(ROOT / "plugin", self.script.parent)
        for name in (*TOOLS.split(), "chmod"):
            (folder / "bin").mkdir(exist_ok=True)
            (folder / "bin" / name).symlink_to(str(shutil.which(name)))

    def install(self, **pythons: str) -> subprocess.CompletedProcess[str]:
        for name, text in pythons.items():
            write_script(self.folder / "bin" / name.replace("_", "."), text)
        path = {"PATH": str(self.folder / "bin")}
        command = [str(self.script)]
        return subprocess.run(command, env=path, capture_output=True, text=True, check=False)

    @property
    def used(self) -> str:
        done = subprocess.run([self.venv / "bin" / "postrender"], capture_output=True, text=True)
        return Path(done.stdout.strip()).name


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path)


@pytest.mark.parametrize("first", [NO_WHEEL, BARE, TOO_OLD, failing("Illegal instruction")])
def test_after_a_failure_the_next_python_is_used(machine: Machine, first: str) -> None:
    done = machine.install(python3=first, python3_13=GOOD, python3_12=NO_INDEX)
    assert done.returncode == 0, done.stderr
    assert machine.used == "python3.13"
    assert [path.name for path in machine.venv.parent.iterdir()] == ["venv"]


def test_the_postrender_of_path_is_not_used(machine: Machine) -> None:
    """Two programs with one version can differ, such as those of two checkouts."""
    done = machine.install(python3=GOOD, postrender="echo postrender 0.1.0")
    assert done.returncode == 0, done.stderr
    assert machine.used == "python3"


@pytest.mark.parametrize(
    ("pythons", "blame"),
    [
        ({}, "needs Python 3.10 or later, and PATH has none. Install Python,"),
        ({"python3": TOO_OLD}, "needs Python 3.10 or later, and PATH has none. Install Python,"),
        ({"python3": "exit 1"}, "python3 does not start. Fix it, or install another Python,"),
        ({"python3": BARE}, "python3 cannot create a virtual environment. Install its module venv"),
        ({"python3": NO_WHEEL}, "has no wheel for python3, and could not be built. Install an"),
        ({"python3": NO_INDEX}, "Give pip access to PyPI or a mirror (PIP_INDEX_URL),"),
        ({"python3": NO_INDEX, "python3_13": NO_WHEEL}, "Give pip access to PyPI or a mirror"),
        ({"python3": NO_WHEEL, "python3_13": NO_INDEX}, "Give pip access to PyPI or a mirror"),
        (
            {"python3": failing("the SSL module is not available; No matching distribution")},
            "python3 was built without SSL",
        ),
        (
            {"python3": failing("ERROR: THESE PACKAGES DO NOT MATCH THE HASHES")},
            "the package index serves another file than PyPI",
        ),
    ],
)
def test_the_error_blames_the_cause(machine: Machine, pythons: dict[str, str], blame: str) -> None:
    done = machine.install(**pythons)
    assert done.returncode == 1
    assert blame in done.stderr.splitlines()[-1]
    assert done.stderr.endswith(f"then run {machine.script}\n")
    assert not machine.venv.parent.exists()


def test_a_failed_install_keeps_the_installation_before(machine: Machine) -> None:
    assert machine.install(python3=GOOD).returncode == 0
    assert machine.install(python3=NO_WHEEL).returncode == 1
    assert machine.used == "python3"
    assert [path.name for path in machine.venv.parent.iterdir()] == ["venv"]
