"""A simulated node with its kubelet: the only part that the end-to-end tests simulate.

There is one Ready Node, and every Pod is bound to it. A Pod waits with CreateContainerConfigError
until all ConfigMaps and Secrets that it needs exist. Then its containers run and the Pod is Ready.

The data of its ConfigMaps at that time is recorded in the Pod's annotation `stand-in/content`. The
annotation is a JSON object of names to data. Containers of a Job, and of a Pod whose restartPolicy
says so, end at once with exit code 0, except

- containers whose args begin with `attach`: they are run (see attachers.py);
- containers of a Pod that has the annotation `stand-in/hold: "true"`.
"""

from __future__ import annotations

import contextlib
import functools
import json
import queue
import sys
import threading
import time
import traceback
from concurrent.futures import ThreadPoolExecutor
from http import HTTPStatus
from types import TracebackType
from typing import Any, NamedTuple

from tests.e2e import pods
from tests.e2e.api import MERGE, UNREACHABLE, Api, ApiError, Json
from tests.e2e.attachers import Attachers
from tests.e2e.cluster import ControlPlane
from tests.e2e.pods import Need

HOLD = "stand-in/hold"
# Seconds between two looks at changes, and between two checks of the Pods that wait.
TICK, WAIT = 0.1, 0.4
WORKERS = 4


class Change(NamedTuple):
    """A Pod in its current state, or in its last state before its deletion."""

    pod: Json
    is_deleted: bool


class StandIn:
    """A context manager that simulates the kubelet in its own threads."""

    def __init__(self, plane: ControlPlane) -> None:
        self._api = plane.api()
        self._attachers = Attachers(plane, self._api)
        self._changes: queue.SimpleQueue[Change] = queue.SimpleQueue()
        self._stopped = threading.Event()
        # All by uid. `_again` has the Pods that wait until the next check, `_started` the Pods with
        # started containers, `_told` the missing objects last reported for a waiting Pod.
        self._again: dict[str, Json] = {}
        self._next_check = 0.0
        self._started: set[str] = set()
        self._told: dict[str, list[Need]] = {}
        self._worker = threading.Thread(target=self._work, name="stand-in", daemon=True)

    def __enter__(self) -> StandIn:
        self._register()
        watcher = threading.Thread(target=self._watch, name="stand-in-watch", daemon=True)
        watcher.start()
        self._worker.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        # The watcher waits for the API server, and ends with it.
        self._stopped.set()
        self._worker.join()
        self._attachers.stop()

    def _register(self) -> None:
        size = {"cpu": "1k", "memory": "1Ti", "pods": "10k"}
        ready = {"type": "Ready", "status": "True", "reason": "KubeletReady"}
        self._api.create(
            {
                "kind": "Node",
                "metadata": {"name": pods.NODE, "labels": {"kubernetes.io/hostname": pods.NODE}},
                "status": {"capacity": size, "allocatable": size, "conditions": [ready]},
            }
        )

    # Observing Pods

    def _watch(self) -> None:
        """Queue every change of a Pod; start again when the API server fails."""
        pods_by_uid: dict[str, Json] = {}
        while not self._stopped.is_set():
            with contextlib.suppress(ApiError, ValueError, *UNREACHABLE):
                self._follow(pods_by_uid)
            time.sleep(TICK)

    def _follow(self, pods_by_uid: dict[str, Json]) -> None:
        """List the Pods, then watch them until the server ends the watch."""
        path = self._api.path("Pod", namespace="")
        response = self._api.request("GET", path)
        listed = {pod["metadata"]["uid"]: pod for pod in response["items"]}
        for uid in set(pods_by_uid) - set(listed):
            self._changes.put(Change(pods_by_uid.pop(uid), is_deleted=True))
        for uid, pod in listed.items():
            pods_by_uid[uid] = pod
            self._changes.put(Change(pod, is_deleted=False))
        for event in self._api.watch(path, response["metadata"]["resourceVersion"]):
            if event["type"] == "ERROR":
                return
            pod, is_deleted = event["object"], event["type"] == "DELETED"
            uid = pod["metadata"]["uid"]
            if is_deleted:
                pods_by_uid.pop(uid, None)
            else:
                pods_by_uid[uid] = pod
            self._changes.put(Change(pod, is_deleted))

    # Handling Pods

    def _work(self) -> None:
        with ThreadPoolExecutor(WORKERS, "stand-in") as pool:
            while not self._stopped.is_set():
                self._tick(pool)

    def _tick(self, pool: ThreadPoolExecutor) -> None:
        """Do the next step for each Pod that has changed or waits, several at a time."""
        batch = self._next_batch()
        handle = functools.partial(self._handle, tick=Tick(self._api))
        for pod, again in zip(batch.values(), pool.map(handle, batch.values()), strict=True):
            if again:
                self._again[pod["metadata"]["uid"]] = pod
        for pod, code in self._attachers.ended():
            uid = pod["metadata"]["uid"]
            self._again[uid] = self._again.get(uid, pod) | {"exit": code}
            self._next_check = 0.0

    def _next_batch(self) -> dict[str, Json]:
        """Return the Pods to handle, by uid: wait a tick for changes, then take all of them."""
        changes = []
        try:
            changes.append(self._changes.get(timeout=TICK))
            while True:
                changes.append(self._changes.get_nowait())
        except queue.Empty:
            pass
        batch, self._again = self._again, {}
        if (now := time.monotonic()) < self._next_check:
            changed = {change.pod["metadata"]["uid"] for change in changes}
            self._again = {uid: pod for uid, pod in batch.items() if uid not in changed}
            batch = {uid: pod for uid, pod in batch.items() if uid in changed}
        else:
            self._next_check = now + WAIT
        for change in changes:
            uid = change.pod["metadata"]["uid"]
            if change.is_deleted:
                self._forget(uid)
                batch.pop(uid, None)
            else:
                # The exit code of an attacher's process is not in the API yet.
                kept = {"exit": batch[uid]["exit"]} if "exit" in batch.get(uid, {}) else {}
                batch[uid] = change.pod | kept
        return batch

    def _forget(self, uid: str) -> None:
        self._attachers.end(uid)
        self._started.discard(uid)
        self._told.pop(uid, None)

    def _handle(self, pod: Json, tick: Tick) -> bool:
        """Do the next step for a Pod; return whether to handle the Pod again without a change."""
        try:
            return self._step(pod, tick)
        except (ApiError, *UNREACHABLE):
            # The error is temporary, or the Pod was deleted. The watch then shows the deletion. A
            # new account is also "not found" for a moment.
            return True
        except Exception:
            # A fault of the simulation itself is printed to the log of its process.
            traceback.print_exc(file=sys.stderr)
            return False

    def _step(self, pod: Json, tick: Tick) -> bool:
        uid = pod["metadata"]["uid"]
        if pod["metadata"].get("deletionTimestamp"):
            return self._remove(pod)
        if pod.get("status", {}).get("phase") in ("Succeeded", "Failed"):
            return False
        if "exit" in pod:
            self._started.add(uid)
            self._report(pod, pods.ended(pod, pod["exit"]))
            return False
        if pod["spec"].get("schedulingGates"):
            return False
        if not pod["spec"].get("nodeName") and not self._bind(pod):
            return False
        if uid not in self._started:
            return self._start(pod, tick)
        if pod["status"]["phase"] == "Running" and _ends_now(pod):
            self._report(pod, pods.ended(pod, 0))
        return False

    def _bind(self, pod: Json) -> bool:
        """Bind a Pod to the node. Return False if the Pod's namespace is being deleted."""
        meta = pod["metadata"]
        binding = {
            "apiVersion": "v1",
            "kind": "Binding",
            "metadata": {"name": meta["name"], "uid": meta["uid"]},
            "target": {"apiVersion": "v1", "kind": "Node", "name": pods.NODE},
        }
        try:
            self._api.request("POST", f"{self._path(pod)}/binding", binding)
        except ApiError as error:
            # Without this condition, the requests for such Pods were a twelfth of all requests.
            if error.status == HTTPStatus.FORBIDDEN:
                return False
            raise
        pod["spec"]["nodeName"] = pods.NODE
        return True

    def _start(self, pod: Json, tick: Tick) -> bool:
        """Start the containers if nothing is missing; return False once they are started."""
        uid, spec = pod["metadata"]["uid"], pod["spec"]
        namespace = pod["metadata"]["namespace"]
        missing = [need for need in pods.needs(spec) if tick.find(need, namespace) is None]
        if missing:
            if self._told.get(uid) != missing:
                self._report(pod, pods.waiting(pod, missing))
                self._told[uid] = missing
            return True
        if pods.is_attacher(pod) and not (self._attachers.has(uid) or self._attachers.start(pod)):
            return True
        # A container that should end does so when the watch shows that the Pod is running.
        self._report(pod, pods.running(pod, tick.content(spec, namespace)))
        self._started.add(uid)
        return False

    def _remove(self, pod: Json) -> bool:
        """Delete a terminating Pod as soon as its process has ended."""
        uid = pod["metadata"]["uid"]
        self._attachers.end(uid)
        if self._attachers.has(uid):
            return True
        if pods.ends(pod) and pod["status"]["phase"] in ("Pending", "Running"):
            # A Job removes its finalizer from a Pod only when the Pod has ended.
            self._report(pod, pods.ended(pod, pod.get("exit", 137)))
        body = {"gracePeriodSeconds": 0, "preconditions": {"uid": uid}}
        self._api.request("DELETE", self._path(pod), body)
        return False

    def _report(self, pod: Json, patch: Json) -> None:
        self._api.request("PATCH", f"{self._path(pod)}/status", patch, MERGE)

    def _path(self, pod: Json) -> str:
        meta = pod["metadata"]
        return self._api.path("Pod", meta["name"], meta["namespace"])


class Tick:
    """The objects looked up during one tick; many Pods reference the same ConfigMap."""

    def __init__(self, api: Api) -> None:
        self._api = api
        self._found: dict[tuple[Need, str], Json | None] = {}

    def find(self, need: Need, namespace: str) -> Json | None:
        """Return the object, or None if it does not exist."""
        key = need, namespace
        if key not in self._found:
            self._found[key] = self._api.find(need.kind, need.name, namespace)
        return self._found[key]

    def content(self, spec: Json, namespace: str) -> dict[str, Any]:
        """Return the data of every existing ConfigMap that a pod spec references, by name."""
        needs = [need for need in pods.references(spec) if need.kind == "ConfigMap"]
        config_maps = {need.name: self.find(need, namespace) for need in needs}
        return {
            name: config_map.get("data", {})
            for name, config_map in config_maps.items()
            if config_map
        }


def _ends_now(pod: Json) -> bool:
    """Return whether a Pod's containers end as soon as they run."""
    is_held = pod["metadata"].get("annotations", {}).get(HOLD) == "true"
    return pods.ends(pod) and not pods.is_attacher(pod) and not is_held


def content(pod: Json) -> dict[str, dict[str, str]]:
    """Return the data of a Pod's ConfigMaps at the start of its containers, by name."""
    recorded: dict[str, dict[str, str]] = json.loads(
        pod["metadata"].get("annotations", {}).get("stand-in/content", "{}")
    )
    return recorded
