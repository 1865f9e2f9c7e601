"""The objects that a Pod needs before its containers start, and the Pod's status."""

from __future__ import annotations

import datetime
import json
from collections.abc import Iterator
from typing import Any, NamedTuple

from tests.e2e.api import Json

NODE = "node"

# The controller manager creates it in every namespace, and admission mounts it into every Pod.
ROOT_CA = "kube-root-ca.crt"

# The API server limits the annotations of an object to 256 KiB.
CONTENT_LIMIT = 200_000


class Need(NamedTuple):
    """A ConfigMap or Secret that must exist before a Pod's containers start."""

    kind: str
    name: str


def needs(spec: Json) -> list[Need]:
    """Return the non-optional references of a pod spec, without duplicates, in textual order."""
    required = (need for need, optional in _references(spec) if not optional)
    return [need for need in dict.fromkeys(required) if need.name != ROOT_CA]


def references(spec: Json) -> list[Need]:
    """Return all references of a pod spec, optional or not."""
    return [
        need
        for need in dict.fromkeys(need for need, _ in _references(spec))
        if need.name != ROOT_CA
    ]


def _references(spec: Json) -> Iterator[tuple[Need, bool]]:
    for volume in spec.get("volumes", []):
        yield from _source(volume, "configMap", "secret", secret_name="secretName")
        for source in volume.get("projected", {}).get("sources", []):
            yield from _source(source, "configMap", "secret")
    for container in _containers(spec):
        for entry in container.get("envFrom", []):
            yield from _source(entry, "configMapRef", "secretRef")
        for variable in container.get("env", []):
            yield from _source(variable.get("valueFrom", {}), "configMapKeyRef", "secretKeyRef")


def _source(
    holder: Json, config_map: str, secret: str, secret_name: str = "name"
) -> Iterator[tuple[Need, bool]]:
    for kind, key, name in (("ConfigMap", config_map, "name"), ("Secret", secret, secret_name)):
        if source := holder.get(key):
            yield Need(kind, source[name]), bool(source.get("optional"))


def _containers(spec: Json) -> list[Json]:
    lists = ("initContainers", "containers", "ephemeralContainers")
    return [container for key in lists for container in spec.get(key) or []]


def is_attacher(pod: Json) -> bool:
    """Return whether a Pod's container runs `postrender attach`."""
    return any(
        container.get("args", [])[:1] == ["attach"] for container in pod["spec"]["containers"]
    )


def ends(pod: Json) -> bool:
    """Return whether a Pod's containers are expected to end, as in a Job."""
    return bool(pod["spec"].get("restartPolicy", "Always") != "Always")


# Statuses, each as the body of a merge patch. The uid makes the patch of a later Pod fail.


def waiting(pod: Json, missing: list[Need]) -> Json:
    """Return the patch for a Pod with missing objects."""
    message = ", ".join(f'{need.kind.lower()} "{need.name}" not found' for need in missing)
    state = {"waiting": {"reason": "CreateContainerConfigError", "message": message}}
    return _patch(pod, "Pending", "False", state)


def running(pod: Json, content: dict[str, Any]) -> Json:
    """Return the patch for a Pod whose containers run, with the recorded content."""
    text = json.dumps(content)
    if len(text) > CONTENT_LIMIT:
        text = json.dumps(dict.fromkeys(content, "too long to be recorded"))
    patch = _patch(pod, "Running", "True", {"running": {"startedAt": _now()}})
    patch["metadata"]["annotations"] = {"stand-in/content": text}
    return patch


def ended(pod: Json, code: int) -> Json:
    """Return the patch for a Pod whose containers ended with an exit code."""
    reason = "Error" if code else "Completed"
    state = {"terminated": {"exitCode": code, "reason": reason, "finishedAt": _now()}}
    return _patch(pod, "Failed" if code else "Succeeded", "False", state)


def _patch(pod: Json, phase: str, ready: str, state: Json) -> Json:
    started = phase == "Running"
    conditions = [("PodScheduled", "True"), ("Initialized", "True")]
    conditions += [("ContainersReady", ready), ("Ready", ready)]
    status = {
        "phase": phase,
        "hostIP": "127.0.0.1",
        "podIP": "127.0.0.1",
        "startTime": pod["metadata"]["creationTimestamp"],
        "conditions": [
            {"type": kind, "status": value, "lastTransitionTime": _now()}
            for kind, value in conditions
        ],
        "containerStatuses": [
            {
                "name": container["name"],
                "image": container["image"],
                "imageID": "",
                "ready": ready == "True",
                "started": started,
                "restartCount": 0,
                "state": state,
            }
            for container in pod["spec"]["containers"]
        ],
    }
    return {"metadata": {"uid": pod["metadata"]["uid"]}, "status": status}


def _now() -> str:
    return datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
