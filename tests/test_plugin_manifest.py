"""The manifest of the Helm 4 plugin; tests/e2e/test_plugin.py runs the plugin in Helm."""

from __future__ import annotations

import os
import re
from importlib.metadata import requires
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from postrender import __version__

ROOT = Path(__file__).resolve().parents[1]
MANIFEST = (ROOT / "plugin.yaml").read_text("utf-8")


def test_the_version_is_that_of_the_package() -> None:
    assert re.findall(r"^version: (.*)$", MANIFEST, re.M) == [__version__]


def test_every_command_exists() -> None:
    commands = re.findall(r"command: \$\{HELM_PLUGIN_DIR\}(\S+)$", MANIFEST, re.M)
    assert len(commands) == MANIFEST.count("command:")
    for command in commands:
        file = ROOT / command.replace("\\", "/").lstrip("/")
        assert file.is_file()
        assert os.access(file, os.X_OK) or file.suffix == ".cmd"


LOCK_FILES = ("plugin/requirements.txt", "plugin/build-requirements.txt")
TEXT = "".join((ROOT / name).read_text() for name in LOCK_FILES)
LOCK = re.sub(r"^\s*#.*\n", "", TEXT, flags=re.MULTILINE)
PINS = [line.partition(" --hash=") for line in LOCK.replace("\\\n", "").splitlines()]


def test_every_package_has_a_hash() -> None:
    assert PINS
    for requirement, _, hashes in PINS:
        assert re.match(r"[a-z0-9-]+==\S+", requirement)
        words = hashes.split()
        assert words
        assert all(re.fullmatch(r"(--hash=)?sha256:[0-9a-f]{64}", word) for word in words)
    assert "://" not in LOCK


def test_the_locked_packages_satisfy_the_requirements_of_the_package() -> None:
    locked = [Requirement(requirement) for requirement, _, _ in PINS]
    wanted = [Requirement("hatchling>=1.27"), *map(Requirement, requires("postrender") or [])]
    for requirement in wanted:
        if requirement.marker is None or requirement.marker.evaluate({"extra": ""}):
            name = canonicalize_name(requirement.name)
            versions = [str(pin.specifier)[2:] for pin in locked if pin.name == name]
            assert versions, f"run make image-requirements: {requirement}"
            assert all(map(requirement.specifier.contains, versions)), requirement


@pytest.mark.parametrize("name", ["install", "install.cmd"])
def test_the_installation_downloads_only_packages_with_a_hash(name: str) -> None:
    text = (ROOT / "plugin" / name).read_text("utf-8")
    assert text.count("--require-hashes") == text.count("--no-index") == 1
    assert "--no-build-isolation" in text
