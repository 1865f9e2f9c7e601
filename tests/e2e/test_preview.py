"""What `postrender diff` says of workloads, against what real controllers make of the same change.

Both sides of a case are rendered and applied one after the other. A workload has rolled if its
controller has made another ReplicaSet (ControllerRevision) for it.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.diff.change_cases import Case, cases, diff, rendered
from tests.e2e.api import Api, ApiError, Json
from tests.reference import is_hook, normalise

APPLY = "application/apply-patch+yaml"
# What holds the pod templates that a workload has had.
MADE = {
    "Rollout": "ReplicaSet",
    "Deployment": "ReplicaSet",
    "StatefulSet": "ControllerRevision",
    "DaemonSet": "ControllerRevision",
}
ROLLING = ("rolls", "nextPods", "noPods")
# They write namespaces of their own; and one makes names of which nothing is known.
ELSEWHERE = ("another-namespace", "the-same-name-in-two-namespaces", "generate-name")


def judged() -> list[Case]:
    """Return the cases with a workload of a kind that a controller here looks after."""
    return [
        case
        for case in cases()
        if case.name not in ELSEWHERE
        and any(f"kind: {kind}\n" in case.expected(case.old) for kind in (*MADE, "Job"))
    ]


def told(case: Case) -> dict[str, str]:
    """Return what is told of each workload of a kind that a controller here looks after."""
    preview = json.loads(diff(case, "--format", "json").stdout)
    return {
        f"{each['object']['kind']}/{each['object']['name']}": each["effect"]
        for each in preview["workloads"]
        if each["object"]["kind"] in (*MADE, "Job") and each["change"] not in ("added", "removed")
    }


def objects_of(text: str, namespace: str) -> list[Json]:
    """Return the objects of a stream that have to do with workloads, in the test's namespace."""
    found: list[Any] = normalise(text)
    kinds = ("ConfigMap", "Secret", "Job", *MADE)
    return [
        {**each, "metadata": {**each["metadata"], "namespace": namespace}}
        for each in found
        if each["kind"] in kinds and not is_hook(each)
    ]


def apply(api: Api, objects: list[Json]) -> set[str]:
    """Apply objects; return those that the API server refuses to change."""
    refused = set()
    for each in objects:
        path = api.path(each["kind"], each["metadata"]["name"])
        try:
            api.request("PATCH", f"{path}?fieldManager=tests&force=true", each, APPLY)
        except ApiError as error:
            if "immutable" not in str(error):
                raise
            refused.add(name_of(each))
    return refused


def name_of(each: Json) -> str:
    return f"{each['kind']}/{each['metadata']['name']}"


def made(api: Api, objects: list[Json]) -> dict[str, int]:
    """Return how many pod templates the controllers have seen of each workload.

    A Deployment that is only there for a Rollout is the Rollout's business.
    """
    counts = {name_of(each): 0 for each in objects if each["kind"] in MADE}
    for kind in set(MADE.values()):
        for each in api.list(kind):
            for owner in each["metadata"].get("ownerReferences", ()):
                name = f"{owner['kind']}/{owner['name']}"
                if name in counts:
                    counts[name] += 1
    return counts


def have_observed(api: Api, objects: list[Json]) -> bool:
    """Tell whether every controller has seen its workload as it is now."""
    live = [api.get(each["kind"], each["metadata"]["name"]) for each in objects]
    return all(
        str(each.get("status", {}).get("observedGeneration")) == str(each["metadata"]["generation"])
        for each in live
        if each["kind"] in MADE
    )


@pytest.mark.parametrize("case", judged(), ids=lambda case: case.name)
def test_what_is_said_to_roll_rolls_and_nothing_else(case: Case, api: Api, tmp_path: Path) -> None:
    folder = rendered(case, tmp_path, "old", "new")
    old, new = (
        objects_of((folder / name).read_text("utf-8"), api.namespace)
        for name in (case.old, case.new)
    )
    assert apply(api, old) == set()
    api.wait_for(lambda: all(made(api, old).values()) and have_observed(api, old), "the first")
    before = made(api, old)
    refused = apply(api, new)
    expected = told(case)
    assert refused == {name for name, effect in expected.items() if effect == "refused"}
    rolling = {name for name, effect in expected.items() if effect in ROLLING}
    api.wait_for(
        lambda: (
            all(made(api, new)[name] > before[name] for name in rolling) and have_observed(api, new)
        ),
        f"to roll: {rolling}",
    )
    after = made(api, new)
    assert {name for name in before if after.get(name, 0) > before[name]} == rolling
