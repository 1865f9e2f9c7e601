"""The behaviour of Argo Rollouts with revisioned ConfigMaps, without postrender.

See tests/e2e/BEHAVIOUR.md.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import pytest

from tests.e2e.api import Api, Json
from tests.e2e.handmade import (
    AT_ONCE,
    PAUSED,
    config,
    config_maps,
    job,
    reference,
    template,
    workload,
)
from tests.e2e.manual_attach import wait_until_settled
from tests.e2e.queries import contents, owner_uids, referenced_config_maps, wait_for_phase
from tests.e2e.rollouts import HASH, abort, promote, replica_sets, retry, undo
from tests.e2e.test_failures import degraded, limit


def canary(*steps: Json) -> Json:
    return {"canary": {"steps": list(steps)}}


def start(api: Api, number: int = 1, *steps: Json, **spec: Any) -> Json:
    """Create ConfigMaps 1 to 4 and a Rollout that references one of them; wait for health."""
    for existing in range(1, 5):
        api.create(config(existing))
    api.create(workload("Rollout", number, strategy=canary(*steps or AT_ONCE), **spec))
    return wait_for_phase(api, "Healthy")


def change(api: Api, number: int, image: str = "app:1") -> Json:
    """Change the ConfigMap that the Rollout references; return the API server's answer."""
    return api.patch("Rollout", "app", {"spec": {"template": template(number, image)}})


def referencing(api: Api, number: int) -> Json:
    """Return the only ReplicaSet that references a ConfigMap."""
    matching = [
        replica_set
        for replica_set in replica_sets(api)
        if referenced_config_maps(replica_set) == {f"config-{number}"}
    ]
    assert len(matching) <= 1
    return matching[0]


# A new template


def test_right_after_a_change_the_status_describes_the_old_template(api: Api) -> None:
    before = start(api)
    answer = change(api, 2)
    assert answer["metadata"]["generation"] == before["metadata"]["generation"] + 1
    assert answer["status"]["observedGeneration"] == str(before["metadata"]["generation"])
    assert answer["status"]["phase"] == "Healthy"
    assert answer["status"]["currentPodHash"] == before["status"]["currentPodHash"]


def test_the_new_replica_set_exists_before_the_status_changes(api: Api) -> None:
    since = start(api)["metadata"]["resourceVersion"]
    change(api, 2)
    new = api.wait_for(lambda: referencing(api, 2), "the new ReplicaSet")
    name, hashed = new["metadata"]["name"], new["metadata"]["labels"][HASH]
    created_version = first(api, "ReplicaSet", since, lambda obj: obj["metadata"]["name"] == name)
    observed_version = first(
        api, "Rollout", since, lambda obj: obj["status"]["currentPodHash"] == hashed
    )
    assert created_version < observed_version


def first(api: Api, kind: str, since: str, condition: Callable[[Json], bool]) -> int:
    """Return the first resource version after `since` whose object fulfils a condition."""
    for event in api.watch(api.path(kind), since, seconds=30):
        if condition(event["object"]):
            return int(event["object"]["metadata"]["resourceVersion"])
    raise AssertionError(api.dump())


def test_an_invalid_spec_is_observed_but_does_not_create_a_replica_set(api: Api) -> None:
    before = start(api)
    broken = canary({"setWeight": 150})
    api.patch("Rollout", "app", {"spec": {"template": template(2), "strategy": broken}})
    degraded(api, "InvalidSpec")
    rollout = api.get("Rollout", "app")
    assert rollout["status"]["phase"] == "Degraded"
    assert rollout["status"]["observedGeneration"] == str(rollout["metadata"]["generation"])
    assert rollout["status"]["currentPodHash"] == before["status"]["currentPodHash"]
    assert len(replica_sets(api)) == 1


def test_a_quota_leaves_the_old_hash_at_the_new_generation(api: Api) -> None:
    before = start(api)
    limit(api, count__replicasets_apps=1)
    change(api, 2)
    degraded(api, "ReplicaSetCreateError")
    rollout = api.wait_for(lambda: observed(api), "the generation is observed")
    assert rollout["status"]["currentPodHash"] == before["status"]["currentPodHash"]
    assert len(replica_sets(api)) == 1


def observed(api: Api) -> Json | None:
    rollout = api.get("Rollout", "app")
    is_current = rollout["status"]["observedGeneration"] == str(rollout["metadata"]["generation"])
    return rollout if is_current else None


def test_a_paused_rollout_and_a_rollout_without_pods_create_replica_sets(api: Api) -> None:
    start(api)
    api.patch("Rollout", "app", {"spec": {"paused": True, "template": template(2)}})
    api.wait_for(lambda: referencing(api, 2), "the ReplicaSet of a paused Rollout")
    api.patch("Rollout", "app", {"spec": {"replicas": 0, "template": template(3)}})
    api.wait_for(lambda: referencing(api, 3), "the ReplicaSet of a Rollout without Pods")


def test_an_annotation_of_the_pod_template_is_only_on_the_new_replica_set(api: Api) -> None:
    start(api)
    marked = template(2, annotations={"mark": "new"})
    api.patch("Rollout", "app", {"spec": {"template": marked}})
    wait_for_phase(api, "Healthy")
    annotations = [
        replica_set["spec"]["template"]["metadata"].get("annotations")
        for replica_set in replica_sets(api)
    ]
    assert annotations == [None, {"mark": "new"}]


# Going back


def test_an_undo_and_a_return_reuse_the_replica_set(api: Api) -> None:
    start(api)
    first = referencing(api, 1)
    change(api, 2)
    wait_for_phase(api, "Healthy")
    undo(api, 1)
    wait_for_phase(api, "Healthy")
    assert referencing(api, 1)["metadata"]["uid"] == first["metadata"]["uid"]
    assert len(replica_sets(api)) == 2
    assert [replica_set["metadata"]["name"] for replica_set in replica_sets(api)][-1] == first[
        "metadata"
    ]["name"]


def test_a_restored_canary_uses_the_same_replica_set(api: Api) -> None:
    start(api, 1, *PAUSED, replicas=2)
    for number in (2, 3):
        change(api, number)
        wait_for_phase(api, "Paused")
    superseded = referencing(api, 2)
    change(api, 2)
    wait_for_phase(api, "Paused")
    api.wait_for(lambda: contents(api) == ["1", "2"], "the canary is back")
    assert referencing(api, 2)["metadata"]["uid"] == superseded["metadata"]["uid"]


def test_an_abort_returns_to_the_old_pods_and_keeps_the_spec(api: Api) -> None:
    start(api, 1, *PAUSED, replicas=2)
    change(api, 2)
    wait_for_phase(api, "Paused")
    api.wait_for(lambda: contents(api) == ["1", "2"], "old and new Pods run")
    abort(api)
    wait_for_phase(api, "Degraded")
    api.wait_for(lambda: contents(api) == ["1", "1"], "all Pods are old")
    assert referenced_config_maps(api.get("Rollout", "app")) == {"config-2"}
    retry(api)
    api.wait_for(lambda: contents(api) == ["1", "2"], "old and new Pods run again")


def test_the_same_template_with_another_image_is_another_replica_set(api: Api) -> None:
    start(api)
    change(api, 1, "app:2")
    wait_for_phase(api, "Healthy")
    assert [referenced_config_maps(replica_set) for replica_set in replica_sets(api)] == [
        {"config-1"},
        {"config-1"},
    ]


# History, and what belongs to a ReplicaSet


def test_the_history_limit_does_not_count_the_current_replica_set(api: Api) -> None:
    start(api, revisionHistoryLimit=1)
    for number in (2, 3):
        change_later(api, number)
    assert history(api) == [{"config-2"}, {"config-3"}]


def test_the_history_is_ordered_by_age_so_a_reused_replica_set_is_pruned_first(
    api: Api,
) -> None:
    """After configurations 1, 2, 1, 3 the kept one is 2, although 1 ran later."""
    start(api, revisionHistoryLimit=1)
    for number in (2, 1, 3):
        change_later(api, number)
    assert history(api) == [{"config-2"}, {"config-3"}]


def history(api: Api) -> list[set[str]]:
    """Return the references of the ReplicaSets, ordered by revision, once there are two."""
    api.wait_for(lambda: len(replica_sets(api)) == 2, "the history is pruned")
    return [referenced_config_maps(replica_set) for replica_set in replica_sets(api)]


def change_later(api: Api, number: int, image: str = "app:1") -> None:
    """Change the Rollout and wait for it, in another second, which is the precision of its age."""
    wait_for_another_second(api)
    change(api, number, image)
    wait_for_phase(api, "Healthy")


def wait_for_another_second(api: Api) -> None:
    newest = max(each["metadata"]["creationTimestamp"] for each in replica_sets(api))
    api.wait_for(
        lambda: time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()) > newest, "another second"
    )


def test_the_current_hash_right_after_a_change_is_that_of_the_old_replica_set(api: Api) -> None:
    """A Job does this if it reads `status.currentPodHash` when it starts."""
    start(api, revisionHistoryLimit=0)
    hashed = change(api, 2)["status"]["currentPodHash"]
    owner = api.get("ReplicaSet", f"app-{hashed}")
    assert referenced_config_maps(owner) == {"config-1"}
    set_owners(api, "config-2", owner)
    api.wait_for(lambda: "config-2" not in config_maps(api), "config-2 is collected")
    wait_for_phase(api, "Healthy")
    assert referenced_config_maps(api.get("Rollout", "app")) == {"config-2"}
    assert [referenced_config_maps(replica_set) for replica_set in replica_sets(api)] == [
        {"config-2"}
    ]


def set_owners(api: Api, name: str, *live: Json) -> None:
    """Replace the owners of a ConfigMap by these objects."""
    change = {"metadata": {"ownerReferences": [reference(owner) for owner in live]}}
    api.patch("ConfigMap", name, change)


def test_a_config_map_owned_only_by_replica_sets_is_lost_after_a_missed_attach(api: Api) -> None:
    """Configurations 1, 2, and 1 with another image; the new ReplicaSet is not made an owner."""
    start(api, revisionHistoryLimit=1)
    set_owners(api, "config-1", referencing(api, 1))
    change_later(api, 2)
    change_later(api, 1, "app:2")
    api.wait_for(lambda: "config-1" not in config_maps(api), "config-1 is collected")
    assert referenced_config_maps(api.get("Rollout", "app")) == {"config-1"}


def test_a_config_map_also_owned_by_the_rollout_outlives_a_missed_attach(api: Api) -> None:
    rollout = start(api, revisionHistoryLimit=1)
    first = referencing(api, 1)
    set_owners(api, "config-1", first, rollout)
    change_later(api, 2)
    change_later(api, 1, "app:2")
    wait_until_dropped(api, first)
    assert owner_uids(api.get("ConfigMap", "config-1")) == {rollout["metadata"]["uid"]}


def wait_until_dropped(api: Api, replica_set: Json) -> None:
    """Wait until a ReplicaSet is pruned, and is not an owner of config-1 any more."""
    uid = replica_set["metadata"]["uid"]
    api.wait_for(
        lambda: uid not in owner_uids(api.get("ConfigMap", "config-1")), "the owner is removed"
    )


def test_a_restored_configuration_loses_its_replica_set_at_once(api: Api) -> None:
    """The history is full and a canary is in progress, so the next template prunes the oldest."""
    start(api, 1, *PAUSED, replicas=2, revisionHistoryLimit=1)
    oldest = referencing(api, 1)
    set_owners(api, "config-1", oldest)
    wait_for_another_second(api)
    change(api, 2)
    wait_for_phase(api, "Paused")
    promote(api)
    wait_for_phase(api, "Healthy")
    change(api, 3)
    wait_for_phase(api, "Paused")
    assert oldest["metadata"]["uid"] in [
        replica_set["metadata"]["uid"] for replica_set in replica_sets(api)
    ]
    change(api, 1, "app:2")
    api.wait_for(lambda: "config-1" not in config_maps(api), "config-1 is collected")
    assert referenced_config_maps(api.get("Rollout", "app")) == {"config-1"}


def test_a_rollout_that_is_deleted_and_re_created_loses_its_config_maps(api: Api) -> None:
    set_owners(api, "config-1", start(api))
    api.delete("Rollout", "app")
    api.wait_for(lambda: "config-1" not in config_maps(api), "config-1 is collected")
    api.create(workload("Rollout", 1))
    api.wait_for(lambda: referencing(api, 1), "the new Rollout references it")
    assert "config-1" not in config_maps(api)


# References outside of pod templates


def test_a_workload_ref_creates_two_sets_of_replica_sets_and_no_new_generation(api: Api) -> None:
    for number in (1, 2):
        api.create(config(number))
    api.create(workload("Deployment", 1, replicas=0))
    ref = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "app"}
    rollout = workload("Rollout", 1, workloadRef=ref)
    del rollout["spec"]["template"]
    api.create(rollout)
    wait_until_settled(api)
    api.patch("Deployment", "app", {"spec": {"template": template(2)}})
    api.wait_for(lambda: contents(api) == ["2"], "the Rollout runs with 2")
    api.wait_for(lambda: len(api.list("ReplicaSet")) == 4, "both workloads have created two")
    rollout = api.get("Rollout", "app")
    assert "template" not in rollout["spec"]
    assert rollout["metadata"]["generation"] == 1
    makers = [
        (
            replica_set["metadata"]["ownerReferences"][0]["kind"],
            *referenced_config_maps(replica_set),
        )
        for replica_set in api.list("ReplicaSet")
    ]
    assert sorted(makers) == [
        ("Deployment", "config-1"),
        ("Deployment", "config-2"),
        ("Rollout", "config-1"),
        ("Rollout", "config-2"),
    ]


def test_an_analysis_run_keeps_its_original_template(api: Api) -> None:
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
def test_a_changed_annotation_of_the_workload_does_not_roll_pods(api: Api, kind: str) -> None:
    api.create(config(1))
    api.create(workload(kind, 1))
    api.wait_for(lambda: contents(api) == ["1"], "the Pod runs")
    api.patch(
        kind, "app", {"metadata": {"annotations": {"checksum": "other"}}, "spec": {"replicas": 2}}
    )
    api.wait_for(lambda: contents(api) == ["1", "1"], "two Pods run")
    assert len(api.list("ReplicaSet")) == 1
