"""The workload effects of `postrender diff`, compared with the effects of real controllers.

Both sides of a case are rendered and applied one after the other. A workload has rolled if its
controller has created another ReplicaSet or ControllerRevision.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.diff.change_cases import Case, cases, diff, rendered
from tests.e2e.api import Api, ApiError, Json
from tests.manifests import is_hook, normalise

APPLY = "application/apply-patch+yaml"
# The objects that contain the earlier pod templates of a workload.
REVISION_OBJECTS = {
    "Rollout": "ReplicaSet",
    "Deployment": "ReplicaSet",
    "StatefulSet": "ControllerRevision",
    "DaemonSet": "ControllerRevision",
}
KINDS = ("Job", "Pod", *REVISION_OBJECTS)
SCALED = ("Rollout", "Deployment", "StatefulSet")
ROLLING = ("rolls", "nextPods", "noPods")
# Cases whose sides are outputs that are applied as they are. Another render would correct them.
RENDERED = ("only-the-render-id-changes",)
# Cases with their own namespaces, a case with generated names that are not known, and cases with
# objects that are too short for a cluster, or that it rejects. tests/predictions has whole ones of
# their kind. Server-side apply cannot change the default strategy to Recreate.
ELSEWHERE = (
    "an-export-of-the-cluster",  # with the uid of another cluster
    "another-namespace",
    "the-same-name-in-two-namespaces",
    "generate-name",
    "data-is-removed",
    "removed-data-is-kept",
    "all-pods-stop-at-once",
    "fields-that-cannot-change",
    "objects-become-invalid",
    "parts-in-use-are-removed",
    "pods-are-refused",  # by the LimitRanges of other namespaces
    "pods-stop-one-after-the-other",
    "selectors-match-nothing",
    "selectors-still-match",
    "workloads-change-alike",
)


def applicable_cases() -> list[Case]:
    """Return the cases with a workload of a kind that a controller here manages."""
    return [
        case
        for case in cases()
        if case.name not in ELSEWHERE
        and any(f"kind: {kind}\n" in case.expected(case.old) for kind in KINDS)
    ]


def predicted_effects(case: Case) -> dict[str, str]:
    """Return the predicted effect for each workload of a kind that a controller here manages."""
    preview = json.loads(diff(case, "--format", "json").stdout)
    return {
        f"{workload['object']['kind']}/{workload['object']['name']}": workload["effect"]
        for workload in preview["workloads"]
        if workload["object"]["kind"] in KINDS and workload["change"] not in ("added", "removed")
    }


def objects_of(text: str, namespace: str) -> list[Json]:
    """Return the objects of a stream that concern workloads, in the test's namespace.

    Without Pods: the controllers make the objects of a new template also for no replicas.
    """
    objects: list[Any] = normalise(text)
    kinds = ("ConfigMap", "Secret", *KINDS)
    return [
        {
            **obj,
            "metadata": {**obj["metadata"], "namespace": namespace},
            **({"spec": {**obj["spec"], "replicas": 0}} if obj["kind"] in SCALED else {}),
        }
        for obj in objects
        if obj["kind"] in kinds and not is_hook(obj)
    ]


def apply(api: Api, objects: list[Json]) -> set[str]:
    """Apply objects; return those that the API server refuses to change."""
    refused = set()
    for obj in objects:
        path = api.path(obj["kind"], obj["metadata"]["name"])
        try:
            api.request("PATCH", f"{path}?fieldManager=tests&force=true", obj, APPLY)
        except ApiError as error:
            if error.status != 422:  # the object is not valid
                raise
            refused.add(name_of(obj))
    return refused


def name_of(obj: Json) -> str:
    return f"{obj['kind']}/{obj['metadata']['name']}"


def template_counts(api: Api, objects: list[Json]) -> dict[str, int]:
    """Return the number of pod templates that the controllers have seen for each workload.

    A Deployment that exists only for a Rollout is counted for the Rollout.
    """
    counts = {name_of(obj): 0 for obj in objects if obj["kind"] in REVISION_OBJECTS}
    for kind in set(REVISION_OBJECTS.values()):
        for obj in api.list(kind):
            for owner in obj["metadata"].get("ownerReferences", ()):
                name = f"{owner['kind']}/{owner['name']}"
                if name in counts:
                    counts[name] += 1
    return counts


def have_observed(api: Api, objects: list[Json]) -> bool:
    """Return whether every controller has observed the present generation of its workload."""
    live = [api.get(obj["kind"], obj["metadata"]["name"]) for obj in objects]
    return all(
        str(workload.get("status", {}).get("observedGeneration"))
        == str(workload["metadata"]["generation"])
        for workload in live
        if workload["kind"] in REVISION_OBJECTS
    )


@pytest.mark.parametrize("case", applicable_cases(), ids=lambda case: case.name)
def test_exactly_the_predicted_workloads_roll(case: Case, api: Api, tmp_path: Path) -> None:
    sides = () if case.name in RENDERED else ("old", "new")
    folder = rendered(case, tmp_path, *sides)
    old, new = (
        objects_of((folder / name).read_text("utf-8"), api.namespace)
        for name in (case.old, case.new)
    )
    assert apply(api, old) == set()
    api.wait_for(
        lambda: all(template_counts(api, old).values()) and have_observed(api, old), "the first"
    )
    before = template_counts(api, old)
    refused = apply(api, new)
    expected = predicted_effects(case)
    assert refused == {name for name, effect in expected.items() if effect == "refused"}
    rolling = {name for name, effect in expected.items() if effect in ROLLING}
    api.wait_for(
        lambda: (
            all(template_counts(api, new)[name] > before[name] for name in rolling)
            and have_observed(api, new)
        ),
        f"to roll: {rolling}",
    )
    after = template_counts(api, new)
    assert {name for name in before if after.get(name, 0) > before[name]} == rolling
