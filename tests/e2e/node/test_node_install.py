"""The script that installs the programs of a real node if the machine allows it."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

INSTALL = Path(__file__).with_name("install")
BASH = shutil.which("bash")
ALL = ("containerd", "runc", "iptables", "ip", "buildah", "mmdebstrap")

pytestmark = pytest.mark.skipif(BASH is None, reason="needs bash")


def run(folder: Path, *present: str, **programs: str) -> tuple[int, str, str]:
    """Return the exit code and the stderr of the script, and its calls of apt-get.

    present: programs on PATH that do nothing; programs: others, by their text
    """
    calls = folder / "calls"
    # The script cannot write the policy of services, because `chmod` and `rm` are not on PATH.
    cni = folder / "bridge"
    cni.touch()
    text = INSTALL.read_text().replace("/usr/sbin/policy-rc.d", str(folder / "policy"))
    text = text.replace("/usr/lib/cni/bridge", str(cni))
    script = folder / "install"
    script.write_text(text)
    usual = {"env": 'shift; "$@"', "chmod": "", "rm": "", "unshare": ""}
    for name, content in {**dict.fromkeys(present, ""), **usual, **programs}.items():
        path = folder / name.replace("_", "-")
        path.write_text(f"#!{BASH}\n{content.replace('CALLS', str(calls))}\n", "utf-8")
        path.chmod(0o755)
    done = subprocess.run(
        [str(BASH), str(script)], env={"PATH": str(folder)}, capture_output=True, text=True
    )
    return done.returncode, done.stderr, calls.read_text("utf-8") if calls.exists() else ""


def test_root_installs_only_the_missing_packages(tmp_path: Path) -> None:
    present = [name for name in ALL if name not in ("ip", "runc")]
    code, stderr, calls = run(tmp_path, *present, apt_get="echo $* >> CALLS", id="echo 0")
    assert code == 0
    assert "installing the packages runc iproute2" in stderr
    assert "install --yes --no-install-recommends runc iproute2" in calls


def test_package_lists_are_updated_if_a_package_is_not_found(tmp_path: Path) -> None:
    apt_get = "[[ $* = *update* ]] && : > CALLS.new; echo $* >> CALLS; [ -e CALLS.new ]"
    code, stderr, calls = run(tmp_path, apt_get=apt_get, id="echo 0")
    assert code == 0
    assert "could not" not in stderr
    assert [line.split()[3] for line in calls.splitlines()] == ["install", "update", "install"]


def test_other_users_see_instructions(tmp_path: Path) -> None:
    code, stderr, calls = run(tmp_path, apt_get="echo $* >> CALLS", id="echo 1000")
    assert (code, calls) == (0, "")
    assert "apt-get install containerd runc" in stderr
    assert "skipped" in stderr


def test_nothing_is_installed_on_a_machine_without_containers(tmp_path: Path) -> None:
    programs = {"apt_get": "echo $* >> CALLS", "id": "echo 0", "unshare": "exit 1"}
    code, stderr, calls = run(tmp_path, **programs)
    assert (code, calls) == (0, "")
    assert "does not allow containers" in stderr


def test_a_failure_is_reported_with_exit_code_0(tmp_path: Path) -> None:
    code, stderr, _ = run(tmp_path, apt_get="exit 100", id="echo 0")
    assert code == 0
    assert "the packages could not be installed" in stderr


def test_a_machine_without_apt_shows_instructions(tmp_path: Path) -> None:
    code, stderr, _ = run(tmp_path)
    assert code == 0
    assert "are skipped" in stderr
