"""The wheel and the sdist: two builds of one commit are equal and contain only the needed files."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]


@pytest.fixture(scope="module")
def builds(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """Return the folders of two builds, from copies with other times and permissions."""
    return [
        _build(tmp_path_factory.mktemp(name), umask=umask, mtime=mtime)
        for name, umask, mtime in (("first", 0o022, 1_600_000_000), ("second", 0o077, None))
    ]


def _build(folder: Path, *, umask: int, mtime: int | None) -> Path:
    source = folder / "source"
    source.mkdir()
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        check=True,
        capture_output=True,
        text=True,
    )
    before = os.umask(umask)
    try:
        for name in filter(None, listed.stdout.split("\0")):
            target = source / name
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(ROOT / name, target)
            target.chmod(0o777 & ~umask if os.access(ROOT / name, os.X_OK) else 0o666 & ~umask)
            if mtime is not None:
                os.utime(target, (mtime, mtime))
    finally:
        os.umask(before)
    options = ["--no-isolation", "--outdir", str(folder)]
    command = [sys.executable, "-m", "build", *options, str(source)]
    subprocess.run(command, check=True, capture_output=True)
    return folder


@pytest.mark.parametrize("pattern", ["*.whl", "*.tar.gz"])
def test_two_builds_are_equal(builds: list[Path], pattern: str) -> None:
    digests = {
        hashlib.sha256(file.read_bytes()).hexdigest()
        for folder in builds
        for file in folder.glob(pattern)
    }
    assert len(digests) == 1


def test_the_wheel_contains_the_package_only(builds: list[Path]) -> None:
    [wheel] = builds[0].glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
    assert {name.split("/")[0].split("-")[0] for name in names} == {"postrender"}
    assert "postrender/plan/well_known_names.txt" in names
    assert "postrender/config/config.schema.json" in names
    assert not [name for name in names if name.endswith(".pyc")]


def test_the_sdist_contains_the_tests_but_not_local_files(builds: list[Path]) -> None:
    [sdist] = builds[0].glob("*.tar.gz")
    with tarfile.open(sdist) as archive:
        names = [name.partition("/")[2] for name in archive.getnames()]
    assert "tests/test_distribution.py" in names
    assert not [name for name in names if name.startswith((".ci/", ".cache/", ".venv/"))]
