"""What Argo Rollouts does with revisioned ConfigMaps; no postrender. See docs/behaviour.md."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import pytest

from tests.e2e.api import Api, Json
from tests.e2e.apps import wait_until_still
from tests.e2e.looks import contents, named_by, owner_uids, wait_for_phase
from tests.e2e.plain import (
    AT_ONCE,
    PAUSED,
    config,
    config_maps,
    job,
    reference,
    template,
    workload,
)
from tests.e2e.rollouts import HASH, abort, promote, replica_sets, retry, undo
from tests.e2e.test_failures import degraded, limit


def canary(*steps: Json) -> Json:
    return {"canary": {"steps": list(steps)}}


def start(api: Api, number: int = 1, *steps: Json, **spec: Any) -> Json:
    """Create ConfigMaps 1 to 4 and a Rollout that names one of them; wait until it is healthy."""
    for one in range(1, 5):
        api.create(config(one))
    api.create(workload("Rollout", number, strategy=canary(*steps or AT_ONCE), **spec))
    return wait_for_phase(api, "Healthy")


def change(api: Api, number: int, image: str = "app:1") -> Json:
    """Have the Rollout name another ConfigMap; return what the API server answers."""
    return api.patch("Rollout", "app", {"spec": {"template": template(number, image)}})


def naming(api: Api, number: int) -> Json:
    """Return the one ReplicaSet that names a ConfigMap."""
    found = [one for one in replica_sets(api) if named_by(one) == {f"config-{number}"}]
    assert len(found) <= 1
    return found[0]


# A new template


def test_right_after_a_change_the_status_tells_of_the_old_template(api: Api) -> None:
    before = start(api)
    answer = change(api, 2)
    assert answer["metadata"]["generation"] == before["metadata"]["generation"] + 1
    assert answer["status"]["observedGeneration"] == str(before["metadata"]["generation"])
    assert answer["status"]["phase"] == "Healthy"
    assert answer["status"]["currentPodHash"] == before["status"]["currentPodHash"]


def test_the_new_replica_set_is_there_before_the_status_tells_of_it(api: Api) -> None:
    since = start(api)["metadata"]["resourceVersion"]
    change(api, 2)
    new = api.wait_for(lambda: naming(api, 2), "the new ReplicaSet")
    name, hashed = new["metadata"]["name"], new["metadata"]["labels"][HASH]
    made = first(api, "ReplicaSet", since, lambda it: it["metadata"]["name"] == name)
    told = first(api, "Rollout", since, lambda it: it["status"]["currentPodHash"] == hashed)
    assert made < told


def first(api: Api, kind: str, since: str, is_so: Callable[[Json], bool]) -> int:
    """Return the first resource version, of those after one, of which something is so."""
    for event in api.watch(api.path(kind), since, seconds=30):
        if is_so(event["object"]):
            return int(event["object"]["metadata"]["resourceVersion"])
    raise AssertionError(api.dump())


def test_an_invalid_spec_is_observed_and_makes_no_replica_set(api: Api) -> None:
    before = start(api)
    broken = canary({"setWeight": 150})
    api.patch("Rollout", "app", {"spec": {"template": template(2), "strategy": broken}})
    degraded(api, "InvalidSpec")
    found = api.get("Rollout", "app")
    assert found["status"]["phase"] == "Degraded"
    assert found["status"]["observedGeneration"] == str(found["metadata"]["generation"])
    assert found["status"]["currentPodHash"] == before["status"]["currentPodHash"]
    assert len(replica_sets(api)) == 1


def test_a_quota_leaves_the_old_hash_at_the_new_generation(api: Api) -> None:
    before = start(api)
    limit(api, count__replicasets_apps=1)
    change(api, 2)
    degraded(api, "ReplicaSetCreateError")
    found = api.wait_for(lambda: observed(api), "the generation is observed")
    assert found["status"]["currentPodHash"] == before["status"]["currentPodHash"]
    assert len(replica_sets(api)) == 1


def observed(api: Api) -> Json | None:
    found = api.get("Rollout", "app")
    is_so = found["status"]["observedGeneration"] == str(found["metadata"]["generation"])
    return found if is_so else None


def test_a_paused_rollout_and_one_without_pods_make_their_replica_sets(api: Api) -> None:
    start(api)
    api.patch("Rollout", "app", {"spec": {"paused": True, "template": template(2)}})
    api.wait_for(lambda: naming(api, 2), "the ReplicaSet of a paused one")
    api.patch("Rollout", "app", {"spec": {"replicas": 0, "template": template(3)}})
    api.wait_for(lambda: naming(api, 3), "the ReplicaSet of one without Pods")


def test_an_annotation_of_the_pod_template_is_on_the_new_replica_set_alone(api: Api) -> None:
    start(api)
    marked = template(2, annotations={"mark": "new"})
    api.patch("Rollout", "app", {"spec": {"template": marked}})
    wait_for_phase(api, "Healthy")
    found = [one["spec"]["template"]["metadata"].get("annotations") for one in replica_sets(api)]
    assert found == [None, {"mark": "new"}]


# Going back


def test_an_undo_and_a_return_reuse_the_replica_set(api: Api) -> None:
    start(api)
    first = naming(api, 1)
    change(api, 2)
    wait_for_phase(api, "Healthy")
    undo(api, 1)
    wait_for_phase(api, "Healthy")
    assert naming(api, 1)["metadata"]["uid"] == first["metadata"]["uid"]
    assert len(replica_sets(api)) == 2
    assert [one["metadata"]["name"] for one in replica_sets(api)][-1] == first["metadata"]["name"]


def test_a_superseded_canary_that_comes_back_is_the_same_replica_set(api: Api) -> None:
    start(api, 1, *PAUSED, replicas=2)
    for number in (2, 3):
        change(api, number)
        wait_for_phase(api, "Paused")
    superseded = naming(api, 2)
    change(api, 2)
    wait_for_phase(api, "Paused")
    api.wait_for(lambda: contents(api) == ["1", "2"], "the canary is back")
    assert naming(api, 2)["metadata"]["uid"] == superseded["metadata"]["uid"]


def test_an_abort_goes_back_to_the_old_pods_and_leaves_the_spec(api: Api) -> None:
    start(api, 1, *PAUSED, replicas=2)
    change(api, 2)
    wait_for_phase(api, "Paused")
    api.wait_for(lambda: contents(api) == ["1", "2"], "half and half")
    abort(api)
    wait_for_phase(api, "Degraded")
    api.wait_for(lambda: contents(api) == ["1", "1"], "all are old")
    assert named_by(api.get("Rollout", "app")) == {"config-2"}
    retry(api)
    api.wait_for(lambda: contents(api) == ["1", "2"], "half and half again")


def test_the_same_template_with_another_image_is_another_replica_set(api: Api) -> None:
    start(api)
    change(api, 1, "app:2")
    wait_for_phase(api, "Healthy")
    assert [named_by(one) for one in replica_sets(api)] == [{"config-1"}, {"config-1"}]


# History, and what belongs to a ReplicaSet


def test_the_history_keeps_so_many_beside_the_current_replica_set(api: Api) -> None:
    start(api, revisionHistoryLimit=1)
    for number in (2, 3):
        change_later(api, number)
    assert history(api) == [{"config-2"}, {"config-3"}]


def test_the_history_goes_by_age_so_that_a_configuration_that_came_back_goes_first(
    api: Api,
) -> None:
    """Configuration 1, 2, 1, 3: of the first two it is not the last that ran which stays."""
    start(api, revisionHistoryLimit=1)
    for number in (2, 1, 3):
        change_later(api, number)
    assert history(api) == [{"config-2"}, {"config-3"}]


def history(api: Api) -> list[set[str]]:
    """Return what the ReplicaSets name, in the order of their revisions, once there are two."""
    api.wait_for(lambda: len(replica_sets(api)) == 2, "the history is pruned")
    return [named_by(one) for one in replica_sets(api)]


def change_later(api: Api, number: int, image: str = "app:1") -> None:
    """Change the Rollout and wait for it, in another second: that is how exact its age is."""
    time.sleep(1.1)
    change(api, number, image)
    wait_for_phase(api, "Healthy")


def test_who_owns_by_the_current_hash_right_after_a_change_owns_by_the_old_one(api: Api) -> None:
    """What a Job does that reads `status.currentPodHash` when it starts."""
    start(api, revisionHistoryLimit=0)
    hashed = change(api, 2)["status"]["currentPodHash"]
    owner = api.get("ReplicaSet", f"app-{hashed}")
    assert named_by(owner) == {"config-1"}
    own(api, "config-2", owner)
    api.wait_for(lambda: "config-2" not in config_maps(api), "config-2 is collected")
    wait_for_phase(api, "Healthy")
    assert named_by(api.get("Rollout", "app")) == {"config-2"}
    assert [named_by(one) for one in replica_sets(api)] == [{"config-2"}]


def own(api: Api, name: str, *live: Json) -> None:
    """Make these the owners of a ConfigMap, and no other."""
    change = {"metadata": {"ownerReferences": [reference(one) for one in live]}}
    api.patch("ConfigMap", name, change)


def test_what_belongs_to_replica_sets_alone_is_lost_after_a_missed_attach(api: Api) -> None:
    """Configuration 1, 2, 1 again with another image, whose ReplicaSet nobody made an owner."""
    start(api, revisionHistoryLimit=1)
    own(api, "config-1", naming(api, 1))
    change_later(api, 2)
    change_later(api, 1, "app:2")
    api.wait_for(lambda: "config-1" not in config_maps(api), "config-1 is collected")
    assert named_by(api.get("Rollout", "app")) == {"config-1"}


def test_what_belongs_to_the_rollout_too_outlives_a_missed_attach(api: Api) -> None:
    rollout = start(api, revisionHistoryLimit=1)
    first = naming(api, 1)
    own(api, "config-1", first, rollout)
    change_later(api, 2)
    change_later(api, 1, "app:2")
    wait_until_dropped(api, first)
    assert owner_uids(api.get("ConfigMap", "config-1")) == {rollout["metadata"]["uid"]}


def wait_until_dropped(api: Api, replica_set: Json) -> None:
    """Wait until a ReplicaSet is pruned, and config-1 has no such owner any more."""
    uid = replica_set["metadata"]["uid"]
    api.wait_for(lambda: uid not in owner_uids(api.get("ConfigMap", "config-1")), "it is dropped")


def test_a_configuration_that_comes_back_loses_its_replica_set_at_once(api: Api) -> None:
    """The history is full and a canary is under way: the next template prunes the oldest."""
    start(api, 1, *PAUSED, replicas=2, revisionHistoryLimit=1)
    oldest = naming(api, 1)
    own(api, "config-1", oldest)
    time.sleep(1.1)
    change(api, 2)
    wait_for_phase(api, "Paused")
    promote(api)
    wait_for_phase(api, "Healthy")
    change(api, 3)
    wait_for_phase(api, "Paused")
    assert oldest["metadata"]["uid"] in [one["metadata"]["uid"] for one in replica_sets(api)]
    change(api, 1, "app:2")
    api.wait_for(lambda: "config-1" not in config_maps(api), "config-1 is collected")
    assert named_by(api.get("Rollout", "app")) == {"config-1"}


def test_a_rollout_that_is_deleted_and_made_anew_takes_along_what_it_owned(api: Api) -> None:
    own(api, "config-1", start(api))
    api.delete("Rollout", "app")
    api.wait_for(lambda: "config-1" not in config_maps(api), "config-1 is collected")
    api.create(workload("Rollout", 1))
    api.wait_for(lambda: naming(api, 1), "the new one names it")
    assert "config-1" not in config_maps(api)


# Where else ConfigMaps are named


def test_a_workload_ref_makes_two_sets_of_replica_sets_and_no_new_generation(api: Api) -> None:
    for one in (1, 2):
        api.create(config(one))
    api.create(workload("Deployment", 1, replicas=0))
    ref = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "app"}
    rollout = workload("Rollout", 1, workloadRef=ref)
    del rollout["spec"]["template"]
    api.create(rollout)
    wait_until_still(api)
    api.patch("Deployment", "app", {"spec": {"template": template(2)}})
    api.wait_for(lambda: contents(api) == ["2"], "the Rollout runs with 2")
    api.wait_for(lambda: len(api.list("ReplicaSet")) == 4, "each has made two")
    found = api.get("Rollout", "app")
    assert "template" not in found["spec"]
    assert found["metadata"]["generation"] == 1
    makers = [
        (one["metadata"]["ownerReferences"][0]["kind"], *named_by(one))
        for one in api.list("ReplicaSet")
    ]
    assert sorted(makers) == [
        ("Deployment", "config-1"),
        ("Deployment", "config-2"),
        ("Rollout", "config-1"),
        ("Rollout", "config-2"),
    ]


def test_an_analysis_run_keeps_the_template_that_it_was_made_with(api: Api) -> None:
    metric: Json = {"name": "check", "provider": {"job": {"spec": job(1)["spec"]}}}
    held = {"annotations": {"stand-in/hold": "true"}, "labels": {"app": "check"}}
    metric["provider"]["job"]["spec"]["template"]["metadata"] = held
    check = {
        "kind": "AnalysisTemplate",
        "metadata": {"name": "check"},
        "spec": {"metrics": [metric]},
    }
    api.create(check)
    step = {"analysis": {"templates": [{"templateName": "check"}]}}
    start(api, 1, {"setWeight": 50}, step, replicas=2)
    change(api, 2)
    api.wait_for(lambda: api.names("AnalysisRun"), "the analysis runs")
    metric["provider"]["job"]["spec"]["template"]["spec"] = job(2)["spec"]["template"]["spec"]
    api.patch("AnalysisTemplate", "check", {"spec": {"metrics": [metric]}})
    [run] = api.list("AnalysisRun")
    assert "config-1" in str(run["spec"])
    assert "config-2" not in str(run["spec"])


@pytest.mark.parametrize("kind", ["Deployment", "Rollout"])
def test_a_change_of_an_annotation_of_the_workload_rolls_nothing(api: Api, kind: str) -> None:
    api.create(config(1))
    api.create(workload(kind, 1))
    api.wait_for(lambda: contents(api) == ["1"], "it runs")
    api.patch(
        kind, "app", {"metadata": {"annotations": {"checksum": "other"}}, "spec": {"replicas": 2}}
    )
    api.wait_for(lambda: contents(api) == ["1", "1"], "two run")
    assert len(api.list("ReplicaSet")) == 1
