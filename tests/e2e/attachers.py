"""The containers of attacher Pods, run as local processes with the Pod's account."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import NamedTuple

from tests.e2e.accounts import account_kubeconfig
from tests.e2e.api import Api, Json
from tests.e2e.cluster import ControlPlane
from tests.e2e.programs import ROOT

KILL_SECONDS = 5

# Annotations of a namespace with which a test controls how attachers run.
HOLD = "stand-in/attacher"  # "hold": do not start yet
SERVER = "stand-in/server"  # another address of the API server, plain http: a proxy
COMMAND = (
    "stand-in/attacher-command"  # a JSON list: run this command with the args instead of postrender
)


class Running(NamedTuple):
    """The process of a Pod."""

    pod: Json
    process: subprocess.Popen[bytes]


def folder_of(plane: ControlPlane, namespace: str, pod: str) -> Path:
    """Return the folder with a Pod's `log`, `command.json` and `kubeconfig`."""
    return plane.folder / "pods" / namespace / pod


class Attachers:
    """The running processes."""

    def __init__(self, plane: ControlPlane, api: Api) -> None:
        self._plane, self._api = plane, api
        self._running: dict[str, Running] = {}
        self._terminated: dict[str, float] = {}

    def __len__(self) -> int:
        return len(self._running)

    def start(self, pod: Json) -> bool:
        """Start a Pod's process; return False if its namespace says to wait."""
        uid, namespace = pod["metadata"]["uid"], pod["metadata"]["namespace"]
        metadata = self._api.get("Namespace", namespace)["metadata"]
        annotations: dict[str, str] = metadata.get("annotations", {})
        if annotations.get(HOLD) == "hold":
            return False
        folder = folder_of(self._plane, namespace, pod["metadata"]["name"])
        folder.mkdir(parents=True, exist_ok=True)
        access = folder / "kubeconfig"
        access.write_text(self._kubeconfig(pod, annotations.get(SERVER)))
        self._running[uid] = Running(pod, _run(pod, folder, access, annotations.get(COMMAND)))
        return True

    def has(self, uid: str) -> bool:
        """Return whether a Pod's process runs; kill a process that was terminated too long ago."""
        if uid not in self._running:
            return False
        if time.monotonic() > self._terminated.get(uid, time.monotonic()) + KILL_SECONDS:
            self._running[uid].process.kill()
        return True

    def end(self, uid: str) -> None:
        """Terminate a Pod's process, if the Pod has one."""
        if uid in self._running and uid not in self._terminated:
            self._terminated[uid] = time.monotonic()
            self._running[uid].process.terminate()

    def ended(self) -> list[tuple[Json, int]]:
        """Return the Pods whose process has ended, with the exit code; return each Pod once."""
        finished = [
            (uid, running.pod, code)
            for uid, running in self._running.items()
            if (code := running.process.poll()) is not None
        ]
        for uid, _, _ in finished:
            del self._running[uid]
            self._terminated.pop(uid, None)
        # A container runtime reports a signal as 128 plus its number.
        return [(pod, 128 - code if code < 0 else code) for _, pod, code in finished]

    def stop(self) -> None:
        """Kill all processes that still run."""
        for running in self._running.values():
            running.process.kill()
            running.process.wait()
        self._running.clear()

    def _kubeconfig(self, pod: Json, server: str | None) -> str:
        api = self._api.within(pod["metadata"]["namespace"])
        account = pod["spec"]["serviceAccountName"]
        return account_kubeconfig(self._plane, api, account, server or "", pod)


def _run(pod: Json, folder: Path, access: Path, replacement: str | None) -> subprocess.Popen[bytes]:
    """Start the first container's args; the output is written to `log`."""
    container = pod["spec"]["containers"][0]
    command = json.loads(replacement) if replacement else [sys.executable, "-m", "postrender"]
    command += container["args"]
    env = {
        "PATH": os.environ.get("PATH", os.defpath),
        "PYTHONPATH": str(ROOT),
        "KUBECONFIG": str(access),
        "IS_IN_CLUSTER": "false",
    }
    env |= {variable["name"]: variable.get("value", "") for variable in container.get("env", [])}
    (folder / "command.json").write_text(json.dumps(command))
    with (folder / "log").open("wb") as log:
        return subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            cwd=folder,
            env=env,
            start_new_session=True,
        )


def log(plane: ControlPlane, pod: Json) -> str:
    """Return the output of an attacher Pod's process so far."""
    file = folder_of(plane, pod["metadata"]["namespace"], pod["metadata"]["name"]) / "log"
    return file.read_text() if file.exists() else ""
