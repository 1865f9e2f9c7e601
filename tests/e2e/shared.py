"""Servers for a whole test run, however many processes that has: a control plane, and Argo CD.

Each is served by a process of its own, which whoever needs it first starts. Everyone who uses it
holds a shared lock on a file; the server waits for an exclusive one, gets it when the last user is
gone, interrupted and killed ones too, and then ends all that it started.

    python -m tests.e2e.shared FOLDER NAME
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
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

from tests.e2e.argocd import ArgoCd, ArgoCdServer
from tests.e2e.cluster import Cluster, ControlPlane
from tests.e2e.kubelet import StandIn
from tests.e2e.processes import START_SECONDS
from tests.e2e.programs import ROOT

# How to reach a server, as its process says it to others.
Answer = dict[str, str]


@contextlib.contextmanager
def control_plane(run: Path) -> Iterator[ControlPlane]:
    """Give the control plane of the run whose folder this is, started if need be."""
    with _shared(run / "plane") as answer:
        yield _control_plane(answer)


@contextlib.contextmanager
def argo_cd(plane: ControlPlane) -> Iterator[ArgoCd]:
    """Give the Argo CD of a run's control plane, which the caller uses; started if need be."""
    with _shared(plane.folder.parents[1] / "argocd") as answer:
        yield ArgoCd(Path(answer["folder"]), Path(answer["sockets"]))


# Using one


@contextlib.contextmanager
def _shared(folder: Path) -> Iterator[Answer]:
    """Give what the server of this name answers, and let it live for as long."""
    folder.mkdir(parents=True, exist_ok=True)
    with _locked(folder / "users", fcntl.LOCK_SH):
        with _locked(folder / "start", fcntl.LOCK_EX):
            server = None if (folder / "answer").exists() else _start(folder)
            answer = _answer(folder, server)
        yield answer
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
            [sys.executable, "-m", "tests.e2e.shared", str(folder.parent), folder.name],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            cwd=ROOT,
            # Out of reach of Ctrl-C: it ends when its users have.
            start_new_session=True,
        )


def _answer(folder: Path, server: subprocess.Popen[bytes] | None) -> Answer:
    """Wait until the server says how to reach it, or why there is none."""
    file = folder / "answer"
    deadline = time.monotonic() + 2 * START_SECONDS
    while not file.exists():
        died = server is not None and server.poll() is not None and not file.exists()
        if died or time.monotonic() > deadline:
            raise AssertionError(f"no {folder.name}: {(folder / 'server.log').read_text()}")
        time.sleep(0.05)
    answer: Answer = json.loads(file.read_text())
    if "error" in answer:
        raise AssertionError(f"no {folder.name}: {answer['error']}")
    return answer


def _control_plane(answer: Mapping[str, str]) -> ControlPlane:
    return ControlPlane(answer["url"], answer["token"], Path(answer["folder"]))


# Serving one


@contextlib.contextmanager
def _serve_plane(folder: Path) -> Iterator[Answer]:
    with Cluster(folder / "files") as cluster, StandIn(cluster.plane):
        yield {**cluster.plane._asdict(), "folder": str(cluster.plane.folder)}


@contextlib.contextmanager
def _serve_argo_cd(folder: Path) -> Iterator[Answer]:
    plane = _control_plane(json.loads((folder.parent / "plane" / "answer").read_text()))
    with ArgoCdServer(folder / "files", plane) as server:
        yield {key: str(value) for key, value in server.argocd._asdict().items()}


SERVERS: Mapping[str, Callable[[Path], contextlib.AbstractContextManager[Answer]]] = {
    "plane": _serve_plane,
    "argocd": _serve_argo_cd,
}


def serve(folder: Path) -> None:
    """Serve what the folder is named after until nobody uses it."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit())
    try:
        with SERVERS[folder.name](folder) as answer:
            _say(folder, answer)
            with _locked(folder / "users", fcntl.LOCK_EX):
                pass
    except Exception:
        _say(folder, {"error": traceback.format_exc()})
        raise


def _say(folder: Path, answer: Answer) -> None:
    """Write the answer in one step, for those who wait for the file."""
    draft = folder / "answer.draft"
    draft.write_text(json.dumps(answer))
    os.replace(draft, folder / "answer")


if __name__ == "__main__":
    serve(Path(sys.argv[1], sys.argv[2]))
