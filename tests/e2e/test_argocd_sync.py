"""Applications with sync options, and with their own waves and hooks."""

from __future__ import annotations

import pytest

from tests.e2e.api import Api, Json
from tests.e2e.applications import Application, hooks_of
from tests.e2e.lifecycle_checks import NothingIsLost, wait_until_owned
from tests.e2e.queries import ATTACHER, contents, owners, revision_with, wait_for_phase

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
# The Rollout is in a later wave than its ConfigMaps, and is applied after the migration.
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
        # The attacher ran during the pause, and the owners that it set are still there.
        wait_until_owned(api)
        application.wait_until("Synced", "Suspended")
        api.wait_for(lambda: contents(api) == ["new", "old"], "old and new Pods run")
        # The next commit does not wait for the canary.
        application.release("newer")
        wait_until_owned(api)
        application.promote()
        api.wait_for(lambda: contents(api) == ["newer", "newer"], "all Pods are newer")


def test_replace_removes_the_owners_and_the_attacher_sets_them_again(
    application: Application, api: Api
) -> None:
    # Argo CD cannot create a Role with this option: "already exists".
    application.install()
    application.sync_options("Replace=true")
    before = revision_with(api, greeting="old")
    with NothingIsLost(api):
        # The ConfigMap is unchanged, but replaced.
        application.release("old", image="app:2")
        wait_for_phase(api, "Paused")
        wait_until_owned(api)
        after = revision_with(api, greeting="old")
        assert after["metadata"]["uid"] == before["metadata"]["uid"]
        assert after["metadata"]["resourceVersion"] != before["metadata"]["resourceVersion"]
        application.wait_until("Synced", "Suspended")
        application.promote()


def test_replace_without_the_attacher_removes_the_owners(
    application: Application, api: Api
) -> None:
    # Argo CD cannot create a Role with this option: "already exists".
    application.install()
    application.sync_options("Replace=true")
    application.sync_by_hand()
    revision = revision_with(api, greeting="old")["metadata"]["name"]
    with NothingIsLost(api):
        application.sync({"kind": "ConfigMap", "name": revision})
        application.wait_for(
            lambda: not owners(api.get("ConfigMap", revision)), "the owners are removed"
        )
        application.sync()
        application.wait_until_synced()
        wait_until_owned(api)


def test_waves_and_a_hook_do_not_delay_the_next_commit(application: Application, api: Api) -> None:
    application.install(**WAVES)
    with NothingIsLost(api):
        application.release("new", **WAVES)
        wait_for_phase(api, "Paused")
        application.wait_until("Synced", "Suspended")
        # The attacher is an ordinary Job, for which Argo CD does not wait.
        assert [hook["hookType"] for hook in hooks_of(application.first_sync())] == ["PreSync"]
        wait_until_owned(api)
        application.release("newer", **WAVES)
        wait_for_phase(api, "Paused")
        wait_until_owned(api)
        api.wait_for(lambda: contents(api) == ["newer", "old"], "old and new Pods run")
        application.promote()
        # The next attacher deletes the superseded Jobs.
        api.wait_for(lambda: len(api.names("Job", ATTACHER)) == 1, "one Job is left")
        application.wait_until("Synced", "Healthy")


def test_waves_and_an_attacher_as_a_hook_delay_the_next_commit(
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
            lambda: application.get()["status"]["sync"]["revision"] == later,
            "Argo CD knows the commit",
        )
        operation = application.get()["status"]["operationState"]
        assert operation["phase"] == "Running"
        assert operation["syncResult"]["revision"] != later
        assert "waiting for" in operation["message"]
        # This is the instruction in docs/troubleshooting.md.
        application.terminate()
        application.wait_until_synced(later, "Running")


def test_a_rollout_in_an_earlier_wave_delays_the_later_waves(
    application: Application, api: Api
) -> None:
    """Argo CD does the same without postrender."""
    early = {"name": "app", "kind": "Rollout", "volume": ["app-config"]}
    late = {"name": "late", "kind": "Deployment", "annotations": {WAVE: "1"}}
    values: Json = {"workloads": [early, late]}
    application.install(**values)
    with NothingIsLost(api):
        application.push("new", **values)
        wait_for_phase(api, "Paused")
        application.wait_for(
            lambda: "waiting for healthy state" in application.operation()["message"],
            "the sync waits",
        )
        wait_until_owned(api)
        assert application.operation()["phase"] == "Running"
