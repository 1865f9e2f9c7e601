"""The manifest of the Helm 4 plugin; tests/e2e/test_plugin.py runs the plugin in Helm."""

from __future__ import annotations

import os
import re
from pathlib import Path

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
