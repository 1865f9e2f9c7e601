"""Commands on untrusted inputs open no other file, start no process and write nothing.

strace records the system calls of a real run. The interpreter, the package and the input are the
only files that a run may open.
"""

from __future__ import annotations

import os
import re
import shutil
import ssl
import subprocess
import sys
from pathlib import Path

import pytest

import postrender
from tests.golden_cases import FIXTURES, Case

IS_REQUIRED = os.environ.get("POSTRENDER_STRACE_REQUIRED") == "1"
STRACE = shutil.which("strace")
CALLS = "trace=%file,%process,%network,write,pwrite64,writev"
OPENED = re.compile(r'(\w+)\((?:[^"]*?)"((?:[^"\\]|\\.)*)"(.*)')
# The kernel and the C library describe the system here. The interpreter reads these files.
SYSTEM = (
    "/etc/ld.so",
    "/etc/localtime",
    "/proc/self/",
    # The allocator of newer C libraries reads this file.
    "/proc/sys/vm/overcommit_memory",
    "/dev/urandom",
    "/dev/null",
    "/sys/",
    "/lib",
    # hashlib loads OpenSSL, which reads the configuration that it was built with.
    str(Path(ssl.get_default_verify_paths().openssl_cafile).with_name("openssl.cnf")),
)
HOSTILE = """\
apiVersion: v1
kind: ConfigMap
metadata: {name: web, annotations: {postrender/mount-path: "/etc/../../etc/passwd"}}
data: {a: "git:main:x", b: "helm:x/y", c: "file:///etc/passwd", d: "$(touch x)"}
---
apiVersion: config.kubernetes.io/v1
kind: Deployment
metadata: {name: ../../web}
spec:
  template:
    spec:
      containers: [{name: a, envFrom: [{configMapRef: {name: web}}]}]
"""


@pytest.fixture(scope="module")
def strace() -> str:
    """Return the path of strace, if strace may trace a process here."""
    if STRACE and subprocess.run([STRACE, "-f", "true"], capture_output=True).returncode == 0:
        return STRACE
    if IS_REQUIRED:
        pytest.fail("strace is missing, or may not trace: apt-get install strace")
    pytest.skip("strace is missing, or may not trace")


def trace(strace: str, folder: Path, *arguments: str) -> list[str]:
    """Run postrender in a folder, and return its system calls."""
    log = folder.parent / "trace"
    command = [strace, "-f", "-s", "4096", "-e", CALLS, "-o", str(log), sys.executable, "-B"]
    subprocess.run(
        [*command, "-m", "postrender", *arguments],
        cwd=folder,
        env={
            "PATH": os.environ["PATH"],
            "PYTHONPATH": str(Path(postrender.__file__).parents[1]),
            "HOME": str(folder.parent),  # without it, the interpreter looks the user up
            "LC_ALL": "C",
        },
        capture_output=True,
        check=False,
        timeout=300,
    )
    return log.read_text("utf-8", "replace").splitlines()


def problems(calls: list[str], folder: Path) -> list[str]:
    """Return the system calls that a command on untrusted inputs must not make."""
    package = Path(postrender.__file__).parents[1]
    roots = {sys.prefix, sys.base_prefix, sys.exec_prefix, str(package / "postrender"), str(folder)}
    roots |= {os.path.realpath(root) for root in roots}
    allowed = (*(f"{root}/" for root in roots), *SYSTEM)
    folders = {*roots, str(package)}  # the interpreter lists the folder of the package
    found = []
    started = 0
    for call in calls:
        match = OPENED.search(call)
        name = match[1] if match else call.split("(")[0].split()[-1]
        if name in ("fork", "vfork", "clone", "clone3", "socket", "connect", "execve", "execveat"):
            started += name == "execve"
            if name != "execve" or started > 1:
                found.append(call)
        elif name.startswith(("unlink", "rename", "mkdir", "link", "symlink", "chmod", "truncate")):
            found.append(call)
        elif name in ("open", "openat", "openat2", "creat") and match:
            path = os.path.normpath(os.path.join(folder, match[2]))
            is_written = re.search(r"O_(WRONLY|RDWR|CREAT|APPEND|TRUNC)", match[3]) is not None
            is_written &= path not in ("/dev/null", "/dev/tty")
            is_known = path in folders or path.startswith(allowed) or "ENOENT" in call
            if is_written or not is_known:
                found.append(call)
        elif name in ("write", "pwrite64", "writev") and not re.search(r"write\w*\([12],", call):
            found.append(call)
    return found


COMMANDS = {
    "render": ("render", "--attacher-image=postrender:test", "new.yaml"),
    "explain": ("explain", "new.yaml"),
    "check": ("check", "new.yaml"),
    "diff": ("diff", "old.yaml", "new.yaml"),
    "diff as html": ("diff", "--format", "html", "old.yaml", "new.yaml"),
    "diff of folders": ("diff", ".", "."),
}


def write_inputs(folder: Path, text: bytes) -> None:
    """Write both sides of a diff."""
    (folder / ".git").mkdir(parents=True)  # stops the search for postrender.yaml
    (folder / "old.yaml").write_bytes(text)
    (folder / "new.yaml").write_bytes(text.replace(b"info", b"debug") + b"\n")


@pytest.mark.parametrize("command", COMMANDS.values(), ids=COMMANDS)
@pytest.mark.parametrize("name", ["hostile", "attacher-hook-mode", "mount-both"])
def test_a_command_stays_in_its_input(
    command: tuple[str, ...], name: str, strace: str, tmp_path: Path
) -> None:
    folder = tmp_path / "input"
    hostile = HOSTILE.encode()
    write_inputs(folder, hostile if name == "hostile" else Case(FIXTURES / f"{name}.yaml").input)
    before = sorted(path.name for path in folder.iterdir())
    calls = trace(strace, folder, *command)
    assert any("new.yaml" in call for call in calls)
    assert not problems(calls, folder)
    assert sorted(path.name for path in folder.iterdir()) == before


def test_a_program_and_a_read_outside_are_found(strace: str, tmp_path: Path) -> None:
    folder = tmp_path / "input"
    write_inputs(folder, HOSTILE.encode())
    calls = trace(strace, folder, "diff", "git:main:x", "/etc/passwd")
    assert any("execve" in call for call in problems(calls, folder))
    calls = trace(strace, folder, "render", "/etc/passwd")
    assert any("/etc/passwd" in call for call in problems(calls, folder))
    calls = trace(strace, folder, "render", "--log-file", "log", "new.yaml")
    assert problems(calls, folder)
