"""Migration from plain Helm, or from the original configmap-attacher."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import cast

import pytest

from postrender.plan.attacher_objects import JOB, role_rules
from tests.e2e import attachers
from tests.e2e.accounts import account_kubeconfig, create_account
from tests.e2e.api import Api, Json
from tests.e2e.cluster import Cluster, ControlPlane
from tests.e2e.commands import LONG_AGO, adopt, attach_as, end_canary, greetings, restart_pods
from tests.e2e.kubelet import StandIn
from tests.e2e.namespaces import make_namespace
from tests.e2e.queries import (
    GROUP_LABEL,
    UNUSED,
    apply_attached,
    contents,
    owners,
    revision_with,
    wait_for_attachers,
    wait_for_phase,
)
from tests.e2e.releases import Release, Values
from tests.e2e.rollouts import promote
from tests.rings import helm_3_in_matrix

OLD: Values = {}
NEW: Values = {"configMaps": {"app-config": {"greeting": "bye"}}, "revisionHistoryLimit": 0}


def install_plainly(release: Release, api: Api, values: Values = OLD) -> None:
    """Install the chart by Helm alone, as before postrender."""
    release.postrender = False
    release.install(values)
    release.postrender = True
    if not values:
        wait_for_phase(api, "Healthy")


def rendered(release: Release, values: Values = NEW) -> str:
    """Return the output of `helm template | postrender`."""
    return release.render(release.template(values))


def restart_old_pods(api: Api) -> None:
    """Delete the Pods of the old revision, as when their node fails."""
    old = [pod for pod in api.list("Pod", labels="app=app") if references_original(pod)]
    assert old
    restart_pods(api, old)


def references_original(pod: Json) -> bool:
    """Return whether a Pod mounts the ConfigMap under its base name."""
    volumes = pod["spec"].get("volumes", [])
    return any(volume.get("configMap", {}).get("name") == "app-config" for volume in volumes)


# Adopt


def test_old_pods_keep_their_content_through_the_first_canary(
    release: Release, api: Api, plane: ControlPlane
) -> None:
    install_plainly(release, api)
    done = adopt(plane, api, rendered(release))
    assert done.returncode == 0, done.stderr
    line = f"namespace {api.namespace}: adopt protects ConfigMap/app-config (used by Pod/"
    assert line in done.stdout
    attacher = apply_attached(api, lambda: release.upgrade(NEW))
    wait_for_phase(api, "Paused")
    restart_old_pods(api)
    api.wait_for(lambda: contents(api) == ["bye", "hello"], "the old pod is back")
    [old] = [obj for obj in api.list("ReplicaSet") if references_original(obj["spec"]["template"])]
    replica_set = f"ReplicaSet/{old['metadata']['name']}"
    assert owners(api.get("ConfigMap", "app-config")) == [replica_set, "Rollout/app"]
    # The canary has ended, and its history is not needed any more.
    end_canary(plane, api, attacher)
    assert greetings(api) == ["bye"]
    assert not api.find("ConfigMap", "app-config")


@helm_3_in_matrix
def test_without_adopt_old_pods_do_not_come_back(release: Release, api: Api) -> None:
    install_plainly(release, api)
    apply_attached(api, lambda: release.upgrade(NEW))
    wait_for_phase(api, "Paused")
    assert not api.find("ConfigMap", "app-config")
    restart_old_pods(api)
    message = 'configmap "app-config" not found'
    api.wait_for(
        lambda: [pod for pod in api.list("Pod") if message in str(pod["status"])], "the Pod waits"
    )


@pytest.mark.parametrize("release", ["helm4"], indirect=True)
def test_an_adopted_release_has_no_later_conflicts(
    release: Release, api: Api, plane: ControlPlane
) -> None:
    install_plainly(release, api)
    adopt(plane, api, rendered(release))
    # The release goes back to plain Helm, which applies the original again, and then to postrender.
    release.postrender = False
    release.upgrade({"replicas": 3})
    release.postrender = True
    apply_attached(api, lambda: release.upgrade(NEW))
    later = {"configMaps": {"app-config": {"greeting": "good night"}}}
    apply_attached(api, lambda: release.upgrade(later))
    assert api.find("ConfigMap", "app-config")


@pytest.mark.parametrize("release", ["helm3"], indirect=True)
def test_a_dry_run_of_adopt_does_not_write(release: Release, api: Api, plane: ControlPlane) -> None:
    install_plainly(release, api)
    before = api.get("ConfigMap", "app-config")
    done = adopt(plane, api, rendered(release), "--dry-run")
    assert done.returncode == 0, done.stderr
    assert "adopt would protect ConfigMap/app-config (used by Pod/" in done.stdout
    assert api.get("ConfigMap", "app-config") == before


@pytest.mark.parametrize("release", ["helm3"], indirect=True)
def test_a_second_adopt_does_not_write(release: Release, api: Api, plane: ControlPlane) -> None:
    install_plainly(release, api)
    adopt(plane, api, rendered(release))
    before = api.get("ConfigMap", "app-config")
    assert before["metadata"]["labels"][GROUP_LABEL] == "app-rollout-attach"
    assert before["metadata"]["annotations"]["helm.sh/resource-policy"] == "keep"
    done = adopt(plane, api, rendered(release))
    assert "adopt already protects ConfigMap/app-config" in done.stdout
    assert api.get("ConfigMap", "app-config") == before


@pytest.mark.parametrize("release", ["helm3"], indirect=True)
def test_an_original_that_stays_in_the_output_cannot_be_protected(
    release: Release, api: Api, plane: ControlPlane
) -> None:
    install_plainly(release, api)
    before = api.get("ConfigMap", "app-config")
    release.arguments = ["--keep-original"]
    done = adopt(plane, api, rendered(release))
    assert done.returncode == 0, done.stderr
    [line] = done.stdout.splitlines()
    assert "adopt cannot protect ConfigMap/app-config" in line
    assert "because the output contains ConfigMap/app-config itself" in line
    pods = [pod for pod in api.names("Pod", labels="app=app") if f"Pod/{pod}" in line]
    assert len(pods) == 2
    assert api.get("ConfigMap", "app-config") == before


@pytest.mark.parametrize("allowed", ["nothing", "to read"])
def test_adopt_reports_the_missing_permission(
    manifests: Release, api: Api, plane: ControlPlane, allowed: str
) -> None:
    rules = [{"apiGroups": [""], "resources": ["configmaps", "pods"], "verbs": ["list"]}]
    create_account(api, "someone", rules if allowed == "to read" else [])
    data = {"metadata": {"name": "app-config"}, "data": {"greeting": "hello"}}
    before = api.create({"kind": "ConfigMap", **data})
    access = account_kubeconfig(plane, api, "someone")
    done = adopt(plane, api, rendered(manifests), access=access)
    assert done.returncode == 2
    assert done.stdout == ""
    line = done.stderr.splitlines()[-1]
    what = "patch configmaps/app-config" if allowed == "to read" else "list pods"
    start = f"error: postrender cannot {what} in namespace {api.namespace} (HTTP status 403: "
    assert line.startswith(start)
    assert api.get("ConfigMap", "app-config") == before


def test_a_base_name_that_is_not_in_the_cluster_does_not_need_protection(
    manifests: Release, api: Api, plane: ControlPlane
) -> None:
    done = adopt(plane, api, rendered(manifests))
    assert done.returncode == 0, done.stderr
    expected = f"namespace {api.namespace}: adopt skips ConfigMap/app-config, because the object"
    assert done.stdout.startswith(expected)


# The original configmap-attacher's command line

READ = ["get", "list", "watch"]
# The permissions in the original's chart.
ORIGINAL_RULES: list[Json] = [
    {"apiGroups": ["argoproj.io"], "resources": ["rollouts"], "verbs": READ},
    {"apiGroups": ["apps"], "resources": ["replicasets"], "verbs": READ},
    {"apiGroups": [""], "resources": ["configmaps"], "verbs": [*READ, "patch"]},
]
# The permission that is also needed if admission allows owner changes only to users who may delete.
MAY_DELETE: Json = {"apiGroups": [""], "resources": ["configmaps"], "verbs": ["delete"]}


def start_original(api: Api, config_maps: str, *rules: Json) -> Json:
    """Run a Job as the original's users wrote it, with its own RBAC; return its Pod."""
    create_account(api, "attacher", [*ORIGINAL_RULES, *rules])
    env = {
        "IS_IN_CLUSTER": "false",
        "LOG_LEVEL": "info",
        "VERSION": "1.0.1",
        "JOB_NAME": "attacher",
    }
    arguments = ["-rollout", "app", "-namespace", api.namespace, "-configmaps", config_maps]
    container = {
        "name": "attacher",
        "image": "postrender:e2e",
        "args": ["attach", *arguments],
        "env": [{"name": name, "value": value} for name, value in env.items()],
    }
    spec = {
        "serviceAccountName": "attacher",
        "restartPolicy": "Never",
        "containers": [container],
    }
    template = {"metadata": {"labels": {"app.kubernetes.io/component": "attacher"}}, "spec": spec}
    job = {"metadata": {"name": "attacher"}, "spec": {"backoffLimit": 0, "template": template}}
    api.create({"kind": "Job", **job})
    return api.wait_for(lambda: api.list("Pod", labels="job-name=attacher"), "the Pod is created")[
        0
    ]


def numbered(number: int) -> Values:
    """Return values in which the chart itself gives the ConfigMap a different name each time."""
    name = f"config-{number}"
    workload = {"name": "app", "kind": "Rollout", "volume": [name]}
    config = {"app-config": None, name: {"greeting": name}}
    return {"configMaps": config, "workloads": [workload]}


@pytest.fixture
def lenient(tmp_path: Path) -> Iterator[ControlPlane]:
    """Yield a control plane with the default rule: users who may patch may also change owners."""

    class Lenient(Cluster):
        def _apiserver_flags(self) -> list[str]:
            flags = super()._apiserver_flags()
            return [flag for flag in flags if "OwnerReferencesPermissionEnforcement" not in flag]

    with Lenient(tmp_path / "plane") as cluster, StandIn(cluster.plane):
        yield cluster.plane


def test_the_original_job_attaches_its_arguments(lenient: ControlPlane, tmp_path: Path) -> None:
    api = lenient.api()
    api = api.within(make_namespace(api, "original"))
    release = Release("helm3", lenient, api.namespace, tmp_path / "release")
    release.postrender = False
    release.apply(numbered(1))
    wait_for_phase(api, "Healthy")
    release.apply(numbered(2))
    wait_for_phase(api, "Paused")
    before = api.get("ConfigMap", "config-1")
    pod = start_original(api, "config-2")
    wait_for_attachers(api, "Succeeded")
    assert owners(api.get("ConfigMap", "config-2")) == sorted(
        ["Rollout/app", replica_set_referencing(api, "config-2")]
    )
    assert api.get("ConfigMap", "config-1") == before
    log = attachers.log(lenient, pod)
    assert '"level": "warning"' in log
    assert "deployments" in log
    assert "(HTTP status 403), so this run does not delete revisions" in log


def test_the_originals_flags_leave_the_config_maps_of_the_replica_sets(
    manifests: Release, api: Api, plane: ControlPlane
) -> None:
    """The account has the Role that `postrender config rbac` prints, which permits deletions."""
    create_account(api, "attacher", [cast("Json", rule) for rule in role_rules(JOB, False)])
    manifests.postrender = False
    arguments = ["attach", "-rollout", "app", "-namespace", api.namespace, "-configmaps"]

    def attach(number: int) -> None:
        run = attach_as(plane, api, "attacher", [*arguments, f"config-{number}"])
        assert run.code == 0, run.text
        for name in config_maps():
            if UNUSED in api.get("ConfigMap", name)["metadata"].get("annotations", {}):
                mark = {"metadata": {"annotations": {UNUSED: LONG_AGO}}}
                api.patch("ConfigMap", name, mark)

    def config_maps() -> list[str]:
        return [name for name in api.names("ConfigMap") if name.startswith("config-")]

    def is_pruned() -> bool:
        return len(api.list("ReplicaSet")) <= 2

    for number in range(1, 8):
        manifests.apply({**numbered(number), "revisionHistoryLimit": 1})
        attach(number)
        if number > 1:
            wait_for_phase(api, "Paused")
            promote(api)
        wait_for_phase(api, "Healthy")
        api.wait_for(is_pruned, "history is pruned")
    for _ in range(2):  # the first run marks, and the second one deletes
        attach(7)
    used = [name for name in config_maps() if f"'{name}'" in str(api.list("ReplicaSet"))]
    assert config_maps() == used == ["config-6", "config-7"]
    assert "Rollout/app" in owners(api.get("ConfigMap", "config-6"))


def replica_set_referencing(api: Api, name: str) -> str:
    """Return the only ReplicaSet whose template references a ConfigMap, as `Kind/name`."""
    names = [
        replica_set["metadata"]["name"]
        for replica_set in api.list("ReplicaSet")
        if f"'{name}'" in str(replica_set)
    ]
    assert len(names) == 1
    return f"ReplicaSet/{names[0]}"


def test_the_originals_job_waits_for_a_first_install(
    manifests: Release, api: Api, plane: ControlPlane
) -> None:
    pod = start_original(api, "config-1", MAY_DELETE)
    api.wait_for(
        lambda: "waiting for at most" in attachers.log(plane, pod), "the attacher waits", 60
    )
    manifests.postrender = False
    manifests.apply(numbered(1))
    wait_for_attachers(api, "Succeeded")
    assert owners(api.get("ConfigMap", "config-1")) == sorted(
        ["Rollout/app", replica_set_referencing(api, "config-1")]
    )


def test_the_originals_job_finds_the_group_of_labelled_config_maps(
    manifests: Release, api: Api
) -> None:
    manifests.config["attacher"]["enabled"] = False
    manifests.apply(OLD)
    wait_for_phase(api, "Healthy")
    manifests.apply(NEW)
    wait_for_phase(api, "Paused")
    new = revision_with(api, greeting="bye")["metadata"]["name"]
    old = revision_with(api, greeting="hello")["metadata"]["name"]
    start_original(api, new, MAY_DELETE)
    wait_for_attachers(api, "Succeeded")
    for name in (old, new):
        expected = sorted(["Rollout/app", replica_set_referencing(api, name)])
        assert owners(api.get("ConfigMap", name)) == expected


def test_the_originals_role_is_reported_as_too_small_with_owner_enforcement(
    manifests: Release, api: Api, plane: ControlPlane
) -> None:
    manifests.postrender = False
    manifests.apply(numbered(1))
    wait_for_phase(api, "Healthy")
    pod = start_original(api, "config-1")
    wait_for_attachers(api, "Failed")
    log = attachers.log(plane, pod)
    assert "cannot patch configmaps/config-1" in log
    assert "Compare the permissions of the account" in log
