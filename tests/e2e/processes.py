"""The processes of a server: they are started, waited for, and ended by their process ids."""

from __future__ import annotations

import contextlib
import os
import secrets
import shutil
import socket
import subprocess
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import TypeVar

from tests.e2e.api import UNREACHABLE, ApiError

# An idle machine starts a node in 20 seconds; a busy machine can need minutes.
START_SECONDS = 300
# Go collects garbage less often (the default is 100), and uses more memory, up to a limit. With the
# default, a server needs a fifth of its time for this, and near its limit more than half.
GO = {"GOGC": "400", "GOMEMLIMIT": "3GiB"}
PORTS = range(10_000, 32_000)

Started = TypeVar("Started", bound="Server")


class StartError(Exception):
    """A process that did not start; the message ends with its log."""


class Processes:
    """The running processes by name; each writes `NAME.log` in the folder."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.folder = folder
        self._running: dict[str, subprocess.Popen[bytes]] = {}

    def start(self, name: str, command: Sequence[str | Path], env: Mapping[str, str] = {}) -> None:
        """Start a process in the folder, with these variables added to our environment."""
        with self._log(name).open("ab") as log:
            # With its own session, Ctrl-C reaches only the tests, which then end the process.
            self._running[name] = subprocess.Popen(
                [*_follow_to_death(), *command],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                cwd=self.folder,
                env={**GO, **os.environ, **env},
                start_new_session=True,
            )

    def wait(self, name: str, ready: Callable[[], bool]) -> None:
        """Wait until a process is ready; if a process ends or is too slow, show its log."""
        deadline = time.monotonic() + START_SECONDS
        while True:
            for part, process in self._running.items():
                if process.poll() is not None:
                    raise StartError(f"{part} ended with {process.returncode}\n{self._tail(part)}")
            try:
                if ready():
                    return
            except (ApiError, *UNREACHABLE):
                pass
            if time.monotonic() > deadline:
                raise StartError(f"{name} is not ready after {START_SECONDS} s\n{self._tail(name)}")
            time.sleep(0.05)

    def pid(self, name: str) -> int:
        """Return the process id of a running process."""
        return self._running[name].pid

    def end(self, name: str) -> None:
        """Kill one process, as if it crashed."""
        process = self._running.pop(name)
        process.kill()
        process.wait()

    def stop(self) -> None:
        """End every process, the last one first; the logs are kept."""
        for name in reversed(list(self._running)):
            self.end(name)

    def _log(self, name: str) -> Path:
        return self.folder / f"{name}.log"

    def _tail(self, name: str) -> str:
        lines = self._log(name).read_text(errors="replace").splitlines()
        return "\n".join([f"{self._log(name)}:", *lines[-20:]])


class Server(ABC):
    """A server of several processes, as a context manager: all of them run, or none."""

    def __enter__(self: Started) -> Started:
        try:
            self._start_all()
        except BaseException:
            self.stop()
            raise
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.stop()

    @abstractmethod
    def stop(self) -> None:
        """End every process."""

    @abstractmethod
    def _start_all(self) -> None: ...


def _follow_to_death() -> list[str]:
    """Return a command prefix that ends the process when we are killed (on Linux)."""
    setpriv = shutil.which("setpriv")
    return [setpriv, "--pdeathsig", "KILL"] if setpriv else []


def free_ports(count: int) -> list[int]:
    """Return free ports, which other programs get only if they ask for these numbers.

    The numbers are below those that Linux and macOS give to connections and to servers without a
    port. Otherwise another test could get a port before the server of this port has started.
    """
    ports: list[int] = []
    while len(ports) < count:
        port = secrets.choice(PORTS)
        with contextlib.suppress(OSError), socket.create_server(("127.0.0.1", port)):
            ports += [port] if port not in ports else []
    return ports
