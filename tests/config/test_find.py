"""The search for postrender.yaml: which file is found, and which file is trusted."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from postrender.config.find import find_config, is_owner_trusted, shown_path
from postrender.config.repository import git_reads_only
from postrender.errors import UserError

NAME = "postrender.yaml"


@pytest.fixture
def chart(tmp_path: Path) -> Path:
    folder = tmp_path / "shop" / "chart"
    folder.mkdir(parents=True)
    return folder


def found(folder: Path) -> str:
    source, _ = find_config(str(folder), is_untrusted=False)
    return source.file if source else ""


def test_the_nearest_file_is_found(chart: Path) -> None:
    assert found(chart) == ""
    (chart.parent / NAME).touch()
    assert found(chart) == str(chart.parent / NAME)
    (chart / NAME).touch()
    assert found(chart) == str(chart / NAME)


@pytest.mark.parametrize(
    ("folder", "expected"),
    [("web", "postrender.yaml"), ("web/chart", "../postrender.yaml"), ("other", "postrender.yaml")],
)
def test_the_path_is_shown_from_the_folder_or_from_the_other_repository(
    folder: str, expected: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("web/.git", "web/chart", "other/.git"):
        (tmp_path / name).mkdir(parents=True)
    (tmp_path / "web" / ".git" / "HEAD").touch()
    (tmp_path / "web" / "postrender.yaml").touch()
    monkeypatch.chdir(tmp_path / folder)
    source, _ = find_config(str(tmp_path / "web" / "chart"), is_untrusted=False)
    assert source
    assert shown_path(source) == expected


def test_the_search_ends_at_the_repository(chart: Path) -> None:
    (chart.parent / NAME).touch()
    (chart / ".git").mkdir()
    source, [finding] = find_config(str(chart), is_untrusted=False)
    assert source is None
    assert finding.code == "config-above"
    assert finding.location.source == str(chart.parent / NAME)
    (chart.parent / ".git").mkdir()
    assert found(chart) == ""


@pytest.mark.parametrize(("git", "is_allowed"), [("", False), ("chart", False), (".", True)])
def test_a_link_leads_to_a_file_in_the_repository(chart: Path, git: str, is_allowed: bool) -> None:
    """Without a repository, the file itself must be in the folder."""
    (chart.parent / "shared.yaml").touch()
    (chart / NAME).symlink_to("../shared.yaml")
    if git:
        (chart.parent / git / ".git").mkdir()
    if is_allowed:
        assert found(chart) == str(chart / NAME)
        return
    with pytest.raises(UserError, match="outside the repository"):
        found(chart)


def test_a_link_to_a_folder_with_a_similar_name_leaves_the_repository(chart: Path) -> None:
    (chart.parent / ".git").mkdir()
    other = chart.parent.parent / "shop-2"
    other.mkdir()
    (other / NAME).touch()
    (chart / NAME).symlink_to(other / NAME)
    with pytest.raises(UserError, match="outside the repository"):
        found(chart)


def test_git_does_not_read_a_repository_that_postrender_cannot_judge(
    chart: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(chart)
    (chart / ".git").write_text("gitdir: a\0b")
    assert not git_reads_only(str(chart))


@pytest.mark.skipif(not hasattr(os, "geteuid"), reason="Windows has no user IDs")
@pytest.mark.parametrize("sudo", ["", "owner", "text"])
def test_a_file_of_another_user_is_not_trusted(
    chart: Path, sudo: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = chart / NAME
    file.touch()
    if not os.geteuid():  # the tests run as root, whose files everybody trusts
        os.chown(file, 1000, -1)
        monkeypatch.setattr(os, "geteuid", lambda: 1000)
    owner = file.stat().st_uid
    monkeypatch.setenv("SUDO_UID", str(owner) if sudo == "owner" else sudo)
    assert is_owner_trusted(str(file))
    monkeypatch.setattr(os, "geteuid", lambda: owner + 1)
    # Only root trusts the user of sudo.
    assert not is_owner_trusted(str(file))
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    assert is_owner_trusted(str(file)) == (sudo == "owner")
