"""The search for the configuration file.

The search stops at the first folder with .git, which is the repository. postrender rejects a file
of another user, because a shared folder such as /tmp may contain files of anybody. Git has the same
rule (CVE-2022-24765).
"""

from __future__ import annotations

import os

from postrender.errors import Finding, Location, UserError
from postrender.startup.records import NamedTuple

FILE_NAME = "postrender.yaml"

# The user ID of root.
_ROOT = 0


class FoundConfig(NamedTuple):
    """The result of the search.

    path: the file, "" if there is none;
    repository: the folder with .git, or else the folder of the file;
    findings: about a file above the repository.
    """

    path: str = ""
    repository: str = ""
    findings: tuple[Finding, ...] = ()


def find_config(start: str) -> FoundConfig:
    """Return the nearest postrender.yaml at or above a folder, inside its repository.

    Raises UserError if the file belongs to another user, or is a link out of the repository.
    A warning would not be enough: Helm hides warnings, and without the file the output changes.
    """
    folders = _folders_upward(start)
    number = next((n for n, folder in enumerate(folders) if _has_git(folder)), None)
    inside = folders if number is None else folders[: number + 1]
    for folder in inside:
        path = os.path.join(folder, FILE_NAME)
        if not os.path.isfile(path):
            continue
        repository = folder if number is None else inside[-1]
        _check_source(path, repository)
        return FoundConfig(path, repository)
    return FoundConfig(findings=_findings_above(folders[len(inside) :]))


def _folders_upward(start: str) -> list[str]:
    folders: list[str] = []
    folder = start
    while folder and folder not in folders:
        folders.append(folder)
        folder = os.path.dirname(folder)
    return folders


def _has_git(folder: str) -> bool:
    return os.path.exists(os.path.join(folder, ".git"))


def _check_source(path: str, repository: str) -> None:
    """Raise UserError for a file that somebody else may have created."""
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
    """Return whether a file, and the link to the file, belong to root or to the user of postrender.

    If a user runs postrender as root with sudo, the file may also belong to this user.
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
    """Return whether a path is in a folder, or is the folder, after all links are resolved."""
    try:
        root, resolved = os.path.realpath(folder), os.path.realpath(path)
    except ValueError:  # a NUL in the path
        return False
    return resolved == root or resolved.startswith(os.path.join(root, ""))


def _findings_above(folders: list[str]) -> tuple[Finding, ...]:
    """Return a finding for the nearest postrender.yaml in the folders above a repository."""
    for folder in folders:
        path = os.path.join(folder, FILE_NAME)
        if os.path.isfile(path):
            problem = "the file is above the first folder with .git, so postrender ignores the file"
            fix = f"If you want to use the file, pass --config {path}"
            location = Location(path)
            return (Finding(code="config-above", problem=problem, fix=fix, location=location),)
    return ()
