"""Every kind of workload: its revisions have the right owners, and are kept and deleted with it."""

from __future__ import annotations

from functools import partial
from typing import Any

import pytest

from tests.e2e.api import Api, Json
from tests.e2e.cluster import ControlPlane
from tests.e2e.commands import (
    assert_owned_by_the_rule,
    attach_again,
    greetings,
    is_marked,
    owner_kinds,
    pass_grace_time,
    restart_pods,
    try_to_sweep,
)
from tests.e2e.queries import (
    GROUP_LABEL,
    apply_attached,
    assert_nothing_is_missing,
    contents,
    owners,
    revision_with,
    wait_for_phase,
)
from tests.e2e.releases import Release, Values
from tests.rings import in_matrix

# The owners of a revision whose revision object exists. The Deployment of a workloadRef has its own
# ReplicaSets, in addition to those of the Rollout.
WITH_REVISION_OBJECTS = {
    "Rollout": ["ReplicaSet", "Rollout"],
    "Deployment": ["Deployment", "ReplicaSet"],
    "StatefulSet": ["ControllerRevision", "StatefulSet"],
    "DaemonSet": ["ControllerRevision", "DaemonSet"],
    "never": ["Deployment", "ReplicaSet", "ReplicaSet", "Rollout"],
    "onsuccess": ["Deployment", "ReplicaSet", "ReplicaSet", "Rollout"],
    "progressively": ["Deployment", "ReplicaSet", "ReplicaSet", "Rollout"],
}


def chart(greeting: str, kind: str = "Rollout", **fields: Any) -> Values:
    """Return values with one workload; `kind` may be the scaleDown mode of a workloadRef."""
    workload = {"name": "app", "kind": kind, "envFrom": ["app-config"], **fields}
    if kind[0].islower():
        workload |= {"kind": "RolloutOfDeployment", "scaleDown": kind, "deploymentReplicas": 2}
    return {
        "configMaps": {"app-config": {"greeting": greeting}},
        "workloads": [workload],
        "steps": [{"setWeight": 50}],
    }


def wait_for_content(api: Api, *greetings: str) -> None:
    """Wait until all running Pods were started with these greetings."""
    api.wait_for(lambda: set(contents(api)) == set(greetings), f"{greetings} runs", timeout=60)


def delete_workloads(api: Api, *kinds: str) -> None:
    """Delete the workloads with the name `app` of some kinds."""
    for kind in kinds:
        api.delete(kind, "app")


def wait_until_nothing_remains(api: Api) -> None:
    """Delete the release owner, and wait until no ConfigMap with our label exists."""
    for name in api.names("ServiceAccount"):
        if name.endswith("-attach"):
            api.delete("ServiceAccount", name)
    api.wait_for(lambda: not api.list("ConfigMap", labels=GROUP_LABEL), "no revision", timeout=60)


# Workloads with revision objects


# The modes of scaleDown differ only in the scale of the Deployment.
@pytest.mark.parametrize(
    "kind",
    [
        pytest.param(kind, marks=in_matrix if kind in ("never", "onsuccess") else ())
        for kind in WITH_REVISION_OBJECTS
    ],
)
def test_a_revision_is_kept_until_its_revision_objects_are_deleted(
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
    revision_kind = "ControllerRevision" if "ControllerRevision" in expected else "ReplicaSet"
    left = 2 * expected.count(revision_kind)
    api.wait_for(
        lambda: len(api.list(revision_kind)) == left,
        f"{left} {revision_kind}s are left",
        timeout=60,
    )
    pass_grace_time(plane, api, pod)
    assert greetings(api) == ["three", "two"]
    assert owner_kinds(revision_with(api, greeting="two")) == expected
    assert owner_kinds(revision_with(api, greeting="three")) == expected
    assert_owned_by_the_rule(api)
    delete_workloads(api, *(item for item in expected if item not in (revision_kind,)))
    wait_until_nothing_remains(api)


def wait_for_new_content(api: Api, kind: str, greeting: str) -> None:
    """Wait until the workload has finished its change."""
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
    restart_pods(api, [api.get("Pod", "app-0")])
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
    restart_pods(api, api.list("Pod", labels="app=app"))
    wait_for_content(api, "old")


# Kinds without revision objects


@pytest.mark.parametrize("kind", ["PodTemplate", "AnalysisTemplate"])
def test_the_revision_of_a_replaced_template_is_deleted(
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
    api.wait_for(lambda: not contents(api), "the Job's Pod is deleted")
    pass_grace_time(plane, api, pod)
    assert greetings(api) == ["two"]
    delete_workloads(api, "CronJob")
    wait_until_nothing_remains(api)


def bare_replica_set(greeting: str) -> Values:
    """Return values with a ReplicaSet without a controller."""
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


# Objects that cannot change


def with_job_and_pod(greeting: str) -> Values:
    """Return values with a Rollout, a Job and a bare Pod that all reference one ConfigMap."""
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
    assert GROUP_LABEL not in original["metadata"].get("labels", {})
    assert_nothing_is_missing(api)


def test_an_adopted_original_stays_after_the_job_that_needs_the_original(
    manifests: Release, api: Api, plane: ControlPlane
) -> None:
    pod = apply_attached(api, lambda: manifests.apply(with_job_and_pod("one")))
    label = {GROUP_LABEL: pod["metadata"]["labels"][GROUP_LABEL]}
    api.patch("ConfigMap", "app-config", {"metadata": {"labels": label}})
    attach_again(plane, pod)
    assert owners(api.get("ConfigMap", "app-config")) == []
    # The Job and the Pod have ended and are deleted, but the next upgrade may create them again.
    api.delete("Job", "once")
    api.delete("Pod", "bare")
    api.wait_for(lambda: not api.find("Pod", "bare") and not api.find("Job", "once"), "gone")
    try_to_sweep(plane, api, pod)
    assert api.find("ConfigMap", "app-config")


# Objects that the steps of a Rollout create


def with_step(greeting: str, step: Json, *workloads: Json) -> Values:
    """Return values with a Rollout that runs a step in the middle of its canary."""
    values = chart(greeting, steps=[{"setWeight": 50}, step, {"pause": {}}])
    config = {"app-config": {"greeting": greeting}, "check-config": {"greeting": f"{greeting}?"}}
    return {**values, "configMaps": config, "workloads": [*values["workloads"], *workloads]}


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
    # The template changes to another ConfigMap while the analysis runs.
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


def test_an_experiment_keeps_its_revision_until_its_end(
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
