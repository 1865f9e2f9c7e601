"""What a Pod needs before its containers can start, and how its status reads then."""

from __future__ import annotations

import datetime
import json
from collections.abc import Iterator
from typing import Any, NamedTuple

from tests.e2e.api import Json

NODE = "node"

# The controller manager puts it into every namespace, and admission into every Pod.
ROOT_CA = "kube-root-ca.crt"

# The API server takes 256 KiB of annotations an object.
CONTENT_LIMIT = 200_000


class Need(NamedTuple):
    """A ConfigMap or Secret that has to exist before a Pod's containers start."""

    kind: str
    name: str


def needs(spec: Json) -> list[Need]:
    """Return what a pod spec names and that is not optional, each once, in order of the text."""
    found = (need for need, optional in _named(spec) if not optional)
    return [need for need in dict.fromkeys(found) if need.name != ROOT_CA]


def named(spec: Json) -> list[Need]:
    """Return all that a pod spec names, optional or not."""
    return [
        need for need in dict.fromkeys(need for need, _ in _named(spec)) if need.name != ROOT_CA
    ]


def _named(spec: Json) -> Iterator[tuple[Need, bool]]:
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
    """Tell whether a Pod's container is to run `postrender attach`."""
    return any(it.get("args", [])[:1] == ["attach"] for it in pod["spec"]["containers"])


def ends(pod: Json) -> bool:
    """Tell whether a Pod's containers are expected to end: those of a Job."""
    return bool(pod["spec"].get("restartPolicy", "Always") != "Always")


# Statuses, each as the body of a merge patch. The uid makes it fail for a later Pod of that name.


def waiting(pod: Json, missing: list[Need]) -> Json:
    """Return the patch for a Pod that lacks something."""
    what = ", ".join(f'{need.kind.lower()} "{need.name}" not found' for need in missing)
    state = {"waiting": {"reason": "CreateContainerConfigError", "message": what}}
    return _patch(pod, "Pending", "False", state)


def running(pod: Json, content: dict[str, Any]) -> Json:
    """Return the patch for a Pod whose containers run; it records what is mounted."""
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
