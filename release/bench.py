"""The work folder of a release check: the clone, the packages, and the other programs."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
CACHE = ROOT / ".cache" / "release"
PYTHONS = ("3.10", "3.11", "3.12", "3.13", "3.14", "3.15")
SECONDS = 1800
# These variables would let a step use the checkout instead of its clone.
FOREIGN = ("PYTHONPATH", "PYTHONHOME", "VIRTUAL_ENV", "MAKEFLAGS", "MAKELEVEL", "MFLAGS")


class CheckError(Exception):
    """A step failed; the message has the output of its last command."""


class SkipError(Exception):
    """A step cannot run on this machine; the message has the reason and the fix."""


def environment(**variables: str) -> dict[str, str]:
    """Return an environment in which a command does not find an installed postrender."""
    kept = {
        name: value
        for name, value in os.environ.items()
        if name not in FOREIGN and not name.startswith("POSTRENDER_")
    }
    return {**kept, "PATH": path_without_postrender(kept.get("PATH", "")), **variables}


def path_without_postrender(path: str) -> str:
    """Return PATH without the folders that contain a postrender."""
    folders = path.split(os.pathsep)
    return os.pathsep.join(folder for folder in folders if not Path(folder, "postrender").exists())


def run(
    *command: object, cwd: Path | None = None, variables: Mapping[str, str] | None = None
) -> str:
    """Run a command and return its output; the command must succeed."""
    arguments = [str(argument) for argument in command]
    done = subprocess.run(
        arguments,
        cwd=cwd,
        env=dict(variables) if variables is not None else environment(),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
    )
    if done.returncode:
        raise CheckError(f"{' '.join(arguments)}\n{done.stdout}{done.stderr}")
    return done.stdout


def need(program: str, fix: str) -> str:
    """Return the path of a program, or skip the step."""
    path = shutil.which(program)
    if path is None:
        raise SkipError(f"{program} is not installed. {fix}")
    return path


def helm() -> str:
    """Return the path of a Helm 4, or skip the step."""
    built = Path(os.environ.get("POSTRENDER_E2E") or ROOT / ".cache" / "e2e") / "bin" / "helm4"
    for candidate in (os.environ.get("HELM"), str(built), shutil.which("helm")):
        exists = candidate and Path(candidate).exists()
        if exists and run(candidate, "version", "--short").startswith("v4"):
            return str(candidate)
    raise SkipError("Helm 4 is not installed. Run make programs, or set HELM to a Helm 4")


def tool(name: str) -> Path:
    """Return the path of a tool from PyPI, which only the check uses."""
    folder = CACHE / "tools"
    program = folder / "bin" / name
    if not program.exists():
        if not (folder / "bin" / "python").exists():
            run(sys.executable, "-I", "-m", "venv", folder)
        try:
            run(folder / "bin" / "python", "-I", "-m", "pip", "install", "--quiet", name)
        except CheckError as error:
            raise SkipError(f"{name} cannot be installed. Give pip access to PyPI") from error
    return program


class Bench:
    """The work folder: a clean clone, and the packages that the clone builds.

    work: an empty folder, which is deleted after the check
    """

    def __init__(self, work: Path) -> None:
        self.work = work

    @cached_property
    def source(self) -> Path:
        """A clean clone of the last commit."""
        return self.clone("source")

    @property
    def version(self) -> str:
        """The version of the package in the clone."""
        text = (self.source / "postrender" / "__init__.py").read_text("utf-8")
        return text.partition('__version__ = "')[2].partition('"')[0]

    @cached_property
    def packages(self) -> Path:
        """The folder with the wheel and the sdist."""
        return self.build(self.source, self.work / "packages")

    @property
    def wheel(self) -> Path:
        """The wheel."""
        return self.packages / f"postrender-{self.version}-py3-none-any.whl"

    @property
    def sdist(self) -> Path:
        """The sdist."""
        return self.packages / f"postrender-{self.version}.tar.gz"

    @cached_property
    def epoch(self) -> str:
        """The time of the last commit, in seconds."""
        return run("git", "log", "-1", "--format=%ct", cwd=self.source).strip()

    @cached_property
    def builder(self) -> Path:
        """A Python with the build tools of the release workflow; pip checks their hashes."""
        return self.new_environment(
            "builder", sys.executable, self.locked("build-requirements.txt")
        )

    def clone(self, name: str) -> Path:
        """Return a new clone of the last commit."""
        target = self.work / name
        run("git", "clone", "--quiet", "--no-hardlinks", ROOT, target)
        return target

    def build(self, source: Path, target: Path, *options: str) -> Path:
        """Build the wheel and the sdist as the release workflow does; return their folder."""
        variables = environment(SOURCE_DATE_EPOCH=self.epoch)
        command = [self.builder, "-I", "-m", "hatchling", "build", "--directory", target, *options]
        run(*command, cwd=source, variables=variables)
        return target

    def new_environment(self, name: str, python: str, packages: Sequence[object]) -> Path:
        """Return the Python of a new virtual environment with packages."""
        folder = self.work / name
        run(python, "-I", "-m", "venv", folder)
        installed = folder / "bin" / "python"
        run(installed, "-I", "-m", "pip", "install", "--quiet", *packages)
        return installed

    def locked(self, name: str) -> list[object]:
        """Return the options of pip for a lock file of the plugin."""
        lock = self.source / "plugin" / name
        return ["--require-hashes", "--only-binary", ":all:", "--requirement", lock]
