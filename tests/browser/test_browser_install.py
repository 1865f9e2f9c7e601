"""The script that installs a browser if the machine allows it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.install_script import BASH, NOT_FOUND_BEFORE_UPDATE, RECORD, Run, run_script

INSTALL = Path(__file__).with_name("install")
ENV = 'while [ "${1%=*}" != "$1" ]; do shift; done; "$@"'

pytestmark = pytest.mark.skipif(BASH is None, reason="needs bash")


def run(folder: Path, **programs: str) -> Run:
    return run_script(INSTALL, folder, env=ENV, **programs)


def test_a_machine_with_a_browser_is_unchanged(tmp_path: Path) -> None:
    assert run(tmp_path, google_chrome="", apt_get=RECORD, id="echo 0") == (0, "", "")


def test_root_installs_the_package_of_debian(tmp_path: Path) -> None:
    done = run(tmp_path, apt_get=RECORD, id="echo 0")
    assert done.code == 0
    assert "installing the package chromium" in done.stderr
    assert done.calls.count("install --yes --no-install-recommends chromium") == 1


def test_package_lists_are_updated_if_the_package_is_not_found(tmp_path: Path) -> None:
    done = run(tmp_path, apt_get=NOT_FOUND_BEFORE_UPDATE, id="echo 0")
    assert done.code == 0
    assert "could not" not in done.stderr
    assert [line.split()[3] for line in done.calls.splitlines()] == ["install", "update", "install"]


def test_other_users_see_instructions(tmp_path: Path) -> None:
    done = run(tmp_path, apt_get=RECORD, id="echo 1000", sudo="exit 1")
    assert (done.code, done.calls) == (0, "")
    assert "sudo apt-get install chromium" in done.stderr


def test_passwordless_sudo_is_used(tmp_path: Path) -> None:
    programs = {"apt_get": RECORD, "id": "echo 1000", "sudo": 'shift; "$@"', "true": ""}
    done = run(tmp_path, **programs)
    assert done.code == 0
    assert "install" in done.calls


def test_a_failure_is_reported_with_exit_code_0(tmp_path: Path) -> None:
    done = run(tmp_path, apt_get="exit 100", id="echo 0")
    assert done.code == 0
    assert "Chromium could not be installed" in done.stderr


def test_a_machine_without_apt_shows_instructions(tmp_path: Path) -> None:
    done = run(tmp_path)
    assert done.code == 0
    assert "POSTRENDER_CHROMIUM" in done.stderr
