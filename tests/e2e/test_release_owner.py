"""The release owner: a revision outlives its workload if another object of the release uses it."""

from __future__ import annotations

import pytest

from tests.e2e.api import Api, Json
from tests.e2e.attach_processes import parse
from tests.e2e.cluster import ControlPlane
from tests.e2e.commands import (
    attach_again,
    define_widgets,
    greetings,
    pass_grace_time,
    postrender,
)
from tests.e2e.kubelet import content
from tests.e2e.lifecycle_checks import NothingIsLost
from tests.e2e.namespaces import hold_attachers, release_attachers
from tests.e2e.queries import (
    apply_attached,
    owners,
    release_owners,
    revision_with,
    revisions,
    wait_until_pruned,
)
from tests.e2e.releases import Release, Values
from tests.e2e.test_attacks import assert_survives
from tests.e2e.test_sharing import WIDGET_PATH, widget
from tests.rings import helm_3_in_matrix

ACCOUNT = "ServiceAccount/app-attach"


@pytest.fixture(autouse=True)
def named_group(request: pytest.FixtureRequest) -> None:
    """Name the attach group after the release."""
    for fixture in ("release", "manifests"):
        if fixture in request.fixturenames:
            request.getfixturevalue(fixture).config["attacher"]["group"] = "app"


def workload(kind: str, name: str = "web", **fields: object) -> Json:
    return {"name": name, "kind": kind, "envFrom": ["web-config"], **fields}


def chart(*workloads: Json, greeting: str = "one", **fields: object) -> Values:
    config = {"app-config": None, "web-config": {"greeting": greeting}}
    return {"configMaps": config, "workloads": list(workloads), **fields}


DEPLOYMENT = workload("Deployment")
CHANGES = {
    "the Deployment becomes a Rollout": ([DEPLOYMENT], [workload("Rollout")]),
    "the Deployment is renamed": ([DEPLOYMENT], [workload("Deployment", "shop")]),
    "the Deployment is split": (
        [DEPLOYMENT],
        [workload("Deployment", "web-a"), workload("Deployment", "web-b")],
    ),
    "blue becomes green": ([workload("Deployment", "blue")], [workload("Deployment", "green")]),
}


@helm_3_in_matrix
@pytest.mark.parametrize("change", CHANGES)
def test_helm_replaces_a_workload_and_its_revision_survives(
    release: Release, api: Api, change: str
) -> None:
    before, after = CHANGES[change]
    apply_attached(api, lambda: release.install(chart(*before)))
    with NothingIsLost(api):
        apply_attached(api, lambda: release.upgrade(chart(*after)))
        wait_until_running(api, after)
        assert_survives(api, revision_with(api, greeting="one"))
    [revision] = revisions(api)
    expected = {f"{item['kind']}/{item['name']}" for item in after}
    assert expected <= set(owners(revision))
    assert release_owners(revision) == [ACCOUNT]
    release.uninstall()
    api.wait_for(lambda: not revisions(api), "the uninstall leaves no revision")


def wait_until_running(api: Api, workloads: list[Json]) -> None:
    def is_running(name: str) -> bool:
        return any(content(pod) for pod in api.list("Pod", labels=f"app={name}"))

    api.wait_for(lambda: all(is_running(item["name"]) for item in workloads), "the new Pods run")


@pytest.mark.parametrize("change", CHANGES)
def test_apply_then_delete_keeps_the_revision(manifests: Release, api: Api, change: str) -> None:
    """Argo CD applies everything, waits for hooks, and prunes last; here the attacher is late."""
    before, after = CHANGES[change]
    apply_attached(api, lambda: manifests.apply(chart(*before)))
    with NothingIsLost(api):
        hold_attachers(api)
        manifests.apply(chart(*after))
        for item in before:
            api.delete(item["kind"], item["name"])
        wait_until_running(api, after)
        assert_survives(api, revision_with(api, greeting="one"))


def test_a_workload_ref_with_a_missed_attach(manifests: Release, api: Api) -> None:
    apply_attached(api, lambda: manifests.apply(chart(DEPLOYMENT)))
    with NothingIsLost(api):
        hold_attachers(api)
        manifests.apply(chart(workload("RolloutOfDeployment")))
        manifests.apply(chart(workload("Rollout")))
        api.delete("Deployment", "web")
        wait_until_running(api, [workload("Rollout")])
        assert_survives(api, revision_with(api, greeting="one"))


@helm_3_in_matrix
def test_a_custom_kind_becomes_the_only_consumer(
    release: Release, api: Api, plane: ControlPlane
) -> None:
    """No workload is left for the attacher, and the release still owns the revision."""
    define_widgets(plane)
    release.config["references"] = [{"kind": "Widget", "path": WIDGET_PATH}]
    apply_attached(api, lambda: release.install(chart(DEPLOYMENT)))
    taken_over = chart(extra=[widget("web-config")])
    apply_attached(api, lambda: release.upgrade(taken_over))
    api.wait_for(lambda: not api.list("ReplicaSet"), "the Deployment is deleted")
    revision = revision_with(api, greeting="one")
    assert_survives(api, revision)
    assert owners(revision) == []
    # The next content supersedes the revision, and the uninstall collects both.
    again = chart(extra=[widget("web-config")], greeting="two")
    apply_attached(api, lambda: release.upgrade(again))
    assert greetings(api) == ["one", "two"]
    release.uninstall()
    api.wait_for(lambda: not revisions(api), "the uninstall leaves no revision")


def test_an_orphaned_replica_set_keeps_its_revision(manifests: Release, api: Api) -> None:
    """Deleting with --cascade=orphan removes the workload from the owners of the revision."""
    web = workload("Deployment", revisionHistoryLimit=0)
    apply_attached(api, lambda: manifests.apply(chart(web)))
    with NothingIsLost(api):
        api.delete("Deployment", "web", "Orphan")
        hold_attachers(api)
        manifests.apply(chart(web))
        manifests.apply(chart({**web, "image": "app:2"}))
        wait_until_pruned(api)
        assert_survives(api, revision_with(api, greeting="one"))


def test_a_bare_pod_is_not_an_owner(manifests: Release, api: Api) -> None:
    web = workload("Deployment", revisionHistoryLimit=0)
    hold_attachers(api)
    manifests.apply(chart(web))
    name = revision_with(api, greeting="one")["metadata"]["name"]
    container = {"name": "sh", "image": "sh:1", "envFrom": [{"configMapRef": {"name": name}}]}
    debug = {"kind": "Pod", "metadata": {"name": "debug"}, "spec": {"containers": [container]}}
    api.create(debug)
    job_spec = {
        "template": {"spec": {"restartPolicy": "Never", "containers": [container]}},
        "suspend": True,
    }
    api.create({"kind": "Job", "metadata": {"name": "manual"}, "spec": job_spec})
    release_attachers(api)
    apply_attached(api, lambda: manifests.apply(chart(web, greeting="two")))
    revision = revision_with(api, greeting="one")
    assert not {"Pod/debug", "Job/manual"} & set(owners(revision))
    with NothingIsLost(api):
        manifests.apply(chart(web))
        api.delete("Pod", "debug")
        api.delete("Job", "manual")
        assert_survives(api, revision)


def test_delete_and_apply_at_once(manifests: Release, api: Api) -> None:
    apply_attached(api, lambda: manifests.apply(chart(workload("Rollout"))))
    for _ in range(5):
        with NothingIsLost(api):
            api.delete("Rollout", "web")
            manifests.apply(chart(workload("Rollout")))
            assert_survives(api, revision_with(api, greeting="one"))


def test_a_second_workload_that_was_never_attached(manifests: Release, api: Api) -> None:
    apply_attached(api, lambda: manifests.apply(chart(DEPLOYMENT)))
    with NothingIsLost(api):
        hold_attachers(api)
        manifests.apply(chart(DEPLOYMENT, workload("Deployment", "second")))
        api.delete("Deployment", "web")
        wait_until_running(api, [workload("Deployment", "second")])
        assert_survives(api, revision_with(api, greeting="one"))


def test_a_run_outside_of_the_cluster_finds_the_owner(
    manifests: Release, api: Api, plane: ControlPlane
) -> None:
    """The administrator has no token of the ServiceAccount, so the run reads the object."""
    pod = apply_attached(api, lambda: manifests.apply(chart(DEPLOYMENT)))
    name = revision_with(api, greeting="one")["metadata"]["name"]
    api.patch("ConfigMap", name, {"metadata": {"ownerReferences": None}})
    access = plane.kubeconfig.read_text()
    arguments = [*pod["spec"]["containers"][0]["args"], "--namespace", api.namespace]
    done = postrender(plane, api, access, arguments, env={"IS_IN_CLUSTER": "false"})
    assert done.returncode == 0, done.stderr
    assert release_owners(revision_with(api, greeting="one")) == [ACCOUNT]


def test_with_an_existing_account_the_role_is_the_owner(manifests: Release, api: Api) -> None:
    api.create({"kind": "ServiceAccount", "metadata": {"name": "shared"}})
    account = {"create": False, "name": "shared"}
    manifests.config["attacher"]["serviceAccount"] = account
    apply_attached(api, lambda: manifests.apply(chart(DEPLOYMENT)))
    assert release_owners(revision_with(api, greeting="one")) == ["Role/app-attach"]


def test_a_recreated_account_replaces_the_owner(
    manifests: Release, api: Api, plane: ControlPlane
) -> None:
    pod = apply_attached(api, lambda: manifests.apply(chart(DEPLOYMENT)))
    text = manifests.render(manifests.template(chart(DEPLOYMENT)))
    [account] = [obj for obj in parse(text) if obj["kind"] == "ServiceAccount"]
    before = api.get("ServiceAccount", "app-attach")["metadata"]["uid"]
    api.delete("ServiceAccount", "app-attach")
    api.create(account)
    assert attach_again(plane, pod).code == 0
    references = revision_with(api, greeting="one")["metadata"]["ownerReferences"]
    uids = [item["uid"] for item in references if item["kind"] == "ServiceAccount"]
    assert uids == [api.get("ServiceAccount", "app-attach")["metadata"]["uid"]]
    assert uids != [before]


def test_without_the_account_the_run_warns_and_attaches(
    manifests: Release, api: Api, plane: ControlPlane
) -> None:
    pod = apply_attached(api, lambda: manifests.apply(chart(DEPLOYMENT)))
    run = attach_again(plane, pod, "--release-owner", "ServiceAccount/absent")
    assert run.code == 0
    assert "attach cannot make ServiceAccount/absent an owner of the revisions" in run.text


def test_another_group_name_replaces_the_account(manifests: Release, api: Api) -> None:
    """The garbage collector removes the reference to the deleted account."""
    apply_attached(api, lambda: manifests.apply(chart(DEPLOYMENT)))
    manifests.config["attacher"]["group"] = "shop"
    apply_attached(api, lambda: manifests.apply(chart(DEPLOYMENT)))
    api.delete("ServiceAccount", "app-attach")
    api.wait_for(
        lambda: (
            release_owners(revision_with(api, greeting="one")) == ["ServiceAccount/shop-attach"]
        ),
        "only the new account is an owner",
    )


def test_a_second_run_does_not_write(manifests: Release, api: Api, plane: ControlPlane) -> None:
    pod = apply_attached(api, lambda: manifests.apply(chart(DEPLOYMENT)))
    assert attach_again(plane, pod).writes == 0


@helm_3_in_matrix
def test_the_last_config_map_leaves_the_chart(release: Release, api: Api) -> None:
    apply_attached(api, lambda: release.install(chart(DEPLOYMENT)))
    bare: Json = {"name": "web", "kind": "Deployment"}
    release.upgrade({"configMaps": {"app-config": None}, "workloads": [bare]})
    api.wait_for(lambda: not api.find("ServiceAccount", "app-attach"), "the attacher is deleted")
    revision = revision_with(api, greeting="one")
    assert_survives(api, revision)
    assert "Deployment/web" in owners(revision)
    release.uninstall()
    api.wait_for(lambda: not revisions(api), "the uninstall leaves no revision")


def test_a_revision_that_no_workload_owns_any_more_is_swept(
    manifests: Release, api: Api, plane: ControlPlane
) -> None:
    apply_attached(api, lambda: manifests.apply(chart(DEPLOYMENT)))
    renamed = workload("Deployment", "shop")
    pod = apply_attached(api, lambda: manifests.apply(chart(renamed, greeting="two")))
    api.delete("Deployment", "web")
    api.wait_for(
        lambda: not (api.list("ReplicaSet", "app=web") or api.list("Pod", "app=web")),
        "the old ReplicaSet and its Pods are deleted",
    )
    pass_grace_time(plane, api, pod)
    assert greetings(api) == ["two"]
