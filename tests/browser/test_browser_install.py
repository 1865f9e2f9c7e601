"""The script that installs a browser if the machine allows it."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

INSTALL = Path(__file__).with_name("install")
BASH = shutil.which("bash")

pytestmark = pytest.mark.skipif(BASH is None, reason="needs bash")


def run(folder: Path, **programs: str) -> tuple[int, str, str]:
    """Return the exit code and the stderr of the script, and its calls of apt-get.

    programs: the programs on PATH, in addition to those that the script itself needs.
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


def test_a_machine_with_a_browser_is_unchanged(tmp_path: Path) -> None:
    done = run(tmp_path, google_chrome="", apt_get="echo $* >> CALLS", id="echo 0")
    assert done == (0, "", "")


def test_root_installs_the_package_of_debian(tmp_path: Path) -> None:
    code, stderr, calls = run(tmp_path, apt_get="echo $* >> CALLS", id="echo 0")
    assert code == 0
    assert "installing the package chromium" in stderr
    assert calls.count("install --yes --no-install-recommends chromium") == 1


def test_package_lists_are_updated_if_the_package_is_not_found(tmp_path: Path) -> None:
    apt_get = "[[ $* = *update* ]] && : > CALLS.new; echo $* >> CALLS; [ -e CALLS.new ]"
    code, stderr, calls = run(tmp_path, apt_get=apt_get, id="echo 0")
    assert code == 0
    assert "could not" not in stderr
    assert [line.split()[3] for line in calls.splitlines()] == ["install", "update", "install"]


def test_other_users_see_instructions(tmp_path: Path) -> None:
    code, stderr, calls = run(tmp_path, apt_get="echo $* >> CALLS", id="echo 1000", sudo="exit 1")
    assert (code, calls) == (0, "")
    assert "sudo apt-get install chromium" in stderr


def test_passwordless_sudo_is_used(tmp_path: Path) -> None:
    sudo = 'shift; "$@"'
    programs = {"apt_get": "echo $* >> CALLS", "id": "echo 1000", "sudo": sudo, "true": ""}
    code, _, calls = run(tmp_path, **programs)
    assert code == 0
    assert "install" in calls


def test_a_failure_is_reported_with_exit_code_0(tmp_path: Path) -> None:
    code, stderr, _ = run(tmp_path, apt_get="exit 100", id="echo 0")
    assert code == 0
    assert "Chromium could not be installed" in stderr


def test_a_machine_without_apt_shows_instructions(tmp_path: Path) -> None:
    code, stderr, _ = run(tmp_path)
    assert code == 0
    assert "POSTRENDER_CHROMIUM" in stderr
