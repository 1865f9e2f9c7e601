"""The versions that the end-to-end tests build and run, from versions.yaml."""

from __future__ import annotations

import functools
import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from ruamel.yaml import YAML

HERE = Path(__file__).resolve().parent
VERSIONS = HERE / "versions.yaml"


class Cell(NamedTuple):
    """One version of one tool.

    is_default: CI builds and runs this version
    program: the name of the program in the tests, such as `helm4`; empty for Python
    also: another name, under which CI builds this version although it is not the newest
    package: the Go package; folder: its module in tests/e2e/controlplane, or empty for `go install`
    go: the version of Go; tests: the arguments of pytest; note: a sentence about the build
    """

    name: str
    title: str
    version: str
    is_default: bool
    program: str
    also: str
    package: str
    folder: str
    go: str
    tests: tuple[str, ...]
    note: str

    @property
    def numbers(self) -> tuple[int, ...]:
        """The numbers of the version, for comparisons."""
        return tuple(int(part) for part in self.version.split("."))


class Unavailable(NamedTuple):
    """A version that cannot be built or run here, and the reason."""

    title: str
    version: str
    reason: str


def read(file: Path) -> Any:
    """Return the content of a YAML file."""
    return YAML(typ="safe", pure=True).load(file.read_text("utf-8"))


@functools.cache
def cells() -> tuple[Cell, ...]:
    """Return every cell of the matrix; the newest version of a tool comes first."""
    data = read(VERSIONS)
    return tuple(
        _cell(tool, entry, entry["version"] == _default(tool), data["go"])
        for tool in data["tools"]
        for entry in tool["versions"]
    )


def _default(tool: Mapping[str, Any]) -> object:
    """Return the version that CI runs: the newest, unless the tool sets another version."""
    return tool.get("ci", tool["versions"][0]["version"])


def _cell(tool: Mapping[str, Any], entry: Mapping[str, Any], is_default: bool, go: str) -> Cell:
    version = str(entry["version"])
    return Cell(
        name=f"{tool['name']}-{version}",
        title=tool["title"],
        version=version,
        is_default=is_default,
        program=tool.get("program", ""),
        also=entry.get("also", ""),
        package=tool.get("package", ""),
        folder=tool.get("folder", ""),
        go=str(entry.get("go", go)),
        tests=tuple(shlex.split(tool.get("tests", ""))),
        note=entry.get("note", ""),
    )


def unavailable() -> tuple[Unavailable, ...]:
    """Return the versions that cannot be built or run."""
    return tuple(
        Unavailable(entry["title"], str(entry["version"]), entry["reason"])
        for entry in read(VERSIONS)["unavailable"]
    )


def selected(prefix: str) -> list[Cell]:
    """Return the cells whose names begin with a prefix, such as `helm-4.1` or `argo-cd`."""
    found = [cell for cell in cells() if cell.name == prefix]
    return found or [
        cell
        for cell in cells()
        if cell.name.startswith(prefix) and not cell.name[len(prefix) : len(prefix) + 1].isdigit()
    ]


def defaults() -> list[Cell]:
    """Return the cells that CI builds."""
    return [cell for cell in cells() if cell.program and (cell.is_default or cell.also)]
