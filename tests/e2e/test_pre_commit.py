"""The hook that pre-commit installs from this repository, configured as in the docs."""

from __future__ import annotations

import os
import re
import shutil
import sys
from pathlib import Path

import pytest

from tests.e2e.programs import ROOT
from tests.e2e.releases import Done, run
from tests.repositories import nobody

GOOD = """\
apiVersion: v1
kind: ConfigMap
metadata:
  name: web-config
data:
  greeting: hello
---
apiVersion: apps/v1
kind: Deployment
metadata:
  name: web
spec:
  template:
    spec:
      containers:
        - name: web
          args: ["--greeting=hello"]
          envFrom:
            - configMapRef:
                name: web-config
"""
READ_BY_NAME = GOOD.replace("--greeting=hello", "--config=web-config")
# The files from which the hook is installed.
SOURCES = (
    ".pre-commit-hooks.yaml",
    "LICENSE",
    "README.md",
    "hatch_build.py",
    "postrender",
    "pyproject.toml",
)


def in_folder(folder: Path, *command: str, check: bool = True) -> Done:
    """Run git or pre-commit in a folder, without a user's configuration."""
    environment = {
        **os.environ,
        **nobody(),
        # The test's own folder, not the tester's.
        "PRE_COMMIT_HOME": str(folder.parent / "pre-commit"),
    }
    environment.pop("PYTHONPATH", None)  # the hook must run the installed postrender
    return run(list(command), env=environment, folder=folder, check=check)


def git(folder: Path, *arguments: str, check: bool = True) -> Done:
    return in_folder(folder, "git", *arguments, check=check)


@pytest.fixture
def hook(tmp_path: Path) -> Path:
    """Return a repository with the present hook of this repository."""
    folder = tmp_path / "hook"
    folder.mkdir()
    for name in SOURCES:
        source = ROOT / name
        if source.is_dir():
            shutil.copytree(source, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy(source, folder / name)
    git(folder, "init", "--quiet")
    git(folder, "add", "--all")
    git(folder, "commit", "--quiet", "--message", "As it is")
    return folder


def documented_configuration(hook: Path) -> str:
    """Return the configuration in docs/how-to/ci.md, for the test's repository."""
    text = (ROOT / "docs" / "how-to" / "ci.md").read_text("utf-8")
    [block] = re.findall(r"^```yaml\n# \.pre-commit-config\.yaml\n(.*?)^```$", text, re.M | re.S)
    revision = git(hook, "rev-parse", "HEAD").stdout.strip()
    block = re.sub(r"repo: \S+", f"repo: {hook}", block)
    return re.sub(r"rev: \S+", f"rev: {revision}", block)


def test_a_commit_with_a_reader_by_name_is_rejected(hook: Path, tmp_path: Path) -> None:
    folder = tmp_path / "apps"
    (folder / "rendered").mkdir(parents=True)
    (folder / "chart").mkdir()
    git(folder, "init", "--quiet")
    files = {
        ".pre-commit-config.yaml": documented_configuration(hook),
        "chart/template.yaml": "kind: ConfigMap\nmetadata: {{ .Values.broken }}\n",
        "rendered/good.yaml": GOOD,
        "rendered/web.yaml": READ_BY_NAME,
    }
    for name, text in files.items():
        (folder / name).write_text(text, "utf-8")
    in_folder(folder, sys.executable, "-m", "pre_commit", "install")
    git(folder, "add", "--all")
    refused = git(folder, "commit", "--message", "First", check=False)
    assert refused.returncode == 1, refused.stderr
    printed = refused.stdout + refused.stderr
    assert "rendered/web.yaml:17 (document 2, Deployment/web)" in printed
    assert printed.count("[by-name]") == 1
    (folder / "rendered" / "web.yaml").write_text(GOOD, "utf-8")
    git(folder, "add", "--all")
    git(folder, "commit", "--message", "First")


def test_the_name_of_a_file_is_not_an_option(hook: Path, tmp_path: Path) -> None:
    folder = tmp_path / "apps"
    folder.mkdir()
    git(folder, "init", "--quiet")
    own = "        entry: postrender check --untrusted --secrets --\n        files: \\.yaml$"
    configuration = documented_configuration(hook).replace("        files: ^rendered/", own)
    files = {
        ".pre-commit-config.yaml": configuration,
        "--config=evil.yaml": GOOD,
        "evil.yaml": "logFile: written\n",
        "git:HEAD:x.yaml": READ_BY_NAME,
    }
    for name, text in files.items():
        (folder / name).write_text(text, "utf-8")
    git(folder, "add", "--all")
    git(folder, "commit", "--message", "First")
    arguments = ("-m", "pre_commit", "run", "--all-files")
    done = in_folder(folder, sys.executable, *arguments, check=False)
    assert done.stdout.count("[by-name]") == 1, done.stdout
    assert "./git:HEAD:x.yaml:17 (document 2, Deployment/web)" in done.stdout
    assert not (folder / "written").exists()
