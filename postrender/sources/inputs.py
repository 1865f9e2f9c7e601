"""The input of a command: a file, stdin, a folder of manifests, or a file or folder in git."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator

from postrender.errors import Location, UserError
from postrender.sources.files import (
    CHART_FILE,
    ENDINGS,
    GIT,
    chart_error,
    checked,
    folder_error,
    manifests_of,
    printable,
)
from postrender.yaml.stream import Source

STDIN = "<stdin>"


def read_input(name: str, command: str = "render") -> tuple[bytes, str]:
    """Return the content of one file or of stdin, and its name for messages.

    name: a path, `-`, or `git:REV:PATH`. command: the postrender command that was run.
    Raises UserError for a file that cannot be read, and for a folder.
    """
    if name.startswith(GIT):
        from postrender.sources.git import read_git_file

        source = read_git_file(name, command)
    elif os.path.isdir(name):
        is_chart = os.path.isfile(os.path.join(name, CHART_FILE))
        raise chart_error(name, command) if is_chart else folder_error(name)
    else:
        source = _read_file(name)
    return source.data, source.name


def read_inputs(name: str, *, allow_empty: bool = False) -> tuple[Source, ...]:
    """Return the files of an input: a file, `-`, a folder of manifests, or `git:REV:PATH`.

    The files of a folder are all YAML and JSON files below it, by path, without dotfiles. Links to
    files are followed, links to folders are not.
    allow_empty: whether a folder may have no manifests, and a path in git may be absent. Git does
    not store empty folders.
    Raises UserError for a file that cannot be read.
    """
    if name.startswith(GIT):
        from postrender.sources.git import read_git

        sources = read_git(name, allow_empty=allow_empty)
    elif name != "-" and os.path.isdir(name):
        paths = manifests_of(_files_below(name), name)
        sources = tuple(_read_listed(os.path.join(name, path)) for path in paths)
    else:
        return (_read_file(name),)
    if not sources and not allow_empty:
        raise UserError(
            f"the folder has no file that ends in {', '.join(ENDINGS)}",
            "Check the path, or pass --allow-empty",
            Location(name),
        )
    return sources


def _files_below(folder: str) -> Iterator[str]:
    """Yield the path of each file in a folder, with `/` between its parts."""

    def fail(error: OSError) -> None:
        raise _unreadable(error, str(error.filename))

    for location, folders, files in os.walk(folder, onerror=fail):
        folders[:] = [name for name in folders if not name.startswith(".")]
        for file in files:
            yield os.path.relpath(os.path.join(location, file), folder).replace(os.sep, "/")


def _read_listed(path: str) -> Source:
    """Return a file of a folder."""
    if not os.path.isfile(path) and os.path.exists(path):
        raise UserError(
            "the path is neither a file nor a link to a file",
            "Pass a folder without this path",
            Location(path),
        )
    source = _read_file(path)
    # Messages print the name, which need not be valid text on disk.
    return source._replace(name=printable(source.name))


def _read_file(name: str) -> Source:
    source = STDIN if name == "-" else name
    try:
        if name != "-":
            with open(name, "rb") as file:
                return checked(name, file.read())
        if sys.stdin is None:
            raise UserError("stdin is closed", "Pipe the rendered manifests in", Location(source))
        return Source(source, sys.stdin.buffer.read())
    except (OSError, ValueError) as error:  # ValueError: a NUL in the name
        raise _unreadable(error, source) from None


def _unreadable(error: OSError | ValueError, source: str) -> UserError:
    reason = error.strerror if isinstance(error, OSError) else str(error)
    fix = "Check the file and its permissions"
    if isinstance(error, FileNotFoundError):
        fix = _missing_file_fix(source)
    return UserError(f"cannot read the file: {reason}", fix, Location(source))


def _missing_file_fix(name: str) -> str:
    """Return the fix for a missing file, whose name may be meant as something else."""
    if name.startswith("helm:"):
        return "Pipe in the output of helm get manifest, and pass -"
    if ":" in name and "://" not in name:
        return f"Check the path; for a path in git, write {GIT}{name}"
    return f"Check the path; for a path in git, write {GIT}REV:PATH"
