"""Tests of the harness, on which the scenarios rely."""

from __future__ import annotations

import json
import sys

import pytest

from tests.e2e import attachers
from tests.e2e.api import Api, Json
from tests.e2e.cluster import ControlPlane
from tests.e2e.kubelet import content
from tests.e2e.namespaces import (
    hold_attachers,
    reach_server_by,
    release_attachers,
    replace_attachers,
)
from tests.e2e.programs import program
from tests.e2e.queries import ATTACHER, contents, wait_for_attachers
from tests.e2e.releases import Release

KINDS = [
    "Rollout",
    "Deployment",
    "StatefulSet",
    "DaemonSet",
    "ReplicationController",
    "CronJob",
    "Job",
    "PodTemplate",
    "AnalysisTemplate",
    "Experiment",
    "RolloutOfDeployment",
]

# Replaces postrender: asks the API server for its user, and may read ConfigMaps but not Secrets.
ASKING = """
import subprocess, sys
kubectl = [sys.argv[1], "kubectl"]
subprocess.run([*kubectl, "auth", "whoami"], check=True)
subprocess.run([*kubectl, "get", "configmaps", "-o", "name"], check=True)
sys.exit(subprocess.run([*kubectl, "get", "secrets"]).returncode == 0)
"""
# Replaces postrender by a program that takes a long time.
SLEEPING = """
import signal, sys, time
signal.signal(signal.SIGTERM, lambda *_: sys.exit("terminated"))
print("asleep")
time.sleep(60)
"""


def pod(name: str, config_map: str, **spec: object) -> Json:
    container = {
        "name": "app",
        "image": "app:1",
        "envFrom": [{"configMapRef": {"name": config_map}}],
    }
    return {
        "kind": "Pod",
        "metadata": {"name": name},
        "spec": {"containers": [container], **spec},
    }


def config_map(name: str, **data: str) -> Json:
    return {"kind": "ConfigMap", "metadata": {"name": name}, "data": data}


def is_ready(pod: Json) -> bool:
    conditions = pod.get("status", {}).get("conditions", [])
    return any(
        condition["type"] == "Ready" and condition["status"] == "True" for condition in conditions
    )


def waits_for(pod: Json) -> str:
    """Return the missing objects that a Pod's status reports."""
    state = pod["status"]["containerStatuses"][0]["state"]
    assert state["waiting"]["reason"] == "CreateContainerConfigError"
    return str(state["waiting"]["message"])


def test_a_rollout_is_healthy_and_its_pods_record_their_content(
    manifests: Release, api: Api
) -> None:
    manifests.config["attacher"]["enabled"] = False
    manifests.apply()
    api.wait_for(lambda: api.get("Rollout", "app")["status"]["phase"] == "Healthy", "healthy")
    mounted = [content(pod_object) for pod_object in api.list("Pod")]
    [revision] = [name for name in api.names("ConfigMap") if name.startswith("app-config-")]
    assert mounted == [{revision: {"greeting": "hello"}}] * 2


def test_a_canary_pauses_with_old_and_new_content(manifests: Release, api: Api) -> None:
    manifests.config["attacher"]["enabled"] = False
    manifests.apply()
    api.wait_for(lambda: api.get("Rollout", "app")["status"]["phase"] == "Healthy", "healthy")
    manifests.apply({"configMaps": {"app-config": {"greeting": "bye"}}})
    api.wait_for(lambda: api.get("Rollout", "app")["status"]["phase"] == "Paused", "paused")
    api.wait_for(lambda: contents(api) == ["bye", "hello"], "old and new Pods run")


def test_a_pod_waits_for_its_config_map(api: Api) -> None:
    api.create(pod("one", "late"))
    api.wait_for(lambda: waits_for(api.get("Pod", "one")) == 'configmap "late" not found')
    api.create(config_map("late", greeting="at last"))
    api.wait_for(lambda: is_ready(api.get("Pod", "one")), "ready")
    assert content(api.get("Pod", "one")) == {"late": {"greeting": "at last"}}


def test_a_pod_of_a_job_ends_unless_the_pod_is_held(api: Api) -> None:
    api.create(config_map("some"))
    api.create(pod("ends", "some", restartPolicy="Never"))
    held = pod("held", "some", restartPolicy="Never")
    held["metadata"]["annotations"] = {"stand-in/hold": "true"}
    api.create(held)
    api.wait_for(lambda: api.get("Pod", "ends")["status"]["phase"] == "Succeeded")
    api.wait_for(lambda: is_ready(api.get("Pod", "held")))
    api.patch("Pod", "held", {"metadata": {"annotations": {"stand-in/hold": None}}})
    api.wait_for(lambda: api.get("Pod", "held")["status"]["phase"] == "Succeeded")


def test_a_deleted_pod_disappears_at_once(api: Api) -> None:
    api.create(config_map("some"))
    api.create(pod("one", "some"))
    api.wait_for(lambda: is_ready(api.get("Pod", "one")))
    api.delete("Pod", "one")
    api.wait_for(lambda: api.find("Pod", "one") is None, "the pod is gone")


def test_an_object_that_lost_its_owner_is_collected(api: Api) -> None:
    owner = api.create(config_map("owner"))
    reference = {"apiVersion": "v1", "kind": "ConfigMap", "name": "owner"}
    owned = config_map("owned")
    owned["metadata"]["ownerReferences"] = [reference | {"uid": owner["metadata"]["uid"]}]
    api.create(owned)
    api.create(config_map("other"))
    api.delete("ConfigMap", "owner")
    api.wait_for(lambda: api.find("ConfigMap", "owned") is None)
    assert api.find("ConfigMap", "other")


def test_an_attacher_runs_as_its_own_account(
    manifests: Release, api: Api, plane: ControlPlane
) -> None:
    replace_attachers(api, [sys.executable, "-c", ASKING, program("kubernetes")])
    manifests.apply()
    [done] = wait_for_attachers(api, "Succeeded")
    log = attachers.log(plane, done)
    assert f"system:serviceaccount:{api.namespace}:app-rollout-attach" in log
    assert "configmap/app-config-" in log
    assert "secrets is forbidden" in log
    folder = attachers.folder_of(plane, api.namespace, done["metadata"]["name"])
    command = json.loads((folder / "command.json").read_text())
    assert command[4:7] == ["attach", "--group", "app-rollout-attach"]


def test_a_failed_attacher_is_retried_by_its_job(manifests: Release, api: Api) -> None:
    replace_attachers(api, [sys.executable, "-c", "raise SystemExit(7)"])
    manifests.apply()
    # The Job controller waits 10 s before it retries.
    failed = wait_for_attachers(api, "Failed", count=2)
    state = failed[0]["status"]["containerStatuses"][0]["state"]
    assert state["terminated"]["exitCode"] == 7


def test_attachers_can_be_held_and_redirected(
    manifests: Release, api: Api, plane: ControlPlane
) -> None:
    hold_attachers(api)
    reach_server_by(api, "http://127.0.0.1:1")
    replace_attachers(api, [sys.executable, "-c", ASKING, program("kubernetes")])
    manifests.apply()
    api.wait_for(lambda: api.get("Rollout", "app")["status"]["phase"] == "Healthy", "healthy")
    assert len(wait_for_attachers(api, "Pending")) == 1
    release_attachers(api)
    failed = wait_for_attachers(api, "Failed")[0]  # the Job starts another one after 10 s
    assert "127.0.0.1:1" in attachers.log(plane, failed)


def test_a_deleted_attacher_is_terminated(
    manifests: Release, api: Api, plane: ControlPlane
) -> None:
    replace_attachers(api, [sys.executable, "-uc", SLEEPING])
    manifests.apply()
    [running] = wait_for_attachers(api, "Running")
    api.wait_for(lambda: "asleep" in attachers.log(plane, running), "the process has started")
    [job] = api.names("Job")
    api.delete("Job", job)
    api.wait_for(lambda: not api.list("Pod", labels=ATTACHER), "the Pod is deleted")
    assert "terminated" in attachers.log(plane, running)


@pytest.mark.parametrize("release", ["helm3", "helm4"], indirect=True)
def test_a_release_is_rolled_back_and_uninstalled(release: Release, api: Api) -> None:
    release.config["attacher"]["enabled"] = False
    release.install()
    release.upgrade({"replicas": 3})
    release.rollback(1)
    assert api.get("Rollout", "app")["spec"]["replicas"] == 2
    release.uninstall()
    api.wait_for(lambda: api.find("Rollout", "app") is None)


def test_every_kind_of_the_chart_is_accepted(manifests: Release, api: Api) -> None:
    manifests.config["attacher"]["enabled"] = False
    workloads = [
        {"name": kind.lower(), "kind": kind, "replicas": 1, "envFrom": ["app-config"]}
        for kind in KINDS
    ]
    manifests.apply({"workloads": workloads})
    # CronJob, PodTemplate and AnalysisTemplate create no Pod, nor does a workloadRef's Deployment.
    api.wait_for(
        lambda: len([pod_object for pod_object in api.list("Pod") if content(pod_object)]) >= 7,
        "pods run",
    )
    api.wait_for(lambda: api.get("Rollout", "rolloutofdeployment")["status"]["phase"] == "Healthy")
