"""The version of the program, with the commit of its sources if the commit is known."""

from __future__ import annotations

import os

from postrender import __version__

# In a package, this file has the commit. hatch_build.py and `make plugin` write the file.
COMMIT_FILE = "commit.txt"


def version_text() -> str:
    """For example `postrender 0.1.0 (commit 184353eb0d44)`."""
    commit = _commit()
    return f"postrender {__version__}" + (f" (commit {commit})" if commit else "")


def _commit() -> str:
    folder = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    try:
        with open(os.path.join(folder, COMMIT_FILE), encoding="ascii") as file:
            return file.read().strip()
    except (OSError, ValueError):
        return git_commit(os.path.dirname(folder))


def git_commit(checkout: str) -> str:
    """The commit of a checkout, with the ending -dirty if a file has changed; "" if unknown."""
    from subprocess import DEVNULL, run

    from postrender.sources.paths import find_program

    git = find_program("git")
    if git is None or not os.path.exists(os.path.join(checkout, ".git")):
        return ""
    # The file system monitor is a program that the repository chooses.
    command = [git, "-C", checkout, "-c", "core.fsmonitor=false", "describe", "--always"]
    options = ["--dirty", "--abbrev=12", "--exclude=*"]
    try:
        done = run([*command, *options], stdin=DEVNULL, capture_output=True, text=True, check=False)
    except OSError:  # such as a limit on processes or open files
        return ""
    return done.stdout.strip() if done.returncode == 0 else ""
