"""The contents of a namespace as text, for the message of a failed test."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from tests.e2e.api import Api, Json

KINDS = [
    "Rollout",
    "Deployment",
    "StatefulSet",
    "DaemonSet",
    "ReplicaSet",
    "CronJob",
    "Job",
    "Experiment",
    "AnalysisRun",
    "Pod",
    "ConfigMap",
]


def dump(api: Api) -> str:
    """Return a line for each object with its state, then the last events and the logs."""
    lines = [f"in namespace {api.namespace}:"]
    for kind in KINDS:
        lines += [f"  {kind}/{_line(kind, obj)}" for obj in api.list(kind)]
    events = sorted(api.list("Event"), key=lambda one: str(one["metadata"]["creationTimestamp"]))
    lines += [f"  event: {_event(event)}" for event in events[-15:]]
    for log in sorted(_logs(api)):
        lines += [f"  log of Pod/{log.parent.name}:"]
        lines += [f"    {line}" for line in log.read_text(errors="replace").splitlines()[-20:]]
    return "\n".join(lines)


def _logs(api: Api) -> Iterator[Path]:
    """Yield the log files of the namespace's attachers, which are in the control plane's folder."""
    plane = Path(api.ca).parents[1]
    return (plane / "pods" / api.namespace).glob("*/log")


def _line(kind: str, obj: Json) -> str:
    meta, status = obj["metadata"], obj.get("status", {})
    owners = [
        f"{reference['kind']}/{reference['name']}" for reference in meta.get("ownerReferences", [])
    ]
    parts = [meta["name"]]
    parts += ["deleting"] if meta.get("deletionTimestamp") else []
    parts += [f"of {', '.join(owners)}"] if owners else []
    parts += _pod(status) if kind == "Pod" else _status(status)
    return "  ".join(parts)


def _status(status: Json) -> Iterator[str]:
    keys = ("phase", "message", "replicas", "readyReplicas", "succeeded", "failed")
    yield from (f"{key}={status[key]}" for key in keys if status.get(key))


def _pod(status: Json) -> Iterator[str]:
    yield str(status.get("phase"))
    for container in status.get("containerStatuses", []):
        for state, details in container["state"].items():
            detail = details.get("message") or details.get("exitCode", "")
            yield f"{container['name']}: {state} {detail}"


def _event(event: Json) -> str:
    subject = event["involvedObject"]
    return f"{subject['kind']}/{subject['name']} {event['reason']}: {event.get('message', '')}"
