"""Canaries in progress: old Pods keep the old content, and nothing in use is lost."""

from __future__ import annotations

import pytest

from tests.e2e.api import Api
from tests.e2e.attach_processes import create_all, parse
from tests.e2e.lifecycle_checks import NothingIsLost, wait_until_owned
from tests.e2e.manual_attach import App, assert_attached
from tests.e2e.namespaces import hold_attachers
from tests.e2e.queries import (
    apply_attached,
    contents,
    owner_uids,
    revision_with,
    wait_for_phase,
)
from tests.e2e.releases import Release
from tests.e2e.rollouts import abort, promote, replica_sets, retry, undo
from tests.rings import IS_MATRIX, helm_3_in_matrix

UPGRADES = 8 if IS_MATRIX else 4


def config(greeting: str) -> dict[str, object]:
    return {"configMaps": {"app-config": {"greeting": greeting}}, "replicas": 4}


@helm_3_in_matrix
@pytest.mark.parametrize("is_attached", [True, False], ids=["attached", "missed"])
def test_old_pods_come_back_with_the_old_content_while_a_canary_is_paused(
    release: Release, api: Api, is_attached: bool
) -> None:
    apply_attached(api, lambda: release.install(config("old")))
    wait_for_phase(api, "Healthy")
    with NothingIsLost(api):
        if is_attached:
            apply_attached(api, lambda: release.upgrade(config("new")))
        else:
            hold_attachers_and_upgrade(release, api)
        wait_for_phase(api, "Paused")
        api.wait_for(lambda: contents(api) == ["new", "new", "old", "old"], "old and new Pods run")
        for pod in api.list("Pod", labels="app=app"):
            api.delete("Pod", pod["metadata"]["name"])
        api.wait_for(lambda: contents(api) == ["new", "new", "old", "old"], "all Pods run again")
        promote(api)
        api.wait_for(lambda: contents(api) == ["new"] * 4, "all Pods are new")


def hold_attachers_and_upgrade(release: Release, api: Api) -> None:
    hold_attachers(api)
    release.upgrade(config("new"), *(["--no-hooks"] if release.tool == "helm4" else []))


# Helm 4 and Argo CD apply ConfigMap, Job and Rollout in this order.


def test_an_upgrade_is_attached_whenever_the_attacher_starts(manifests: Release, api: Api) -> None:
    """The attacher starts with the apply of the Rollout, or has just connected."""
    app = App(manifests, api, revisionHistoryLimit=UPGRADES + 1)
    app.release("0")
    for number in range(1, UPGRADES + 1):
        text = app.render(str(number))
        create_config_maps(api, text)
        # Python needs half a second to start, and so does kubectl.
        run = app.start(text)
        if number % 2:
            run.until("in namespace")
        app.apply_text(text)
        assert_attached(run)
        assert_attached_to_its_own(api, number)
        wait_for_phase(api, "Paused")


def test_an_attacher_that_is_already_running_waits_for_the_upgrade(
    manifests: Release, api: Api
) -> None:
    app = App(manifests, api, revisionHistoryLimit=UPGRADES + 1)
    app.release("0")
    for number in range(1, UPGRADES + 1):
        text = app.render(str(number))
        create_config_maps(api, text)
        run = app.start(text).until("waiting for at most")
        app.apply_text(text)
        assert_attached(run)
        assert_attached_to_its_own(api, number)
        wait_for_phase(api, "Paused")


def create_config_maps(api: Api, text: str) -> None:
    create_all(api, (obj for obj in parse(text) if obj["kind"] == "ConfigMap"))


def assert_attached_to_its_own(api: Api, count: int) -> None:
    """Fail unless each revision, 0 to `count`, is owned by its ReplicaSet and by the Rollout."""
    rollout = api.get("Rollout", "app")["metadata"]["uid"]
    by_revision = replica_sets(api)
    assert len(by_revision) == count + 1
    for number, replica_set in enumerate(by_revision):
        revision = revision_with(api, greeting=str(number))
        volume = replica_set["spec"]["template"]["spec"]["volumes"][0]
        assert volume["configMap"]["name"] == revision["metadata"]["name"]
        assert owner_uids(revision) == {rollout, replica_set["metadata"]["uid"]}


def test_a_canary_is_aborted_and_retried(manifests: Release, api: Api) -> None:
    app = App(manifests, api)
    with NothingIsLost(api):
        app.release("old")
        app.apply("new")
        app.attach()
        wait_for_phase(api, "Paused")
        abort(api)
        wait_for_phase(api, "Degraded")
        api.wait_for(lambda: contents(api) == ["old", "old"], "all Pods are old")
        retry(api)
        wait_for_phase(api, "Paused")
        api.wait_for(lambda: contents(api) == ["new", "old"], "old and new Pods run")
        app.promote()
        wait_until_owned(api)


def test_a_rollout_is_undone_to_its_first_revision(manifests: Release, api: Api) -> None:
    app = App(manifests, api)
    with NothingIsLost(api):
        for greeting in ("one", "two", "three"):
            app.release(greeting)
        undo(api, 1)
        wait_for_phase(api, "Paused")
        api.wait_for(lambda: contents(api) == ["one", "three"], "old and new Pods run")
        app.promote()
        api.wait_for(lambda: contents(api) == ["one", "one"], "all Pods have the first content")
        wait_until_owned(api)


@pytest.mark.parametrize("is_attached", [True, False], ids=["attached", "missed"])
def test_a_canary_is_superseded_by_a_third(manifests: Release, api: Api, is_attached: bool) -> None:
    app = App(manifests, api)
    with NothingIsLost(api):
        app.release("one")
        app.apply("two")
        if is_attached:
            app.attach()
        wait_for_phase(api, "Paused")
        app.apply("three")
        app.attach()
        wait_for_phase(api, "Paused")
        api.wait_for(lambda: contents(api) == ["one", "three"], "old and new Pods run")
        wait_until_owned(api)
        app.promote()
        wait_until_owned(api)
