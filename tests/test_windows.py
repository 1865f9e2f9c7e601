"""The commands with a Python that has only the modules and functions of Windows.

No test runs on Windows. These tests remove everything from Python on Linux that Python on Windows
lacks. `make release-check` also checks that every dependency has a wheel for Windows.
"""

from __future__ import annotations

import ntpath
import os
import subprocess
import sys
from pathlib import Path

import pytest

from postrender.sources import paths

ROOT = Path(__file__).resolve().parents[1]
EXAMPLES = ROOT / "examples" / "rendered"
# From the pages of these modules in the documentation of Python: "Availability: Unix".
LIKE_WINDOWS = """\
import os, signal, subprocess, sys, tempfile
for name in "fcntl grp pty pwd readline resource syslog termios tty".split():
    sys.modules[name] = None
for name in (
    "O_NOFOLLOW O_DIRECTORY O_NONBLOCK O_NOCTTY O_SYNC chown fchmod fchown fork forkpty getegid"
    " geteuid getgid getgroups getloadavg getpgid getpriority getresuid getsid getuid getxattr"
    " killpg lchown mkfifo mknod openpty pread pwrite sched_getaffinity setsid statvfs tcgetpgrp"
    " uname"
).split():
    if hasattr(os, name):
        delattr(os, name)
for name in "SIGALRM SIGCHLD SIGHUP SIGKILL SIGPIPE SIGQUIT SIGUSR1 pthread_sigmask".split():
    if hasattr(signal, name):
        delattr(signal, name)
from postrender.__main__ import main
main()
"""
COMMANDS = (
    ("render", "v1.yaml"),
    ("explain", "v1.yaml"),
    ("explain", "--format", "json", "v1.yaml"),
    ("diff", "v1.yaml", "v2.yaml"),
    ("diff", "--format", "html", "v1.yaml", "v2.yaml"),
    ("check", "v1.yaml"),
    ("config", "show"),
    ("try", "--help"),
    ("version",),
)


def run(*command: str) -> tuple[int, str, str]:
    # Windows always sets a home. Without one, zoneinfo of Python 3.10 imports pwd.
    done = subprocess.run(
        [sys.executable, *command],
        cwd=EXAMPLES,
        env={"PATH": os.environ["PATH"], "PYTHONPATH": str(ROOT), "HOME": "/nowhere"},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    return done.returncode, done.stdout, done.stderr


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_a_command_needs_only_programs_of_windows(command: tuple[str, ...]) -> None:
    expected = run("-m", "postrender", *command)
    assert run("-c", LIKE_WINDOWS, *command) == expected
    assert "Traceback" not in expected[2]


def test_the_replaced_python_lacks_functions_of_unix() -> None:
    script = LIKE_WINDOWS.replace("main()", "os.geteuid()")
    assert "has no attribute 'geteuid'" in run("-c", script)[2]


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("helm", r"C:\tools\helm.exe"),
        ("helm.exe", r"C:\tools\helm.exe"),
        ("git", None),  # only a batch file, and a program in the working directory
    ],
)
def test_a_program_is_found_in_the_folders_of_path(
    name: str, expected: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = {r"C:\tools\helm.exe", r"C:\tools\git.bat", r".\git.exe", "git.exe"}

    class Windows:
        path = ntpath
        X_OK = os.X_OK

        @staticmethod
        def get_exec_path() -> list[str]:
            return [".", "tools", r"C:\empty", r"C:\tools"]

        @staticmethod
        def access(path: str, _mode: int) -> bool:
            return path in files

    monkeypatch.setattr(ntpath, "isfile", files.__contains__)
    monkeypatch.setattr(paths, "os", Windows)
    monkeypatch.setattr(paths, "_IS_WINDOWS", True)
    assert paths.find_program(name) == expected
