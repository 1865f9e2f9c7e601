"""Many releases: referenced revisions are kept, unreferenced ones are deleted, finally all."""

from __future__ import annotations

from functools import partial

import pytest

from tests.e2e.api import Api, Json
from tests.e2e.attach_processes import Run, events_on
from tests.e2e.cluster import ControlPlane
from tests.e2e.lifecycle_checks import NothingIsLost, wait_until_owned
from tests.e2e.manual_attach import AT_ONCE, App, assert_attached, wait_until_settled
from tests.e2e.proxy import Proxy, before
from tests.e2e.queries import (
    RELEASE_OWNER_KINDS,
    age_marks,
    apply_attached,
    assert_nothing_is_missing,
    contents,
    owner_uids,
    referenced_config_maps,
    revision_with,
    revisions,
    wait_for_phase,
    wait_until_pruned,
)
from tests.e2e.releases import Release
from tests.e2e.rollouts import replica_sets
from tests.rings import IS_MATRIX, in_matrix

# Rollouts that undergo the same changes at the same time, each with its own ConfigMap.
ALL = [f"app-{number}" for number in range(10 if IS_MATRIX else 4)]


def test_a_config_map_outlives_the_only_attached_replica_set(manifests: Release, api: Api) -> None:
    """Six images with one configuration: the attached ReplicaSet is pruned."""
    app = App(manifests, api, revisionHistoryLimit=1, steps=AT_ONCE)
    with NothingIsLost(api):
        app.release("hello")
        [first] = replica_sets(api)
        for number in range(2, 8):
            app.release("hello", is_attached=False, image=f"app:{number}")
        wait_until_gone(api, first)
        revision_with(api, greeting="hello")


def test_a_reused_config_map_outlives_its_first_replica_set(manifests: Release, api: Api) -> None:
    """Configurations one, two, and one again with a new image and without an attach."""
    app = App(manifests, api, revisionHistoryLimit=1, steps=AT_ONCE)
    with NothingIsLost(api):
        app.release("one")
        [first] = replica_sets(api)
        app.release("two")
        app.release("one", is_attached=False, image="app:2")
        app.release("one", is_attached=False, image="app:3")
        wait_until_gone(api, first)
        app.apply("one", image="app:4")
        app.attach()
        wait_until_owned(api)


def wait_until_gone(api: Api, replica_set: Json) -> None:
    name = replica_set["metadata"]["name"]
    api.wait_for(lambda: not api.find("ReplicaSet", name), f"{name} is pruned")


@pytest.mark.parametrize("release", ["helm3"], indirect=True)
def test_many_configurations_leave_the_referenced_ones_and_an_uninstall_none(
    release: Release, api: Api
) -> None:
    release.config["attacher"]["mode"] = "job"
    app = App(release, api)
    with NothingIsLost(api):
        for number in range(7):
            values = greeting(str(number)) | {"revisionHistoryLimit": 2, "steps": AT_ONCE}
            apply_attached(api, partial(release.upgrade, values))
            wait_for_phase(api, "Healthy")
        wait_until_pruned(api, 3)
        assert_attached(app.start(release.manifest()))
        assert len(age_marks(api)) == 4
        assert_attached(app.start(release.manifest()))
    referenced = {
        name for replica_set in replica_sets(api) for name in referenced_config_maps(replica_set)
    }
    assert len(referenced) == 3
    assert {revision["metadata"]["name"] for revision in revisions(api)} == referenced
    wait_until_owned(api)
    release.uninstall()
    wait_until_empty(api)


# The history is full, and a ConfigMap is needed again at the moment when its ReplicaSet is pruned.


@pytest.mark.parametrize("is_attached", [True, False], ids=["attached", "missed"])
def test_the_oldest_configuration_is_reused_when_the_history_is_full(
    manifests: Release, api: Api, is_attached: bool
) -> None:
    app = App(manifests, api, ALL, revisionHistoryLimit=1, replicas=2)
    with NothingIsLost(api):
        app.release("oldest")
        oldest = [replica_set for name in ALL for replica_set in replica_sets(api, name)]
        app.release("stable", is_attached=is_attached)
        app.apply("canary")
        if is_attached:
            app.attach()
        wait_until_all(api, "Paused")
        app.apply("oldest", image="app:2")
        for replica_set in oldest:
            wait_until_gone(api, replica_set)
        wait_until_all(api, "Paused")
        for name in ALL:
            expect_contents(api, name, ["oldest", "stable"])
        app.attach()
        wait_until_owned(api)


def test_selective_syncs_and_a_pruned_history_keep_revisions(manifests: Release, api: Api) -> None:
    """Argo CD runs no hooks in a selective sync, so the applied objects are not attached."""
    app = App(manifests, api, ALL, revisionHistoryLimit=1, replicas=1, steps=AT_ONCE)
    with NothingIsLost(api):
        app.release("one")
        first = [replica_set for name in ALL for replica_set in replica_sets(api, name)]
        for image, greeting in enumerate(["two", "two", "one", "two"]):
            app.release(greeting, is_attached=False, image=f"app:{image}")
        for replica_set in first:
            wait_until_gone(api, replica_set)
        app.apply("one", image="app:last")
        app.attach()
        wait_until_owned(api)
        for name in ALL:
            expect_contents(api, name, ["one"])


def wait_until_all(api: Api, phase: str) -> None:
    for name in ALL:
        wait_for_phase(api, phase, name)


def expect_contents(api: Api, name: str, greetings: list[str]) -> None:
    """Wait until a Rollout's Pods run with these greetings, one Pod each."""
    api.wait_for(lambda: contents(api, f"app={name}") == greetings, f"{name} runs {greetings}")


# A workload that is re-created under its name: everything that the old object owned is deleted.


@pytest.mark.parametrize("on_failure", ["report", "fail"])
def test_a_workload_re_created_before_its_attach_is_reported(
    manifests: Release, api: Api, on_failure: str
) -> None:
    app = App(manifests, api, replicas=1)
    app.release("hello")
    app.apply("hello")
    recreate_rollout(api)
    run = app.start(timeout="2s", on_failure=on_failure)
    assert run.code == 1, "a missing revision that an object references is always a failure"
    assert_loss_reported(api, run)
    assert_recovers(app, api)


def test_a_workload_re_created_while_its_attach_waits_is_reported(
    manifests: Release, api: Api
) -> None:
    app = App(manifests, api, replicas=1)
    app.release("one")
    text = app.render("two")
    app.apply_text(text, "ConfigMap")
    run = app.start(text, timeout="20s", on_failure="fail")
    run.until("waiting for at most")
    assert owner_uids(revision_with(api, greeting="two"))
    delete_rollout(api)
    app.apply_text(text, "Rollout")
    assert run.code == 1
    assert_loss_reported(api, run)
    assert_recovers(app, api)


# The run lists each kind when it waits and when it reconciles. The final check lists ConfigMaps and
# workloads again. Each moment is just before a list, or before the first patch.
MOMENTS = {
    "between reading workloads and reading Pods": ("pods", 1),
    "before the first write": ("PATCH", 1),
    "before the last look at workloads": ("rollouts", 3),
    "before the last look at revisions": ("configmaps", 3),
}


@pytest.mark.parametrize(
    "moment", MOMENTS.values(), ids=[text.replace(" ", "-") for text in MOMENTS]
)
def test_a_workload_re_created_while_its_attach_runs_is_a_failure(
    manifests: Release, api: Api, plane: ControlPlane, moment: tuple[str, int]
) -> None:
    app = App(manifests, api, replicas=1)
    app.release("hello")
    app.apply("hello", image="app:2")
    wait_until_settled(api)
    with Proxy(plane, before(*moment, lambda: recreate_rollout(api))) as proxy:
        run = app.start(url=proxy.url, timeout="2s", on_failure="fail")
        assert run.code == 1
    assert_loss_reported(api, run)
    assert_recovers(app, api)


def recreate_rollout(api: Api) -> None:
    """Delete the Rollout and everything that it owned, and create the Rollout again."""
    rollout = api.get("Rollout", "app")
    metadata = {key: rollout["metadata"][key] for key in ("name", "annotations")}
    delete_rollout(api)
    api.create({"kind": "Rollout", "metadata": metadata, "spec": rollout["spec"]})


def delete_rollout(api: Api) -> None:
    """Delete the Rollout, and wait until its revisions are deleted.

    The release owner stays, because a run has no access without its ServiceAccount. The revisions
    lose this owner. (The API server knows a token for ten seconds after the end of its account.)
    """
    for revision in revisions(api):
        metadata = revision["metadata"]
        others = [
            owner
            for owner in metadata.get("ownerReferences", [])
            if owner["kind"] not in RELEASE_OWNER_KINDS
        ]
        api.patch("ConfigMap", metadata["name"], {"metadata": {"ownerReferences": others}})
    api.delete("Rollout", "app")
    api.wait_for(lambda: not revisions(api), "the owned revisions are deleted")


def assert_loss_reported(api: Api, run: Run) -> None:
    """Fail unless a run reported a deleted ConfigMap, in its log and as an Event."""
    reports = [text for text in run.errors() if "ConfigMap/app-config-" in text]
    assert len(reports) == 1, run.log
    assert (
        " during this run. Apply the manifests again" in reports[0]
        or "does not exist. Apply the manifests again" in reports[0]
    )
    assert reports[0] in events_on(api, "Rollout", "app")


def assert_recovers(app: App, api: Api) -> None:
    """Fail unless another apply and attach repair everything."""
    app.apply_text(app.applied)
    app.attach()
    app.promote()
    assert_nothing_is_missing(api)
    wait_until_owned(api)


# The end of a release, and rollbacks.


@pytest.mark.parametrize(
    ("release", "mode"),
    [
        ("helm3", "hook"),
        ("helm4", "job"),
        pytest.param("helm3", "job", marks=in_matrix),
        pytest.param("helm4", "hook", marks=in_matrix),
    ],
    indirect=["release"],
)
def test_an_uninstall_removes_all_objects(release: Release, api: Api, mode: str) -> None:
    release.config["attacher"]["mode"] = mode
    apply_attached(api, release.install)
    apply_attached(api, lambda: release.upgrade(greeting("bye")))
    release.uninstall()
    if mode == "hook":
        let_the_hour_of_finished_jobs_pass(api)
    wait_until_empty(api)


def let_the_hour_of_finished_jobs_pass(api: Api) -> None:
    """Helm does not delete hooks in an uninstall; Kubernetes deletes these Jobs by their TTL."""
    for job in api.list("Job"):
        assert job["spec"]["ttlSecondsAfterFinished"] == 3600
        api.patch("Job", job["metadata"]["name"], {"spec": {"ttlSecondsAfterFinished": 0}})


def greeting(text: str) -> dict[str, object]:
    return {"configMaps": {"app-config": {"greeting": text}}}


def wait_until_empty(api: Api) -> None:
    """Wait until the namespace contains only Events and the objects that Kubernetes creates."""
    kinds = "Rollout ReplicaSet Pod Job ConfigMap Secret Role RoleBinding ServiceAccount"

    def remaining() -> set[str]:
        titles = {f"{kind}/{name}" for kind in kinds.split() for name in api.names(kind)}
        return titles - {"ConfigMap/kube-root-ca.crt", "ServiceAccount/default"}

    api.wait_for(lambda: not remaining(), "nothing remains")


@pytest.mark.parametrize("release", ["helm4"], indirect=True)
def test_a_release_is_rolled_back_to_another_configuration(release: Release, api: Api) -> None:
    if release.refuses_kept:
        pytest.skip("Helm 4 works in this way since 4.2")
    with NothingIsLost(api):
        apply_attached(api, release.install)
        wait_for_phase(api, "Healthy")
        apply_attached(api, lambda: release.upgrade(greeting("bye")))
        wait_for_phase(api, "Paused")
        apply_attached(api, lambda: release.rollback(1))
        wait_for_phase(api, "Healthy")
        expect_contents(api, "app", ["hello", "hello"])
        wait_until_owned(api)


# Helm 3.22 no longer rejects this rollback: see test_helm_3_22.py.
@pytest.mark.parametrize("release", ["helm3.21", "helm4"], indirect=True)
def test_a_rollback_that_helm_rejects_keeps_revisions(release: Release, api: Api) -> None:
    """Without the history in the manifest, Helm does not find the previous ConfigMap."""
    if not release.refuses_kept:
        pytest.skip("Helm 4 does not reject this rollback since 4.2")
    with NothingIsLost(api):
        apply_attached(api, release.install)
        wait_for_phase(api, "Healthy")
        apply_attached(api, lambda: release.upgrade(greeting("bye")))
        wait_for_phase(api, "Paused")
        refused = release.rollback(1, check=False)
        assert "ConfigMap with the name" in refused.stderr
        expect_contents(api, "app", ["bye", "hello"])
        apply_attached(api, lambda: release.upgrade({"image": "app:2"}))
        wait_for_phase(api, "Paused")
        wait_until_owned(api)


@pytest.mark.parametrize("release", ["helm3"], indirect=True)
def test_a_release_is_rolled_back_to_another_image(release: Release, api: Api) -> None:
    with NothingIsLost(api):
        apply_attached(api, release.install)
        wait_for_phase(api, "Healthy")
        apply_attached(api, lambda: release.upgrade({"image": "app:2"}))
        wait_for_phase(api, "Paused")
        apply_attached(api, lambda: release.rollback(1))
        wait_for_phase(api, "Healthy")
        wait_until_owned(api)
