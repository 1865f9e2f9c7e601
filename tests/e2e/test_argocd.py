"""What a user does with an Application of Argo CD: what is shown meanwhile, and what is kept."""

from __future__ import annotations

from tests.e2e.api import Api, Json
from tests.e2e.applications import Application, hooks_of
from tests.e2e.looks import (
    MANAGED,
    assert_nothing_is_missing,
    contents,
    owner_uids,
    owners,
    revision_with,
    revisions,
    wait_for_phase,
)
from tests.e2e.losses import NothingIsLost, wait_until_owned
from tests.e2e.namespaces import replace_attachers
from tests.e2e.rollouts import abort, promote

HALF = ["new", "old"]


def attacher_ran(hooks: list[Json]) -> bool:
    """Tell whether the attacher ran as the only hook, and succeeded."""
    return [(one["hookType"], one["hookPhase"]) for one in hooks] == [("Sync", "Succeeded")]


def test_an_application_is_synced(shop: Application, api: Api) -> None:
    assert contents(api) == ["old", "old"]
    assert attacher_ran(hooks_of(shop.first_sync()))
    revision = revision_with(api, greeting="old")["metadata"]["name"]
    shown = shop.resource("ConfigMap", revision)
    assert shown
    assert shown["status"] == "Synced"
    assert "requiresPruning" not in shown


def test_a_config_change_pauses_in_the_canary_and_the_application_is_synced(
    shop: Application, api: Api
) -> None:
    with NothingIsLost(api):
        shop.release("new")
        wait_for_phase(api, "Paused")
        # The attacher ran and both revisions have their owners before anyone promotes.
        assert attacher_ran(hooks_of(shop.first_sync()))
        wait_until_owned(api)
        shop.wait_until("Synced", "Suspended")
        api.wait_for(lambda: contents(api) == HALF, "half and half")
        # Owned by what Argo CD applied, the old one is a child of the Rollout, not an extra.
        old = revision_with(api, greeting="old")
        assert shop.resource("ConfigMap", old["metadata"]["name"]) is None
        for pod in api.list("Pod", labels="app=app"):
            api.delete("Pod", pod["metadata"]["name"])
        api.wait_for(lambda: contents(api) == HALF, "all came back")
        shop.promote()
        api.wait_for(lambda: contents(api) == ["new", "new"], "all are new")
        wait_until_owned(api)


def test_revisions_that_were_never_attached_are_kept_all_the_same(
    application: Application, api: Api
) -> None:
    replace_attachers(api, ["true"])
    application.push("old")
    application.create()
    application.wait_until("Synced", "Healthy")
    with NothingIsLost(api):
        application.release("new")
        application.wait_until("Synced", "Suspended")
        old = revision_with(api, greeting="old")
        assert owners(old) == []
        shown = application.resource("ConfigMap", old["metadata"]["name"])
        assert shown
        assert shown["requiresPruning"] is True
        api.wait_for(lambda: contents(api) == HALF, "half and half")
        application.promote()
        # Superseded and unowned, it stays an extra that makes nobody act.
        application.release("newer")
        application.wait_until("Synced", "Suspended")


def test_an_image_changes_and_the_configuration_does_not(shop: Application, api: Api) -> None:
    with NothingIsLost(api):
        shop.release("old", image="app:2")
        wait_for_phase(api, "Paused")
        wait_until_owned(api)
        assert len(revisions(api)) == 1
        shop.promote()
        wait_until_owned(api)


def test_a_canary_is_aborted(shop: Application, api: Api) -> None:
    with NothingIsLost(api):
        shop.release("new")
        wait_for_phase(api, "Paused")
        abort(api)
        shop.wait_until("Synced", "Degraded")
        api.wait_for(lambda: contents(api) == ["old", "old"], "all are old")
        # As one does after that.
        shop.revert()
        shop.wait_until_synced()
        shop.wait_until("Synced", "Healthy")
        assert contents(api) == ["old", "old"]


def test_a_canary_is_rolled_back_by_git_revert(shop: Application, api: Api) -> None:
    with NothingIsLost(api):
        before = revision_with(api, greeting="old")["metadata"]["uid"]
        shop.release("new")
        wait_for_phase(api, "Paused")
        shop.revert()
        shop.wait_until_synced()
        shop.wait_until("Synced", "Healthy")
        api.wait_for(lambda: contents(api) == ["old", "old"], "all are old")
        wait_until_owned(api)
        assert revision_with(api, greeting="old")["metadata"]["uid"] == before


def test_a_release_is_rolled_back_by_git_revert(shop: Application, api: Api) -> None:
    with NothingIsLost(api):
        shop.release("new")
        shop.promote()
        shop.revert()
        shop.wait_until_synced()
        wait_for_phase(api, "Paused")
        api.wait_for(lambda: contents(api) == HALF, "half and half")
        shop.promote()
        api.wait_for(lambda: contents(api) == ["old", "old"], "all are old")
        wait_until_owned(api)


def test_a_commit_supersedes_a_paused_canary(shop: Application, api: Api) -> None:
    with NothingIsLost(api):
        shop.release("new")
        wait_for_phase(api, "Paused")
        shop.release("newest")
        wait_for_phase(api, "Paused")
        api.wait_for(lambda: contents(api) == ["newest", "old"], "half and half")
        wait_until_owned(api)
        shop.promote()


def test_a_rollout_that_was_edited_by_hand_is_healed(shop: Application, api: Api) -> None:
    before = owner_uids(revision_with(api, greeting="old"))
    api.patch("Rollout", "app", {"spec": {"replicas": 3}})
    shop.wait_for(lambda: api.get("Rollout", "app")["spec"]["replicas"] == 2, "healed")
    shop.wait_until("Synced", "Healthy")
    # Hooks do not run when Argo CD heals: nothing was to attach.
    assert shop.hooks() == []
    assert owner_uids(revision_with(api, greeting="old")) == before


def test_a_revision_that_was_deleted_by_hand_comes_back(shop: Application, api: Api) -> None:
    lost = revision_with(api, greeting="old")["metadata"]
    api.delete("ConfigMap", lost["name"])

    def came_back() -> bool:
        found = api.find("ConfigMap", lost["name"])
        return found is not None and found["metadata"]["uid"] != lost["uid"]

    shop.wait_for(came_back, "it is there again")
    shop.wait_until("Synced", "Healthy")
    # Nobody attached it: it has no owners, and is kept. The next sync of a change sees to it.
    assert owners(revision_with(api, greeting="old")) == []
    with NothingIsLost(api):
        shop.release("new")
        wait_for_phase(api, "Paused")
        wait_until_owned(api)


def workload(name: str) -> dict[str, object]:
    return {"name": name, "kind": "Rollout", "volume": [f"{name}-config"]}


def two(*names: str) -> dict[str, object]:
    """Return values with Rollouts of these names, each with a ConfigMap of its own."""
    return {
        "configMaps": {f"{name}-config": {"greeting": name} for name in names},
        "workloads": [workload(name) for name in names],
    }


def test_a_workload_that_leaves_git_is_pruned_with_its_revisions(
    application: Application, api: Api
) -> None:
    application.install("", **two("app", "old"))
    assert len(revisions(api)) == 2
    with NothingIsLost(api):
        application.push("", **two("app"))
        application.wait_until_synced()
        api.wait_for(lambda: not api.find("Rollout", "old"), "the Rollout is pruned")
        api.wait_for(lambda: len(revisions(api)) == 1, "its revision is collected")
        application.wait_until("Synced", "Healthy")


def test_a_deleted_application_leaves_nothing(shop: Application, api: Api) -> None:
    shop.release("new")
    wait_for_phase(api, "Paused")
    wait_until_owned(api)
    shop.delete()
    kinds = ["Rollout", "ReplicaSet", "Pod", "Job", "Role", "RoleBinding"]
    api.wait_for(lambda: not any(api.list(kind) for kind in kinds), "all is gone")
    api.wait_for(lambda: not revisions(api), "the revisions too")
    assert api.names("ConfigMap") == ["kube-root-ca.crt"]
    assert api.names("ServiceAccount") == ["default"]


def test_a_deleted_application_leaves_revisions_that_were_never_attached(
    application: Application, api: Api
) -> None:
    replace_attachers(api, ["true"])
    application.push("old")
    application.create()
    application.wait_until("Synced", "Healthy")
    application.delete()
    api.wait_for(lambda: not api.find("Rollout", "app"), "the Rollout is gone")
    assert len(revisions(api)) == 1
    # What docs/argocd.md says to run.
    query = f"labelSelector={MANAGED}"
    api.request("DELETE", f"{api.path('ConfigMap')}?{query}")
    assert revisions(api) == []


def test_some_resources_are_synced_by_hand(shop: Application, api: Api) -> None:
    shop.sync_by_hand()
    with NothingIsLost(api):
        shop.push("new")
        shop.wait_until("OutOfSync", "Missing")
        [name] = [
            one["name"]
            for one in shop.get()["status"]["resources"]
            if one["kind"] == "ConfigMap" and one["status"] == "OutOfSync"
        ]
        shop.sync(
            {"kind": "ConfigMap", "name": name},
            {"group": "argoproj.io", "kind": "Rollout", "name": "app"},
        )
        wait_for_phase(api, "Paused")
        # Hooks do not run on a selective sync: the new one is not attached, and in use.
        assert shop.hooks() == []
        assert owners(revision_with(api, greeting="new")) == []
        api.wait_for(lambda: contents(api) == HALF, "half and half")
        shop.sync()
        shop.wait_for(lambda: attacher_ran(shop.hooks()), "a full sync attaches it")
        wait_until_owned(api)
        promote(api)
        wait_for_phase(api, "Healthy")
        assert_nothing_is_missing(api)
