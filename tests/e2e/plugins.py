"""The Helm 4 plugin of this repository, and machines with and without the installed plugin."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from tests.e2e.programs import ROOT, program

# A real installation downloads from PyPI.
TIMEOUT = 600
# The tools that the plugin's scripts need on a machine, in addition to Python.
TOOLS = "sh cat date mkdir mv rm sed uname wc"


def write_postrender(file: Path, **variables: str) -> None:
    """Write a program that runs the postrender of this repository, with these variables set."""
    lines = [f"export {name}={shlex.quote(value)}" for name, value in variables.items()]
    lines += [f"export PYTHONPATH={shlex.quote(str(ROOT))}"]
    write_script(file, *lines, f'exec {shlex.quote(sys.executable)} -m postrender "$@"')


def write_script(file: Path, *lines: str) -> None:
    """Write a shell script."""
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text("\n".join(["#!/bin/sh", *lines, ""]))
    file.chmod(0o755)


def link_plugin(data_home: Path) -> None:
    """Install the plugin into Helm's data folder, in a folder of any name.

    Its program is the `postrender` on PATH.
    """
    folder = data_home / "plugins" / "checkout"
    folder.mkdir(parents=True)
    for name in ("plugin", "plugin.yaml"):
        (folder / name).symlink_to(ROOT / name)
    write_script(folder / ".plugin" / "venv" / "bin" / "postrender", 'exec postrender "$@"')


class Machine(NamedTuple):
    """A Helm 4 without plugins, and a PATH without postrender.

    folder: the folder of all written files; its `bin` is first on PATH.
    """

    folder: Path
    variables: Mapping[str, str]

    @property
    def plugins(self) -> Path:
        """The folder in which Helm installs plugins."""
        return self.folder / "data" / "plugins"

    @property
    def log(self) -> Path:
        """The log of the plugin."""
        return self.folder / "cache" / "postrender.log"

    def with_variables(self, **variables: str) -> Machine:
        """Return the machine with additional variables."""
        return self._replace(variables={**self.variables, **variables})

    def with_postrender(self) -> Machine:
        """Put postrender on PATH."""
        write_postrender(self.folder / "bin" / "postrender")
        return self

    def with_python(self) -> Machine:
        """Put the `python3` of these tests on PATH; postrender is not installed in it."""
        write_script(self.folder / "bin" / "python3", f'exec {shlex.quote(sys.executable)} "$@"')
        return self

    def helm(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Run Helm 4."""
        return self.run([program("helm4"), *arguments])

    def run(self, command: list[str]) -> subprocess.CompletedProcess[str]:
        """Run a program with stderr as a pipe."""
        return subprocess.run(
            command,
            capture_output=True,
            text=True,
            env=dict(self.variables),
            cwd=self.folder,
            timeout=TIMEOUT,
            check=False,
        )


def new_machine(folder: Path) -> Machine:
    """Return a machine with only the tools that the plugin needs."""
    tools = folder / "tools"
    tools.mkdir(parents=True)
    (folder / "bin").mkdir()
    for name in TOOLS.split():
        (tools / name).symlink_to(str(shutil.which(name)))
    # The settings for PyPI are inherited from the tester's environment.
    pip_settings = {
        name: value for name, value in os.environ.items() if name.startswith(("PIP_", "SSL_"))
    }
    proxies = {name: value for name, value in os.environ.items() if name.lower().endswith("_proxy")}
    homes = {
        f"HELM_{name.upper()}_HOME": str(folder / name) for name in ("cache", "data", "config")
    }
    path = os.pathsep.join([str(folder / "bin"), str(tools)])
    own = {"PATH": path, "HOME": str(folder), "POSTRENDER_ATTACHER_IMAGE": "postrender:e2e"}
    return Machine(folder, {**pip_settings, **proxies, **homes, **own})


def packed(folder: Path) -> tuple[Path, Path]:
    """Run `make plugin`; return the archive, and the folder that was packed."""
    cache, dist = folder / "packing", folder / "dist"
    command = ["make", "plugin", f"HELM={program('helm4')}", f"CACHE={cache}", f"DIST={dist}"]
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True, timeout=TIMEOUT)
    [archive] = dist.glob("*.tgz")
    return archive, cache / "plugin" / "postrender"
