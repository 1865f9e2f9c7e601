"""Inputs in hostile git repositories: nothing in a clone makes git run a command."""

from __future__ import annotations

import hashlib
import os
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from time import monotonic

import pytest

from postrender.errors import UserError
from postrender.sources import git as git_source
from postrender.sources.inputs import read_input, read_inputs
from postrender.sources.paths import find_program, finish, start
from tests.repositories import git, new_repository, nobody

MANIFEST = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: web\ndata:\n  a: b\n"


@pytest.fixture(autouse=True)
def environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in nobody().items():
        monkeypatch.setenv(name, value)


@pytest.fixture
def proof(tmp_path: Path) -> Iterator[Path]:
    """Return the file that a command of the hostile repository would write."""
    proof = tmp_path / "proof"
    yield proof
    assert not proof.exists()


def make_hostile(git_folder: Path, objects: Path, proof: Path) -> None:
    """Add a remote whose URL is a command, and remove the content of a file.

    git_folder: the folder with the configuration. objects: the folder with the objects.
    """
    config = git_folder / "config"
    config.write_text(
        "[core]\n\trepositoryformatversion = 1\n"
        f"\tbare = {'true' if git_folder.name != '.git' else 'false'}\n"
        f"\tfsmonitor = touch {proof}\n\tpager = touch {proof}\n\thooksPath = hooks\n"
        "[extensions]\n\tpartialClone = evil\n"
        f'[remote "evil"]\n\tpromisor = true\n\turl = "ext::sh -c touch% {proof}"\n'
        '[protocol "ext"]\n\tallow = always\n'
        f"[diff]\n\texternal = touch {proof}\n"
    )
    content = MANIFEST.encode()
    name = hashlib.sha1(b"blob %d\0" % len(content) + content).hexdigest()
    (objects / name[:2] / name[2:]).unlink()


@pytest.fixture
def clone(tmp_path: Path, proof: Path) -> Path:
    """Return a clone with a bare repository in the folder `chart`, made hostile by its author."""
    inner = new_repository(tmp_path / "inner", {"web.yaml": MANIFEST})
    embedded = tmp_path / "author" / "chart"
    shutil.copytree(inner / ".git", embedded)
    for name in ("hooks", "logs", "index"):
        path = embedded / name
        if path.is_dir():
            shutil.rmtree(path)
        else:
            path.unlink()
    make_hostile(embedded, embedded / "objects", proof)
    (embedded / "refs" / "keep").write_text("")
    new_repository(tmp_path / "author", {"README.md": "a chart\n"})
    git(tmp_path, "clone", "--quiet", "author", "clone")
    return tmp_path / "clone"


@pytest.fixture
def hostile_bare(clone: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(clone / "chart")


@pytest.fixture
def hostile_worktree(tmp_path: Path, proof: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Run the test in an unpacked archive of a repository, with its `.git`."""
    folder = new_repository(tmp_path / "archive", {"web.yaml": MANIFEST})
    make_hostile(folder / ".git", folder / ".git" / "objects", proof)
    monkeypatch.chdir(folder)


def refusal(name: str) -> str:
    with pytest.raises(UserError) as caught:
        read_input(name)
    with pytest.raises(UserError):
        read_inputs(name, allow_empty=True)
    return str(caught.value)


@pytest.mark.usefixtures("hostile_bare")
def test_an_embedded_bare_repository_is_refused() -> None:
    assert "cannot use bare repository" in refusal("git:main:web.yaml")
    assert "Set the variable GIT_DIR" in refusal("git:main:web.yaml")


@pytest.mark.usefixtures("hostile_bare")
def test_a_selected_embedded_bare_repository_does_not_run_commands(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("GIT_DIR", ".")
    assert refusal("git:main:web.yaml")


@pytest.mark.usefixtures("hostile_worktree")
def test_a_hostile_configuration_does_not_run_commands() -> None:
    assert refusal("git:main:web.yaml")
    assert refusal("git:main:")
    assert refusal("git:nowhere:web.yaml")


@pytest.mark.usefixtures("hostile_worktree")
def test_an_old_git_without_the_switch_for_lazy_fetches_does_not_run_commands(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delitem(git_source._SAFE_VARIABLES, "GIT_NO_LAZY_FETCH")
    assert refusal("git:main:web.yaml")


def test_content_that_a_partial_clone_lacks_is_not_an_empty_input(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    origin = new_repository(tmp_path / "origin", {"rendered/web.yaml": MANIFEST})
    git(origin, "config", "uploadpack.allowFilter", "true")
    url = origin.as_uri()
    git(tmp_path, "clone", "--quiet", "--no-checkout", "--filter=blob:none", url, "partial")
    monkeypatch.chdir(tmp_path / "partial")
    with pytest.raises(UserError, match="partial clone, and postrender never runs git fetch"):
        read_inputs("git:main:rendered", allow_empty=True)
    assert "partial clone, and postrender never runs" in refusal("git:main:rendered/web.yaml")
    with pytest.raises(UserError, match=r"has no path rendered/other\.yaml"):
        read_input("git:main:rendered/other.yaml")
    git(tmp_path / "partial", "fetch", "--quiet", "--refetch", "--no-filter")
    assert read_input("git:main:rendered/web.yaml").texts == [MANIFEST]


@pytest.mark.skipif(sys.platform == "win32", reason="the test writes a shell script")
@pytest.mark.parametrize("path", ["", ".", "bin", ":"])
def test_programs_in_the_working_directory_are_not_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, path: str
) -> None:
    (tmp_path / "bin").mkdir()
    for folder in (tmp_path, tmp_path / "bin"):
        for name in ("git", "helm"):
            (folder / name).write_text("#!/bin/sh\n")
            (folder / name).chmod(0o755)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", path)
    assert find_program("git") is None
    assert "git is not on PATH" in refusal("git:main:web.yaml")
    monkeypatch.setenv("PATH", f"{path}{os.pathsep}{tmp_path / 'bin'}")
    assert find_program("helm") == str(tmp_path / "bin" / "helm")


def test_windows_runs_programs_only_by_their_usual_endings(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("git", "git.bat", "git.EXE", "git.exe"):
        (tmp_path / name).write_text("")
        (tmp_path / name).chmod(0o755)
    monkeypatch.setattr("postrender.sources.paths._IS_WINDOWS", True)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert find_program("git") == str(tmp_path / "git.exe")
    assert find_program("git.exe") == str(tmp_path / "git.exe")


def test_a_small_repository_that_lists_a_folder_millions_of_times_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # The folder at the end has ten files, and each of the seven levels above has it ten times.
    folder = new_repository(tmp_path / "bomb", {f"f{n}.yaml": MANIFEST for n in range(10)})
    tree = git(folder, "rev-parse", "HEAD^{tree}").strip()
    for _ in range(7):
        lines = "".join(f"040000 tree {tree}\td{n}\n" for n in range(10))
        tree = git(folder, "mktree", stdin=lines).strip()
    commit_id = git(folder, "commit-tree", "-m", "bomb", tree).strip()
    monkeypatch.chdir(folder)
    monkeypatch.setattr("postrender.sources.paths.MAX_OUTPUT", 4 << 20)
    with pytest.raises(UserError, match="more than 4 MiB"):
        read_inputs(f"git:{commit_id}:")


def test_small_files_that_unpack_to_much_text_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = new_repository(tmp_path / "zeros", {"zeros.yaml": "#" * (5 << 20)})
    monkeypatch.chdir(folder)
    assert len(read_inputs("git:main:")) == 1
    monkeypatch.setattr("postrender.sources.paths.MAX_OUTPUT", 4 << 20)
    for name in ("git:main:", "git:main:zeros.yaml"):
        with pytest.raises(UserError, match="more than 4 MiB"):
            read_inputs(name)


def test_an_ended_program_does_not_wait_for_its_children(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("postrender.sources.paths.MAX_OUTPUT", 4 << 20)
    started = monotonic()
    process = start(["sh", "-c", "sleep 8 >/dev/null & exec yes"])
    with pytest.raises(UserError, match="more than 4 MiB"):
        finish(process)
    assert monotonic() - started < 6
