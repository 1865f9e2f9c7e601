"""Scripts import no Python module of the working directory, which can be somebody else's folder."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.security.attack import ROOT


def test_every_command_isolates_python_from_the_working_directory() -> None:
    """tests/e2e/test_plugin.py installs the plugin in a folder with such modules."""
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


def test_an_empty_entry_of_the_module_path_has_no_effect(tmp_path: Path) -> None:
    """Python reads PYTHONPATH before postrender can change it, so the scripts unset it."""
    plugin, hostile, proof = tmp_path / "plugin", tmp_path / "hostile", tmp_path / "proof"
    shutil.copytree(ROOT / "plugin", plugin / "plugin")
    hostile.mkdir()
    (hostile / "re.py").write_text(f"open({str(proof)!r}, 'a')\n")
    program = plugin / ".plugin" / "venv" / "bin" / "postrender"
    program.parent.mkdir(parents=True)
    program.write_text(f"#!{sys.executable}\nimport re\n")
    program.chmod(0o755)
    environment = {"PATH": "/usr/bin:/bin", "HOME": str(tmp_path), "PYTHONPATH": ":/x"}
    subprocess.run([program], cwd=hostile, env=environment, check=True)
    assert proof.exists()
    proof.unlink()
    command = [plugin / "plugin" / "run"]
    subprocess.run(command, cwd=hostile, env=environment, stdin=subprocess.DEVNULL, check=True)
    assert not proof.exists()


@pytest.mark.parametrize(
    ("script", "first"),
    [
        ("plugin/run", "$program"),
        ("plugin/install", "$python"),
        ("plugin/run.cmd", "%program%"),
        ("plugin/install.cmd", "call :try py"),
        ("examples/ci/preview", "postrender "),
        ("examples/argocd/postrender-argocd", "$python"),
    ],
)
def test_each_script_unsets_the_module_path(script: str, first: str) -> None:
    lines = [
        line
        for line in (ROOT / script).read_text().splitlines()
        if line and not line.startswith(("#", "rem "))
    ]
    unset = lines.index('set "PYTHONPATH="' if script.endswith(".cmd") else "unset PYTHONPATH")
    assert unset < min(number for number, line in enumerate(lines) if first in line)
