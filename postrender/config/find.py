"""The search for the configuration file, in a folder and in the folders above.

The search ends at the repository, which is the first folder that contains .git. If no folder has
.git, the search ends at the root folder. postrender rejects a file of another user (except root),
because anybody can create files in a shared folder such as /tmp. Git has the same rule
(CVE-2022-24765).
"""

from __future__ import annotations

import os

from postrender.errors import Finding, Location, UserError
from postrender.startup.records import NamedTuple

FILE_NAME = "postrender.yaml"

# The user ID of root.
_ROOT = 0


class FoundConfig(NamedTuple):
    """The result of the search. If the search did not find a file, `path` and `repository` are "".

    path: the path of the file;
    repository: the first folder with .git, or the folder of the file if no folder has .git;
    findings: the finding about a postrender.yaml above the repository, if any.
    """

    path: str = ""
    repository: str = ""
    findings: tuple[Finding, ...] = ()


def find_config(start: str) -> FoundConfig:
    """Search for postrender.yaml from a folder up to its repository, and return the nearest file.

    start: the absolute path of the folder; "" if unknown, so that the search does not find a file.
    Raises UserError if the file belongs to another user, or is a link to outside the repository.
    Also raises UserError for a link that does not lead to a file.
    A warning would not be enough, because the file can change the output, and because Helm hides
    the warnings of a post-renderer.
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
    return FoundConfig(findings=_findings_above(folders[len(inside) :]))


def folders_upward(start: str) -> list[str]:
    """Return a folder and the folders above, [] for ""; start: the absolute path of the folder."""
    folders: list[str] = []
    folder = start
    while folder and folder not in folders:
        folders.append(folder)
        folder = os.path.dirname(folder)
    return folders


def has_git(folder: str) -> bool:
    """Return whether a folder is the root of a git repository."""
    return os.path.exists(os.path.join(folder, ".git"))


def _check_link(path: str) -> None:
    """Raise UserError if a path is a link. The caller knows that the path is not a file."""
    if os.path.islink(path):
        raise UserError(
            "the file is a link that does not lead to a file",
            f"Fix or remove the link, or pass --config {os.devnull} to ignore the link",
            Location(path),
        )


def _check_source(path: str, repository: str) -> None:
    if not is_owner_trusted(path):
        problem = "the file belongs to another user"
    elif not is_inside(path, repository):
        problem = f"the file is a link to a file outside {repository}"
    else:
        return
    raise UserError(
        problem,
        f"Pass --config {path} to use the file, or --config {os.devnull} to ignore the file",
        Location(path),
    )


def is_owner_trusted(path: str) -> bool:
    """Return whether a file belongs to root or to the user who runs postrender.

    For a link, the owners of the link and of its target must both be root or this user. If
    postrender runs as root through sudo, the owner can also be the user who started sudo.
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
    """Return whether a path is below a folder, or is this folder. The function resolves links."""
    try:
        root, resolved = os.path.realpath(folder), os.path.realpath(path)
    except ValueError:  # a NUL in the path
        return False
    return resolved == root or resolved.startswith(os.path.join(root, ""))


def _findings_above(folders: list[str]) -> tuple[Finding, ...]:
    """Return the finding for the nearest postrender.yaml in folders above a repository, or ()."""
    for folder in folders:
        path = os.path.join(folder, FILE_NAME)
        if os.path.isfile(path):
            problem = "the file is above the first folder with .git, so postrender ignores the file"
            fix = f"If you want to use the file, pass --config {path}"
            location = Location(path)
            return (Finding(code="config-above", problem=problem, fix=fix, location=location),)
    return ()
