"""Runs the containers of attacher Pods for real: one local process each, as the Pod's account."""

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

# Annotations of a namespace, by which a test says how its attachers are run.
HOLD = "stand-in/attacher"  # "hold": not yet
DELAY = "stand-in/attacher-delay"  # seconds after the Pod was first seen
SERVER = "stand-in/server"  # another address of the API server, plain http: a proxy
COMMAND = "stand-in/attacher-command"  # a JSON list: run this instead of postrender, with the args


class Running(NamedTuple):
    """The process of a Pod."""

    pod: Json
    process: subprocess.Popen[bytes]


def folder_of(plane: ControlPlane, namespace: str, pod: str) -> Path:
    """Return where a Pod's `log`, `command.json` and `kubeconfig` are."""
    return plane.folder / "pods" / namespace / pod


class Attachers:
    """The processes that run."""

    def __init__(self, plane: ControlPlane, api: Api) -> None:
        self._plane, self._api = plane, api
        self._running: dict[str, Running] = {}
        self._seen: dict[str, float] = {}
        self._terminated: dict[str, float] = {}

    def __len__(self) -> int:
        return len(self._running)

    def start(self, pod: Json) -> bool:
        """Start a Pod's process, unless its namespace says to wait: then return False."""
        uid, namespace = pod["metadata"]["uid"], pod["metadata"]["namespace"]
        found = self._api.get("Namespace", namespace)["metadata"]
        wishes: dict[str, str] = found.get("annotations", {})
        since = self._seen.setdefault(uid, time.monotonic())
        if wishes.get(HOLD) == "hold" or time.monotonic() < since + float(wishes.get(DELAY, 0)):
            return False
        folder = folder_of(self._plane, namespace, pod["metadata"]["name"])
        folder.mkdir(parents=True, exist_ok=True)
        access = folder / "kubeconfig"
        access.write_text(self._kubeconfig(pod, wishes.get(SERVER)))
        self._running[uid] = Running(pod, _run(pod, folder, access, wishes.get(COMMAND)))
        return True

    def has(self, uid: str) -> bool:
        """Tell whether a Pod's process runs; if it is to end, see to that it does."""
        if uid not in self._running:
            return False
        if time.monotonic() > self._terminated.get(uid, time.monotonic()) + KILL_SECONDS:
            self._running[uid].process.kill()
        return True

    def end(self, uid: str) -> None:
        """Ask a Pod's process, if it has one, to end."""
        if uid in self._running and uid not in self._terminated:
            self._terminated[uid] = time.monotonic()
            self._running[uid].process.terminate()

    def ended(self) -> list[tuple[Json, int]]:
        """Return the Pods whose process has ended, with its exit code, each once."""
        over = [
            (uid, one.pod, code)
            for uid, one in self._running.items()
            if (code := one.process.poll()) is not None
        ]
        for uid, _, _ in over:
            del self._running[uid]
            self._terminated.pop(uid, None)
        # As a container runtime tells of a signal.
        return [(pod, 128 - code if code < 0 else code) for _, pod, code in over]

    def stop(self) -> None:
        """End all that still run."""
        for one in self._running.values():
            one.process.kill()
            one.process.wait()
        self._running.clear()

    def _kubeconfig(self, pod: Json, server: str | None) -> str:
        api = self._api.within(pod["metadata"]["namespace"])
        account = pod["spec"]["serviceAccountName"]
        return account_kubeconfig(self._plane, api, account, server or "", pod)


def _run(pod: Json, folder: Path, access: Path, instead: str | None) -> subprocess.Popen[bytes]:
    """Start the first container's args; what it prints goes to `log`."""
    container = pod["spec"]["containers"][0]
    command = json.loads(instead) if instead else [sys.executable, "-m", "postrender"]
    command += container["args"]
    env = {
        "PATH": os.environ.get("PATH", os.defpath),
        "PYTHONPATH": str(ROOT),
        "KUBECONFIG": str(access),
        "IS_IN_CLUSTER": "false",
    }
    env |= {one["name"]: one.get("value", "") for one in container.get("env", [])}
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
    """Return what an attacher Pod's process has printed so far."""
    file = folder_of(plane, pod["metadata"]["namespace"], pod["metadata"]["name"]) / "log"
    return file.read_text() if file.exists() else ""
