"""The node itself: its conditions, its end, and the image of the Dockerfile."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tarfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from postrender.kubernetes.hashing import HASH_SUFFIX
from tests.e2e.node.images import SIDECAR, build_sidecar, buildah, locked_storage
from tests.e2e.node.machine import cgroups
from tests.e2e.node.nodes import RealNodes
from tests.e2e.node.peaks import Peaks
from tests.e2e.node.story import CHART, Shop
from tests.e2e.programs import ROOT
from tests.e2e.queries import ATTACHER
from tests.rings import in_matrix

LIMIT_SECONDS = 300
MEBIBYTE = 1 << 20
# The limit of the attacher's memory in the appended Job is 256 MiB.
MEMORY_LIMIT = 128 * MEBIBYTE
IMAGE_LIMIT = 100 * MEBIBYTE

# Uses a cluster as a worker of pytest does, and runs a Pod.
USE = """
import sys
from pathlib import Path
from tests.e2e.node.story import Shop, new_namespace, new_release
from tests.e2e.shared import real_nodes

folder = Path(sys.argv[1])
with real_nodes(folder) as nodes:
    api = new_namespace(nodes.plane, "killed")
    release = new_release("helm4", nodes.plane, api, folder / "release")
    release.postrender = False
    Shop(release, api, nodes.label).install()
    print(nodes.label, flush=True)
    sys.stdin.read()
"""


@pytest.mark.parametrize("killed", ["test", pytest.param("server", marks=in_matrix)])
def test_a_killed_process_does_not_leave_anything(
    images: list[Path], tmp_path: Path, killed: str
) -> None:
    assert images
    user = subprocess.Popen(
        [sys.executable, "-c", USE, str(tmp_path)],
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    assert user.stdout
    label = user.stdout.readline().strip()
    assert label, "the user of the cluster has failed"
    # A control plane, two nodes, and a sandbox and a container for each of two Pods.
    assert len(traces(label, tmp_path)) > 20
    server = next(
        pid for pid in processes_with(str(tmp_path)) if "tests.e2e.shared" in command(pid)
    )
    os.kill(user.pid if killed == "test" else server, signal.SIGKILL)
    wait_until(lambda: not traces(label, tmp_path), lambda: str(traces(label, tmp_path)))
    user.kill()
    user.communicate()


def traces(label: str, folder: Path) -> list[str]:
    """Return what exists of a cluster: processes, cgroups, interfaces, mounts and data."""
    found = [command(pid) for pid in processes_with(str(folder)) if "-c" not in command(pid)]
    for path in cgroups(f"{label}-*"):
        processes = (line for file in files(path, "cgroup.procs") for line in _lines(file))
        found += [str(path), *processes]
    links = subprocess.run(["ip", "-brief", "link"], capture_output=True, text=True).stdout
    found += [line for line in links.splitlines() if label in line]
    found += [line for line in _lines(Path("/proc/mounts")) if str(folder) in line]
    found += [str(path) for path in files(folder, "containerd.toml")]
    return found


def files(folder: Path, name: str) -> list[Path]:
    """Return the files with a name, while other processes may delete folders."""
    return [Path(path, name) for path, _, names in os.walk(folder) if name in names]


def processes_with(text: str) -> list[int]:
    """Return the processes whose command line contains a text."""
    pids = [int(path.name) for path in Path("/proc").glob("[0-9]*")]
    return [pid for pid in pids if pid != os.getpid() and text in command(pid)]


def command(pid: int) -> str:
    """Return the command line of a process, or "" if the process has ended."""
    return " ".join("".join(_lines(Path(f"/proc/{pid}/cmdline"))).split("\0"))


def _lines(file: Path) -> list[str]:
    try:
        return file.read_text(errors="replace").splitlines()
    except OSError:
        return []


def wait_until(is_done: Callable[[], bool], message: Callable[[], str]) -> None:
    deadline = time.monotonic() + LIMIT_SECONDS
    while not is_done():
        assert time.monotonic() < deadline, message()
        time.sleep(0.1)


OBSTACLE = "from tests.e2e.node.machine import obstacle; print(obstacle())"


@pytest.mark.parametrize(
    ("prefix", "problem"),
    [
        (["--reuid", "65532", "--clear-groups"], "need root on Linux"),
        (["--bounding-set", "-sys_admin"], "this machine does not allow containers: "),
    ],
    ids=["another user", "without privileges"],
)
def test_a_machine_that_cannot_run_a_node_has_a_reason(
    images: list[Path], prefix: list[str], problem: str, tmp_path: Path
) -> None:
    assert images
    env = {**os.environ, "PYTHONPATH": str(ROOT), "TMPDIR": str(tmp_path)}
    setpriv = ["setpriv", *prefix, "--", sys.executable, "-c", OBSTACLE]
    done = subprocess.run(setpriv, capture_output=True, text=True, env=env, cwd=ROOT)
    assert problem in done.stdout, done.stderr
    assert len(done.stdout.splitlines()) == 1


# The image


def test_the_image_has_only_python_and_postrender(images: list[Path]) -> None:
    with tarfile.open(images[-1]) as archive:
        entries = image_files(archive)
    folders = ("bin", "sbin", "usr/bin", "usr/sbin")
    assert not [entry.name for entry in entries if entry.name.startswith(folders)]
    assert not [entry.name for entry in entries if entry.name.endswith(("/pip", "/ensurepip"))]
    assert not [entry.name for entry in entries if entry.mode & 0o6000]
    written = [entry for entry in entries if entry.mode & 0o022 and not entry.issym()]
    assert [entry.name for entry in written] == ["tmp"]
    assert {entry.uid for entry in entries} == {0}
    programs = {entry.name for entry in entries if entry.name.startswith("usr/local/bin/")}
    assert programs == {f"usr/local/bin/{name}" for name in ("python", "python3", "python3.12")}
    assert sum(entry.size for entry in entries) < IMAGE_LIMIT
    # Scanners find the versions of the libraries here.
    assert "var/lib/dpkg/status.d/libssl3t64" in {entry.name for entry in entries}


def image_files(archive: tarfile.TarFile) -> list[tarfile.TarInfo]:
    """Return the entries of the layers of an OCI archive."""

    def blob(digest: str) -> tarfile.ExFileObject:
        content = archive.extractfile(f"blobs/{digest.replace(':', '/')}")
        assert isinstance(content, tarfile.ExFileObject)
        return content

    index = archive.extractfile("index.json")
    assert index
    manifest = json.load(blob(json.load(index)["manifests"][0]["digest"]))
    entries = []
    for layer in manifest["layers"]:
        with tarfile.open(fileobj=blob(layer["digest"])) as content:
            entries += content.getmembers()
    return entries


@pytest.fixture
def storage(images: list[Path]) -> Iterator[None]:
    """Lock the storage of images; remove the containers that buildah leaves behind."""
    assert images
    with locked_storage():
        yield
        buildah("rm", "--all")


@pytest.mark.usefixtures("storage")
def test_the_image_of_the_sidecar_renders_a_chart(tmp_path: Path) -> None:
    (tmp_path / "argocd").mkdir()
    build_sidecar(tmp_path / "argocd")
    (tmp_path / "chart").mkdir()
    shutil.copytree(CHART, tmp_path / "chart", dirs_exist_ok=True)
    (tmp_path / "chart" / "postrender.yaml").write_text('{"attacher": {"image": "a:1"}}')
    container = buildah("from", "--pull-never", SIDECAR).strip()
    argo = {"APP_NAME": "shop", "APP_NAMESPACE": "prod"}
    env = [f"--env=ARGOCD_{name}={value}" for name, value in argo.items()]
    env += ["--env=KUBE_VERSION=1.35", "--env=KUBE_API_VERSIONS=v1"]
    chart = f"--volume={tmp_path / 'chart'}:/chart:ro"
    options = ["--isolation=chroot", "--workingdir=/chart", chart, *env]
    found = buildah("run", *options, container, "--", "postrender-argocd", "discover")
    rendered = buildah("run", *options, container, "--", "postrender-argocd", "generate")
    assert found.strip() == "/chart/postrender.yaml"
    assert re.search(rf"name: shop-file{HASH_SUFFIX}$", rendered, re.M)


def test_the_attacher_is_restricted_and_needs_little_memory(nodes: RealNodes, shop: Shop) -> None:
    with Peaks(nodes.label) as peaks:
        pod = shop.deploy("v1")
    assert pod
    [container] = pod["spec"]["containers"]
    assert container["securityContext"]["readOnlyRootFilesystem"]
    assert peaks.uid == 65532
    assert MEBIBYTE < peaks.process < MEMORY_LIMIT
    assert MEBIBYTE < peaks.container < MEMORY_LIMIT
    print(f"process {peaks.process / 1e6:.0f} MB, container {peaks.container / 1e6:.0f} MB")
    assert "exit code 0" in shop.log()
    assert shop.api.list("Pod", labels=ATTACHER)
