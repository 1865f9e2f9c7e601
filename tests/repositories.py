"""Git repositories for tests, without the tester's git configuration."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping
from pathlib import Path


def nobody() -> dict[str, str]:
    """Return the variables with which git ignores the tester's configuration.

    That configuration could require signatures, for example.
    """
    keys = [f"GIT_{role}_{key}" for role in ("AUTHOR", "COMMITTER") for key in ("NAME", "EMAIL")]
    return {
        **dict.fromkeys(keys, "tester@example.com"),
        "GIT_CONFIG_GLOBAL": os.devnull,
        "GIT_CONFIG_SYSTEM": os.devnull,
    }


def git(folder: Path, *arguments: str, stdin: str = "") -> str:
    """Run git in a folder and return its output; git must succeed."""
    done = subprocess.run(
        ["git", *arguments],
        cwd=folder,
        env={**os.environ, **nobody()},
        capture_output=True,
        input=stdin,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def new_repository(folder: Path, files: Mapping[str, str | bytes]) -> Path:
    """Create a repository with a branch `main`, and one commit with the files."""
    folder.mkdir(exist_ok=True)
    git(folder, "init", "--quiet", "--initial-branch=main")
    commit(folder, files)
    return folder


def commit(folder: Path, files: Mapping[str, str | bytes | None]) -> str:
    """Write files, commit all changes, and return the commit's ID.

    files: the content of each path; None deletes the file
    """
    for path, content in files.items():
        file = folder / path
        if content is None:
            file.unlink()
            continue
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content.encode() if isinstance(content, str) else content)
    git(folder, "add", "--all")
    git(folder, "commit", "--quiet", "--allow-empty", "--message", "change")
    return git(folder, "rev-parse", "HEAD").strip()
