"""What the built packages say: the README on PyPI, and the commit."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from hatchling.metadata.core import ProjectMetadata
from hatchling.plugin.manager import PluginManager

from postrender.cli.version import version_text

ROOT = Path(__file__).resolve().parents[1]
SOURCES = ("LICENSE", "README.md", "hatch_build.py", "postrender", "pyproject.toml")


def test_the_readme_works_on_pypi() -> None:
    readme = ProjectMetadata(str(ROOT), PluginManager()).core.readme
    targets = re.findall(r"\]\(([^)]+)\)|^\[\S+\]: (\S+)$|(?:src|href)=\"([^\"]+)", readme, re.M)
    links = [part for parts in targets for part in parts if part]
    assert len(links) > 20
    assert not [link for link in links if not re.match(r"https://|#", link)]
    pictures = re.findall(r"!\[[^\]]*\]\(([^)]+)\)", readme)
    assert pictures
    assert all("/raw/v" in picture for picture in pictures)
    assert "mermaid" not in readme
    assert "<!--" not in readme
    assert (
        "*Without postrender, the old pod and the canary pod read the same new content." in readme
    )


def test_the_files_behind_the_links_exist() -> None:
    readme = ProjectMetadata(str(ROOT), PluginManager()).core.readme
    files = re.findall(r"/(?:blob|raw)/v[\d.]+/([^)#]+)", readme)
    assert files
    assert all((ROOT / file).exists() for file in files)


@pytest.mark.skipif(not shutil.which("git"), reason="git is not on PATH")
def test_a_package_has_the_commit_of_its_sources(tmp_path: Path) -> None:
    source = tmp_path / "source"
    source.mkdir()
    for name in SOURCES:
        copy = shutil.copytree if (ROOT / name).is_dir() else shutil.copy
        copy(ROOT / name, source / name)
    who = ["-c", "user.name=test", "-c", "user.email=test@example.com"]
    for command in (["init", "-q"], ["add", "-A"], [*who, "commit", "-q", "-m", "A commit"]):
        subprocess.run(["git", *command], cwd=source, check=True)
    done = subprocess.run(
        ["git", "rev-parse", "--short=12", "HEAD"], cwd=source, capture_output=True, text=True
    )
    commit = done.stdout.strip()

    def build(folder: Path, target: str) -> None:
        command = [
            sys.executable,
            "-m",
            "hatchling",
            "build",
            "-t",
            target,
            "-d",
            str(tmp_path / "out"),
        ]
        subprocess.run(command, cwd=folder, check=True, capture_output=True)

    def version(folder: Path) -> str:
        command = [sys.executable, "-m", "postrender", "version"]
        return subprocess.run(command, cwd=folder, capture_output=True, text=True).stdout

    build(source, "sdist")
    build(source, "wheel")
    [sdist] = (tmp_path / "out").glob("*.tar.gz")
    [wheel] = (tmp_path / "out").glob("*.whl")
    shutil.unpack_archive(wheel, tmp_path / "wheel", "zip")
    shutil.unpack_archive(sdist, tmp_path)
    assert data_files(tmp_path / "wheel") - data_files(source) == {"commit.txt"}
    lacking = data_files(source) - data_files(tmp_path / "wheel")
    assert {Path(name).name for name in lacking} == {"README.md"}
    unpacked = sdist.name.removesuffix(".tar.gz")
    first = wheel.read_bytes()
    build(tmp_path / unpacked, "wheel")
    assert wheel.read_bytes() == first
    expected = f"{version_text().partition(' (')[0]} (commit {commit})\n"
    assert (
        version(source) == version(tmp_path / "wheel") == version(tmp_path / unpacked) == expected
    )
    (source / "README.md").write_text("changed\n")
    assert version(source) == expected.replace(")", "-dirty)")


def data_files(folder: Path) -> set[str]:
    """The files of the package other than code, as paths in the package."""
    package = folder / "postrender"
    files = (path for path in package.rglob("*") if path.is_file())
    return {str(path.relative_to(package)) for path in files if path.suffix not in (".py", ".pyc")}
