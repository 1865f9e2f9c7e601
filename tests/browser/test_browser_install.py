"""The script that has a browser installed where one may be."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

INSTALL = Path(__file__).with_name("install")
BASH = shutil.which("bash")

pytestmark = pytest.mark.skipif(BASH is None, reason="needs bash")


def run(folder: Path, **programs: str) -> tuple[int, str, str]:
    """Return what the script exits with and says, and what it had apt-get do.

    programs: those that are found, with what they do, besides two that the script itself needs.
    """
    calls = folder / "calls"
    for name, text in {
        "env": 'while [ "${1%=*}" != "$1" ]; do shift; done; "$@"',
        **programs,
    }.items():
        path = folder / name.replace("_", "-")
        path.write_text(f"#!{BASH}\n{text.replace('CALLS', str(calls))}\n", "utf-8")
        path.chmod(0o755)
    done = subprocess.run(
        [str(BASH), str(INSTALL)], env={"PATH": str(folder)}, capture_output=True, text=True
    )
    return done.returncode, done.stderr, calls.read_text("utf-8") if calls.exists() else ""


def test_nothing_is_done_where_a_browser_is(tmp_path: Path) -> None:
    done = run(tmp_path, google_chrome="", apt_get="echo $* >> CALLS", id="echo 0")
    assert done == (0, "", "")


def test_root_has_debians_package_installed(tmp_path: Path) -> None:
    code, said, calls = run(tmp_path, apt_get="echo $* >> CALLS", id="echo 0")
    assert code == 0
    assert "installing Debian's package chromium" in said
    assert calls.count("install --yes --no-install-recommends chromium") == 1


def test_lists_are_updated_where_the_package_is_not_found(tmp_path: Path) -> None:
    apt_get = "[[ $* = *update* ]] && : > CALLS.new; echo $* >> CALLS; [ -e CALLS.new ]"
    code, said, calls = run(tmp_path, apt_get=apt_get, id="echo 0")
    assert code == 0
    assert "could not" not in said
    assert [line.split()[3] for line in calls.splitlines()] == ["install", "update", "install"]


def test_who_is_not_root_is_told_what_to_do(tmp_path: Path) -> None:
    code, said, calls = run(tmp_path, apt_get="echo $* >> CALLS", id="echo 1000", sudo="exit 1")
    assert (code, calls) == (0, "")
    assert "sudo apt-get install chromium" in said


def test_sudo_that_asks_nothing_is_taken(tmp_path: Path) -> None:
    sudo = 'shift; "$@"'
    programs = {"apt_get": "echo $* >> CALLS", "id": "echo 1000", "sudo": sudo, "true": ""}
    code, _, calls = run(tmp_path, **programs)
    assert code == 0
    assert "install" in calls


def test_a_failure_is_said_and_fails_nothing(tmp_path: Path) -> None:
    code, said, _ = run(tmp_path, apt_get="exit 100", id="echo 0")
    assert code == 0
    assert "Chromium could not be installed" in said


def test_a_machine_without_apt_is_told_what_to_do(tmp_path: Path) -> None:
    code, said, _ = run(tmp_path)
    assert code == 0
    assert "POSTRENDER_CHROMIUM" in said
