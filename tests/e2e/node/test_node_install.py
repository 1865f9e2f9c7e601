"""The script that installs the programs of a real node if the machine allows it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.install_script import BASH, NOT_FOUND_BEFORE_UPDATE, RECORD, Run, run_script

INSTALL = Path(__file__).with_name("install")
ALL = ("containerd", "runc", "iptables", "ip", "buildah", "mmdebstrap")

pytestmark = pytest.mark.skipif(BASH is None, reason="needs bash")


def run(folder: Path, *present: str, **programs: str) -> Run:
    """Run the script; present: programs on PATH that do nothing."""
    cni = folder / "bridge"
    cni.touch()
    # The policy of services is a file of the test, and `chmod` and `rm` on PATH do nothing.
    text = INSTALL.read_text().replace("/usr/sbin/policy-rc.d", str(folder / "policy"))
    script = folder / "install"
    script.write_text(text.replace("/usr/lib/cni/bridge", str(cni)))
    usual = {"env": 'shift; "$@"', "chmod": "", "rm": "", "unshare": ""}
    return run_script(script, folder, **{**dict.fromkeys(present, ""), **usual, **programs})


def test_root_installs_only_the_missing_packages(tmp_path: Path) -> None:
    present = [name for name in ALL if name not in ("ip", "runc")]
    done = run(tmp_path, *present, apt_get=RECORD, id="echo 0")
    assert done.code == 0
    assert "installing the packages runc iproute2" in done.stderr
    assert "install --yes --no-install-recommends runc iproute2" in done.calls


def test_package_lists_are_updated_if_a_package_is_not_found(tmp_path: Path) -> None:
    done = run(tmp_path, apt_get=NOT_FOUND_BEFORE_UPDATE, id="echo 0")
    assert done.code == 0
    assert "could not" not in done.stderr
    assert [line.split()[3] for line in done.calls.splitlines()] == ["install", "update", "install"]


def test_other_users_see_instructions(tmp_path: Path) -> None:
    done = run(tmp_path, apt_get=RECORD, id="echo 1000")
    assert (done.code, done.calls) == (0, "")
    assert "apt-get install containerd runc" in done.stderr
    assert "skipped" in done.stderr


def test_a_machine_without_containers_does_not_get_packages(tmp_path: Path) -> None:
    done = run(tmp_path, apt_get=RECORD, id="echo 0", unshare="exit 1")
    assert (done.code, done.calls) == (0, "")
    assert "does not allow containers" in done.stderr


def test_a_failure_is_reported_with_exit_code_0(tmp_path: Path) -> None:
    done = run(tmp_path, apt_get="exit 100", id="echo 0")
    assert done.code == 0
    assert "the packages could not be installed" in done.stderr


def test_a_machine_without_apt_shows_instructions(tmp_path: Path) -> None:
    done = run(tmp_path)
    assert done.code == 0
    assert "are skipped" in done.stderr
