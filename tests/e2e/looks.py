"""What scenarios look at and do again and again: attachers, owners, contents, phases, marks."""

from __future__ import annotations

import datetime
from collections.abc import Callable, Iterable
from typing import Any

from tests.e2e.api import Api, Json
from tests.e2e.kubelet import content

ATTACHER = "app.kubernetes.io/component=attacher"
MANAGED = "postrender/attach-group"
UNUSED = "postrender/unused-since"


def attachers(api: Api, phase: str = "") -> list[Json]:
    """Return the attacher Pods, those in a phase where one is given."""
    pods = api.list("Pod", labels=ATTACHER)
    return [pod for pod in pods if phase in ("", pod["status"].get("phase"))]


def wait_for_attachers(api: Api, phase: str = "Succeeded", count: int = 1) -> list[Json]:
    """Return the attacher Pods in a phase, once there are so many."""

    def found() -> list[Json]:
        pods = attachers(api, phase)
        return pods if len(pods) >= count else []

    return api.wait_for(found, f"{count} attachers are {phase}", timeout=60)


def apply_attached(api: Api, change: Callable[[], object]) -> Json:
    """Apply something, wait until a new attacher Pod has succeeded, and return that."""
    before = {pod["metadata"]["uid"] for pod in attachers(api)}
    change()

    def found() -> list[Json]:
        done = attachers(api, "Succeeded")
        return [pod for pod in done if pod["metadata"]["uid"] not in before]

    return api.wait_for(found, "a new attacher has succeeded", timeout=120)[0]


def revisions(api: Api, kind: str = "ConfigMap") -> list[Json]:
    """Return the objects that bear our label."""
    return api.list(kind, labels=MANAGED)


def revision_with(api: Api, **data: str) -> Json:
    """Return the one revision with exactly these data."""
    found = [one for one in revisions(api) if one.get("data", {}) == data]
    assert len(found) == 1, f"{len(found)} revisions with {data}\n{api.dump()}"
    return found[0]


def owners(obj: Json) -> list[str]:
    """Return the owners of an object as sorted `Kind/name`."""
    references = obj["metadata"].get("ownerReferences", [])
    return sorted(f"{one['kind']}/{one['name']}" for one in references)


def owner_uids(obj: Json) -> set[str]:
    """Return the uids of an object's owners."""
    return {one["uid"] for one in obj["metadata"].get("ownerReferences", [])}


def named_by(obj: Json) -> set[str]:
    """Return the ConfigMaps that a live object names, by looking through all of it."""
    return set(_named(obj))


def _named(data: Any) -> Iterable[str]:
    if isinstance(data, list):
        for item in data:
            yield from _named(item)
    elif isinstance(data, dict):
        for key, value in data.items():
            if key in ("configMap", "configMapRef", "configMapKeyRef") and isinstance(value, dict):
                yield value.get("name", "")
            else:
                yield from _named(value)


def contents(api: Api, labels: str = "app=app") -> list[str]:
    """Return, sorted, what the Pods that run were started with: the key `greeting`."""
    pods = [pod for pod in api.list("Pod", labels=labels) if content(pod)]
    return sorted(data["greeting"] for pod in pods for data in content(pod).values())


def wait_for_phase(api: Api, phase: str, name: str = "app") -> Json:
    """Wait until a Rollout is in a phase, as its controller tells of its latest generation."""

    def found() -> Json | None:
        rollout = api.get("Rollout", name)
        status = rollout["status"]
        is_current = status.get("observedGeneration") == str(rollout["metadata"]["generation"])
        return rollout if is_current and status.get("phase") == phase else None

    return api.wait_for(found, f"Rollout/{name} is {phase}")


def assert_nothing_is_missing(api: Api) -> None:
    """Fail if a live object names a ConfigMap that is not there or is being deleted."""
    there = {
        one["metadata"]["name"]
        for one in api.list("ConfigMap")
        if not one["metadata"].get("deletionTimestamp")
    }
    kinds = "Rollout Deployment StatefulSet DaemonSet CronJob Job ReplicaSet Pod Experiment"
    for kind in kinds.split():
        for obj in api.list(kind):
            missing = named_by(obj) - there
            name = obj["metadata"]["name"]
            assert not missing, f"{kind}/{name} names {missing}, gone\n{api.dump()}"
    for obj in api.list("ControllerRevision"):
        assert not named_by(obj.get("data", {})) - there, api.dump()


def age_marks(api: Api, minutes: int = 11) -> list[str]:
    """Make every mark older, as if so many minutes had passed; return the names of the marked."""
    aged = []
    for one in revisions(api):
        annotations = one["metadata"].get("annotations", {})
        if UNUSED in annotations:
            since = datetime.datetime.strptime(annotations[UNUSED], "%Y-%m-%dT%H:%M:%SZ")
            older = since - datetime.timedelta(minutes=minutes)
            mark = older.strftime("%Y-%m-%dT%H:%M:%SZ")
            change = {"metadata": {"annotations": {UNUSED: mark}}}
            api.patch("ConfigMap", one["metadata"]["name"], change)
            aged.append(one["metadata"]["name"])
    return aged
