"""Return whether this machine can run a real node, and its cgroups."""

from __future__ import annotations

import contextlib
import functools
import json
import os
import secrets
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from tests.e2e.programs import present, program

INSTALL = "tests/e2e/node/install"
PROGRAMS = ("containerd", "ctr", "runc", "iptables", "ip", "unshare", "nsenter", "buildah")
PLUGINS = (Path("/usr/lib/cni"), Path("/opt/cni/bin"))
CGROUPS = Path("/sys/fs/cgroup")
# Mounts in namespaces of its own, then a container in a cgroup of its own.
PROBE = """
mount --make-rprivate /
mount -t tmpfs tmpfs "$1/memory"
mkdir "$1/memory/upper" "$1/memory/work"
mount -t overlay -o "lowerdir=$1/lower,upperdir=$1/memory/upper,workdir=$1/memory/work" \\
  overlay "$1/rootfs"
mount -t tmpfs tmpfs /run
runc run --bundle "$1" "$2"
"""


@functools.cache
def obstacle() -> str:
    """Return why this machine cannot run a node, or ""."""
    if not present() or not Path(program("pod")).exists():
        return "the tests with a real node need the current programs, which `make e2e` builds"
    if sys.platform != "linux" or os.geteuid() != 0:
        return "the tests with a real node need root on Linux"
    missing = [name for name in PROGRAMS if not shutil.which(name)]
    if not plugins_folder():
        missing.append("the CNI plugin bridge")
    if missing:
        return f"the tests with a real node need {', '.join(missing)}. Run {INSTALL}"
    if problem := _run_container():
        return f"this machine does not allow containers: {problem}"
    return ""


def plugins_folder() -> str:
    """Return the folder of the CNI plugins, or ""."""
    return next((str(path) for path in PLUGINS if (path / "bridge").exists()), "")


def hierarchies() -> list[Path]:
    """Return the roots of the cgroup hierarchies, each of which the kubelet uses."""
    if (CGROUPS / "cgroup.controllers").exists():
        return [CGROUPS]
    mounts = [line.split() for line in Path("/proc/mounts").read_text().splitlines()]
    return [Path(words[1]) for words in mounts if words[2] == "cgroup"]


def create_cgroup(label: str) -> None:
    """Create a cgroup in every hierarchy."""
    for hierarchy in hierarchies():
        if (hierarchy / "cgroup.controllers").exists():
            for controller in (hierarchy / "cgroup.controllers").read_text().split():
                with contextlib.suppress(OSError):
                    (hierarchy / "cgroup.subtree_control").write_text(f"+{controller}")
        folder = hierarchy / label
        folder.mkdir()
        for name in ("cpuset.cpus", "cpuset.mems"):
            # In version 1, a new cpuset is empty, and no process can enter it.
            if (hierarchy / name).exists():
                (folder / name).write_text((hierarchy / name).read_text())


def cgroups(pattern: str) -> list[Path]:
    """Return the top cgroups with such a name, in every hierarchy.

    In a hybrid of the versions, runc also uses the hierarchy of version 2.
    """
    return [path for root in (CGROUPS, *CGROUPS.iterdir()) for path in root.glob(pattern)]


def remove_cgroup(label: str) -> None:
    """Remove an empty cgroup from every hierarchy, where this is allowed."""
    for top in cgroups(label):
        for folder, _, _ in os.walk(top, topdown=False):
            with contextlib.suppress(OSError):
                os.rmdir(folder)


def _run_container() -> str:
    """Run a container in the way a node does; return the problem, or ""."""
    label = f"pr{secrets.token_hex(3)}-probe"
    with tempfile.TemporaryDirectory(prefix="postrender-probe-") as name:
        folder = Path(name)
        for part in ("lower", "memory", "rootfs"):
            (folder / part).mkdir()
        for mount in ("proc", "dev"):
            (folder / "lower" / mount).mkdir()
        shutil.copy(program("pod"), folder / "lower" / "pod")
        (folder / "config.json").write_text(json.dumps(_bundle(label)))
        namespaces = ["--mount", "--net", "--pid", "--fork", "--kill-child", "--mount-proc"]
        try:
            create_cgroup(label)
            done = subprocess.run(
                ["unshare", *namespaces, "bash", "-euc", PROBE, "probe", name, label],
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                timeout=120,
            )
        except (OSError, subprocess.TimeoutExpired) as error:
            return str(error)
        finally:
            remove_cgroup(label)
    return (done.stderr.strip().splitlines() or ["no message"])[-1] if done.returncode else ""


def _bundle(label: str) -> object:
    """Return the configuration of a container that ends at once, with a limit of memory."""
    kinds = ("pid", "network", "ipc", "uts", "mount")
    return {
        "ociVersion": "1.0.2",
        "process": {"args": ["/pod", "show"], "cwd": "/", "user": {"uid": 65532, "gid": 65532}},
        "root": {"path": "rootfs"},
        "mounts": [{"destination": "/proc", "type": "proc", "source": "proc"}],
        "linux": {
            "cgroupsPath": f"/{label}/container",
            "resources": {"memory": {"limit": 64 << 20}, "cpu": {"shares": 100}},
            "namespaces": [{"type": kind} for kind in kinds],
        },
    }
