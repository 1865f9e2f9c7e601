"""The Dockerfile, as far as it can be tested without a container engine.

Some tests read its text. The others replay the build stage in a folder, with PyPI. They run the
result under the constraints of the Job's Pod, which needs Linux and root. tests/e2e/node builds the
image, and runs the image in Pods.
"""

from __future__ import annotations

import fcntl
import json
import os
import re
import shlex
import shutil
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatch
from functools import cache
from importlib.metadata import requires
from importlib.util import cache_from_source
from pathlib import Path
from typing import Any

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from postrender import __version__
from postrender.config.settings import AttacherSettings
from postrender.kubernetes.kinds import Identity
from postrender.plan.attacher_job import (
    HOOK,
    AttachedWorkload,
    AttachGroup,
    attacher_objects,
    default_image,
)
from tests.e2e.programs import present

ROOT = Path(__file__).resolve().parents[1]
LOCK_FILES = ("docker/requirements.txt", "docker/build-requirements.txt")
VENV = "/opt/postrender"
PINNED_SLIM = re.compile(r"python:3\.\d+-slim-[a-z]+@sha256:[0-9a-f]{64}")
# The step that collects the files of the final stage needs the base image.
COLLECT = "python docker/collect.py"
SERVICE_ACCOUNT = "/var/run/secrets/kubernetes.io/serviceaccount"
PATH = "/usr/sbin:/usr/bin:/sbin:/bin"
# The folders of the machine that Python needs, in addition to its own.
SYSTEM_FOLDERS = ("/etc", "/lib", "/lib64", "/proc", "/usr")
TIMEOUT = 60

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


# Reading the Dockerfile


@dataclass(frozen=True)
class Stage:
    """A stage, from one FROM to the next.

    steps: (instruction, argument) in their order
    """

    base: str
    steps: tuple[tuple[str, str], ...]

    def all(self, instruction: str) -> list[str]:
        """Return the argument of each occurrence of an instruction."""
        return [argument for name, argument in self.steps if name == instruction]

    def pairs(self, instruction: str) -> dict[str, str]:
        """Return the variables or labels that an instruction (ENV, ARG, LABEL) sets."""
        words = [word for text in self.all(instruction) for word in shlex.split(text)]
        return dict(word.split("=", 1) for word in words)


@cache
def stages() -> tuple[Stage, ...]:
    """Return the stages, with global arguments replaced in FROM."""
    text = re.sub(r"^\s*#.*\n", "", (ROOT / "Dockerfile").read_text(), flags=re.MULTILINE)
    lines = text.replace("\\\n", "").splitlines()
    arguments: dict[str, str] = {}
    result: list[Stage] = []
    for instruction, argument in (line.split(None, 1) for line in lines if line.strip()):
        if instruction == "FROM":
            base = argument.split()[0]
            for name, value in arguments.items():
                base = base.replace(f"${{{name}}}", value)
            result.append(Stage(base, ()))
        elif result:
            result[-1] = replace(result[-1], steps=(*result[-1].steps, (instruction, argument)))
        else:
            name, value = argument.split("=", 1)
            arguments[name] = value
    return tuple(result)


def copied(stage: Stage) -> list[str]:
    """Return the paths that a stage copies from the repository."""
    lines = [line for line in stage.all("COPY") if not line.startswith("--from=")]
    return [source for line in lines for source in line.split()[:-1]]


def is_ignored(path: str) -> bool:
    """Return whether .dockerignore excludes a path; the last matching line decides."""
    ignored = False
    for line in (ROOT / ".dockerignore").read_text().splitlines():
        pattern = line.lstrip("!")
        if line.startswith("#") or not line:
            continue
        parents = ["/".join(path.split("/")[: n + 1]) for n in range(path.count("/") + 1)]
        if any(fnmatch(f"/{parent}", f"/{pattern}".replace("/**/", "*/")) for parent in parents):
            ignored = not line.startswith("!")
    return ignored


def pod_spec() -> Any:
    """Return the spec of the appended Job's Pod."""
    identity = Identity(group="argoproj.io", kind="Rollout", namespace=None, name="a")
    workload = AttachedWorkload(
        identity=identity, render_id="0123456789", names=(("configmap", "b"),), wave=0
    )
    attach_group = AttachGroup(name="a", namespace=None, workloads=(workload,), emitted=())
    job: Any = attacher_objects(attach_group, HOOK, AttacherSettings())[-1]
    return job["spec"]["template"]["spec"]


def pins(name: str) -> Iterator[tuple[str, str, int]]:
    """Yield the package, version and number of hashes of each pin in a lock file."""
    text = re.sub(r"^\s*#.*\n", "", (ROOT / name).read_text(), flags=re.MULTILINE)
    for line in text.replace("\\\n", "").splitlines():
        pin, *hashes = line.split()
        assert all(re.fullmatch(r"--hash=sha256:[0-9a-f]{64}", text) for text in hashes), line
        package, version = pin.split("==")
        yield package, version, len(hashes)


# Rules


def test_the_build_uses_a_pinned_slim_python_and_the_image_is_from_scratch() -> None:
    build, final = stages()
    assert PINNED_SLIM.fullmatch(build.base)
    assert final.base == "scratch"


def test_the_sidecar_is_on_the_same_python() -> None:
    sidecar = (ROOT / "examples/argocd/Dockerfile").read_text()
    assert re.findall(r"^ARG BASE=(.*)$", sidecar, re.M) == [stages()[0].base]


@pytest.mark.parametrize("name", ["Dockerfile", "examples/argocd/Dockerfile"])
def test_every_base_image_can_have_a_digest(name: str) -> None:
    """A digest follows the tag, so the whole reference must be the value of an argument."""
    text = (ROOT / name).read_text()
    arguments = set(re.findall(r"^ARG (\w+)=\S+$", text.split("FROM ")[0], re.M))
    images = re.findall(r"^FROM (\S+)", text, re.M)
    assert images
    assert {image for image in images if image != "scratch"} == {f"${{{arg}}}" for arg in arguments}
    assert "@sha256:" in text


def test_the_user_is_the_user_of_the_pod() -> None:
    context = pod_spec()["securityContext"]
    assert stages()[-1].all("USER") == [f"{context['runAsUser']}:{context['runAsGroup']}"]
    assert context["runAsNonRoot"]
    assert context["runAsUser"] > 0


def test_the_pod_only_adds_arguments_to_the_entry_point() -> None:
    container = pod_spec()["containers"][0]
    assert "command" not in container
    assert container["args"][0] == "attach"
    assert entry_point() == [f"{VENV}/bin/postrender"]


def test_without_arguments_the_image_renders() -> None:
    assert stages()[-1].all("CMD") == ["[]"]


def entry_point() -> list[str]:
    (text,) = stages()[-1].all("ENTRYPOINT")
    words = json.loads(text)
    assert isinstance(words, list), (
        "the shell form would start a shell between the Pod and the process"
    )
    return words


def test_the_final_stage_does_not_install_packages() -> None:
    final = stages()[-1]
    assert not final.all("RUN")
    assert final.all("COPY") == ["--from=build /image /"]
    assert not final.all("ADD")
    assert stages()[0].all("RUN")[-1] == f"{COLLECT} /image {VENV}"


def test_only_the_copied_paths_are_sent_to_the_build() -> None:
    sources = copied(stages()[0])
    assert sources
    for source in sources:
        assert (ROOT / source).exists(), source
        assert not is_ignored(source), source
    for name in (".git/config", ".venv/bin/python", "tests/conftest.py", "examples/chart"):
        assert is_ignored(name), name
    assert is_ignored("postrender/__pycache__/cli.pyc")
    assert is_ignored("postrender/attach/__pycache__")
    assert not is_ignored("postrender/attach/run.py")


def test_the_version_is_the_version_of_the_package() -> None:
    version = stages()[-1].pairs("ARG")["VERSION"]
    assert version == __version__
    assert default_image() == f"postrender:{version}"
    assert f"--tag {default_image()} ." in (ROOT / "Dockerfile").read_text()


def test_the_labels_are_oci_labels() -> None:
    labels = stages()[-1].pairs("LABEL")
    prefix = "org.opencontainers.image."
    names = ("title", "description", "licenses", "version", "source")
    assert set(labels) == {prefix + name for name in names}
    assert labels[f"{prefix}licenses"] == "Apache-2.0"


@pytest.mark.parametrize("name", LOCK_FILES)
def test_every_pin_has_its_hashes(name: str) -> None:
    assert all(hashes for _, _, hashes in pins(name))
    assert "://" not in (ROOT / name).read_text()


def test_the_lock_file_satisfies_the_requirements_of_the_package() -> None:
    locked = {package: version for package, version, _ in pins(LOCK_FILES[0])}
    for requirement in map(Requirement, requires("postrender") or []):
        if requirement.marker is None or requirement.marker.evaluate({"extra": "attach"}):
            name = canonicalize_name(requirement.name)
            assert requirement.specifier.contains(locked[name]), (
                f"run make image-requirements: {requirement}"
            )


# Replay


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
    if not present():
        pytest.skip("the replay takes a while, and runs only with the end-to-end tests: make e2e")
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
    variables = {**os.environ, **stage.pairs("ENV"), "PATH": path}
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
    [(["--version"], f"version {__version__}"), (["attach", "--help"], "--workload")],
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
