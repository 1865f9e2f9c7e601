"""Syncs and renders that go wrong under Argo CD: what it shows; nothing is lost by them."""

from __future__ import annotations

from pathlib import Path

from tests.e2e.api import Api
from tests.e2e.applications import REFRESH, Application
from tests.e2e.argocd import CARELESS_PLUGIN, CUT
from tests.e2e.looks import contents, revision_with, wait_for_attachers, wait_for_phase
from tests.e2e.losses import NothingIsLost, wait_until_owned
from tests.e2e.namespaces import (
    hold_attachers,
    hurry_attachers,
    release_attachers,
    replace_attachers,
    restore_attachers,
)
from tests.e2e.releases import Release
from tests.e2e.rollouts import promote
from tests.e2e.runs import events_on

# The attacher


def test_an_attacher_that_fails_holds_up_no_commit(shop: Application, api: Api) -> None:
    # As if another apply had come after this one: what it waits for is not there any more.
    hurry_attachers(api, render_id="0123456789")
    with NothingIsLost(api):
        shop.release("new")
        wait_for_phase(api, "Paused")
        shop.wait_until("Synced", "Suspended")
        [told] = events_on(api, "Rollout", "app")
        assert "instead of 0123456789" in told
        restore_attachers(api)
        shop.release("newer")
        wait_until_owned(api)
        shop.wait_until("Synced", "Suspended")


def test_an_attacher_that_cannot_run_fails_the_sync_and_retry_refresh_goes_on(
    application: Application, api: Api
) -> None:
    """As with an image that cannot be pulled, or without permissions."""
    application.repository.config = {"attacher": {"backoffLimit": 0}}
    application.install()
    replace_attachers(api, ["false"])
    with NothingIsLost(api):
        application.push("new")
        wait_for_attachers(api, "Failed")
        application.wait_for(lambda: "Retrying" in application.operation()["message"], "a retry")
        # All was applied; the canary goes on, and nobody would notice but for Argo CD.
        wait_for_phase(api, "Paused")
        api.wait_for(lambda: contents(api) == ["new", "old"], "half and half")
        restore_attachers(api)
        application.release("newer")
        wait_until_owned(api)
        application.promote()


def test_an_attacher_that_never_ends_is_ended_by_terminating_the_sync(
    shop: Application, api: Api
) -> None:
    hold_attachers(api)
    with NothingIsLost(api):
        shop.push("new")
        wait_for_phase(api, "Paused")
        shop.wait_for(
            lambda: "waiting for completion of hook" in shop.operation()["message"], "held"
        )
        later = shop.push("newer")
        shop.wait_for(lambda: shop.get()["status"]["sync"]["revision"] == later, "it knows of it")
        assert shop.operation()["phase"] == "Running"
        assert revision_with(api, greeting="new")
        release_attachers(api)
        hold_attachers(api)
        shop.terminate()
        release_attachers(api)
        shop.wait_until_synced(later)
        wait_for_phase(api, "Paused")
        wait_until_owned(api)


# The render


def assert_untouched(shop: Application, api: Api, *said: str) -> None:
    """Check that Argo CD shows an error with these words, and prunes nothing."""
    before = revision_with(api, greeting="old")
    rollout = api.get("Rollout", "app")
    with NothingIsLost(api):
        shop.wait_for_message(*said)
        assert shop.get()["status"]["sync"]["status"] == "Unknown"
        assert revision_with(api, greeting="old") == before
        assert api.get("Rollout", "app")["metadata"]["uid"] == rollout["metadata"]["uid"]
        assert api.get("Rollout", "app")["spec"] == rollout["spec"]
        # And what is mended is synced.
        shop.repository.config = {}
        shop.repository.revert()
        shop.release("new")
        wait_for_phase(api, "Paused")
        promote(api)
        wait_for_phase(api, "Healthy")


def test_a_chart_that_fails_is_shown_and_nothing_is_pruned(shop: Application, api: Api) -> None:
    shop.repository.commit(files={"templates/bad.yaml": '{{ fail "no such colour" }}'})
    shop.refresh()
    assert_untouched(shop, api, "no such colour", "exit status 1")


def test_a_configuration_that_is_wrong_is_shown_and_nothing_is_pruned(
    shop: Application, api: Api
) -> None:
    shop.repository.config = {"attacher": {"imagee": "x"}}
    shop.push("new")
    assert_untouched(shop, api, "postrender.yaml", "imagee", "image")


def test_a_chart_that_renders_nothing_is_shown_and_nothing_is_pruned(
    shop: Application, api: Api
) -> None:
    # As when a values file was emptied by mistake.
    shop.push("", configMaps={"app-config": None}, workloads=[])
    assert_untouched(shop, api, "nothing but comments in the input")


def test_a_helm_that_breaks_off_is_shown_and_nothing_is_pruned(
    shop: Application, api: Api, manifests: Release
) -> None:
    shop.repository.commit(files={CUT: str(bytes_before_the_rollout(manifests))})
    shop.refresh()
    assert_untouched(shop, api, "helm: killed", "exit status 137")


def test_without_pipefail_a_helm_that_breaks_off_has_the_rest_pruned(
    application: Application, api: Api, manifests: Release
) -> None:
    """What the one word in plugin.yaml is for."""
    application.spec["source"]["plugin"]["name"] = CARELESS_PLUGIN
    application.install()
    application.repository.commit(files={CUT: str(bytes_before_the_rollout(manifests))})
    application.refresh()
    application.wait_for(lambda: not api.find("Rollout", "app"), "the Rollout was pruned")


def bytes_before_the_rollout(manifests: Release) -> int:
    """Return how long the part of the manifests is that has all ConfigMaps and no Rollout."""
    text = manifests.template({"configMaps": {"app-config": {"greeting": "old"}}})
    before, _, _ = text.partition("---\n# Source: scenario/templates/workloads.yaml")
    assert "kind: ConfigMap" in before
    assert "kind: Rollout" not in before
    return len(before.encode())


def test_a_render_that_failed_thrice_is_tried_again_by_a_hard_refresh(
    application: Application, tmp_path: Path
) -> None:
    """For a fault outside of the repository. Otherwise Argo CD waits for a commit, or an hour."""
    file = tmp_path / "late.json"
    application.parameters(("release-name", "app"), ("values-files", ["values.json", str(file)]))
    application.push("old")
    application.create()
    application.wait_for_message("late.json", "no such file")

    def is_cached() -> bool:
        application.refresh()
        application.wait_for(lambda: REFRESH not in application.annotations(), "looked at")
        return "(cached)" in application.told()

    application.wait_for(is_cached, "no more attempts")
    file.write_text("{}")
    assert is_cached()
    application.refresh("hard")
    application.wait_until("Synced", "Healthy")
