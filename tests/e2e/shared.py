"""One control plane with its stand-in for a whole test run, however many processes that has.

A process of its own serves it: whoever needs it first starts that. Everyone who uses it holds a
shared lock on a file; the server waits for an exclusive one, gets it when the last user is gone,
interrupted and killed ones too, and then ends all that it started.

    python -m tests.e2e.shared FOLDER
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import signal
import subprocess
import sys
import time
import traceback
from collections.abc import Iterator
from pathlib import Path

from tests.e2e.cluster import START_SECONDS, Cluster, ControlPlane
from tests.e2e.kubelet import StandIn
from tests.e2e.programs import ROOT


@contextlib.contextmanager
def control_plane(folder: Path) -> Iterator[ControlPlane]:
    """Give the control plane of the run whose folder this is, started if need be."""
    folder.mkdir(parents=True, exist_ok=True)
    with _locked(folder / "users", fcntl.LOCK_SH):
        with _locked(folder / "start", fcntl.LOCK_EX):
            server = None if (folder / "answer").exists() else _start(folder)
            plane = _answer(folder, server)
        yield plane
    if server:
        server.wait()


@contextlib.contextmanager
def _locked(file: Path, how: int) -> Iterator[None]:
    with file.open("a") as lock:
        fcntl.flock(lock, how)
        yield


def _start(folder: Path) -> subprocess.Popen[bytes]:
    with (folder / "server.log").open("wb") as log:
        return subprocess.Popen(
            [sys.executable, "-m", "tests.e2e.shared", str(folder)],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            cwd=ROOT,
            # Out of reach of Ctrl-C: it ends when its users have.
            start_new_session=True,
        )


def _answer(folder: Path, server: subprocess.Popen[bytes] | None) -> ControlPlane:
    """Wait until the server says how to reach the control plane, or why there is none."""
    answer = folder / "answer"
    deadline = time.monotonic() + 2 * START_SECONDS
    while not answer.exists():
        died = server is not None and server.poll() is not None and not answer.exists()
        if died or time.monotonic() > deadline:
            raise AssertionError(f"no control plane: {(folder / 'server.log').read_text()}")
        time.sleep(0.05)
    found = json.loads(answer.read_text())
    if "error" in found:
        raise AssertionError(f"no control plane: {found['error']}")
    return ControlPlane(found["url"], found["token"], Path(found["folder"]))


def serve(folder: Path) -> None:
    """Serve a control plane until nobody uses it."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit())
    try:
        with Cluster(folder / "plane") as cluster, StandIn(cluster.plane):
            _say(folder, {**cluster.plane._asdict(), "folder": str(cluster.plane.folder)})
            with _locked(folder / "users", fcntl.LOCK_EX):
                pass
    except Exception:
        _say(folder, {"error": traceback.format_exc()})
        raise


def _say(folder: Path, answer: dict[str, str]) -> None:
    """Write the answer in one step, for those who wait for the file."""
    draft = folder / "answer.draft"
    draft.write_text(json.dumps(answer))
    os.replace(draft, folder / "answer")


if __name__ == "__main__":
    serve(Path(sys.argv[1]))
