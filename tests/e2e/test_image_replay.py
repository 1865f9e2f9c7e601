"""The build stage of the Dockerfile, replayed in a folder, with PyPI.

The result runs under the constraints of the Job's Pod, which needs Linux and root. tests/e2e/node
builds the image, and runs the image in Pods.
"""

from __future__ import annotations

import fcntl
import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.util import cache_from_source
from pathlib import Path

import pytest

from postrender import __version__
from tests.rings import in_matrix
from tests.test_image import COLLECT, LOCK_FILES, ROOT, VENV, entry_point, pins, pod_spec, stages

# tests/e2e/node runs the image itself.
pytestmark = in_matrix

SERVICE_ACCOUNT = "/var/run/secrets/kubernetes.io/serviceaccount"
PATH = "/usr/sbin:/usr/bin:/sbin:/bin"
# The folders of the machine that Python needs, in addition to its own.
SYSTEM_FOLDERS = ("/etc", "/lib", "/lib64", "/proc", "/usr")
TIMEOUT = 600

# A CA certificate without key identifiers, as EKS has. Its key was deleted.
CA = """\
-----BEGIN CERTIFICATE-----
MIIBQTCB56ADAgECAhRY2Cc68/XsSXQ+KObRj61QXU3HjjAKBggqhkjOPQQDAjAV
MRMwEQYDVQQDDAprdWJlcm5ldGVzMCAXDTI2MTEyMTEyMjYwNloYDzIxMjYxMDI4
MTIyNjA2WjAVMRMwEQYDVQQDDAprdWJlcm5ldGVzMFkwEwYHKoZIzj0CAQYIKoZI
zj0DAQcDQgAEoGaf+XZGokwDRhKqRi3nQrcWDTkGUSei/Qhl4nqi8gPx7T/GJzo7
le4+BBBy3dLZv7qje0HhxWPa1xjPFF4cuaMTMBEwDwYDVR0TAQH/BAUwAwEB/zAK
BggqhkjOPQQDAgNJADBGAiEAjkAqaJzIB40x3DDwzPVOicmhNz6+uerXETXUUvJn
aFMCIQDzOpd/d40UKcDhKb93Bx5Nu4Ged/ZE4Jpm7x7XKEl/eQ==
-----END CERTIFICATE-----
"""


@dataclass(frozen=True)
class Image:
    """The result of the build stage in a folder.

    path: the path of the virtual environment
    """

    path: Path

    def run(self, command: Sequence[str], variables: Mapping[str, str]) -> tuple[int, str, str]:
        """Run a command in the jail; return its exit code, stdout and stderr."""
        pod = {**stages()[-1].pairs("ENV"), "PATH": PATH, **variables}
        mounts = [*SYSTEM_FOLDERS, sys.base_prefix, str(self.path)]
        folders = [folder for folder in dict.fromkeys(mounts) if os.path.isdir(folder)]
        user = stages()[-1].all("USER")[0].split(":")
        jail = Path(tempfile.mkdtemp(prefix="jail-", dir=self.path.parent))
        done = subprocess.run(
            [
                "unshare",
                "--mount",
                "sh",
                "-euc",
                JAIL,
                "jail",
                jail,
                *user,
                *folders,
                "--",
                *command,
            ],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            env=pod,
            timeout=TIMEOUT,
        )
        return done.returncode, done.stdout, done.stderr

    def entry(self) -> str:
        """Return the path of the entry point."""
        return entry_point()[0].replace(VENV, str(self.path))


# Runs a command in a new root with the given folders and a service account, all of them read-only.
# Only the Pod's user may read the token, as in a Pod. The command runs as that user, without
# capabilities.
JAIL = f"""
root=$1 user=$2 group=$3; shift 3
mount -t tmpfs -o mode=755 jail "$root"
account=$root{SERVICE_ACCOUNT}
mkdir -p "$account"
mkdir -m 1777 "$root/tmp"
printf %s a-token > "$account/token"
printf %s a-namespace > "$account/namespace"
printf %s '{CA}' > "$account/ca.crt"
chmod 600 "$account/token"
chown "$user:$group" "$account/token"
while [ "$1" != -- ]; do
  [ -d "$root$1" ] || mkdir -p "$root$1"
  mount --bind "$1" "$root$1"
  mount -o remount,bind,ro "$root$1"
  shift
done
shift
mount -o remount,ro "$root"
cd /
exec chroot "$root" setpriv --reuid "$user" --regid "$group" --clear-groups --no-new-privs \\
  --bounding-set -all --inh-caps -all -- "$@"
"""

# Prints the user, the capabilities, and whether folders are read-only and can be written to.
PROBE = """
import json, os, sys
def can_write(folder):
    try:
        open(os.path.join(folder, "probe"), "w").close()
    except OSError as error:
        return error.strerror
    return True
status = dict(line.split(":", 1) for line in open("/proc/self/status"))
print(json.dumps({
    "ids": [os.getuid(), os.getgid(), *os.getgroups()],
    "capabilities": [int(status[name], 16) for name in ("CapEff", "CapPrm", "CapBnd")],
    "read_only": all(os.statvfs(folder).f_flag & os.ST_RDONLY for folder in sys.argv[1:]),
    "write": sorted({can_write(folder) for folder in sys.argv[1:]}),
}))
"""

# Starts as the entry point does, but waits less. Prints each attempt to write a file.
IMPATIENT = """
import os, sys
def report(event, args):
    flags = os.O_WRONLY | os.O_RDWR | os.O_CREAT
    if event == "open" and isinstance(args[2], int) and args[2] & flags or event == "os.mkdir":
        os.write(2, f"written: {args}\\n".encode())
sys.addaudithook(report)
from postrender.attach import client
client.RETRY_SECONDS = 0.5
from postrender.__main__ import main
main()
"""


@pytest.fixture(scope="session")
def image(tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest) -> Image:
    """Replay the build stage, once for all processes of the test run."""
    if sys.version_info < (3, 11):
        pytest.skip("the lock file's packages need Python 3.11")
    base = tmp_path_factory.getbasetemp()
    folder = (base.parent if hasattr(request.config, "workerinput") else base) / "image"
    folder.mkdir(exist_ok=True)
    with (folder / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (folder / "built").exists():
            _replay(folder)
            (folder / "built").touch()
    return Image(folder / "postrender")


def _replay(folder: Path) -> None:
    tools = folder / "tools"
    subprocess.run([sys.executable, "-m", "venv", tools], check=True, timeout=TIMEOUT)
    _skip_without_index(tools, folder)
    stage = stages()[0]
    source = folder / "src"
    source.mkdir()
    path = f"{tools}/bin{os.pathsep}{os.environ['PATH']}"
    variables = {**os.environ, **stage.pairs("ARG"), **stage.pairs("ENV"), "PATH": path}
    for name, argument in stage.steps:
        if name == "COPY":
            _copy(argument.split()[:-1], source)
        elif name == "RUN" and not argument.startswith(COLLECT):
            _run(argument.replace(VENV, str(folder / "postrender")), source, variables)


def _skip_without_index(tools: Path, folder: Path) -> None:
    package = next(pins(LOCK_FILES[1]))[0]
    options = ["-q", "--no-deps", "--no-cache-dir", "--retries", "0", "--timeout", "10", "--dest"]
    command = [str(tools / "bin" / "pip"), "download", *options, str(folder / "probe"), package]
    if subprocess.run(command, capture_output=True, timeout=TIMEOUT).returncode:
        pytest.skip("PyPI cannot be reached")


def _copy(sources: Sequence[str], target: Path) -> None:
    """Copy the paths that would be sent to the build."""
    for source in sources:
        if (ROOT / source).is_dir():
            ignore = shutil.ignore_patterns("__pycache__")
            shutil.copytree(ROOT / source, target / source, ignore=ignore)
        else:
            shutil.copy(ROOT / source, target)


def _run(script: str, folder: Path, variables: Mapping[str, str]) -> None:
    command = ["sh", "-euc", script]
    done = subprocess.run(
        command, cwd=folder, env=variables, capture_output=True, text=True, timeout=TIMEOUT
    )
    assert not done.returncode, f"{script}\n{done.stdout}{done.stderr}"


@pytest.fixture(scope="session")
def pod(image: Image) -> Image:
    """Return the image, or skip the test if this machine cannot constrain a process."""
    if sys.platform != "linux" or os.geteuid() != 0:
        pytest.skip("a read-only root and another user need root on Linux")
    missing = [
        name for name in ("unshare", "setpriv", "chroot") if not shutil.which(name, path=PATH)
    ]
    if missing:
        pytest.skip(f"{missing[0]} is not installed")
    command = ["unshare", "--mount", "mount", "-t", "tmpfs", "probe", str(image.path.parent)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=TIMEOUT)
    if done.returncode:
        pytest.skip(f"mounting fails on this machine: {done.stderr.strip()}")
    return image


def test_replay_has_byte_code_and_no_installer(image: Image) -> None:
    (packages,) = image.path.glob("lib/python3.*/site-packages")
    assert not list(packages.glob("pip*"))
    assert not list(image.path.glob("bin/pip*"))
    # Each module has byte code, and every user may read the files.
    sources = [str(path) for path in packages.rglob("*.py")]
    assert sources
    assert all(os.path.exists(cache_from_source(source)) for source in sources)
    assert all(path.stat().st_mode & 0o444 == 0o444 for path in packages.rglob("*.py*"))
    assert (packages / "postrender" / "config" / "config.schema.json").is_file()
    assert (packages / "postrender" / "diff" / "formats" / "html" / "page.js").is_file()
    assert list(packages.glob("postrender-*.dist-info/licenses/LICENSE"))


def test_replay_is_as_constrained_as_the_pod(pod: Image) -> None:
    python = f"{pod.path}/bin/python"
    command = [python, "-c", PROBE, "/", "/tmp", str(pod.path), SERVICE_ACCOUNT]
    code, output, errors = pod.run(command, {})
    assert not code, errors
    context = pod_spec()["securityContext"]
    assert json.loads(output) == {
        "ids": [context["runAsUser"], context["runAsGroup"]],
        "capabilities": [0, 0, 0],
        "read_only": True,
        "write": ["Read-only file system"],
    }


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [(["--version"], f"postrender {__version__}"), (["attach", "--help"], "--workload")],
)
def test_replay_runs_in_the_pod(pod: Image, arguments: list[str], expected: str) -> None:
    code, output, errors = pod.run([pod.entry(), *arguments], {})
    assert (code, errors) == (0, "")
    assert expected in output


def test_replay_fails_in_the_pod_without_an_api_server(pod: Image) -> None:
    arguments = ["attach", "--group", "x", "--workload", "Rollout/a@0123456789=configmap/b"]
    with socket.socket() as closed:  # bound, but nothing listens
        closed.bind(("127.0.0.1", 0))
        host, port = closed.getsockname()
        variables = {"KUBERNETES_SERVICE_HOST": host, "KUBERNETES_SERVICE_PORT": str(port)}
        command = [f"{pod.path}/bin/python", "-c", IMPATIENT, *arguments]
        code, output, errors = pod.run(command, variables)
    assert (code, output) == (1, ""), errors
    lines = [json.loads(line) for line in errors.splitlines()]
    assert all(set(line) == {"level", "msg", "time"} for line in lines)
    assert "in namespace a-namespace" in lines[0]["msg"]
    (failure,) = [line["msg"] for line in lines if line["level"] == "error"]
    assert "Connection refused" in failure
    assert "Check the network, and check that the API server runs" in failure
