"""Actions of a user on an Argo CD Application: the status meanwhile, and the kept objects."""

from __future__ import annotations

from tests.e2e.api import Api, Json
from tests.e2e.applications import Application, hooks_of
from tests.e2e.lifecycle_checks import NothingIsLost, wait_until_owned
from tests.e2e.namespaces import replace_attachers
from tests.e2e.queries import (
    GROUP_LABEL,
    assert_nothing_is_missing,
    contents,
    owner_uids,
    owners,
    release_owners,
    revision_with,
    revisions,
    wait_for_phase,
)
from tests.e2e.rollouts import abort, promote

HALF = ["new", "old"]


def attacher_ran(hooks: list[Json]) -> bool:
    """Return whether the attacher ran as the only hook, and succeeded."""
    return [(hook["hookType"], hook["hookPhase"]) for hook in hooks] == [("Sync", "Succeeded")]


def test_an_application_is_synced(shop: Application, api: Api) -> None:
    assert contents(api) == ["old", "old"]
    assert attacher_ran(hooks_of(shop.first_sync()))
    revision = revision_with(api, greeting="old")["metadata"]["name"]
    shown = shop.resource("ConfigMap", revision)
    assert shown
    assert shown["status"] == "Synced"
    assert "requiresPruning" not in shown


def test_the_name_of_the_group(shop: Application, api: Api) -> None:
    """Argo CD passes the name to its plugins as ARGOCD_APP_NAME."""
    revision = revision_with(api, greeting="old")
    account = f"{shop.name}-attach"
    assert revision["metadata"]["labels"][GROUP_LABEL] == account
    assert release_owners(revision) == [f"ServiceAccount/{account}"]


def test_a_config_change_pauses_in_the_canary_and_the_application_is_synced(
    shop: Application, api: Api
) -> None:
    with NothingIsLost(api):
        shop.release("new")
        wait_for_phase(api, "Paused")
        # The attacher has run, and both revisions have their owners, before anybody promotes.
        assert attacher_ran(hooks_of(shop.first_sync()))
        wait_until_owned(api)
        shop.wait_until("Synced", "Suspended")
        api.wait_for(lambda: contents(api) == HALF, "old and new Pods run")
        # An object of Argo CD's owns the old revision, so the revision is a child of the Rollout.
        old = revision_with(api, greeting="old")
        assert shop.resource("ConfigMap", old["metadata"]["name"]) is None
        for pod in api.list("Pod", labels="app=app"):
            api.delete("Pod", pod["metadata"]["name"])
        api.wait_for(lambda: contents(api) == HALF, "all Pods run again")
        shop.promote()
        api.wait_for(lambda: contents(api) == ["new", "new"], "all Pods are new")
        wait_until_owned(api)


def test_revisions_that_were_never_attached_are_still_kept(
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
        api.wait_for(lambda: contents(api) == HALF, "old and new Pods run")
        application.promote()
        # The superseded revision without owners stays in the status, and nothing needs to be done.
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
        api.wait_for(lambda: contents(api) == ["old", "old"], "all Pods are old")
        # Users do this after an abort.
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
        api.wait_for(lambda: contents(api) == ["old", "old"], "all Pods are old")
        wait_until_owned(api)
        assert revision_with(api, greeting="old")["metadata"]["uid"] == before


def test_a_release_is_rolled_back_by_git_revert(shop: Application, api: Api) -> None:
    with NothingIsLost(api):
        shop.release("new")
        shop.promote()
        shop.revert()
        shop.wait_until_synced()
        wait_for_phase(api, "Paused")
        api.wait_for(lambda: contents(api) == HALF, "old and new Pods run")
        shop.promote()
        api.wait_for(lambda: contents(api) == ["old", "old"], "all Pods are old")
        wait_until_owned(api)


def test_a_commit_supersedes_a_paused_canary(shop: Application, api: Api) -> None:
    with NothingIsLost(api):
        shop.release("new")
        wait_for_phase(api, "Paused")
        shop.release("newest")
        wait_for_phase(api, "Paused")
        api.wait_for(lambda: contents(api) == ["newest", "old"], "old and new Pods run")
        wait_until_owned(api)
        shop.promote()


def test_a_rollout_that_was_edited_by_hand_is_healed(shop: Application, api: Api) -> None:
    before = owner_uids(revision_with(api, greeting="old"))
    api.patch("Rollout", "app", {"spec": {"replicas": 3}})
    shop.wait_for(
        lambda: api.get("Rollout", "app")["spec"]["replicas"] == 2, "the Rollout is healed"
    )
    shop.wait_until("Synced", "Healthy")
    # Hooks do not run when Argo CD heals, and there is nothing to attach.
    assert shop.hooks() == []
    assert owner_uids(revision_with(api, greeting="old")) == before


def test_a_revision_that_was_deleted_by_hand_is_re_created(shop: Application, api: Api) -> None:
    lost = revision_with(api, greeting="old")["metadata"]
    api.delete("ConfigMap", lost["name"])

    def came_back() -> bool:
        config_map = api.find("ConfigMap", lost["name"])
        return config_map is not None and config_map["metadata"]["uid"] != lost["uid"]

    shop.wait_for(came_back, "the revision exists again")
    shop.wait_until("Synced", "Healthy")
    # The new object has no owners yet, and is kept. The next sync of a change sets its owners.
    assert owners(revision_with(api, greeting="old")) == []
    with NothingIsLost(api):
        shop.release("new")
        wait_for_phase(api, "Paused")
        wait_until_owned(api)


def workload(name: str) -> dict[str, object]:
    return {"name": name, "kind": "Rollout", "volume": [f"{name}-config"]}


def two(*names: str) -> dict[str, object]:
    """Return values with Rollouts of these names, each with its own ConfigMap."""
    return {
        "configMaps": {f"{name}-config": {"greeting": name} for name in names},
        "workloads": [workload(name) for name in names],
    }


def test_a_workload_removed_from_git_leaves_its_revision_to_the_attacher(
    application: Application, api: Api
) -> None:
    application.install("", **two("app", "old"))
    assert len(revisions(api)) == 2
    with NothingIsLost(api):
        application.push("", **two("app"))
        application.wait_until_synced()
        api.wait_for(lambda: not api.find("Rollout", "old"), "the Rollout is pruned")
        application.wait_until("Synced", "Healthy")
        # The release still owns the revision, until an attacher deletes the revision.
        assert len(revisions(api)) == 2


def test_a_deleted_application_does_not_leave_objects(shop: Application, api: Api) -> None:
    shop.release("new")
    wait_for_phase(api, "Paused")
    wait_until_owned(api)
    shop.delete()
    kinds = ["Rollout", "ReplicaSet", "Pod", "Job", "Role", "RoleBinding"]
    api.wait_for(lambda: not any(api.list(kind) for kind in kinds), "everything is deleted")
    api.wait_for(lambda: not revisions(api), "the revisions are deleted")
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
    api.wait_for(lambda: not api.find("Rollout", "app"), "the Rollout is deleted")
    assert len(revisions(api)) == 1
    # This is the command in docs/how-to/argocd.md.
    query = f"labelSelector={GROUP_LABEL}"
    api.request("DELETE", f"{api.path('ConfigMap')}?{query}")
    assert revisions(api) == []


def test_some_resources_are_synced_by_hand(shop: Application, api: Api) -> None:
    shop.sync_by_hand()
    with NothingIsLost(api):
        shop.push("new")
        [name] = shop.wait_until_out_of_sync("ConfigMap")
        shop.sync(
            {"kind": "ConfigMap", "name": name},
            {"group": "argoproj.io", "kind": "Rollout", "name": "app"},
        )
        wait_for_phase(api, "Paused")
        # Hooks do not run in a selective sync, so the new revision is in use without owners.
        assert shop.hooks() == []
        assert owners(revision_with(api, greeting="new")) == []
        api.wait_for(lambda: contents(api) == HALF, "old and new Pods run")
        shop.sync()
        shop.wait_for(lambda: attacher_ran(shop.hooks()), "a full sync attaches the revision")
        wait_until_owned(api)
        promote(api)
        wait_for_phase(api, "Healthy")
        assert_nothing_is_missing(api)
