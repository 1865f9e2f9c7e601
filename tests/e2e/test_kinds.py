"""Every kind of workload: its revisions are owned by the rule, kept, swept and gone with it."""

from __future__ import annotations

from functools import partial
from typing import Any

import pytest

from tests.e2e.again import (
    assert_owned_by_the_rule,
    attach_again,
    greetings,
    is_marked,
    owner_kinds,
    pass_grace_time,
    replace_pod,
    try_to_sweep,
)
from tests.e2e.api import Api, Json
from tests.e2e.cluster import ControlPlane
from tests.e2e.looks import (
    MANAGED,
    apply_attached,
    assert_nothing_is_missing,
    contents,
    owners,
    revision_with,
    wait_for_phase,
)
from tests.e2e.releases import Release, Values

# What owns a revision whose revision object lives. A workloadRef's Deployment keeps ReplicaSets of
# its own beside the Rollout's.
WITH_REVISION_OBJECTS = {
    "Rollout": ["ReplicaSet", "Rollout"],
    "Deployment": ["Deployment", "ReplicaSet"],
    "StatefulSet": ["ControllerRevision", "StatefulSet"],
    "DaemonSet": ["ControllerRevision", "DaemonSet"],
    "never": ["Deployment", "ReplicaSet", "ReplicaSet", "Rollout"],
    "onsuccess": ["Deployment", "ReplicaSet", "ReplicaSet", "Rollout"],
    "progressively": ["Deployment", "ReplicaSet", "ReplicaSet", "Rollout"],
}


def chart(greeting: str, kind: str = "Rollout", **more: Any) -> Values:
    """Return values with one workload; `kind` may be a scaleDown mode, of a workloadRef."""
    workload = {"name": "app", "kind": kind, "envFrom": ["app-config"], **more}
    if kind[0].islower():
        workload |= {"kind": "RolloutOfDeployment", "scaleDown": kind, "deploymentReplicas": 2}
    return {
        "configMaps": {"app-config": {"greeting": greeting}},
        "workloads": [workload],
        "steps": [{"setWeight": 50}],
    }


def wait_for_content(api: Api, *greetings: str) -> None:
    """Wait until the Pods that run were started with these, and only these."""
    api.wait_for(lambda: set(contents(api)) == set(greetings), f"{greetings} runs", timeout=60)


def delete_workloads(api: Api, *kinds: str) -> None:
    """Delete the workloads called `app` of some kinds."""
    for kind in kinds:
        api.delete(kind, "app")


def wait_until_nothing_remains(api: Api) -> None:
    """Wait until no ConfigMap with our label is there any more."""
    api.wait_for(lambda: not api.list("ConfigMap", labels=MANAGED), "no revision", timeout=60)


# Workloads with revision objects


@pytest.mark.parametrize("kind", WITH_REVISION_OBJECTS)
def test_a_revision_lives_as_long_as_its_revision_objects(
    manifests: Release, api: Api, plane: ControlPlane, kind: str
) -> None:
    expected = WITH_REVISION_OBJECTS[kind]
    for greeting in ("one", "two"):
        values = chart(greeting, kind, revisionHistoryLimit=1)
        apply_attached(api, partial(manifests.apply, values))
        wait_for_new_content(api, kind, greeting)
    assert owner_kinds(revision_with(api, greeting="one")) == expected
    assert owner_kinds(revision_with(api, greeting="two")) == expected
    values = chart("three", kind, revisionHistoryLimit=1)
    pod = apply_attached(api, lambda: manifests.apply(values))
    wait_for_new_content(api, kind, "three")
    made = "ControllerRevision" if "ControllerRevision" in expected else "ReplicaSet"
    left = 2 * expected.count(made)
    api.wait_for(lambda: len(api.list(made)) == left, f"{left} {made}s are left", timeout=60)
    pass_grace_time(plane, api, pod)
    assert greetings(api) == ["three", "two"]
    assert owner_kinds(revision_with(api, greeting="two")) == expected
    assert owner_kinds(revision_with(api, greeting="three")) == expected
    assert_owned_by_the_rule(api)
    delete_workloads(api, *(item for item in expected if item not in (made,)))
    wait_until_nothing_remains(api)


def wait_for_new_content(api: Api, kind: str, greeting: str) -> None:
    """Wait until the workload is through with its change."""
    if kind == "Rollout" or kind[0].islower():
        wait_for_phase(api, "Healthy")
    else:
        wait_for_content(api, greeting)


def test_old_pods_of_a_half_updated_stateful_set_come_back_with_the_old_content(
    manifests: Release, api: Api, plane: ControlPlane
) -> None:
    half = {"updateStrategy": {"rollingUpdate": {"partition": 1}}}
    apply_attached(api, lambda: manifests.apply(chart("old", "StatefulSet", spec=half)))
    wait_for_content(api, "old")
    pod = apply_attached(api, lambda: manifests.apply(chart("new", "StatefulSet", spec=half)))
    wait_for_content(api, "old", "new")
    try_to_sweep(plane, api, pod)
    replace_pod(api, "app-0")
    api.wait_for(lambda: contents(api) == ["new", "old"], "the old pod is back")


def test_a_stuck_daemon_set_is_undone_to_the_old_content(
    manifests: Release, api: Api, plane: ControlPlane
) -> None:
    surge = {"updateStrategy": {"rollingUpdate": {"maxSurge": 1, "maxUnavailable": 0}}}
    apply_attached(api, lambda: manifests.apply(chart("old", "DaemonSet", spec=surge)))
    wait_for_content(api, "old")
    broken = chart("new", "DaemonSet", spec=surge, volume=["not-there"])
    pod = apply_attached(api, lambda: manifests.apply(broken))
    api.wait_for(lambda: len(api.list("Pod", labels="app=app")) == 2, "one pod of each revision")
    try_to_sweep(plane, api, pod)
    assert contents(api) == ["old"]
    manifests.kubectl("rollout", "undo", "daemonset/app")
    api.wait_for(lambda: len(api.list("Pod", labels="app=app")) == 1, "one pod")
    replace_pod(api, api.names("Pod", labels="app=app")[0])
    wait_for_content(api, "old")


# Kinds without revision objects


@pytest.mark.parametrize("kind", ["PodTemplate", "AnalysisTemplate"])
def test_a_template_that_was_replaced_lets_go_of_its_revision(
    manifests: Release, api: Api, plane: ControlPlane, kind: str
) -> None:
    apply_attached(api, lambda: manifests.apply(chart("one", kind)))
    assert owners(revision_with(api, greeting="one")) == [f"{kind}/app"]
    pod = apply_attached(api, lambda: manifests.apply(chart("two", kind)))
    assert is_marked(revision_with(api, greeting="one"))
    assert greetings(api) == ["one", "two"]
    pass_grace_time(plane, api, pod)
    assert greetings(api) == ["two"]
    delete_workloads(api, kind)
    wait_until_nothing_remains(api)


def test_a_running_job_of_a_cron_job_keeps_its_revision(
    manifests: Release, api: Api, plane: ControlPlane
) -> None:
    held = {"stand-in/hold": "true"}
    apply_attached(api, lambda: manifests.apply(chart("one", "CronJob", podAnnotations=held)))
    manifests.kubectl("create", "job", "run", "--from=cronjob/app")
    wait_for_content(api, "one")
    values = chart("two", "CronJob", podAnnotations=held)
    pod = apply_attached(api, lambda: manifests.apply(values))
    assert owners(revision_with(api, greeting="one")) == ["CronJob/app", "Job/run"]
    try_to_sweep(plane, api, pod)
    assert greetings(api) == ["one", "two"]
    api.delete("Job", "run")
    api.wait_for(lambda: not contents(api), "the job's pod is gone")
    pass_grace_time(plane, api, pod)
    assert greetings(api) == ["two"]
    delete_workloads(api, "CronJob")
    wait_until_nothing_remains(api)


def bare_replica_set(greeting: str) -> Values:
    """Return values with a ReplicaSet that nothing controls."""
    source = {"envFrom": [{"configMapRef": {"name": "app-config"}}], "name": "app", "image": "app"}
    labels = {"app": "app"}
    template = {"metadata": {"labels": labels}, "spec": {"containers": [source]}}
    replica_set = {
        "apiVersion": "apps/v1",
        "kind": "ReplicaSet",
        "metadata": {"name": "app"},
        "spec": {"replicas": 2, "selector": {"matchLabels": labels}, "template": template},
    }
    config = {"app-config": {"greeting": greeting}}
    return {"configMaps": config, "workloads": [], "extra": [replica_set]}


@pytest.mark.parametrize("kind", ["ReplicationController", "ReplicaSet"])
def test_pods_of_a_replaced_template_keep_their_revision(
    manifests: Release, api: Api, plane: ControlPlane, kind: str
) -> None:
    def values(greeting: str) -> Values:
        return bare_replica_set(greeting) if kind == "ReplicaSet" else chart(greeting, kind)

    apply_attached(api, lambda: manifests.apply(values("one")))
    wait_for_content(api, "one")
    pod = apply_attached(api, lambda: manifests.apply(values("two")))
    try_to_sweep(plane, api, pod)
    assert owners(revision_with(api, greeting="one")) == [f"{kind}/app"]
    for old in api.list("Pod", labels="app=app"):
        api.delete("Pod", old["metadata"]["name"])
    wait_for_content(api, "two")
    pass_grace_time(plane, api, pod)
    assert greetings(api) == ["two"]
    delete_workloads(api, kind)
    wait_until_nothing_remains(api)


# What cannot change


def with_job_and_pod(greeting: str) -> Values:
    """Return values with a Rollout, a Job and a bare Pod that all name one ConfigMap."""
    container = {"name": "app", "image": "app:1"}
    container["envFrom"] = [{"configMapRef": {"name": "app-config"}}]  # type: ignore[assignment]
    bare = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "bare"}}
    job = {"name": "once", "kind": "Job", "envFrom": ["app-config"]}
    values = chart(greeting)
    return {
        **values,
        "workloads": [*values["workloads"], job],
        "extra": [{**bare, "spec": {"containers": [container]}}],
    }


def test_a_job_and_a_bare_pod_keep_the_original(
    manifests: Release, api: Api, plane: ControlPlane
) -> None:
    manifests.apply(with_job_and_pod("one"))
    api.wait_for(lambda: api.get("Pod", "bare")["status"]["phase"] == "Running", "the pod runs")
    api.wait_for(lambda: contents(api, "app=once") == ["one"], "the Job has read it")
    pod = apply_attached(api, lambda: manifests.apply(with_job_and_pod("two")))
    try_to_sweep(plane, api, pod)
    original = api.get("ConfigMap", "app-config")
    assert original["data"] == {"greeting": "two"}
    assert owners(original) == []
    assert MANAGED not in original["metadata"].get("labels", {})
    assert_nothing_is_missing(api)


def test_an_adopted_original_that_a_job_needs_outlives_it(
    manifests: Release, api: Api, plane: ControlPlane
) -> None:
    pod = apply_attached(api, lambda: manifests.apply(with_job_and_pod("one")))
    label = {MANAGED: pod["metadata"]["labels"][MANAGED]}
    api.patch("ConfigMap", "app-config", {"metadata": {"labels": label}})
    attach_again(plane, pod)
    assert owners(api.get("ConfigMap", "app-config")) == []
    # Both have ended and gone: the next upgrade may bring them back.
    api.delete("Job", "once")
    api.delete("Pod", "bare")
    api.wait_for(lambda: not api.find("Pod", "bare") and not api.find("Job", "once"), "gone")
    try_to_sweep(plane, api, pod)
    assert api.find("ConfigMap", "app-config")


# What a Rollout makes by its steps


def with_step(greeting: str, step: Json, *others: Json) -> Values:
    """Return values with a Rollout that does a step in the middle of its canary."""
    values = chart(greeting, steps=[{"setWeight": 50}, step, {"pause": {}}])
    config = {"app-config": {"greeting": greeting}, "check-config": {"greeting": f"{greeting}?"}}
    return {**values, "configMaps": config, "workloads": [*values["workloads"], *others]}


def test_a_running_analysis_keeps_its_revision(
    manifests: Release, api: Api, plane: ControlPlane
) -> None:
    step = {"analysis": {"templates": [{"templateName": "check"}]}}
    check = {
        "name": "check",
        "kind": "AnalysisTemplate",
        "envFrom": ["check-config"],
        "podAnnotations": {"stand-in/hold": "true"},
    }
    apply_attached(api, lambda: manifests.apply(with_step("one", step, check)))
    wait_for_phase(api, "Healthy")
    apply_attached(api, lambda: manifests.apply(with_step("two", step, check)))
    api.wait_for(lambda: contents(api, "app=check") == ["two?"], "the analysis runs", timeout=60)
    [run] = api.names("AnalysisRun")
    [job] = [job for job in api.list("Job") if "attach" not in job["metadata"]["name"]]
    # The template moves on to another ConfigMap while the analysis runs.
    values = with_step("two", step, check)
    values = {**values, "configMaps": {**values["configMaps"], "check-config": {"greeting": "3?"}}}
    pod = apply_attached(api, lambda: manifests.apply(values))
    try_to_sweep(plane, api, pod)
    assert owners(revision_with(api, greeting="two?")) == [
        f"AnalysisRun/{run}",
        "AnalysisTemplate/check",
        f"Job/{job['metadata']['name']}",
        "Rollout/app",
    ]
    assert_owned_by_the_rule(api)
    delete_workloads(api, "Rollout")
    api.delete("AnalysisTemplate", "check")
    wait_until_nothing_remains(api)


def test_an_experiment_of_a_rollout_keeps_its_revision(
    manifests: Release, api: Api, plane: ControlPlane
) -> None:
    step = {"experiment": {"templates": [{"name": "try", "specRef": "canary"}]}}
    apply_attached(api, lambda: manifests.apply(with_step("one", step)))
    wait_for_phase(api, "Healthy")
    pod = apply_attached(api, lambda: manifests.apply(with_step("two", step)))
    api.wait_for(lambda: len(contents(api)) == 3, "the experiment runs", timeout=60)
    try_to_sweep(plane, api, pod)
    kinds = ["Experiment", "ReplicaSet", "ReplicaSet", "Rollout"]
    assert owner_kinds(revision_with(api, greeting="two")) == kinds
    assert_owned_by_the_rule(api)
    delete_workloads(api, "Rollout")
    wait_until_nothing_remains(api)


def test_an_experiment_keeps_its_revision_to_its_end(
    manifests: Release, api: Api, plane: ControlPlane
) -> None:
    apply_attached(api, lambda: manifests.apply(chart("one", "Experiment")))
    wait_for_content(api, "one")
    pod = apply_attached(api, lambda: manifests.apply(chart("two", "Experiment")))
    try_to_sweep(plane, api, pod)
    assert_owned_by_the_rule(api)
    assert_nothing_is_missing(api)
    delete_workloads(api, "Experiment")
    wait_until_nothing_remains(api)
