"""Applications with sync options, waves and hooks of their own."""

from __future__ import annotations

import pytest

from tests.e2e.api import Api, Json
from tests.e2e.applications import Application, hooks_of
from tests.e2e.looks import ATTACHER, contents, owners, revision_with, wait_for_phase
from tests.e2e.losses import NothingIsLost, wait_until_owned

WAVE = "argocd.argoproj.io/sync-wave"
MIGRATION: Json = {
    "apiVersion": "batch/v1",
    "kind": "Job",
    "metadata": {"name": "migration", "annotations": {"argocd.argoproj.io/hook": "PreSync"}},
    "spec": {
        "template": {
            "spec": {"restartPolicy": "Never", "containers": [{"name": "m", "image": "m:1"}]}
        }
    },
}
# The Rollout comes in a later wave than its ConfigMaps, and after the migration.
WAVES: Json = {
    "extra": [MIGRATION],
    "workloads": [
        {"name": "app", "kind": "Rollout", "volume": ["app-config"], "annotations": {WAVE: "1"}}
    ],
}


@pytest.mark.parametrize(
    "option", ["PruneLast=true", "ServerSideApply=true", "ApplyOutOfSyncOnly=true"]
)
def test_a_canary_with_a_sync_option(application: Application, api: Api, option: str) -> None:
    application.sync_options(option)
    application.install()
    with NothingIsLost(api):
        application.release("new")
        wait_for_phase(api, "Paused")
        # The attacher ran, in the pause, and the owners that it set are still there.
        wait_until_owned(api)
        application.wait_until("Synced", "Suspended")
        api.wait_for(lambda: contents(api) == ["new", "old"], "half and half")
        # The next commit does not wait for the canary.
        application.release("newer")
        wait_until_owned(api)
        application.promote()
        api.wait_for(lambda: contents(api) == ["newer", "newer"], "all are newer")


def test_replace_takes_the_owners_and_the_attacher_gives_them_back(
    application: Application, api: Api
) -> None:
    # Argo CD cannot create a Role so: "already exists".
    application.install()
    application.sync_options("Replace=true")
    before = revision_with(api, greeting="old")
    with NothingIsLost(api):
        # The ConfigMap is as it was, and replaced all the same.
        application.release("old", image="app:2")
        wait_for_phase(api, "Paused")
        wait_until_owned(api)
        after = revision_with(api, greeting="old")
        assert after["metadata"]["uid"] == before["metadata"]["uid"]
        assert after["metadata"]["resourceVersion"] != before["metadata"]["resourceVersion"]
        application.wait_until("Synced", "Suspended")
        application.promote()


def test_replace_without_the_attacher_leaves_no_owners(application: Application, api: Api) -> None:
    # Argo CD cannot create a Role so: "already exists".
    application.install()
    application.sync_options("Replace=true")
    application.sync_by_hand()
    revision = revision_with(api, greeting="old")["metadata"]["name"]
    with NothingIsLost(api):
        application.sync({"kind": "ConfigMap", "name": revision})
        application.wait_for(
            lambda: not owners(api.get("ConfigMap", revision)), "the owners were taken"
        )
        application.sync()
        application.wait_until_synced()
        wait_until_owned(api)


def test_waves_and_a_hook_do_not_hold_up_the_next_commit(
    application: Application, api: Api
) -> None:
    application.install(**WAVES)
    with NothingIsLost(api):
        application.release("new", **WAVES)
        wait_for_phase(api, "Paused")
        application.wait_until("Synced", "Suspended")
        # An ordinary Job: nothing that Argo CD would wait for.
        assert [one["hookType"] for one in hooks_of(application.first_sync())] == ["PreSync"]
        wait_until_owned(api)
        application.release("newer", **WAVES)
        wait_for_phase(api, "Paused")
        wait_until_owned(api)
        api.wait_for(lambda: contents(api) == ["newer", "old"], "half and half")
        application.promote()
        # The superseded Jobs are deleted by the next attacher.
        api.wait_for(lambda: len(api.names("Job", ATTACHER)) == 1, "one Job is left")
        application.wait_until("Synced", "Healthy")


def test_waves_and_a_hook_hold_it_up_if_the_attacher_is_forced_to_be_one(
    application: Application, api: Api
) -> None:
    application.repository.config = {"attacher": {"mode": "hook"}}
    application.install(**WAVES)
    with NothingIsLost(api):
        application.push("new", **WAVES)
        wait_for_phase(api, "Paused")
        wait_until_owned(api)
        later = application.push("newer", **WAVES)
        application.wait_for(
            lambda: application.get()["status"]["sync"]["revision"] == later, "Argo CD knows of it"
        )
        operation = application.get()["status"]["operationState"]
        assert operation["phase"] == "Running"
        assert operation["syncResult"]["revision"] != later
        assert "waiting for" in operation["message"]
        # What docs/argocd-runbook.md says to do.
        application.terminate()
        application.wait_until_synced(later, "Running")


def test_a_rollout_in_an_earlier_wave_holds_up_the_later_ones(
    application: Application, api: Api
) -> None:
    """That is Argo CD's own doing: it is the same without postrender."""
    early = {"name": "app", "kind": "Rollout", "volume": ["app-config"]}
    late = {"name": "late", "kind": "Deployment", "annotations": {WAVE: "1"}}
    values: Json = {"workloads": [early, late]}
    application.install(**values)
    with NothingIsLost(api):
        application.push("new", **values)
        wait_for_phase(api, "Paused")
        application.wait_for(
            lambda: "waiting for healthy state" in application.operation()["message"], "held"
        )
        wait_until_owned(api)
        assert application.operation()["phase"] == "Running"
