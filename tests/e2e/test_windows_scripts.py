"""The Windows scripts of the Helm 4 plugin, with the cmd.exe of Wine.

A small program replaces postrender.exe, python.exe and py.exe. The tests need Wine 10, and a
compiler for this program. The cmd.exe of earlier versions of Wine reads the scripts in another way.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

import pytest

ROOT = Path(__file__).resolve().parents[2]
COMPILER = "x86_64-w64-mingw32-gcc"
VERSION = "0.0.1"
# cmd.exe treats each of these characters in a special way.
SPECIAL = "a (b) & ver ! ^ c"


def major_version_of_wine() -> int:
    """Return 0 without Wine."""
    if not shutil.which("wine"):
        return 0
    done = subprocess.run(["wine", "--version"], capture_output=True, text=True, check=False)
    version = re.match(r"wine-(\d+)", done.stdout)
    return int(version[1]) if version else 0


pytestmark = [
    pytest.mark.skipif(not shutil.which(COMPILER), reason=f"{COMPILER} is not on PATH"),
    pytest.mark.skipif(major_version_of_wine() < 10, reason="Wine 10 is not on PATH"),
    pytest.mark.xdist_group("wine"),
]


class Done(NamedTuple):
    """A finished script."""

    code: int
    stdout: bytes
    stderr: str


class Windows(NamedTuple):
    """A plugin folder, and a folder `bin`, which is on PATH next to the folders of Windows."""

    folder: Path
    variables: dict[str, str]
    stub: Path

    @property
    def plugin(self) -> Path:
        """The folder of the plugin."""
        return self.folder / SPECIAL

    @property
    def venv(self) -> Path:
        """The virtual environment of the plugin."""
        return self.plugin / ".plugin" / "venv"

    @property
    def log(self) -> Path:
        """The log of the plugin."""
        return self.folder / "cache & x" / "postrender.log"

    def add(self, *programs: Path) -> None:
        """Copy the small program to these files."""
        for program in programs:
            program.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(self.stub, program)

    def start(self, script: str, *arguments: str, **variables: str) -> subprocess.Popen[bytes]:
        """Start a script in a folder with special characters in its name."""
        working_directory = self.folder / "R & ver"
        working_directory.mkdir(exist_ok=True)
        command = ["wine", windows_path(self.plugin / "plugin" / script), *arguments]
        return subprocess.Popen(
            command,
            cwd=working_directory,
            env={
                **self.variables,
                "WINEPATH": windows_path(self.folder / "bin"),
                "HELM_CACHE_HOME": windows_path(self.log.parent),
                "STUB_VERSION": "9",
                **variables,
            },
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )

    def run(self, script: str, *arguments: str, text: bytes = b"", **variables: str) -> Done:
        """Run a script to its end."""
        process = self.start(script, *arguments, **variables)
        stdout, stderr = process.communicate(text, timeout=300)
        return Done(process.returncode, stdout, re.sub(r" ?\r\n", "\n", stderr.decode()))


def windows_path(path: Path) -> str:
    return "Z:" + str(path).replace("/", "\\")


@pytest.fixture(scope="module")
def prefix(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Return a folder with the files of Windows, and with the small program."""
    folder = tmp_path_factory.mktemp("wine")
    source = ROOT / "tests" / "windows_stub.c"
    subprocess.run([COMPILER, "-O1", "-s", "-o", str(folder / "stub.exe"), str(source)], check=True)
    # Wine stays ready while a program runs. A ready Wine starts each script at once.
    command = ["wine", "cmd", "/c", "echo ready & pause"]
    with subprocess.Popen(
        command, env=variables(folder), stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as process:
        assert process.stdout
        assert process.stdout.readline().startswith(b"ready")
        yield folder
        process.communicate(b"\r\n", timeout=300)


def variables(prefix: Path) -> dict[str, str]:
    return {
        "PATH": os.environ["PATH"],
        "HOME": str(prefix),
        "WINEPREFIX": str(prefix / "prefix"),
        "WINEDEBUG": "-all",
        # Do not look for Mono and Gecko, and do not write to the desktop's menu.
        "WINEDLLOVERRIDES": "mscoree,mshtml,winemenubuilder.exe=",
    }


@pytest.fixture
def windows(prefix: Path, tmp_path: Path) -> Windows:
    """Return a machine with neither postrender nor Python."""
    machine = Windows(tmp_path, variables(prefix), prefix / "stub.exe")
    (machine.plugin / "plugin").mkdir(parents=True)
    for name in ("run.cmd", "install.cmd"):
        shutil.copy(ROOT / "plugin" / name, machine.plugin / "plugin")
    (machine.plugin / "plugin.yaml").write_text(f"name: postrender\nversion: {VERSION}\n")
    return machine


def add_postrender(windows: Windows) -> None:
    windows.add(windows.venv / "Scripts" / "postrender.exe")


# run.cmd


def test_the_input_is_unchanged_and_the_exit_code_is_returned(windows: Windows) -> None:
    add_postrender(windows)
    text = b'%PATH% !x! ^ & | < > " \xc3\xa9 \x1a \xff\r\n\n' * 150_000
    done = windows.run("run.cmd", "--a=1", "with space", text=text, STUB_EXIT="3")
    assert (done.code, done.stdout) == (3, text)
    assert "postrender.exe [--a=1] [with space]\n" in done.stderr
    head, entry = windows.log.read_text().splitlines()
    assert re.match(r'== .* exit 3 in "Z:\\.*\\R & ver": postrender --a=1 "with space"$', head)
    assert entry in done.stderr
    assert [path.name for path in windows.log.parent.iterdir()] == ["postrender.log"]


def test_a_run_without_messages_does_not_write_a_log(windows: Windows) -> None:
    add_postrender(windows)
    assert windows.run("run.cmd", text=b"x", STUB_QUIET="1") == (0, b"x", "")
    assert list(windows.log.parent.iterdir()) == []


def test_two_runs_at_the_same_time_succeed(windows: Windows) -> None:
    """Windows does not let two programs write to the same log at the same time."""
    add_postrender(windows)
    with ThreadPoolExecutor() as pool:
        runs = [
            pool.submit(windows.run, "run.cmd", name, text=b"x", STUB_SLEEP="1000")
            for name in ("one", "two")
        ]
    assert [run.result()[:2] for run in runs] == [(0, b"x"), (0, b"x")]


def test_the_log_does_not_grow_without_limit(windows: Windows) -> None:
    add_postrender(windows)
    windows.log.parent.mkdir()
    windows.log.write_text("x" * 1_000_001)
    windows.run("run.cmd")
    assert windows.log.stat().st_size < 10_000
    assert windows.log.with_suffix(".log.old").stat().st_size == 1_000_001


def test_a_log_that_cannot_be_written_does_not_fail_the_run(windows: Windows) -> None:
    add_postrender(windows)
    windows.log.parent.touch()
    done = windows.run("run.cmd", text=b"x")
    assert (done.code, done.stdout) == (0, b"x")


def test_only_the_program_of_the_plugin_is_run(windows: Windows) -> None:
    windows.add(windows.folder / "R & ver" / "postrender.exe")
    windows.add(windows.folder / "bin" / "postrender.exe")
    done = windows.run("run.cmd", text=b"x")
    assert done.code
    assert done.stdout == b""
    assert re.search(
        r'postrender.exe" does not start: .* Run ".*plugin\\install.cmd"$', done.stderr
    )
    assert done.stderr.strip() in windows.log.read_text()


# install.cmd


def test_without_python_the_install_shows_a_fix(windows: Windows) -> None:
    done = windows.run("install.cmd")
    assert done.code == 1
    assert "needs Python 3.10 or later, and PATH has none. Install Python, " in done.stderr
    script = windows_path(windows.plugin / "plugin" / "install.cmd")
    assert done.stderr.endswith(f'then run "{script}"\n')
    windows.add(windows.folder / "bin" / "python.exe")
    assert windows.run("install.cmd", STUB_CHECK="1") == done


def test_the_postrender_of_path_is_not_used(windows: Windows) -> None:
    windows.add(*(windows.folder / "bin" / f"{name}.exe" for name in ("postrender", "py")))
    calls = windows.folder / "calls"
    done = windows.run("install.cmd", STUB_CALLS=windows_path(calls))
    assert (done.code, done.stderr) == (0, "")
    folder = windows_path(windows.plugin / "plugin") + "\\.."
    common = "python.exe [-I] [-m] [pip] [install] [--quiet] [--disable-pip-version-check]"
    assert calls.read_text().splitlines() == [
        "py.exe [-3] [-I] [-c] [import sys; sys.exit(sys.version_info < (3, 10))]",
        f"py.exe [-3] [-I] [-m] [venv] [{folder}\\.plugin\\venv]",
        f"{common} [--require-hashes] [--requirement] [{folder}\\plugin\\requirements.txt]"
        f" [--requirement] [{folder}\\plugin\\build-requirements.txt]",
        f"{common} [--no-index] [--no-deps] [--no-build-isolation] [{folder}]",
    ]
    assert (windows.venv / "Scripts" / "postrender.exe").exists()


def test_a_failed_install_keeps_the_previous_installation(windows: Windows) -> None:
    windows.add(windows.folder / "bin" / "python.exe")
    done = windows.run("install.cmd", STUB_PIP="1")
    assert done.code == 1
    assert re.match(r"pip fails\nerror: postrender was not installed, for the reason", done.stderr)
    assert not (windows.plugin / ".plugin").exists()

    before = windows.venv / "before"
    before.parent.mkdir(parents=True)
    before.touch()
    assert windows.run("install.cmd", STUB_PIP="1").code == 1
    assert list((windows.plugin / ".plugin").rglob("*")) == [windows.venv, before]
    assert windows.run("install.cmd").code == 0
    assert not before.exists()
    assert [path.name for path in (windows.plugin / ".plugin").iterdir()] == ["venv"]
