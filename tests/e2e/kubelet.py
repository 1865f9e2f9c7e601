"""The stand-in for a node and its kubelet: the one thing that the end-to-end tests simulate.

One Ready Node; every Pod is bound to it. A Pod's containers run, and the Pod is Ready, once every
ConfigMap and Secret that it needs exists; until then it waits with CreateContainerConfigError. What
its ConfigMaps held at that time is recorded on the Pod, as annotation `stand-in/content`: a JSON
object of a name to its data. Containers that should end (those of a Job, or of a Pod that says so)
do so at once, with exit code 0, except

- those whose args begin with `attach`: they are run (attachers.py says how a test controls that);
- those of a Pod with the annotation `stand-in/hold: "true"`, for as long as it has that.
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
from types import TracebackType
from typing import Any, NamedTuple

from tests.e2e import pods
from tests.e2e.api import MERGE, UNREACHABLE, Api, ApiError, Json
from tests.e2e.attachers import Attachers
from tests.e2e.cluster import ControlPlane
from tests.e2e.pods import Need

HOLD = "stand-in/hold"
# Seconds between two looks at what waits, and at what runs.
TICK = 0.1
WORKERS = 4


class Change(NamedTuple):
    """A Pod as it is now, or as it was when it went."""

    pod: Json
    gone: bool


class StandIn:
    """Works as a context manager, in threads of its own, until it is left."""

    def __init__(self, plane: ControlPlane) -> None:
        self._api = plane.api()
        self._attachers = Attachers(plane, self._api)
        self._changes: queue.SimpleQueue[Change] = queue.SimpleQueue()
        self._stopped = threading.Event()
        # By uid: Pods to look at again at the next tick, those whose containers were started, and
        # what each waiting Pod was told that it lacks.
        self._again: dict[str, Json] = {}
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
        # The watcher is left to wait for the API server, whose end is its own.
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

    # What there is

    def _watch(self) -> None:
        """Queue every change of a Pod; when the API server goes away, begin again."""
        known: dict[str, Json] = {}
        while not self._stopped.is_set():
            with contextlib.suppress(ApiError, ValueError, *UNREACHABLE):
                self._follow(known)
            time.sleep(TICK)

    def _follow(self, known: dict[str, Json]) -> None:
        """List the Pods, then watch them for as long as the server lets us."""
        path = self._api.path("Pod", namespace="")
        found = self._api.request("GET", path)
        listed = {pod["metadata"]["uid"]: pod for pod in found["items"]}
        for uid in set(known) - set(listed):
            self._changes.put(Change(known.pop(uid), gone=True))
        for uid, pod in listed.items():
            known[uid] = pod
            self._changes.put(Change(pod, gone=False))
        for event in self._api.watch(path, found["metadata"]["resourceVersion"]):
            if event["type"] == "ERROR":
                return
            pod, gone = event["object"], event["type"] == "DELETED"
            uid = pod["metadata"]["uid"]
            if gone:
                known.pop(uid, None)
            else:
                known[uid] = pod
            self._changes.put(Change(pod, gone))

    # What is done

    def _work(self) -> None:
        with ThreadPoolExecutor(WORKERS, "stand-in") as pool:
            while not self._stopped.is_set():
                self._tick(pool)

    def _tick(self, pool: ThreadPoolExecutor) -> None:
        """Do one thing for each Pod that has changed or waits, several at a time."""
        batch = self._next_batch()
        handle = functools.partial(self._handle, tick=Tick(self._api))
        for pod, again in zip(batch.values(), pool.map(handle, batch.values()), strict=True):
            if again:
                self._again[pod["metadata"]["uid"]] = pod
        for pod, code in self._attachers.ended():
            uid = pod["metadata"]["uid"]
            self._again[uid] = self._again.get(uid, pod) | {"exit": code}

    def _next_batch(self) -> dict[str, Json]:
        """Return the Pods to look at, by uid: wait a tick for changes, then take all there are."""
        changes = []
        try:
            changes.append(self._changes.get(timeout=TICK))
            while True:
                changes.append(self._changes.get_nowait())
        except queue.Empty:
            pass
        batch, self._again = self._again, {}
        for change in changes:
            uid = change.pod["metadata"]["uid"]
            if change.gone:
                self._forget(uid)
                batch.pop(uid, None)
            else:
                # What the process of an attacher ended with is not in the API yet.
                kept = {"exit": batch[uid]["exit"]} if "exit" in batch.get(uid, {}) else {}
                batch[uid] = change.pod | kept
        return batch

    def _forget(self, uid: str) -> None:
        self._attachers.end(uid)
        self._started.discard(uid)
        self._told.pop(uid, None)

    def _handle(self, pod: Json, tick: Tick) -> bool:
        """Do the next thing for a Pod; return whether to look at it again without a change."""
        try:
            return self._step(pod, tick)
        except ApiError as error:
            # Gone, or another one by now: the watch will tell. Anything else passes.
            return error.status not in (404, 409)
        except UNREACHABLE:
            return True
        except Exception:
            # A fault of the stand-in itself: tell, in the log of whoever runs it.
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
        if not pod["spec"].get("nodeName"):
            self._bind(pod)
        if uid not in self._started:
            return self._start(pod, tick)
        if pod["status"]["phase"] == "Running" and _ends_now(pod):
            self._report(pod, pods.ended(pod, 0))
        return False

    def _bind(self, pod: Json) -> None:
        meta = pod["metadata"]
        self._api.request(
            "POST",
            f"{self._path(pod)}/binding",
            {
                "apiVersion": "v1",
                "kind": "Binding",
                "metadata": {"name": meta["name"], "uid": meta["uid"]},
                "target": {"apiVersion": "v1", "kind": "Node", "name": pods.NODE},
            },
        )
        pod["spec"]["nodeName"] = pods.NODE

    def _start(self, pod: Json, tick: Tick) -> bool:
        """Start the containers if all is there; return False once they are started."""
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
        # One that should end does so when the watch tells that it runs.
        self._report(pod, pods.running(pod, tick.content(spec, namespace)))
        self._started.add(uid)
        return False

    def _remove(self, pod: Json) -> bool:
        """Take a Pod away that is to go, as soon as its process has ended."""
        uid = pod["metadata"]["uid"]
        self._attachers.end(uid)
        if self._attachers.has(uid):
            return True
        if pods.ends(pod) and pod["status"]["phase"] in ("Pending", "Running"):
            # A Job lets go of its Pod only when that has ended.
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
    """What was looked up since the last tick: many Pods name the same ConfigMap."""

    def __init__(self, api: Api) -> None:
        self._api = api
        self._found: dict[tuple[Need, str], Json | None] = {}

    def find(self, need: Need, namespace: str) -> Json | None:
        """Return the object, or None if it is not there."""
        key = need, namespace
        if key not in self._found:
            self._found[key] = self._api.find(need.kind, need.name, namespace)
        return self._found[key]

    def content(self, spec: Json, namespace: str) -> dict[str, Any]:
        """Return the data of every ConfigMap that a pod spec names and that exists, by name."""
        wanted = [need for need in pods.named(spec) if need.kind == "ConfigMap"]
        found = {need.name: self.find(need, namespace) for need in wanted}
        return {name: one.get("data", {}) for name, one in found.items() if one}


def _ends_now(pod: Json) -> bool:
    """Tell whether a Pod's containers end as soon as they run."""
    held = pod["metadata"].get("annotations", {}).get(HOLD) == "true"
    return pods.ends(pod) and not pods.is_attacher(pod) and not held


def content(pod: Json) -> dict[str, dict[str, str]]:
    """Return what a Pod's ConfigMaps held when its containers started, by name; {} before."""
    recorded: dict[str, dict[str, str]] = json.loads(
        pod["metadata"].get("annotations", {}).get("stand-in/content", "{}")
    )
    return recorded
