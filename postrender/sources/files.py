"""What manifests on disk and in git have in common: which files are read, and their names."""

from __future__ import annotations

from collections.abc import Iterable

from postrender.errors import Location, UserError
from postrender.yaml.stream import Source

# What the name of an input in git begins with: `git:REV:PATH`.
GIT = "git:"
# What the names of manifests in a folder end in.
ENDINGS = (".yaml", ".yml", ".json")

_LFS_POINTER = b"version https://git-lfs.github.com/spec/"


def manifests_of(paths: Iterable[str], folder: str) -> list[str]:
    """Return those of the paths in a folder that are read, in order; their parts end in `/`.

    Raises UserError for a chart, whose templates are no manifests.
    """
    found = sorted(path for path in paths if path.endswith(ENDINGS) and not is_hidden(path))
    for path in found:
        chart, slash, file = path.rpartition("/")
        if file == "Chart.yaml" and any(
            each.startswith(f"{chart}{slash}templates/") for each in found
        ):
            raise UserError(
                "a chart, whose templates are no manifests yet",
                "render it with helm template, and name what that writes",
                Location(f"{folder.rstrip('/')}/{path}"),
            )
    return found


def printable(path: str) -> str:
    """Return a path as text that can be written anywhere: a name need not be UTF-8."""
    return path.encode("utf-8", "surrogateescape").decode("utf-8", "replace")


def checked(name: str, data: bytes) -> Source:
    """Return a file that was read. Raises UserError where git has put a pointer in its place."""
    if data.startswith(_LFS_POINTER):
        raise UserError(
            "a pointer of Git LFS, which keeps the content elsewhere",
            "check the file out with git lfs pull, and name it where it lies",
            Location(name),
        )
    return Source(name, data)


def is_hidden(path: str) -> bool:
    """Tell whether a path in a folder, or a folder on the way to it, begins with a dot."""
    return path.startswith(".") or "/." in path
