"""The paths of inputs on disk and in git: the search for manifests, and errors for wrong paths."""

from __future__ import annotations

from collections.abc import Iterable

from postrender.errors import Location, UserError
from postrender.yaml.stream import Source

# The prefix of an input in git: `git:REV:PATH`.
GIT = "git:"
# The endings of manifests in a folder.
ENDINGS = (".yaml", ".yml", ".json")
CHART_FILE = "Chart.yaml"

_LFS_POINTER = b"version https://git-lfs.github.com/spec/"


def manifests_of(paths: Iterable[str], folder: str) -> list[str]:
    """Return the paths of the manifests in a folder, sorted.

    paths: the paths of all files, relative to the folder, with `/` between the parts.
    Raises ChartError for a chart in the folder, because chart templates are not manifests.
    """
    manifests = sorted(path for path in paths if path.endswith(ENDINGS) and not is_dotfile(path))
    for path in manifests:
        chart, slash, file = path.rpartition("/")
        templates = f"{chart}{slash}templates/"
        if file == CHART_FILE and (
            not chart or any(manifest.startswith(templates) for manifest in manifests)
        ):
            raise chart_error(path_below(folder, chart) if chart else folder)
    return manifests


class ChartError(UserError):
    """The error for a chart folder where postrender expects rendered manifests."""


def chart_error(chart: str, command: str = "") -> ChartError:
    """Return the error for a chart folder where postrender expects rendered manifests.

    command: the postrender command that can read the rendered chart from stdin, such as `render`;
        "" to suggest a file instead.
    """
    path, place = chart, ""
    if chart.startswith(GIT):
        ref, _, path = chart[len(GIT) :].partition(":")
        place = f" in a checkout of {ref}"
    helm = f"helm template NAME {path or '.'}"
    return ChartError(
        f"{chart} is a chart folder, expected rendered manifests",
        f"Render the chart first{place}: {helm} | postrender {command}"
        if command
        else f"Render the chart{place} to a file and pass the file: {helm} > FILE",
    )


def folder_error(folder: str) -> UserError:
    """Return the error for a folder where postrender expects one file."""
    return UserError(
        "the path is a folder, expected a file",
        "Pass a file in the folder, or pipe all files into stdin",
        Location(folder),
    )


def path_below(folder: str, path: str) -> str:
    """Return the path of a file in a folder. The folder can be `git:REV:PATH`."""
    return f"{folder}{path}" if folder.endswith((":", "/")) else f"{folder}/{path}"


def printable(path: str) -> str:
    """Return a path as valid text. A file name on disk is not always UTF-8."""
    return path.encode("utf-8", "surrogateescape").decode("utf-8", "replace")


def checked_source(name: str, data: bytes) -> Source:
    """Return the content of a file. Raises UserError for a Git LFS pointer."""
    if data.startswith(_LFS_POINTER):
        raise UserError(
            "the file is a Git LFS pointer, expected the content of the file",
            "Run git lfs pull and pass the path of the checked-out file",
            Location(name),
        )
    return Source(name, data)


def is_dotfile(path: str) -> bool:
    """Return whether a part of a relative path (a file or a folder) begins with a dot."""
    return path.startswith(".") or "/." in path
