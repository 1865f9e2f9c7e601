"""Queries and waits that many scenarios share: attachers, owners, contents, phases, marks."""

from __future__ import annotations

import datetime
from collections.abc import Callable, Iterable
from typing import Any

from tests.e2e.api import Api, Json
from tests.e2e.kubelet import content
from tests.e2e.rollouts_cache import wait_for_cache

ATTACHER = "app.kubernetes.io/component=attacher"
GROUP_LABEL = "postrender/attach-group"
UNUSED = "postrender/unused-since"
APPLIED = "postrender/applied"


def attachers(api: Api, phase: str = "") -> list[Json]:
    """Return the attacher Pods, optionally only the Pods in a phase."""
    pods = api.list("Pod", labels=ATTACHER)
    return [pod for pod in pods if phase in ("", pod["status"].get("phase"))]


def wait_for_attachers(api: Api, phase: str = "Succeeded", count: int = 1) -> list[Json]:
    """Wait until `count` attacher Pods are in a phase, and return them."""

    def attachers_in_phase() -> list[Json]:
        pods = attachers(api, phase)
        return pods if len(pods) >= count else []

    return api.wait_for(attachers_in_phase, f"{count} attachers are {phase}", timeout=60)


def apply_attached(api: Api, change: Callable[[], object]) -> Json:
    """Apply a change, wait until a new attacher Pod has succeeded, and return that Pod."""
    before = {pod["metadata"]["uid"] for pod in attachers(api)}
    change()

    def new_attachers() -> list[Json]:
        succeeded = attachers(api, "Succeeded")
        return [pod for pod in succeeded if pod["metadata"]["uid"] not in before]

    return api.wait_for(new_attachers, "a new attacher has succeeded", timeout=120)[0]


def wait_until_pruned(api: Api, left: int = 1, labels: str = "") -> None:
    """Wait until so many ReplicaSets are left, and the Pods of the others are gone.

    A Pod uses its revisions until it is deleted, so an earlier run would keep the revisions. The
    garbage collector deletes it some time after its ReplicaSet.
    """

    def is_pruned() -> bool:
        is_left = len(api.list("ReplicaSet", labels)) == left
        pods, there = api.list("Pod"), {one["metadata"]["uid"] for one in api.list("ReplicaSet")}
        return is_left and not any(is_deleting(pod) or _is_orphan(pod, there) for pod in pods)

    api.wait_for(is_pruned, f"{left} ReplicaSets are left, and the Pods of the others are gone")


def _is_orphan(pod: Json, replica_sets: set[str]) -> bool:
    """Return whether the ReplicaSet of a Pod is gone; replica_sets: the uids of the others."""
    return any(
        owner["kind"] == "ReplicaSet" and owner["uid"] not in replica_sets
        for owner in pod["metadata"].get("ownerReferences", [])
    )


def wait_for_collector(api: Api) -> None:
    """Wait until the garbage collector has removed the owners that are gone from the revisions."""

    def exists(owner: Json) -> bool:
        found = api.find(owner["kind"], owner["name"])
        return found is not None and found["metadata"]["uid"] == owner["uid"]

    def all_exist() -> bool:
        objects = [revision["metadata"] for revision in revisions(api)]
        return all(exists(owner) for obj in objects for owner in obj.get("ownerReferences", []))

    api.wait_for(all_exist, "all owners of the revisions exist")


def is_deleting(obj: Json) -> bool:
    """Return whether an object will be gone when its finalizers or containers have ended."""
    return "deletionTimestamp" in obj["metadata"]


def revisions(api: Api, kind: str = "ConfigMap") -> list[Json]:
    """Return the objects with our label."""
    return api.list(kind, labels=GROUP_LABEL)


def revision_with(api: Api, **data: str) -> Json:
    """Return the only revision with exactly this data."""
    matching = [revision for revision in revisions(api) if revision.get("data", {}) == data]
    assert len(matching) == 1, f"{len(matching)} revisions with {data}\n{api.dump()}"
    return matching[0]


RELEASE_OWNER_KINDS = ("ServiceAccount", "Role")


def owners(obj: Json) -> list[str]:
    """Return the owners of an object as sorted `Kind/name`, without the release owner."""
    return [owner for owner in all_owners(obj) if owner not in release_owners(obj)]


def release_owners(obj: Json) -> list[str]:
    """Return the owners of an object that exist as long as the release."""
    return [owner for owner in all_owners(obj) if owner.startswith(RELEASE_OWNER_KINDS)]


def all_owners(obj: Json) -> list[str]:
    """Return all owners of an object as sorted `Kind/name`."""
    references = obj["metadata"].get("ownerReferences", [])
    return sorted(f"{reference['kind']}/{reference['name']}" for reference in references)


def owner_uids(obj: Json) -> set[str]:
    """Return the uids of an object's owners, without the release owner."""
    return {
        reference["uid"]
        for reference in obj["metadata"].get("ownerReferences", [])
        if reference["kind"] not in RELEASE_OWNER_KINDS
    }


def referenced_config_maps(obj: Json) -> set[str]:
    """Return the ConfigMaps that a live object references, from all of its fields."""
    return set(_references(obj))


def _references(data: Any) -> Iterable[str]:
    if isinstance(data, list):
        for item in data:
            yield from _references(item)
    elif isinstance(data, dict):
        for key, value in data.items():
            if key in ("configMap", "configMapRef", "configMapKeyRef") and isinstance(value, dict):
                yield value.get("name", "")
            else:
                yield from _references(value)


def contents(api: Api, labels: str = "app=app") -> list[str]:
    """Return the value of `greeting` with which the running Pods were started, sorted."""
    pods = [pod for pod in api.list("Pod", labels=labels) if content(pod)]
    return sorted(data["greeting"] for pod in pods for data in content(pod).values())


def wait_for_phase(api: Api, phase: str, name: str = "app") -> Json:
    """Wait until a Rollout is in a phase, according to its controller and latest generation."""

    def rollout_in_phase() -> Json | None:
        rollout = api.get("Rollout", name)
        status = rollout["status"]
        is_current = status.get("observedGeneration") == str(rollout["metadata"]["generation"])
        return rollout if is_current and status.get("phase") == phase else None

    rollout = api.wait_for(rollout_in_phase, f"Rollout/{name} is {phase}")
    wait_for_cache()
    return rollout


def assert_nothing_is_missing(api: Api) -> None:
    """Fail if a live object references a ConfigMap that is missing or being deleted."""
    existing = {
        config_map["metadata"]["name"]
        for config_map in api.list("ConfigMap")
        if not is_deleting(config_map)
    }
    kinds = "Rollout Deployment StatefulSet DaemonSet CronJob Job ReplicaSet Pod Experiment"
    for kind in kinds.split():
        for obj in api.list(kind):
            missing = referenced_config_maps(obj) - existing
            name = obj["metadata"]["name"]
            assert not missing, f"{kind}/{name} references missing {missing}\n{api.dump()}"
    for obj in api.list("ControllerRevision"):
        assert not referenced_config_maps(obj.get("data", {})) - existing, api.dump()


def marked(since: str | None) -> Json:
    """A patch that marks a revision as unused, as a run does. An apply would bring APPLIED back."""
    return {"metadata": {"annotations": {UNUSED: since, APPLIED: None}}}


def age_marks(api: Api, minutes: int = 11) -> list[str]:
    """Set every mark back by some minutes; return the names of the marked revisions."""
    aged = []
    for revision in revisions(api):
        annotations = revision["metadata"].get("annotations", {})
        if UNUSED in annotations:
            since = datetime.datetime.strptime(annotations[UNUSED], "%Y-%m-%dT%H:%M:%SZ")
            older = since - datetime.timedelta(minutes=minutes)
            mark = older.strftime("%Y-%m-%dT%H:%M:%SZ")
            change = {"metadata": {"annotations": {UNUSED: mark}}}
            api.patch("ConfigMap", revision["metadata"]["name"], change)
            aged.append(revision["metadata"]["name"])
    return aged
