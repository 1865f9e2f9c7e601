"""A discovered postrender.yaml reads its own git repository, and no other one of the user.

An unpacked archive contains a `.git` of its author, unlike a clone.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.repositories import commit, git, new_repository, nobody
from tests.security.attack import MANIFESTS, PREVIOUS_SECRET, Attack, Done

CONFIG = "secrets: true\nhistory: {{previous: 'git:{ref}:rendered.yaml'}}\n"
REFUSAL = "a postrender.yaml without --config must not read another git repository. Delete the key"


class Archive(Attack):
    """An unpacked archive with a postrender.yaml, and a private repository of the victim.

    ref: the commit of the private repository.
    """

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.environment |= nobody()
        self.private = new_repository(folder / "private", {"rendered.yaml": PREVIOUS_SECRET})
        self.ref = git(self.private, "rev-parse", "HEAD").strip()
        self.data = self.repository / ".git"
        self.data.rmdir()
        new_repository(self.repository, {"README.md": "hello\n"})
        self.write("postrender.yaml", CONFIG.format(ref=self.ref))

    def replace(self, name: str, target: Path) -> None:
        """Replace a path of the archive with a link."""
        path = self.repository / name
        shutil.rmtree(path) if path.is_dir() else path.unlink(missing_ok=True)
        path.symlink_to(target)

    def write_git_file(self, folder: Path | str) -> None:
        """Replace the folder .git with a file that names another folder."""
        shutil.rmtree(self.data)
        self.data.write_text(f"gitdir: {folder}\n")


@pytest.fixture
def archive(tmp_path: Path) -> Archive:
    return Archive(tmp_path)


TRICKS: dict[str, Callable[[Archive], object]] = {
    "a file .git": lambda at: at.write_git_file(at.private / ".git"),
    "a file .git with a relative path": lambda at: at.write_git_file("../private/.git"),
    "the link .git": lambda at: at.replace(".git", at.private / ".git"),
    "the link objects": lambda at: at.replace(".git/objects", at.private / ".git" / "objects"),
    "a folder config": lambda at: (at.data / "commondir").write_text(str(at.private / ".git")),
}


def trick(make: Callable[[Archive], object]) -> Callable[[Archive], object]:
    TRICKS[make.__name__.replace("_", " ")] = make
    return make


@trick
def a_file_behind_a_link(at: Archive) -> None:
    (at.data.parent / "inner").symlink_to(at.private)
    at.write_git_file("inner/.git")


@trick
def alternates(at: Archive) -> None:
    path = at.private / ".git" / "objects"
    (at.data / "objects" / "info" / "alternates").write_text(f"{path}\n")


@trick
def relative_alternates_with_a_comment(at: Archive) -> None:
    text = "# hello\n\n../../../private/.git/objects\n"
    (at.data / "objects" / "info" / "alternates").write_text(text)


@trick
def alternates_behind_a_link(at: Archive) -> None:
    (at.repository / "list").write_text(f"{at.private}/.git/objects\n")
    (at.data / "objects" / "info" / "alternates").symlink_to("../../../list")


@trick
def a_link_to_one_object_folder(at: Archive) -> None:
    for folder in (at.private / ".git" / "objects").iterdir():
        if not (at.data / "objects" / folder.name).exists():
            (at.data / "objects" / folder.name).symlink_to(folder)
        for file in folder.iterdir():
            if not (at.data / "objects" / folder.name / file.name).exists():
                (at.data / "objects" / folder.name / file.name).symlink_to(file)


@trick
def a_worktree_that_shares_another_repository(at: Archive) -> None:
    inner = at.data / "worktrees" / "x"
    inner.mkdir(parents=True)
    shutil.copy(at.data / "HEAD", inner)
    (inner / "commondir").write_text(f"{at.private}/.git\n")
    (inner / "gitdir").write_text(f"{at.repository}/.git\n")
    shutil.move(at.data, at.repository / "data")
    at.data.write_text("gitdir: data/worktrees/x\n")


@trick
def a_submodule_with_alternates(at: Archive) -> None:
    module = at.repository / "sub"
    new_repository(module, {"README.md": "hello\n"})
    git(module, "config", "core.worktree", "../../../sub")
    alternates = module / ".git" / "objects" / "info" / "alternates"
    alternates.write_text(f"{at.private}/.git/objects\n")
    (at.data / "modules").mkdir()
    shutil.move(module / ".git", at.data / "modules" / "sub")
    (module / ".git").write_text("gitdir: ../.git/modules/sub\n")
    shutil.move(at.repository / "postrender.yaml", module)
    at.repository = module


@trick
def a_folder_in_a_private_repository_with_an_invalid_git(at: Archive) -> None:
    inner = at.private / "unpacked"
    (inner / ".git").mkdir(parents=True)
    shutil.copy(at.repository / "postrender.yaml", inner)
    at.repository = inner


@trick
def a_path_with_a_colon(at: Archive) -> None:
    inner = at.private / "un:packed" / "archive"
    (inner / ".git").mkdir(parents=True)
    shutil.copy(at.repository / "postrender.yaml", inner)
    at.repository = inner


@trick
def the_variable_of_another_repository(at: Archive) -> None:
    at.environment["GIT_DIR"] = str(at.private / ".git")


@trick
def a_configuration_of_another_folder(at: Archive) -> None:
    at.environment["POSTRENDER_CONFIG"] = str(at.repository)
    at.repository = at.private


@trick
def the_list_of_references(at: Archive) -> None:
    (at.private / "notes").write_text("canary in a file that is not of git\n")
    at.replace(".git/packed-refs", at.private / "notes")


@trick
def an_included_configuration(at: Archive) -> None:
    (at.private / "notes").write_text("[core]\n\tcanary canary\n")
    git(at.repository, "config", "include.path", str(at.private / "notes"))


@trick
def the_folder_of_work(at: Archive) -> None:
    git(at.repository, "config", "core.worktree", str(at.private))


def render(at: Archive) -> Done:
    return at.run("--secrets", "--no-attacher", "--color=never")


@pytest.mark.parametrize("name", TRICKS)
def test_an_archive_cannot_read_another_repository(archive: Archive, name: str) -> None:
    TRICKS[name](archive)
    done = render(archive)
    assert "canary" not in done.out + done.err
    assert (done.code, done.out) == (2, "")


def test_the_refusal_is_about_the_repository(archive: Archive) -> None:
    archive.write_git_file(archive.private / ".git")
    assert f"postrender.yaml:2 history.previous: {REFUSAL}" in render(archive).err


# Repositories of the user


def own(archive: Archive, folder: Path) -> str:
    """Return the output in a folder of the private repository, with its own configuration."""
    archive.repository = folder
    done = render(archive)
    assert done.code == 0, done.err
    return done.out


@pytest.fixture
def private(archive: Archive) -> Path:
    """Return the private repository, with a configuration that reads its last commit."""
    commit(archive.private, {"postrender.yaml": CONFIG.format(ref="HEAD"), "sub/README.md": ""})
    return archive.private


def test_a_repository_is_read(archive: Archive, private: Path) -> None:
    (private / ".git" / "hooks").mkdir(exist_ok=True)
    (private / ".git" / "hooks" / "pre-commit").symlink_to("/bin/true")
    assert "canary" in own(archive, private)
    assert "canary" in own(archive, private / "sub")
    git(private, "gc", "--quiet")
    assert "canary" in own(archive, private)


@pytest.mark.parametrize("variable", [".git", "{}/.git"])
def test_a_hook_of_git_reads_its_repository(archive: Archive, private: Path, variable: str) -> None:
    archive.environment["GIT_DIR"] = variable.format(private)
    assert "canary" in own(archive, private)


def test_a_worktree_is_read(archive: Archive, private: Path) -> None:
    folder = private.parent / "worktree"
    git(private, "worktree", "add", "--quiet", str(folder))
    assert "canary" in own(archive, folder)
    assert "canary" in own(archive, folder / "sub")
    pointer = private / ".git" / "worktrees" / "worktree" / "gitdir"
    pointer.write_text(os.path.relpath(folder / ".git", pointer.parent) + "\n")
    assert "canary" in own(archive, folder)


def test_a_submodule_is_read(archive: Archive, private: Path) -> None:
    parent = new_repository(private.parent / "parent", {"README.md": ""})
    add = ("submodule", "add", "--quiet", str(private), "module")
    git(parent, "-c", "protocol.file.allow=always", *add)
    assert (parent / "module" / ".git").is_file()
    assert "canary" in own(archive, parent / "module")
    folder = private.parent / "worktree-of-module"
    git(parent / "module", "worktree", "add", "--quiet", str(folder))
    assert "canary" in own(archive, folder)


def test_a_clone_that_shares_objects_needs_trust(archive: Archive, private: Path) -> None:
    clone = private.parent / "clone"
    git(private.parent, "clone", "--quiet", "--shared", str(private), str(clone))
    archive.repository = clone
    assert REFUSAL in render(archive).err
    archive.environment["POSTRENDER_CONFIG"] = str(clone / "postrender.yaml")
    assert "canary" in own(archive, clone)


def test_an_option_can_read_any_repository(archive: Archive) -> None:
    archive.write("postrender.yaml", "")
    archive.write_git_file(archive.private / ".git")
    previous = f"--previous=git:{archive.ref}:rendered.yaml"
    done = archive.run("--secrets", "--no-attacher", previous, stdin=MANIFESTS)
    assert "canary" in done.out, done.err
