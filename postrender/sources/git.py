"""Manifests in a git commit (`git:REF:PATH`), which postrender reads without a checkout.

The user's input reaches git only on stdin (`git cat-file --batch`), so git cannot treat it as an
option. The repository can be hostile. git fetches missing objects from a *promisor remote*, even in
`git cat-file`, and the URL of such a remote can be a command. A folder in a clone can also be a
bare repository with a promisor remote. Therefore, `_SAFE_OPTIONS` and `_SAFE_VARIABLES` turn off
fetches, embedded bare repositories, hooks, monitors, pagers, diff programs and prompts.
"""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Iterator, Sequence

from postrender.config.find import FILE_NAME, discovered_file
from postrender.config.find import Source as ConfigSource
from postrender.config.repository import working_repository
from postrender.errors import Location, UserError
from postrender.records import NamedTuple
from postrender.sources.paths import (
    CHART_FILE,
    ENDINGS,
    GIT,
    chart_error,
    checked_source,
    find_program,
    finish,
    folder_error,
    is_dotfile,
    manifests_of,
    path_below,
)
from postrender.text import printable
from postrender.yaml.stream import Source

_OBJECT = re.compile(rb"([0-9a-f]{40,64}) (\w+) ([0-9]+)\Z")
_NO_OBJECT = re.compile(rb"(symlink|dangling|loop|notdir) ([0-9]+)\Z")
_ENDINGS = tuple(ending.encode() for ending in ENDINGS)
_LINK, _SUBMODULE = "120000", "160000"
# The modes of files, executables, links and folders in a tree.
_MODES = (b"100644", b"100755", b"120000", b"40000")
# Options on the command line override the configuration of the repository. git never reads
# safe.bareRepository from the configuration of a repository (git 2.38).
_SAFE_OPTIONS = (
    "--no-pager",
    *("-c", "safe.bareRepository=explicit"),
    *("-c", "protocol.allow=never"),
    *("-c", "core.fsmonitor=false"),
    *("-c", f"core.hooksPath={os.devnull}"),
    *("-c", "diff.external="),
)
_SAFE_VARIABLES = {
    "GIT_NO_LAZY_FETCH": "1",  # since git 2.45, and in the security releases of 2.39 to 2.44
    # An empty list of protocols. Unlike protocol.allow, this list overrides protocol.NAME.allow.
    "GIT_ALLOW_PROTOCOL": "",
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_TERMINAL_PROMPT": "0",
}
# Variables that make git run a program, which git must not inherit.
_PROGRAM_VARIABLES = ("GIT_EXTERNAL_DIFF", "GIT_PAGER", "GIT_ASKPASS", "GIT_SSH_COMMAND", "GIT_SSH")
# The problem and fix for each kind of path that is not a file. All kinds except `submodule` are
# answers of `git cat-file --follow-symlinks`.
_NO_FILE = {
    "symlink": (
        "the path is a link to a file outside the repository",
        "Pass a file, or a folder without the link",
    ),
    "dangling": (
        "the path is a link to a file that is not in the commit",
        "Fix the link, or pass another path",
    ),
    "loop": ("the links at the path form a loop", "Fix the links, or pass another path"),
    "notdir": ("a part of the path is a file, expected a folder", "Check the path"),
    "submodule": (
        "the path is in a git submodule, but postrender reads only the main repository",
        "Run git submodule update --init, and pass the folder on disk",
    ),
    "missing": (
        "the file is not in this partial clone, and postrender never runs git fetch",
        "Run git fetch --refetch --no-filter",
    ),
}


class _Object(NamedTuple):
    """An answer of `git cat-file`.

    kind: blob, tree, commit, tag, or a key of _NO_FILE. `missing` also means that the commit does
        not have the path.
    """

    kind: str
    data: bytes = b""
    object_id: str = ""


def read_git_file(name: str, command: str) -> Source:
    """A file in git.

    name: `git:REF:PATH`.
    command: the postrender command for the fix in an error, such as `explain`.
    """
    file = _find(name)
    if file.kind == "tree":
        chart_file = _find(path_below(name, CHART_FILE))
        raise chart_error(name, command) if chart_file.kind == "blob" else folder_error(name)
    if file.kind == "missing":
        raise _missing_path(name, "")
    return _source(name, file)


def read_git(name: str, *, allow_empty: bool) -> tuple[Source, ...]:
    """A file in git, or the manifests in a folder in git, sorted by path.

    The result is () for a folder without manifests.

    name: `git:REF:PATH`.
    allow_empty: whether to return () if the commit does not have the path.
    """
    root = _find(name)
    if root.kind == "missing":
        if allow_empty:
            return ()
        raise _missing_path(name, ". If the path does not exist yet, pass --allow-empty")
    if root.kind != "tree":
        return (_source(name, root),)
    entries = dict(_entries(root.object_id, name))
    for path, (mode, _) in entries.items():
        if mode == _SUBMODULE and not is_dotfile(path):
            raise _no_file(path_below(name, path), "submodule")
    paths = manifests_of(entries, name)
    objects = _cat_objects([_object_name(name, path, *entries[path]) for path in paths], name)
    # postrender skips links to folders, in git and on disk.
    return tuple(
        _source(path_below(name, printable(path)), item)
        for path, item in zip(paths, objects, strict=True)
        if item.kind != "tree"
    )


def find_git_config(name: str, *, is_untrusted: bool) -> ConfigSource | None:
    """The configuration file for manifests in git, None if the commit does not have one.

    As on disk, it is the nearest postrender.yaml in the working directory or above, but in the
    commit. An unknown commit has none, because the manifests already report the error.
    name: `git:REF:PATH`.
    """
    ref, _ = _parse(name)
    start = f"{GIT}{ref}:"
    root = working_repository()
    relative = os.path.relpath(os.path.realpath(os.getcwd()), root) if root else os.curdir
    parts = [] if relative == os.curdir else relative.split(os.sep)
    paths = ["/".join([*parts[:count], FILE_NAME]) for count in range(len(parts), -1, -1)]
    tree, *found = _cat_objects([f"{ref}^{{tree}}", *(f"{ref}:{path}" for path in paths)], name)
    if tree.kind != "tree":
        return None

    def read(file: str) -> str | None:
        [item] = _cat_objects([f"{ref}:{file[len(start) :]}"], file)
        if item.kind == "missing":
            _check_absence(ref, file[len(start) :], file)
            return None
        if item.kind != "blob":
            raise _no_file(file, item.kind)
        try:
            return item.data.decode()
        except UnicodeDecodeError:
            problem = "postrender cannot read the configuration (the file is not UTF-8)"
            raise UserError(problem, "Convert the file to UTF-8", Location(file)) from None

    for path, item in zip(paths, found, strict=True):
        if item.kind == "missing":
            _check_absence(ref, path, start + path)
        elif item.kind != "blob":
            raise _no_file(start + path, item.kind)
        else:
            source = discovered_file(start + path, root or start, is_untrusted=is_untrusted)
            return source._replace(commit=start, read=read)
    return None


def _find(name: str) -> _Object:
    """The object at `git:REF:PATH`. Its kind is `missing` if the commit lacks the path."""
    ref, path = _parse(name)
    tree, item = _cat_objects([f"{ref}^{{tree}}", f"{ref}:{path}"], name)
    if tree.kind != "tree":
        raise _unknown_ref(name, ref)
    if item.kind == "missing":
        _check_absence(ref, path, name)
    return item


def _check_absence(ref: str, path: str, name: str) -> None:
    """Raise UserError if the commit has the path, but git cannot read the content.

    Either the path is a submodule or is below a submodule, or the partial clone lacks the content.
    """
    parts = path.rstrip("/").split("/")
    parents = ["/".join([*parts[:count], ""]) for count in range(len(parts))]
    trees = _cat_objects([f"{ref}:{parent}" for parent in parents], name)
    for part, tree, child in zip(parts, trees, [*trees[1:], _Object("missing")], strict=True):
        if tree.kind != "tree":
            return
        if _has_entry(tree, [_SUBMODULE.encode()], part):
            raise _no_file(name, "submodule")
        if child.kind == "missing" and _has_entry(tree, _MODES, part):
            raise _no_file(name, "missing")


def _has_entry(tree: _Object, modes: Sequence[bytes], part: str) -> bool:
    return any(mode + b" " + os.fsencode(part) + b"\0" in tree.data for mode in modes)


def _parse(name: str) -> tuple[str, str]:
    """REF and PATH of `git:REF:PATH`."""
    ref, colon, path = name[len(GIT) :].partition(":")
    if not ref or not colon or "\n" in name or "\0" in name:
        raise UserError(
            f"{name} is not a path in git, expected git:REF:PATH",
            "Write git:REF:PATH, as in git:main:rendered. To pass a file of this name, write "
            f"./{name}",
        )
    # git accepts `.` and `..` at the end of a path only if a slash follows.
    ends_in_dots = path.rpartition("/")[2] in (".", "..")
    return ref, f"{path}/" if ends_in_dots else path


def _object_name(name: str, path: str, mode: str, object_id: str) -> str:
    """The name for `git cat-file` of an entry, at a path in a folder."""
    if mode != _LINK:
        return object_id
    # git follows a link only in the form REF:PATH.
    return path_below("{}:{}".format(*_parse(name)), path)


def _entries(tree: str, name: str) -> Iterator[tuple[str, tuple[str, str]]]:
    """The path of each manifest and submodule below a tree, with its mode and object ID.

    A mode is an octal number, such as `100644`.
    """
    command = ["ls-tree", "-r", "-z", "--full-tree", tree]
    for line in _git(command, b"", name).split(b"\0")[:-1]:
        head, _, path = line.partition(b"\t")
        mode, _, object_id = head.decode().split()
        if mode == _SUBMODULE or path.endswith(_ENDINGS):
            yield os.fsdecode(path), (mode, object_id)


def _source(name: str, item: _Object) -> Source:
    if item.kind != "blob":
        raise _no_file(name, item.kind)
    return checked_source(name, item.data)


def _no_file(name: str, kind: str) -> UserError:
    other = (f"the path is a git object of type {kind}, expected a file", "Check the path")
    problem, fix = _NO_FILE.get(kind, other)
    return UserError(problem, fix, Location(name))


def _missing_path(name: str, hint: str) -> UserError:
    """The error for a path that is absent in a commit; hint: the end of the fix."""
    ref, path = _parse(name)
    [relative] = _cat_objects([f"{ref}:./{path}"], name)
    fix = (
        f"Write {GIT}{ref}:./{path}, because a path without ./ is relative to the repository"
        if relative.kind in ("blob", "tree")
        else "Check the path, which is relative to the repository"
    )
    return UserError(f"the Git ref {ref} has no path {path}", fix + hint, Location(name))


def _unknown_ref(name: str, ref: str) -> UserError:
    [remote] = _cat_objects([f"origin/{ref}^{{tree}}"], name)
    if remote.kind == "tree":
        fix = f"Write {GIT}origin/{name[len(GIT) :]}"
    elif _git(["rev-parse", "--is-shallow-repository"], b"", name).strip() == b"true":
        fix = "Run git fetch --unshallow (in actions/checkout, set fetch-depth: 0)"
    else:
        fix = "Check the name, or run git fetch"
    return UserError(f"git does not know the ref {ref}", fix, Location(name))


def _cat_objects(object_names: Sequence[str], name: str) -> list[_Object]:
    """The objects with the given object names, in order; name: for messages."""
    if any("\n" in object_name for object_name in object_names):
        raise UserError("a file name contains a line break", "Rename the file", Location(name))
    if not object_names:
        return []
    lines = b"".join(os.fsencode(object_name) + b"\n" for object_name in object_names)
    output = _git(["cat-file", "--batch", "--follow-symlinks"], lines, name)
    objects, start = [], 0
    for _ in object_names:
        end = output.index(b"\n", start)
        head = output[start:end]
        start = end + 1
        object_match, other_match = _OBJECT.match(head), _NO_OBJECT.match(head)
        if object_match:
            object_id, kind, size = object_match.groups()
            data = output[start : start + int(size)]
            objects.append(_Object(kind.decode(), data, object_id.decode()))
            start += int(size) + 1
        elif other_match:
            objects.append(_Object(other_match[1].decode()))
            start += int(other_match[2]) + 1
        else:
            objects.append(_Object(head.rpartition(b" ")[2].decode()))
    return objects


def _git(arguments: Sequence[str], stdin: bytes, name: str) -> bytes:
    """Run git, and return its output; name: the input of postrender, for messages."""
    program = find_program("git")
    if program is None:
        raise UserError("git is not on PATH", "Install git, or pass a file", Location(name))
    variables = {key: os.environ[key] for key in os.environ if key not in _PROGRAM_VARIABLES}
    variables |= {**_SAFE_VARIABLES, "LC_ALL": "C"}
    # git ignores a `.git` that is not valid, and would search for a repository above.
    root = working_repository()
    if root:
        ceilings = (os.path.dirname(root), variables.get("GIT_CEILING_DIRECTORIES", ""))
        variables["GIT_CEILING_DIRECTORIES"] = os.pathsep.join(filter(None, ceilings))
    try:
        process = subprocess.Popen(
            [program, *_SAFE_OPTIONS, *arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=variables,
        )
    except OSError as error:
        raise UserError(
            f"postrender cannot start git ({error.strerror})",
            "Check the program git on PATH, or pass a file",
            Location(name),
        ) from None
    output, errors = finish(process, stdin)
    if process.returncode:
        raise _failure(errors.decode("utf-8", "replace"), process.returncode, name)
    return output


def _failure(errors: str, code: int, name: str) -> UserError:
    message = errors.partition("fatal: ")[2] or errors or f"exit code {code}"
    first, _, rest = message.strip().partition("\n")
    if first.startswith("not a git repository"):
        rest = "Run postrender in a folder of the git repository"
    if "promisor remote" in first:
        return _no_file(name, "missing")
    if first.startswith("cannot use bare repository"):
        rest = "Set the variable GIT_DIR to the path of the repository if you trust the repository"
    return UserError(
        f"git failed: {first}",
        rest or "Run git status, and fix the reported problem",
        Location(name),
    )
