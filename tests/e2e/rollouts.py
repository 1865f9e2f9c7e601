"""Actions of people on a Rollout, with the requests that `kubectl argo rollouts` sends."""

from __future__ import annotations

from tests.e2e.api import MERGE, Api, Json

HASH = "rollouts-pod-template-hash"
REVISION = "rollout.argoproj.io/revision"


def promote(api: Api, name: str = "app") -> None:
    """Run `promote --full`: the remaining steps are skipped, all Pods get the new template."""
    _patch_status(api, name, {"promoteFull": True})


def abort(api: Api, name: str = "app") -> None:
    """Run `abort`: all Pods get the stable template back; the spec keeps the new one."""
    _patch_status(api, name, {"abort": True})


def retry(api: Api, name: str = "app") -> None:
    """Run `retry rollout`: an aborted canary starts again."""
    _patch_status(api, name, {"abort": False})


def undo(api: Api, revision: int, name: str = "app") -> None:
    """Run `undo --to-revision`: copy the template of an earlier ReplicaSet to the spec."""
    [earlier] = [
        replica_set
        for replica_set in replica_sets(api, name)
        if replica_set["metadata"]["annotations"][REVISION] == str(revision)
    ]
    template = earlier["spec"]["template"]
    del template["metadata"]["labels"][HASH]
    change = [{"op": "replace", "path": "/spec/template", "value": template}]
    api.request("PATCH", api.path("Rollout", name), change, "application/json-patch+json")


def replica_sets(api: Api, name: str = "app") -> list[Json]:
    """Return the ReplicaSets of a Rollout, ordered by revision, the newest last."""
    owned = api.list("ReplicaSet", labels=f"app={name}")
    return sorted(
        owned, key=lambda replica_set: int(replica_set["metadata"]["annotations"][REVISION])
    )


def _patch_status(api: Api, name: str, change: Json) -> None:
    api.request("PATCH", f"{api.path('Rollout', name)}/status", {"status": change}, MERGE)
