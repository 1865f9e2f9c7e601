"""The Makefile, which creates and empties the virtual environment."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


def test_make_does_not_empty_the_environment_of_another_checkout(tmp_path: Path) -> None:
    """`python -m venv --clear` deletes the files behind a link."""
    other = tmp_path / "other"
    other.mkdir()
    (other / "python").touch()
    checkout = tmp_path / "checkout"
    checkout.mkdir()
    shutil.copy(ROOT / "Makefile", checkout)
    (checkout / "pyproject.toml").touch()
    (checkout / ".venv").symlink_to(other)
    done = subprocess.run(["make", "venv"], cwd=checkout, capture_output=True, text=True)
    assert done.returncode == 2
    assert "error: .venv is a link, and make would empty its target. Remove" in done.stdout
    assert (other / "python").exists()
