"""Pods on a real node, and the processes of their containers."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from pathlib import Path

from tests.e2e.api import Api, Json
from tests.e2e.node.machine import hierarchies


def running_pods(api: Api, labels: str) -> list[Json]:
    """Return the pods that are ready and are not being deleted."""
    return [pod for pod in api.list("Pod", labels=labels) if is_ready(pod)]


def is_ready(pod: Json) -> bool:
    """Return whether a pod is ready and is not being deleted."""
    conditions = pod["status"].get("conditions", [])
    ready = any(item["type"] == "Ready" and item["status"] == "True" for item in conditions)
    return ready and not pod["metadata"].get("deletionTimestamp")


def crash(label: str, pod: Json) -> None:
    """Kill the processes of a pod's container, as if the container crashed."""
    pids = [pid for folder in container_cgroups(label, pod) for pid in _processes(folder)]
    assert pids, f"{pod['metadata']['name']} has no process"
    for pid in pids:
        os.kill(pid, signal.SIGKILL)


def container_cgroups(label: str, pod: Json) -> Iterator[Path]:
    """Yield the cgroups of a pod's containers, in the first hierarchy."""
    identifiers = {
        status["containerID"].removeprefix("containerd://")
        for status in pod["status"].get("containerStatuses", [])
        if "containerID" in status
    }
    [hierarchy, *_] = hierarchies()
    for root in hierarchy.glob(f"{label}-*"):
        # os.walk ignores a folder that the kubelet deletes meanwhile; rglob fails.
        for folder, names, _ in os.walk(root):
            yield from (Path(folder, name) for name in identifiers.intersection(names))


def _processes(folder: Path) -> list[int]:
    return [int(line) for line in (folder / "cgroup.procs").read_text().split()]
