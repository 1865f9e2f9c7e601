"""What people do with a Rollout: what `kubectl argo rollouts` sends for each of its commands."""

from __future__ import annotations

from tests.e2e.api import MERGE, Api, Json

HASH = "rollouts-pod-template-hash"
REVISION = "rollout.argoproj.io/revision"


def promote(api: Api, name: str = "app") -> None:
    """Run `promote --full`: no more steps, all Pods get the new template."""
    _patch_status(api, name, {"promoteFull": True})


def abort(api: Api, name: str = "app") -> None:
    """Run `abort`: all Pods get the stable template back, the new one stays in the spec."""
    _patch_status(api, name, {"abort": True})


def retry(api: Api, name: str = "app") -> None:
    """Run `retry rollout`: an aborted canary begins again."""
    _patch_status(api, name, {"abort": False})


def undo(api: Api, revision: int, name: str = "app") -> None:
    """Run `undo --to-revision`: the template of an earlier ReplicaSet becomes the spec's."""
    [found] = [
        one
        for one in replica_sets(api, name)
        if one["metadata"]["annotations"][REVISION] == str(revision)
    ]
    template = found["spec"]["template"]
    del template["metadata"]["labels"][HASH]
    change = [{"op": "replace", "path": "/spec/template", "value": template}]
    api.request("PATCH", api.path("Rollout", name), change, "application/json-patch+json")


def replica_sets(api: Api, name: str = "app") -> list[Json]:
    """Return the ReplicaSets of a Rollout, in the order of their revisions, the newest last."""
    found = api.list("ReplicaSet", labels=f"app={name}")
    return sorted(found, key=lambda one: int(one["metadata"]["annotations"][REVISION]))


def _patch_status(api: Api, name: str, change: Json) -> None:
    api.request("PATCH", f"{api.path('Rollout', name)}/status", {"status": change}, MERGE)
