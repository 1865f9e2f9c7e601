"""Manifests as git has them in a revision: `git:REV:PATH`, read without a checkout.

What the user names reaches git on stdin only (`git cat-file --batch`), where nothing can become an
option. Git runs nothing on what is read: no filter, no hook, no shell.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator, Sequence

from postrender.errors import Location, UserError
from postrender.sources.files import GIT, checked, is_hidden, manifests_of, printable
from postrender.startup.patterns import pattern
from postrender.startup.records import NamedTuple
from postrender.yaml.stream import Source

_OBJECT = pattern(rb"([0-9a-f]{40,64}) (\w+) ([0-9]+)\Z")
_NO_OBJECT = pattern(rb"(symlink|dangling|loop|notdir) ([0-9]+)\Z")
_LINK, _SUBMODULE = "120000", "160000"
# What `git cat-file --follow-symlinks` and the tree say of a path that is no file.
_NO_FILE = {
    "symlink": ("a link that leaves the repository", "name a folder without it"),
    "dangling": ("a link to what the revision does not have", "mend it, or name another folder"),
    "loop": ("a link that leads back to itself", "mend it, or name another folder"),
    "notdir": ("a part of its path is a file", "check the path"),
    "submodule": (
        "a submodule, whose files are in another repository",
        "check it out, and name the folder where it lies",
    ),
}


class _Object(NamedTuple):
    """What git says of a name. kind: blob, tree, missing, or a key of _NO_FILE."""

    kind: str
    data: bytes = b""
    number: str = ""


class _Entry(NamedTuple):
    mode: str
    number: str


def read_git_file(name: str) -> Source:
    """Return the one file that `git:REV:PATH` names.

    Raises UserError where there is none, or git cannot be asked.
    """
    found = _find(name)
    if found.kind == "tree":
        raise UserError(
            "cannot read it: a folder, where one file is read", "name a file in it", Location(name)
        )
    if found.kind == "missing":
        raise _no_path(name, "")
    return _file(name, found)


def read_git(name: str, *, allow_empty: bool) -> tuple[Source, ...]:
    """Return the file, or the manifests in the folder, that `git:REV:PATH` names, by path.

    allow_empty: whether the revision may have no such path.
    Raises UserError where git has it not, or cannot be asked.
    """
    found = _find(name)
    if found.kind == "missing":
        if allow_empty:
            return ()
        raise _no_path(name, "; if it is not there yet, say --allow-empty")
    if found.kind != "tree":
        return (_file(name, found),)
    entries = dict(_entries(found.number, name))
    for path, entry in entries.items():
        if entry.mode == _SUBMODULE and not is_hidden(path):
            raise _no_file(_below(name, path), "submodule")
    paths = manifests_of(entries, name)
    objects = _cat([_asked(name, path, entries[path]) for path in paths], name)
    # Links to folders are not followed, no more than on disk.
    return tuple(
        _file(_below(name, printable(path)), each)
        for path, each in zip(paths, objects, strict=True)
        if each.kind != "tree"
    )


def _find(name: str) -> _Object:
    revision, path = _parse(name)
    tree, found = _cat([f"{revision}^{{tree}}", f"{revision}:{path}"], name)
    if tree.kind != "tree":
        raise _no_revision(name, revision)
    is_elsewhere = found.kind == "missing" and _is_in_submodule(revision, path, name)
    return _Object("submodule") if is_elsewhere else found


def _is_in_submodule(revision: str, path: str, name: str) -> bool:
    """Tell whether a path that a revision does not have is a submodule, or below one."""
    parts = path.rstrip("/").split("/")
    folders = ["/".join([*parts[:count], ""]) for count in range(len(parts))]
    found = _cat([f"{revision}:{folder}" for folder in folders], name)
    return any(
        f"{_SUBMODULE} ".encode() + os.fsencode(part) + b"\0" in folder.data
        for part, folder in zip(parts, found, strict=True)
        if folder.kind == "tree"
    )


def _parse(name: str) -> tuple[str, str]:
    revision, colon, path = name[len(GIT) :].partition(":")
    if not revision or not colon or "\n" in name or "\0" in name:
        raise UserError(
            f"{name} names nothing in git",
            f"write git:REV:PATH, as in git:main:rendered; a file that is called so is ./{name}",
        )
    # What git takes `.` for only with something behind it.
    is_dots = path.rpartition("/")[2] in (".", "..")
    return revision, f"{path}/" if is_dots else path


def _asked(name: str, path: str, entry: _Entry) -> str:
    """Return what to ask git for: a link is followed only by its path."""
    if entry.mode != _LINK:
        return entry.number
    return _below("{}:{}".format(*_parse(name)), path)


def _below(name: str, path: str) -> str:
    return f"{name}{path}" if name.endswith((":", "/")) else f"{name}/{path}"


def _entries(tree: str, name: str) -> Iterator[tuple[str, _Entry]]:
    """Yield the path and the entry of everything below a tree that is no tree."""
    command = ["ls-tree", "-r", "-z", "--full-tree", tree]
    for line in _git(command, b"", name).split(b"\0")[:-1]:
        head, _, path = line.partition(b"\t")
        mode, _, number = head.decode().split()
        yield os.fsdecode(path), _Entry(mode, number)


def _file(name: str, found: _Object) -> Source:
    if found.kind != "blob":
        raise _no_file(name, found.kind)
    return checked(name, found.data)


def _no_file(name: str, kind: str) -> UserError:
    what, fix = _NO_FILE.get(kind, (f"git has no file there: {kind}", "check the path"))
    return UserError(what, fix, Location(name))


def _no_path(name: str, more: str) -> UserError:
    """Return the error for a path that a revision does not have; more: a further remedy."""
    revision, path = _parse(name)
    [here] = _cat([f"{revision}:./{path}"], name)
    fix = (
        f"say {GIT}{revision}:./{path}, since a path begins at the repository's root"
        if here.kind in ("blob", "tree")
        else "check the path, which begins at the repository's root"
    )
    return UserError(f"the revision {revision} has no {path}", fix + more, Location(name))


def _no_revision(name: str, revision: str) -> UserError:
    [remote] = _cat([f"origin/{revision}^{{tree}}"], name)
    if remote.kind == "tree":
        fix = f"say {GIT}origin/{name[len(GIT) :]}"
    elif _git(["rev-parse", "--is-shallow-repository"], b"", name).strip() == b"true":
        fix = "git fetch it: this clone is shallow (actions/checkout: fetch-depth: 0)"
    else:
        fix = "check the name, or git fetch it"
    return UserError(f"git knows no revision {revision}", fix, Location(name))


def _cat(asked: Sequence[str], name: str) -> list[_Object]:
    """Return what git has under each name that is asked for."""
    broken = next((each for each in asked if "\n" in each), None)
    if broken:
        raise UserError("a line break in a file's name", "rename it", Location(name))
    lines = b"".join(os.fsencode(each) + b"\n" for each in asked)
    output = _git(["cat-file", "--batch", "--follow-symlinks"], lines, name) if asked else b""
    objects, start = [], 0
    for _ in asked:
        end = output.index(b"\n", start)
        head = output[start:end]
        start = end + 1
        there, none = _OBJECT.match(head), _NO_OBJECT.match(head)
        if there:
            end = start + int(there[3])
            objects.append(_Object(there[2].decode(), output[start:end], there[1].decode()))
            start = end + 1
        elif none:
            objects.append(_Object(none[1].decode()))
            start += int(none[2]) + 1
        else:
            objects.append(_Object(head.rpartition(b" ")[2].decode()))
    return objects


def _git(arguments: Sequence[str], stdin: bytes, name: str) -> bytes:
    """Return what git prints. Raises UserError with its own words where it fails."""
    try:
        done = subprocess.run(
            ["git", *arguments],
            input=stdin,
            capture_output=True,
            check=False,
            env={**os.environ, "LC_ALL": "C"},
        )
    except OSError as error:
        is_absent = isinstance(error, FileNotFoundError)
        raise UserError(
            "git is not on PATH" if is_absent else f"cannot run git: {error.strerror}",
            "install it, or name a file",
            Location(name),
        ) from None
    if done.returncode:
        raise _failure(done.stderr.decode("utf-8", "replace"), done.returncode, name)
    return done.stdout


def _failure(errors: str, code: int, name: str) -> UserError:
    """Return the error for a git that failed: its first line, and the remedy that it may name."""
    said = errors.partition("fatal: ")[2] or errors or f"exit code {code}"
    first, _, rest = said.strip().partition("\n")
    if first.startswith("not a git repository"):
        rest = "run it inside of the repository"
    return UserError(f"git says: {first}", rest or "see what git status says there", Location(name))
