"""Scripts import no Python module of the working directory, which can be somebody else's folder."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.security.attack import ROOT

BASH = shutil.which("bash")
# Modules that Python, `venv` or pip could import.
NAMES = ("venv", "pip", "ensurepip", "sysconfig", "types", "subprocess", "logging", "shutil")


def test_every_command_isolates_python_from_the_working_directory() -> None:
    commands = r"-m\"?,? \"?(venv|pip|ensurepip|compileall|hatchling)\b"
    # Each folder of the project, and the files in it, without virtual environments and caches.
    names = (".ci", ".github", *(path.name for path in ROOT.iterdir() if path.name[0] != "."))
    paths = (path for name in names for path in (ROOT / name, *(ROOT / name).rglob("*")))
    texts = {path: path.read_text("utf-8", "ignore") for path in paths if path.is_file()}
    lines = [
        line
        for path, text in texts.items()
        for line in text.splitlines()
        if re.search(commands, line) and "tests" not in path.relative_to(ROOT).parts
    ]
    assert len(lines) > 20
    for line in lines:
        assert all(
            re.search(r"-I\"?,? \"?$", line[: found.start()])
            for found in re.finditer(commands, line)
        ), line


@pytest.mark.skipif(BASH is None, reason="bash is not on PATH")
def test_the_plugin_imports_no_module_of_the_working_directory(tmp_path: Path) -> None:
    plugin, hostile = tmp_path / "postrender", tmp_path / "hostile"
    shutil.copytree(ROOT / "plugin", plugin / "plugin")
    shutil.copy(ROOT / "plugin.yaml", plugin)
    hostile.mkdir()
    for name in NAMES:
        (hostile / f"{name}.py").write_text(f"open({str(tmp_path / 'proof')!r}, 'a')\n")
    programs = tmp_path / "bin"
    programs.mkdir()
    (programs / "python3").symlink_to(sys.executable)
    done = subprocess.run(
        [plugin / "plugin" / "install"],
        cwd=hostile,
        env={"PATH": f"{programs}:/usr/bin:/bin", "PIP_NO_INDEX": "1", "HOME": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert not (tmp_path / "proof").exists()
    # Without an index, pip cannot find the packages, so pip itself has run.
    assert "No matching distribution found" in done.stderr
    assert done.returncode == 1
