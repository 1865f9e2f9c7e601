"""Where the input comes from: a file, stdin, a folder of manifests, or a revision in git."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator

from postrender.errors import Location, UserError
from postrender.sources.files import ENDINGS, GIT, checked, manifests_of, printable
from postrender.yaml.stream import Source

STDIN = "<stdin>"


def read_input(name: str) -> tuple[bytes, str]:
    """Return the bytes of one file, or of stdin for `-`, and what to call them in messages.

    name: a path, `-`, or `git:REV:PATH`.
    Raises UserError for what cannot be read, and for a folder.
    """
    if name.startswith(GIT):
        from postrender.sources.git import read_git_file

        source = read_git_file(name)
    elif os.path.isdir(name):
        raise UserError(
            "cannot read it: a folder, where one file is read",
            "name a file in it, or pipe them together",
            Location(name),
        )
    else:
        source = _read_file(name)
    return source.data, source.name


def read_inputs(name: str, *, allow_empty: bool = False) -> tuple[Source, ...]:
    """Return all that a file, `-`, a folder of manifests or `git:REV:PATH` has, by path.

    Of a folder that is every file below it with the ending of YAML or JSON, but for what is hidden.
    Links to files are followed, those to folders are not. allow_empty: whether a folder may have
    none, and a revision in git no such path, which is where git has an empty folder.
    Raises UserError for what cannot be read.
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
            f"no file in it ends in {', '.join(ENDINGS)}",
            "check the path, or say --allow-empty",
            Location(name),
        )
    return sources


def _files_below(folder: str) -> Iterator[str]:
    """Yield the path of each file in a folder, with `/` between its parts."""

    def fail(error: OSError) -> None:
        raise _unreadable(error, str(error.filename))

    for location, folders, files in os.walk(folder, onerror=fail):
        folders[:] = [each for each in folders if not each.startswith(".")]
        for file in files:
            yield os.path.relpath(os.path.join(location, file), folder).replace(os.sep, "/")


def _read_listed(path: str) -> Source:
    if not os.path.isfile(path) and os.path.exists(path):
        raise UserError(
            "neither a file nor a link to one", "name a folder without it", Location(path)
        )
    source = _read_file(path)
    # A name may be no text, and somebody will print it.
    return source._replace(name=printable(source.name))


def _read_file(name: str) -> Source:
    source = STDIN if name == "-" else name
    try:
        if name != "-":
            with open(name, "rb") as file:
                return checked(name, file.read())
        if sys.stdin is None:
            raise UserError("stdin is closed", "pipe the rendered manifests in", Location(source))
        return Source(source, sys.stdin.buffer.read())
    except (OSError, ValueError) as error:  # ValueError: a NUL in the name
        raise _unreadable(error, source) from None


def _unreadable(error: OSError | ValueError, source: str) -> UserError:
    reason = error.strerror if isinstance(error, OSError) else str(error)
    fix = "check the file and its permissions"
    if isinstance(error, FileNotFoundError):
        fix = _where_else(source)
    return UserError(f"cannot read it: {reason}", fix, Location(source))


def _where_else(name: str) -> str:
    """Return what to do about a file that is not there: its name may mean something else."""
    if name.startswith("helm:"):
        return "pipe in what helm get manifest writes, and name it -"
    if ":" in name and "://" not in name:
        return f"check the path; for a revision in git write {GIT}{name}"
    return f"check the path; for one in git write {GIT}REV:PATH"
