"""Checks of the two promises of the lifecycle: no referenced ConfigMap is lost, all are owned."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from types import TracebackType

from tests.e2e.api import PATIENCE, Api, Json
from tests.e2e.queries import (
    assert_nothing_is_missing,
    is_deleting,
    owner_uids,
    owners,
    referenced_config_maps,
    revisions,
)

KINDS = (
    "Rollout Deployment StatefulSet DaemonSet CronJob Job ReplicaSet ControllerRevision Pod "
    "Experiment"
)
OWNERS = "Rollout Deployment ReplicaSet"
LAST = "no-more-losses"
JOIN_SECONDS = 30 * PATIENCE


class NothingIsLost:
    """A context manager that fails if a ConfigMap is deleted while a live object references it.

        with NothingIsLost(api):
            ...

    ConfigMaps that are missing at the end are also reported.
    """

    def __init__(self, api: Api) -> None:
        self._api = api
        self._lost: list[str] = []
        path = api.path("ConfigMap")
        self._version = api.request("GET", path)["metadata"]["resourceVersion"]
        self._thread = threading.Thread(target=self._watch, args=(path,), daemon=True)

    def __enter__(self) -> NothingIsLost:
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        # The watch reports this ConfigMap after all earlier deletions.
        self._api.create({"kind": "ConfigMap", "metadata": {"name": LAST}})
        self._thread.join(JOIN_SECONDS)
        self._api.delete("ConfigMap", LAST)
        if self._lost:
            raise AssertionError("\n".join([*self._lost, self._api.dump()])) from error
        if error is None:
            assert not self._thread.is_alive(), "the watch did not come to its end"
            assert_nothing_is_missing(self._api)

    def _watch(self, path: str) -> None:
        """Watch until LAST is there. An error in this thread fails the test, too."""
        try:
            while self._follow(path):
                pass
        except Exception as error:
            self._lost.append(f"the watch of ConfigMaps failed: {error!r}")

    def _follow(self, path: str) -> bool:
        """Look at each deletion; return whether the server ended the watch before LAST."""
        for event in self._api.watch(path, self._version):
            assert event["type"] != "ERROR", event
            metadata = event["object"]["metadata"]
            if metadata["name"] == LAST:
                return False
            self._version = metadata["resourceVersion"]
            if event["type"] == "DELETED" or is_deleting(event["object"]):
                self._look(metadata["name"])
        return True

    def _look(self, name: str) -> None:
        users = [
            f"{kind}/{obj['metadata']['name']}"
            for kind in KINDS.split()
            for obj in self._api.list(kind)
            if name in referenced_config_maps(obj) and not is_deleting(obj)
        ]
        if users and not self._api.find("ConfigMap", name):
            self._lost.append(
                f"ConfigMap/{name} was deleted, but is referenced by {', '.join(users)}"
            )


def wait_until_owned(api: Api) -> None:
    """Wait until every revision has the owners that the rule requires.

    The owners are all objects that reference the revision, and their workload. An unreferenced
    revision has only the workloads that reference another revision of its ConfigMap. (When the
    history is full, Argo Rollouts sorts ReplicaSets of the same second by name, and may delete
    the newest unused one.) A deleted ReplicaSet remains an owner until the garbage collector has
    run.
    """

    def are_owned() -> bool:
        if wrong := _owned_wrongly(api):
            raise LookupError("; ".join(wrong))
        return True

    api.wait_for(are_owned, "every revision has the required owners")


def _owned_wrongly(api: Api) -> list[str]:
    objects = {obj["metadata"]["uid"]: obj for kind in OWNERS.split() for obj in api.list(kind)}
    expected: dict[str, set[str]] = {}
    for user in objects.values():
        for name in referenced_config_maps(user):
            expected.setdefault(name, set()).update(_upward(user, objects))
    found = revisions(api)
    bases = {revision["metadata"]["name"]: _base_name(revision) for revision in found}
    tops = {uid for uid, obj in objects.items() if _upward(obj, objects) == [uid]}
    workloads: dict[str, set[str]] = {}  # by the base name of a revision
    for name, uids in expected.items():
        workloads.setdefault(bases.get(name, name), set()).update(uids & tops)
    return [
        f"{name} is owned by {owners(revision)}"
        for revision in found
        if owner_uids(revision)
        != expected.get(name := revision["metadata"]["name"], workloads.get(bases[name], tops))
    ]


def _base_name(revision: Json) -> str:
    """The name in the chart, which an adopted original has in the cluster, too."""
    metadata = revision["metadata"]
    name: str = metadata.get("annotations", {}).get("postrender/base-name", metadata["name"])
    return name


def _upward(obj: Json, objects: Mapping[str, Json]) -> list[str]:
    """Return the uids of an object and of its live controllers."""
    uids = [obj["metadata"]["uid"]]
    for owner in obj["metadata"].get("ownerReferences", []):
        if owner.get("controller") and owner["uid"] in objects:
            uids += _upward(objects[owner["uid"]], objects)
    return uids
