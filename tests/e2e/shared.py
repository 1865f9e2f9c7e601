"""Servers shared by all processes of a test run: a control plane, Argo CD, and real nodes.

Each server is a separate process, started by its first user. Every user holds a shared lock on a
file, and the server waits for an exclusive lock. The server gets the lock when the last user has
ended, even if that user was interrupted or killed. Then the server ends everything that it started.

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
from tests.e2e.node.images import archives
from tests.e2e.node.nodes import NodeCluster, RealNodes
from tests.e2e.processes import START_SECONDS
from tests.e2e.programs import ROOT

# The address and credentials of a server, as its process publishes them.
Answer = dict[str, str]
# What keeps each server running, by its name.
Kept = Mapping[str, contextlib.ExitStack]
# The servers that this process has started.
_started: list[subprocess.Popen[bytes]] = []


@contextlib.contextmanager
def kept_servers(run: Path) -> Iterator[Kept]:
    """Let no server of the run end meanwhile. At the end, wait for those that we started.

    A process of the run may need a server for the first time when all others have ended. Yield what
    lets one server end earlier: `kept[name].close()`.
    """
    with contextlib.ExitStack() as all_locks:
        kept = {name: all_locks.enter_context(contextlib.ExitStack()) for name in SERVERS}
        for name, locks in kept.items():
            (run / name).mkdir(parents=True, exist_ok=True)
            locks.enter_context(_locked(run / name / "users", fcntl.LOCK_SH))
        yield kept
    for server in _started:
        server.wait()


@contextlib.contextmanager
def control_plane(run: Path) -> Iterator[ControlPlane]:
    """Yield the control plane of the run in this folder; start it if necessary."""
    with _shared(run / "plane") as answer:
        yield _control_plane(answer)


@contextlib.contextmanager
def argo_cd(plane: ControlPlane) -> Iterator[ArgoCd]:
    """Yield the Argo CD for a run's control plane, which the caller uses; start it if necessary."""
    with _shared(plane.folder.parents[1] / "argocd") as answer:
        yield ArgoCd(Path(answer["folder"]), Path(answer["sockets"]))


@contextlib.contextmanager
def real_nodes(run: Path) -> Iterator[RealNodes]:
    """Yield the real nodes of the run in this folder; start them if necessary."""
    with _shared(run / "nodes") as answer:
        yield RealNodes(_control_plane(answer), answer["label"])


# Using a server


@contextlib.contextmanager
def _shared(folder: Path) -> Iterator[Answer]:
    """Yield the answer of a server, and keep the server running meanwhile."""
    folder.mkdir(parents=True, exist_ok=True)
    with _locked(folder / "users", fcntl.LOCK_SH):
        with _locked(folder / "start", fcntl.LOCK_EX):
            server = None if (folder / "answer").exists() else _start(folder)
            answer = _answer(folder, server)
        yield answer


@contextlib.contextmanager
def _locked(file: Path, how: int) -> Iterator[None]:
    with file.open("a") as lock:
        fcntl.flock(lock, how)
        yield


def _start(folder: Path) -> subprocess.Popen[bytes]:
    with (folder / "server.log").open("wb") as log:
        server = subprocess.Popen(
            [sys.executable, "-m", "tests.e2e.shared", str(folder.parent), folder.name],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            cwd=ROOT,
            # Ctrl-C does not reach the server; it ends after its last user.
            start_new_session=True,
        )
    _started.append(server)
    return server


def _answer(folder: Path, server: subprocess.Popen[bytes] | None) -> Answer:
    """Wait until the server publishes its answer, or an error."""
    file = folder / "answer"
    deadline = time.monotonic() + 2 * START_SECONDS
    while not file.exists():
        died = server is not None and server.poll() is not None and not file.exists()
        if died or time.monotonic() > deadline:
            raise AssertionError(
                f"{folder.name} did not start: {(folder / 'server.log').read_text()}"
            )
        time.sleep(0.05)
    answer: Answer = json.loads(file.read_text())
    if "error" in answer:
        raise AssertionError(f"{folder.name} did not start: {answer['error']}")
    return answer


def _control_plane(answer: Mapping[str, str]) -> ControlPlane:
    return ControlPlane(answer["url"], answer["token"], Path(answer["folder"]))


# Serving


@contextlib.contextmanager
def _serve_plane(folder: Path) -> Iterator[Answer]:
    with Cluster(folder / "files") as cluster, StandIn(cluster.plane):
        yield {**cluster.plane._asdict(), "folder": str(cluster.plane.folder)}


@contextlib.contextmanager
def _serve_argo_cd(folder: Path) -> Iterator[Answer]:
    plane = _control_plane(json.loads((folder.parent / "plane" / "answer").read_text()))
    with ArgoCdServer(folder / "files", plane) as server:
        yield {key: str(value) for key, value in server.argocd._asdict().items()}


@contextlib.contextmanager
def _serve_nodes(folder: Path) -> Iterator[Answer]:
    with NodeCluster(folder / "files", archives(), count=2) as cluster:
        answer = {**cluster.plane._asdict(), "folder": str(cluster.plane.folder)}
        yield {**answer, "label": cluster.label}


SERVERS: Mapping[str, Callable[[Path], contextlib.AbstractContextManager[Answer]]] = {
    "plane": _serve_plane,
    "argocd": _serve_argo_cd,
    "nodes": _serve_nodes,
}


def serve(folder: Path) -> None:
    """Serve the server that the folder is named for, until it has no users."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit())
    try:
        with SERVERS[folder.name](folder) as answer:
            _publish(folder, answer)
            with _locked(folder / "users", fcntl.LOCK_EX):
                pass
    except Exception:
        _publish(folder, {"error": traceback.format_exc()})
        raise


def _publish(folder: Path, answer: Answer) -> None:
    """Write the answer in one step, for the processes that wait for the file."""
    draft = folder / "answer.draft"
    draft.write_text(json.dumps(answer))
    os.replace(draft, folder / "answer")


if __name__ == "__main__":
    serve(Path(sys.argv[1], sys.argv[2]))
