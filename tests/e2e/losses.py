"""The two promises of the lifecycle, as checks: nothing that is named is lost, all is owned."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from types import TracebackType

from tests.e2e.api import Api, Json
from tests.e2e.looks import assert_nothing_is_missing, named_by, owner_uids, owners, revisions

KINDS = (
    "Rollout Deployment StatefulSet DaemonSet CronJob Job ReplicaSet ControllerRevision Pod "
    "Experiment"
)
OWNERS = "Rollout Deployment ReplicaSet"
LAST = "no-more-losses"


class NothingIsLost:
    """Sees every deletion of a ConfigMap while it is entered; fails if a live object named one.

        with NothingIsLost(api):
            ...

    What is missing at the end is found too.
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
        # The watch tells of this one after all that was deleted before.
        self._api.create({"kind": "ConfigMap", "metadata": {"name": LAST}})
        self._thread.join(30)
        self._api.delete("ConfigMap", LAST)
        if self._lost:
            raise AssertionError("\n".join([*self._lost, self._api.dump()])) from error
        if error is None:
            assert not self._thread.is_alive(), "the watch did not come to its end"
            assert_nothing_is_missing(self._api)

    def _watch(self, path: str) -> None:
        for event in self._api.watch(path, self._version):
            assert event["type"] != "ERROR", event
            metadata = event["object"]["metadata"]
            if metadata["name"] == LAST:
                return
            if event["type"] == "DELETED" or metadata.get("deletionTimestamp"):
                self._look(metadata["name"])

    def _look(self, name: str) -> None:
        users = [
            f"{kind}/{one['metadata']['name']}"
            for kind in KINDS.split()
            for one in self._api.list(kind)
            if name in named_by(one) and not one["metadata"].get("deletionTimestamp")
        ]
        if users and not self._api.find("ConfigMap", name):
            self._lost.append(f"ConfigMap/{name} was deleted; it is named by {', '.join(users)}")


def wait_until_owned(api: Api) -> None:
    """Wait until every revision has the owners of the rule: all that name it, and their workload.

    One that nothing names has its workload alone. A ReplicaSet that went away stays an owner until
    the garbage collector has seen to it.
    """
    api.wait_for(lambda: not _owned_wrongly(api), "every revision is owned by the rule")


def _owned_wrongly(api: Api) -> list[str]:
    objects = {one["metadata"]["uid"]: one for kind in OWNERS.split() for one in api.list(kind)}
    wanted: dict[str, set[str]] = {}
    for one in objects.values():
        for name in named_by(one):
            wanted.setdefault(name, set()).update(_upward(one, objects))
    tops = {uid for uid, one in objects.items() if _upward(one, objects) == [uid]}
    return [
        f"{name} is owned by {owners(one)}"
        for one in revisions(api)
        if owner_uids(one) != wanted.get(name := one["metadata"]["name"], tops)
    ]


def _upward(one: Json, objects: Mapping[str, Json]) -> list[str]:
    """Return the uids of an object and of the live ones that control it."""
    uids = [one["metadata"]["uid"]]
    for owner in one["metadata"].get("ownerReferences", []):
        if owner.get("controller") and owner["uid"] in objects:
            uids += _upward(objects[owner["uid"]], objects)
    return uids
