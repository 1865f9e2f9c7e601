"""Git repositories as folders: the root of one, and whether git would read only this repository.

The author of an unpacked archive writes its `.git` too. A file `.git`, the files `commondir` and
`objects/info/alternates`, and links can make git read another repository of the user. A worktree or
a submodule also has a file `.git`, but the other side then points back, and only the user can write
there.
"""

from __future__ import annotations

import os
from collections.abc import Iterator

_GIT = ".git"
# The folders of other programs, and of submodules, that git does not read here.
_NOT_READ = ("hooks", "modules", "annex", "lfs")


def folders_upward(start: str) -> list[str]:
    """A folder, which has an absolute path, and the folders above it up to the root."""
    folders: list[str] = []
    folder = start
    while folder and folder not in folders:
        folders.append(folder)
        folder = os.path.dirname(folder)
    return folders


def has_git(folder: str) -> bool:
    """Whether a folder is the root of a git repository."""
    return os.path.exists(os.path.join(folder, _GIT))


def working_repository() -> str:
    """The root of the repository that contains the working directory, "" for none."""
    try:
        folder = os.path.realpath(os.getcwd())
    except OSError:  # the working directory was deleted
        return ""
    return next(filter(has_git, folders_upward(folder)), "")


def is_inside(path: str, folder: str) -> bool:
    """Whether a path is in a folder, or the folder itself, after following all links."""
    try:
        root, resolved = os.path.realpath(folder), os.path.realpath(path)
    except ValueError:  # the path contains a NUL
        return False
    return resolved == root or resolved.startswith(os.path.join(root, ""))


def git_reads_only(repository: str) -> bool:
    """Whether git, in the working directory, reads a repository and no other one.

    `sources.git` keeps git from a search above the repository, but not if the path has a colon.
    repository: the root of the repository.
    """
    root = os.path.realpath(repository)
    if working_repository() != root or os.pathsep in os.path.dirname(root):
        return False
    try:
        folder = _git_folder(root)
        chosen = os.environ.get("GIT_DIR")
        if not folder or (chosen and os.path.realpath(chosen) != folder):
            return False
        common = _common_folder(folder)
        return bool(common) and not any(_ways_out(common))
    except (OSError, ValueError):
        return False


def _git_folder(root: str) -> str:
    """The real path of the folder with the data of git, "" if the folder is not the root's own."""
    path = os.path.join(root, _GIT)
    text = _line(path) if os.path.isfile(path) else ""
    folder = os.path.realpath(os.path.join(root, text.removeprefix("gitdir:").strip() or _GIT))
    if is_inside(folder, root):
        return folder
    # A worktree, or a submodule: gitrepository-layout(5).
    back = _line(os.path.join(folder, "gitdir"))
    back_to_root = [os.path.dirname(os.path.join(folder, back))] if back else []
    for name in ("config", "config.worktree"):
        for setting in _text(os.path.join(folder, name)).splitlines():
            key, _, value = setting.partition("=")
            if key.strip() == "worktree":
                back_to_root.append(os.path.join(folder, value.strip().strip('"')))
    return folder if any(os.path.realpath(back) == root for back in back_to_root) else ""


def _common_folder(folder: str) -> str:
    """The folder that a worktree shares, or else the folder itself; "" for any other one."""
    text = _line(os.path.join(folder, "commondir"))
    if not text:
        return folder
    common = os.path.realpath(os.path.join(folder, text))
    return common if folder.startswith(os.path.join(common, "worktrees", "")) else ""


def _ways_out(common: str) -> Iterator[str]:
    """The links out of a folder with the data of git, and its list of other object folders."""
    alternates = os.path.join(common, "objects", "info", "alternates")
    if _text(alternates).strip():
        yield alternates
    for location, folders, files in os.walk(common):
        if location == common:
            folders[:] = [name for name in folders if name not in _NOT_READ]
        for name in (*folders, *files):
            path = os.path.join(location, name)
            if os.path.islink(path) and not is_inside(path, common):
                yield path


def _line(path: str) -> str:
    return _text(path).strip()


def _text(path: str) -> str:
    """The text of a file of git, "" without a file."""
    if not os.path.isfile(path):
        return ""
    with open(path, encoding="utf-8", errors="surrogateescape") as file:
        return file.read()
