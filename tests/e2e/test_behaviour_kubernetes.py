"""The behaviour of Kubernetes with revisioned ConfigMaps, without postrender.

See tests/e2e/BEHAVIOUR.md.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from postrender.attach.connect import account_of
from tests.e2e.accounts import account_kubeconfig, create_account
from tests.e2e.api import MERGE, STRATEGIC, Api, ApiError, Json
from tests.e2e.cluster import Cluster, ControlPlane
from tests.e2e.handmade import config, config_maps, job, reference, template, workload
from tests.e2e.namespaces import make_namespace
from tests.e2e.queries import contents, owners
from tests.e2e.releases import Release

NO_SUCH_UID = "00000000-0000-0000-0000-000000000000"


def set_owners(api: Api, name: str, *references: Json) -> Json:
    """Set the owners of a ConfigMap, replacing all others."""
    return api.patch("ConfigMap", name, {"metadata": {"ownerReferences": list(references)}})


def wait_until_deleted(api: Api, *names: str) -> None:
    api.wait_for(lambda: not {*names} & {*config_maps(api)}, f"{names} are deleted")


def refused(api: Api, name: str, change: Json, how: str = MERGE) -> str:
    """Return the API server's error for a change of a ConfigMap that it rejects."""
    with pytest.raises(ApiError) as error:
        api.patch("ConfigMap", name, change, how)
    return str(error.value)


# Garbage collection


class AuditedCluster(Cluster):
    """A control plane whose API server logs each deletion of a ConfigMap, with its options."""

    @property
    def log(self) -> Path:
        """The log of the deletions."""
        return self.plane.folder / "audit.log"

    def _apiserver_flags(self) -> list[str]:
        policy = self.plane.folder / "audit.json"
        deletions = {"level": "Request", "verbs": ["delete"]}
        rule = {**deletions, "resources": [{"group": "", "resources": ["configmaps"]}]}
        rules = {"kind": "Policy", "apiVersion": "audit.k8s.io/v1", "rules": [rule]}
        policy.write_text(json.dumps(rules))
        flags = [f"--audit-policy-file={policy}", f"--audit-log-path={self.log}"]
        return [*super()._apiserver_flags(), *flags, "--audit-log-mode=blocking-strict"]


def deletion_requests(log: Path, name: str) -> list[Json]:
    """Return the completed requests to delete a ConfigMap, from the complete lines of a log."""
    lines = log.read_text().splitlines(keepends=True)
    events = [json.loads(line) for line in lines if line.endswith("\n")]
    return [
        event["requestObject"]
        for event in events
        if event["objectRef"]["name"] == name and event["stage"] == "ResponseComplete"
    ]


def test_the_collector_requires_the_read_version(tmp_path: Path) -> None:
    with AuditedCluster(tmp_path / "plane") as cluster:
        api = cluster.plane.api("default")
        owner = api.create(config(1))
        api.create(config(2))
        owned = set_owners(api, "config-2", reference(owner))["metadata"]
        api.delete("ConfigMap", "config-1")
        wait_until_deleted(api, "config-2")
        # The API server can write the event after the deletion is visible.
        [request] = api.wait_for(lambda: deletion_requests(cluster.log, "config-2"), "the event")
    expected = {key: owned[key] for key in ("uid", "resourceVersion")}
    assert request["preconditions"] == expected


def test_an_owned_config_map_is_deleted_with_its_last_owner(api: Api) -> None:
    first, second = api.create(config(1)), api.create(config(2))
    api.create(config(3))
    set_owners(api, "config-3", reference(first), reference(second))
    api.delete("ConfigMap", "config-1")
    api.wait_for(lambda: owners(api.get("ConfigMap", "config-3")) == ["ConfigMap/config-2"])
    api.delete("ConfigMap", "config-2")
    wait_until_deleted(api, "config-3")


@pytest.mark.parametrize("wrong", ["uid", "name", "kind"])
def test_an_owner_that_does_not_exist_means_deletion(api: Api, wrong: str) -> None:
    owner = api.create(config(1))
    changed = {"uid": NO_SUCH_UID, "name": "other", "kind": "Secret"}
    api.create(config(2))
    set_owners(api, "config-2", reference(owner, **{wrong: changed[wrong]}))
    wait_until_deleted(api, "config-2")


def test_an_owner_in_another_namespace_means_deletion(api: Api, plane: ControlPlane) -> None:
    elsewhere = make_namespace(plane.api(), "elsewhere")
    owner = api.create(config(1), elsewhere)
    api.create(config(2))
    set_owners(api, "config-2", reference(owner))
    wait_until_deleted(api, "config-2")
    api.delete("Namespace", elsewhere)


@pytest.mark.parametrize("version", ["no.such.group/v1", "apps/v9"])
def test_an_owner_of_an_unknown_group_or_version_keeps_a_config_map_for_ever(
    api: Api, version: str
) -> None:
    owner = api.create(config(1))
    api.create(config(2))
    kind = "Deployment"
    set_owners(api, "config-2", reference(owner, apiVersion=version, kind=kind, uid=NO_SUCH_UID))
    wait_for_collector(api)
    assert config_maps(api) == ["config-1", "config-2"]


def test_a_config_map_without_owner_references_is_never_collected(api: Api) -> None:
    owner = api.create(config(1))
    api.create(config(2))
    set_owners(api, "config-2", reference(owner))
    set_owners(api, "config-2")
    api.delete("ConfigMap", "config-1")
    wait_for_collector(api)
    assert config_maps(api) == ["config-2"]


def test_an_owner_deleted_with_orphan_propagation_leaves_its_config_map(api: Api) -> None:
    owner = api.create(config(1))
    api.create(config(2))
    set_owners(api, "config-2", reference(owner))
    api.delete("ConfigMap", "config-1", "Orphan")
    api.wait_for(
        lambda: owners(api.get("ConfigMap", "config-2")) == [], "the ConfigMap has no owner"
    )
    wait_for_collector(api)
    assert config_maps(api) == ["config-2"]


def test_an_orphaning_delete_leaves_the_other_owners(api: Api) -> None:
    first, second = api.create(config(1)), api.create(config(2))
    api.create(config(3))
    set_owners(api, "config-3", reference(first), reference(second))
    api.delete("ConfigMap", "config-1", "Orphan")
    api.wait_for(lambda: owners(api.get("ConfigMap", "config-3")) == ["ConfigMap/config-2"])
    api.delete("ConfigMap", "config-2")
    wait_until_deleted(api, "config-3")


def test_a_service_account_is_an_owner_and_its_token_has_the_uid(
    api: Api, plane: ControlPlane
) -> None:
    account = api.create({"kind": "ServiceAccount", "metadata": {"name": "owner"}})
    api.create(config(1))
    set_owners(api, "config-1", reference(account))
    wait_for_collector(api)
    assert config_maps(api) == ["config-1"]
    found = account_of(token_in(account_kubeconfig(plane, api, "owner")))
    assert found == (api.namespace, "owner", account["metadata"]["uid"])
    api.delete("ServiceAccount", "owner")
    wait_until_deleted(api, "config-1")


def token_in(access: str) -> str:
    """Return the token in a kubeconfig."""
    return str(re.findall(r'"?token"?: "?([\w.-]+)', access)[0])


def wait_for_collector(api: Api) -> None:
    """Wait until the garbage collector has handled an object that was created last."""
    api.create(config(99))
    owner = api.get("ConfigMap", "config-99")
    set_owners(api, "config-99", reference(owner, uid=NO_SUCH_UID))
    wait_until_deleted(api, "config-99")


def test_a_cluster_scoped_owner_works(api: Api) -> None:
    owner = api.create({"kind": "ClusterRole", "metadata": {"name": api.namespace}, "rules": []})
    api.create(config(1))
    set_owners(api, "config-1", reference(owner))
    wait_for_collector(api)
    assert config_maps(api) == ["config-1"]
    api.delete("ClusterRole", api.namespace)
    wait_until_deleted(api, "config-1")


# Owner references


def test_a_strategic_merge_adds_an_owner_and_a_json_merge_replaces_all(api: Api) -> None:
    first, second = (reference(api.create(config(number))) for number in (1, 2))
    api.create(config(3))
    add(api, first)
    add(api, second)
    assert owners(add(api, second)) == ["ConfigMap/config-1", "ConfigMap/config-2"]
    assert owners(add(api, {"uid": second["uid"], "$patch": "delete"})) == ["ConfigMap/config-1"]
    assert owners(set_owners(api, "config-3", second)) == ["ConfigMap/config-2"]


def add(api: Api, owner: Json) -> Json:
    change = {"metadata": {"ownerReferences": [owner]}}
    return api.patch("ConfigMap", "config-3", change, STRATEGIC)


def test_a_server_side_apply_adds_and_removes_its_own_owners_only(api: Api) -> None:
    first, second = (reference(api.create(config(number))) for number in (1, 2))
    api.create(config(3))
    set_owners(api, "config-3", first)
    applied = server_side(api, "config-3", {"ownerReferences": [second]})
    assert owners(applied) == ["ConfigMap/config-1", "ConfigMap/config-2"]
    assert owners(server_side(api, "config-3", {})) == ["ConfigMap/config-1"]


def server_side(api: Api, name: str, metadata: Json) -> Json:
    path = f"{api.path('ConfigMap', name)}?fieldManager=another"
    body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, **metadata}}
    return api.request("PATCH", path, body, "application/apply-patch+yaml")


def test_an_object_has_at_most_one_controller(api: Api) -> None:
    first, second = (reference(api.create(config(number)), controller=True) for number in (1, 2))
    api.create(config(3))
    set_owners(api, "config-3", first)
    assert "Only one reference can have Controller set to true" in refused(
        api, "config-3", {"metadata": {"ownerReferences": [first, second]}}
    )


APPLIES = {
    "apply": (["apply"], True),
    "apply --server-side": (["apply", "--server-side", "--force-conflicts"], True),
    "replace": (["replace"], False),
}


@pytest.mark.parametrize(("command", "kept"), APPLIES.values(), ids=list(APPLIES))
def test_apply_keeps_owners_and_replace_drops_them(
    manifests: Release, api: Api, command: list[str], kept: bool
) -> None:
    owner = api.create(config(1))
    kubectl(manifests, *command[:1] if command[0] == "apply" else ["create"], obj=config(2))
    set_owners(api, "config-2", reference(owner))
    kubectl(manifests, *command, obj=config(2, data={"greeting": "other"}))
    live = api.get("ConfigMap", "config-2")
    assert live["data"] == {"greeting": "other"}
    assert owners(live) == (["ConfigMap/config-1"] if kept else [])


def kubectl(manifests: Release, *command: str, obj: Json, check: bool = True) -> str:
    """Run kubectl with one manifest; return its stderr."""
    return manifests.kubectl(*command, "-f", "-", stdin=json.dumps(obj), check=check).stderr


def test_changing_owners_requires_the_permission_to_delete(api: Api, plane: ControlPlane) -> None:
    owner = api.create(workload("Deployment", 1))
    api.create(config(1))
    assert "cannot set an ownerRef on a resource you can't delete" in refused(
        account(api, plane, "patch"),
        "config-1",
        {"metadata": {"ownerReferences": [reference(owner)]}},
    )
    allowed = account(api, plane, "patch", "delete")
    set_owners(allowed, "config-1", reference(owner))
    assert "cannot set blockOwnerDeletion" in refused(
        allowed,
        "config-1",
        {"metadata": {"ownerReferences": [reference(owner, blockOwnerDeletion=True)]}},
    )


def account(api: Api, plane: ControlPlane, *verbs: str) -> Api:
    """Return the client of a new ServiceAccount that may use these verbs on ConfigMaps."""
    name = "-".join(verbs)
    create_account(api, name, [{"apiGroups": [""], "resources": ["configmaps"], "verbs": [*verbs]}])
    config = json.loads(account_kubeconfig(plane, api, name))
    return Api(api.url, config["users"][0]["user"]["token"], api.ca, api.namespace)


# Content


def test_only_the_metadata_of_an_immutable_config_map_can_change(api: Api) -> None:
    api.create(config(1, immutable=True))
    assert "field is immutable" in refused(api, "config-1", {"data": {"greeting": "other"}})
    assert "field is immutable" in refused(api, "config-1", {"immutable": False})
    owner = reference(api.create(config(2)))
    metadata = {"labels": {"a": "b"}, "annotations": {"c": "d"}, "ownerReferences": [owner]}
    assert owners(api.patch("ConfigMap", "config-1", {"metadata": metadata}))
    api.delete("ConfigMap", "config-1")
    api.create(config(1, data={"greeting": "other"}))


def test_a_config_map_in_use_can_be_deleted(api: Api) -> None:
    api.create(config(1))
    api.create(workload("Deployment", 1))
    api.wait_for(lambda: contents(api) == ["1"], "the Pod runs")
    api.delete("ConfigMap", "config-1")
    assert config_maps(api) == []
    assert contents(api) == ["1"]
    [pod] = api.names("Pod")
    api.delete("Pod", pod)
    api.wait_for(lambda: waiting(api) == ["CreateContainerConfigError"], "the new Pod waits")


def waiting(api: Api) -> list[str]:
    """Return the reasons why containers wait."""
    states = [
        status["state"] for pod in api.list("Pod") for status in pod["status"]["containerStatuses"]
    ]
    return [state["waiting"]["reason"] for state in states if "waiting" in state]


def test_new_content_under_the_same_name_reaches_only_new_pods(
    api: Api,
) -> None:
    api.create(config(1))
    api.create(workload("Deployment", 1))
    api.wait_for(lambda: contents(api) == ["1"], "the Pod runs")
    api.patch("ConfigMap", "config-1", {"data": {"greeting": "other"}})
    api.patch("Deployment", "app", {"spec": {"replicas": 2}})
    api.wait_for(lambda: contents(api) == ["1", "other"], "two Pods run, with two contents")
    assert len(api.list("ReplicaSet")) == 1


def test_a_delete_with_preconditions_keeps_a_changed_object(api: Api) -> None:
    before = api.create(config(1))["metadata"]
    api.patch("ConfigMap", "config-1", {"metadata": {"labels": {"used": "again"}}})
    conditions = {key: before[key] for key in ("uid", "resourceVersion")}
    path = api.path("ConfigMap", "config-1")
    with pytest.raises(ApiError, match="409"):
        api.request("DELETE", path, {"preconditions": conditions})
    assert config_maps(api) == ["config-1"]


LIMITS: dict[str, tuple[Json, str]] = {
    "a name of 254 characters": ({"metadata": {"name": "a" * 254}}, "no more than 253"),
    "an upper-case name": ({"metadata": {"name": "Config"}}, "lowercase RFC 1123"),
    "a label of 64": ({"metadata": {"name": "a", "labels": {"a": "b" * 64}}}, "no more than 63"),
    "over a MiB of data": (
        {"data": {"a": "b" * (1 << 20), "c": "d"}},
        "may not be more than 1048576 bytes",
    ),
    "a number": ({"data": {"a": 1}}, "cannot unmarshal number"),
}


@pytest.mark.parametrize(("fields", "error"), LIMITS.values(), ids=list(LIMITS))
def test_an_invalid_config_map_is_rejected(api: Api, fields: Json, error: str) -> None:
    with pytest.raises(ApiError, match=error):
        api.create({**config(1), **fields})


# Workloads


def test_a_deployment_keeps_its_history_and_reuses_the_same_replica_set(api: Api) -> None:
    api.create(workload("Deployment", 1, revisionHistoryLimit=1))
    first = change(api, "Deployment", 1)
    second = change(api, "Deployment", 2)
    assert change(api, "Deployment", 1) == first
    third = change(api, "Deployment", 3)
    api.wait_for(lambda: {*uids_of(api, "ReplicaSet")} == {first, third}, "the history is pruned")
    assert second not in uids_of(api, "ReplicaSet")


def test_a_stateful_set_reuses_the_same_controller_revision(api: Api) -> None:
    api.create(workload("StatefulSet", 1))
    first = change(api, "StatefulSet", 1)
    assert change(api, "StatefulSet", 2) != first
    assert change(api, "StatefulSet", 1) == first
    [kept, _] = api.list("ControllerRevision")
    assert "spec" not in kept
    assert "containers" in kept["data"]["spec"]["template"]["spec"]


REVISIONS = {"Deployment": "ReplicaSet", "StatefulSet": "ControllerRevision"}


def change(api: Api, kind: str, number: int) -> str:
    """Change a workload's ConfigMap; return the uid of its current revision object."""
    for existing in range(1, number + 1):
        if not api.find("ConfigMap", f"config-{existing}"):
            api.create(config(existing))
    api.patch(kind, "app", {"spec": {"template": template(number)}})

    def current_uid() -> str:
        status = api.get(kind, "app")
        is_current = status["status"]["observedGeneration"] == status["metadata"]["generation"]
        if not is_current or contents(api) != [str(number)] or len(api.list("Pod")) > 1:
            return ""
        objects = api.list(REVISIONS[kind])
        [uid] = [obj["metadata"]["uid"] for obj in objects if f"config-{number}" in str(obj)]
        return str(uid)

    return api.wait_for(current_uid, f"the Pods run with {number}")


def uids_of(api: Api, kind: str) -> list[str]:
    """Return the uids of the objects of a kind."""
    return [obj["metadata"]["uid"] for obj in api.list(kind)]


def test_the_template_of_a_job_and_of_a_pod_cannot_change(api: Api) -> None:
    pod = template(1)
    created: dict[str, Any] = {
        "Job": job(1),
        "Pod": {"kind": "Pod", "metadata": {"name": "once"}, "spec": pod["spec"]},
    }
    changes: dict[str, Any] = {
        "Job": {"spec": job(2)["spec"]},
        "Pod": {"spec": template(2)["spec"]},
    }
    for kind, obj in created.items():
        api.create(obj)
        with pytest.raises(ApiError, match=r"field is immutable|Forbidden: pod updates may not"):
            api.patch(kind, "once", changes[kind])
