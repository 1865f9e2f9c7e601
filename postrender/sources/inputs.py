"""Read inputs: stdin, files and folders on disk, and files and folders in git."""

from __future__ import annotations

import os
import select
import stat
import sys
from collections.abc import Iterator

from postrender.config.repository import folders_upward, has_git
from postrender.errors import Location, UserError
from postrender.sources.paths import (
    CHART_FILE,
    ENDINGS,
    GIT,
    MAX_OUTPUT,
    chart_error,
    checked_source,
    folder_error,
    manifests_of,
)
from postrender.text import printable
from postrender.yaml.stream import Source, Stream, read_streams

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import BinaryIO

STDIN = "<stdin>"
_PIECE = 1 << 20


def read_input(name: str, command: str = "render") -> Stream:
    """The documents of a file or of stdin.

    name: a path, `-` for stdin, or `git:REF:PATH`.
    command: the postrender command for the fix in an error, such as `explain`.
    """
    if name.startswith(GIT):
        from postrender.sources.git import read_git_file

        source = read_git_file(name, command)
    elif os.path.isdir(name):
        is_chart = os.path.isfile(os.path.join(name, CHART_FILE))
        raise (chart_error if is_chart else folder_error)(name, command)
    else:
        source = _read_file(name)
    return read_streams([source], source.name)


def read_inputs(name: str, *, allow_empty: bool = False) -> tuple[Source, ...]:
    """The files of an input.

    For a folder, the result has all YAML and JSON files below it, sorted by path, without dotfiles
    and links to folders. A link to a file must lead to a file in the folder, or in the git
    repository of the folder. A chart folder raises ChartError.

    name: a file, `-` for stdin, a folder of manifests, or `git:REF:PATH`.
    allow_empty: whether to return () for a folder without manifests. In git, an empty folder does
        not exist, so the result is also () for a missing path in git.
    """
    if name.startswith(GIT):
        from postrender.sources.git import read_git

        sources = read_git(name, allow_empty=allow_empty)
    elif name != "-" and os.path.isdir(name):
        paths = manifests_of(_files_below(name), name)
        root = _root_of(name)
        sources = tuple(_read_listed(os.path.join(name, path), root) for path in paths)
    else:
        return (_read_file(name),)
    if not sources and not allow_empty:
        raise UserError(
            f"the folder does not contain a file that ends in {' or '.join(ENDINGS)}",
            "Check the path, or pass --allow-empty",
            Location(name),
        )
    return sources


def _files_below(folder: str) -> Iterator[str]:
    """The relative path, with `/` between the parts, of each file not in a dot folder."""

    def fail(error: OSError) -> None:
        raise _unreadable(error, str(error.filename))

    for location, folders, files in os.walk(folder, onerror=fail):
        folders[:] = [name for name in folders if not name.startswith(".")]
        for file in files:
            yield os.path.relpath(os.path.join(location, file), folder).replace(os.sep, "/")


def _root_of(folder: str) -> str:
    """The real path of the git repository that contains a folder, or else of the folder."""
    real = os.path.realpath(folder)
    return next(filter(has_git, folders_upward(real)), real)


def _is_below(path: str, root: str) -> bool:
    """Whether a real path is below a root, and not in its folder `.git`."""
    try:
        relative = os.path.relpath(path, root)
    except ValueError:  # on Windows, a path on another drive
        return False
    return relative.split(os.sep)[0] not in (os.pardir, ".git")


def _read_listed(path: str, root: str) -> Source:
    """A file in a folder; root: what a link must not leave."""
    is_link = os.path.islink(path) and os.path.exists(path)
    if is_link and not _is_below(os.path.realpath(path), root):
        raise UserError(
            f"the path is a link to a file outside {root}",
            "Replace the link with a copy of the file",
            Location(path),
        )
    if not os.path.isfile(path) and os.path.exists(path):
        raise UserError(
            "the path is a pipe, a socket or a device, expected a file",
            "Move the path out of the folder",
            Location(path),
        )
    source = _read_file(path)
    # Messages contain the name, and the name of a file on disk is not always valid text.
    return source._replace(name=printable(source.name))


def _read_file(name: str) -> Source:
    source = STDIN if name == "-" else name
    if not name:
        raise UserError("the name of an input is empty", "Pass a file, or `-` for stdin")
    try:
        if name != "-":
            with open(name, "rb") as file:
                # A shell passes the output of a program, `<(helm template …)`, as a path too.
                is_pipe = not _is_file(file.fileno())
                data = _read_pipe(file, name) if is_pipe else file.read()
                return checked_source(name, data)._replace(is_pipe=is_pipe)
        if sys.stdin is None:
            raise UserError(
                "stdin is closed", "Pipe rendered manifests into stdin", Location(source)
            )
        stdin = sys.stdin.buffer
        data = stdin.read() if _is_file(0) else _read_pipe(stdin, source)
        return Source(source, data, is_pipe=True)
    except (OSError, ValueError) as error:  # ValueError: a NUL in the name
        raise _unreadable(error, source) from None


def _is_file(number: int) -> bool:
    return stat.S_ISREG(os.fstat(number).st_mode)


def _read_pipe(file: BinaryIO, name: str) -> bytes:
    """All of a pipe or device; UserError for more than MAX_OUTPUT, which may have no end.

    Another program, such as Node, can have made a pipe non-blocking. Python then reads only what
    has arrived, or None, and such a stream would lack objects.
    """
    parts: list[bytes] = []
    size = 0
    while (part := file.read(_PIECE)) != b"":
        if part is None:
            select.select([file], [], [])
            continue
        parts.append(part)
        size += len(part)
        if size > MAX_OUTPUT:
            raise UserError(
                f"the pipe or device has more than {MAX_OUTPUT >> 20} MiB, and perhaps no end",
                "Write the manifests to a file, and pass the file",
                Location(name),
            )
    return b"".join(parts)


def _unreadable(error: OSError | ValueError, source: str) -> UserError:
    reason = error.strerror if isinstance(error, OSError) else str(error)
    fix = "Check the file and its permissions"
    if isinstance(error, FileNotFoundError):
        fix = _missing_file_fix(source)
    return UserError(f"postrender cannot read the file ({reason})", fix, Location(source))


def _missing_file_fix(name: str) -> str:
    """The fix for a missing file. Perhaps the user meant a path in git or a Helm release."""
    if name.startswith("-"):
        return "Check the path, or write options before --"
    if name.startswith("helm:"):
        return "Pipe in the output of helm get manifest, and pass -"
    if ":" in name and "://" not in name:
        return f"Check the path, or write {GIT}{name} for a path in git"
    return f"Check the path, or write {GIT}REF:PATH for a path in git"
