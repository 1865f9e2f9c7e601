"""The search for the configuration file, in a folder and in the folders above.

The search ends at the first folder that contains .git, or else at the root folder. Anybody can
create a file in a shared folder such as /tmp. Therefore, postrender rejects a file that does not
belong to root or to the user. For the same reason, git rejects repositories of other users
(CVE-2022-24765).
"""

from __future__ import annotations

import os

from postrender.errors import Finding, Location, UserError
from postrender.records import NamedTuple

FILE_NAME = "postrender.yaml"

# The user ID of root.
_ROOT = 0


class FoundConfig(NamedTuple):
    """The result of the search.

    path: the path of the file, "" if the search did not find a file.
    repository: the first folder with .git, or else the folder of the file. "" if `path` is "".
    findings: the finding about an ignored postrender.yaml above the repository, () for none.
    """

    path: str = ""
    repository: str = ""
    findings: tuple[Finding, ...] = ()


def find_config(start: str) -> FoundConfig:
    """Return the nearest postrender.yaml in a folder or in the folders above.

    start: the absolute path of the folder, "" if unknown. With "", the search does not find a file.
    Raises UserError if the file belongs to another user. Also raises UserError for a link that does
    not lead to a file, or that leads to a file outside the repository. A warning is not enough,
    because the file can change the output. Helm also hides the warnings of a post-renderer.
    """
    folders = folders_upward(start)
    number = next((n for n, folder in enumerate(folders) if has_git(folder)), None)
    inside = folders if number is None else folders[: number + 1]
    for folder in inside:
        path = os.path.join(folder, FILE_NAME)
        if not os.path.isfile(path):
            _check_link(path)
            continue
        repository = folder if number is None else inside[-1]
        _check_source(path, repository)
        return FoundConfig(path, repository)
    return FoundConfig(findings=_findings_above(folders[len(inside) :], inside))


def folders_upward(start: str) -> list[str]:
    """Return a folder and then the folders above, up to the root folder. Return [] for "".

    start: the absolute path of the folder.
    """
    folders: list[str] = []
    folder = start
    while folder and folder not in folders:
        folders.append(folder)
        folder = os.path.dirname(folder)
    return folders


def has_git(folder: str) -> bool:
    """Return whether a folder contains .git, like the root folder of a git repository."""
    return os.path.exists(os.path.join(folder, ".git"))


def _check_link(path: str) -> None:
    """Raise UserError if a path that is not a file is a link."""
    if os.path.islink(path):
        raise UserError(
            "the path is a link that does not lead to a file",
            f"Fix or remove the link, or pass --config {os.devnull} to ignore the link",
            Location(path),
        )


def _check_source(path: str, repository: str) -> None:
    if not is_owner_trusted(path):
        problem = "the file belongs to another user"
    elif not is_inside(path, repository):
        problem = f"the path is a link to a file outside the repository {repository}"
    else:
        return
    raise UserError(
        problem,
        f"If you trust the file, pass --config {path}. "
        f"To ignore the file, pass --config {os.devnull}",
        Location(path),
    )


def is_owner_trusted(path: str) -> bool:
    """Return whether a file belongs to root or to the user who runs postrender.

    If the path is a link, the function also checks the owner of the target. If postrender runs as
    root through sudo, the function also accepts the user who started sudo. On Windows, the result
    is always True.
    """
    if not hasattr(os, "geteuid"):  # Windows
        return True
    user = os.geteuid()
    trusted = {_ROOT, user}
    sudo_user = os.environ.get("SUDO_UID", "")
    if user == _ROOT and sudo_user.isdecimal():
        trusted.add(int(sudo_user))
    return os.lstat(path).st_uid in trusted and os.stat(path).st_uid in trusted


def is_inside(path: str, folder: str) -> bool:
    """Return whether a path, after the resolution of links, is below `folder` or is `folder`.

    False for a path with a NUL.
    """
    try:
        root, resolved = os.path.realpath(folder), os.path.realpath(path)
    except ValueError:  # the path contains a NUL
        return False
    return resolved == root or resolved.startswith(os.path.join(root, ""))


def _findings_above(folders: list[str], inside: list[str]) -> tuple[Finding, ...]:
    """Return the finding about the nearest postrender.yaml above a repository, or ().

    folders: the folders above the repository, nearest first.
    inside: the searched folders, up to the repository.
    """
    for folder in folders:
        path = os.path.join(folder, FILE_NAME)
        if os.path.isfile(path):
            repository = inside[-1]
            problem = (
                f"the file is outside the repository {repository}, so postrender ignores the file"
            )
            fix = f"If you want to use the file, pass --config {path}"
            location = Location(path)
            return (Finding(code="config-above", problem=problem, fix=fix, location=location),)
    return ()
