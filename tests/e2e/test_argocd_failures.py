"""Failing syncs and renders under Argo CD: their status, and that nothing is lost."""

from __future__ import annotations

from pathlib import Path

from tests.e2e.api import Api
from tests.e2e.applications import REFRESH, Application
from tests.e2e.argocd import CARELESS_PLUGIN, CUT, NEEDS
from tests.e2e.attach_processes import events_on
from tests.e2e.lifecycle_checks import NothingIsLost, wait_until_owned
from tests.e2e.namespaces import (
    hold_attachers,
    hurry_attachers,
    release_attachers,
    replace_attachers,
    restore_attachers,
)
from tests.e2e.queries import contents, revision_with, wait_for_attachers, wait_for_phase
from tests.e2e.releases import Release
from tests.e2e.rollouts import promote

# The attacher


def test_a_failing_attacher_does_not_delay_the_next_commit(shop: Application, api: Api) -> None:
    # The effect is that of another apply after this one: the awaited render ID is not there.
    hurry_attachers(api, render_id="0123456789")
    with NothingIsLost(api):
        shop.release("new")
        wait_for_phase(api, "Paused")
        shop.wait_until("Synced", "Suspended")
        [message] = events_on(api, "Rollout", "app")
        assert "expected 0123456789" in message
        restore_attachers(api)
        shop.release("newer")
        wait_until_owned(api)
        shop.wait_until("Synced", "Suspended")


def test_an_attacher_that_cannot_run_fails_the_sync_and_the_retry_recovers(
    application: Application, api: Api
) -> None:
    """The effect is that of an image that cannot be pulled, or of missing permissions."""
    application.repository.config = {"attacher": {"backoffLimit": 0}}
    application.install()
    replace_attachers(api, ["false"])
    with NothingIsLost(api):
        application.push("new")
        wait_for_attachers(api, "Failed")
        application.wait_for(lambda: "Retrying" in application.operation()["message"], "a retry")
        # Everything was applied and the canary continues; only Argo CD shows the failure.
        wait_for_phase(api, "Paused")
        api.wait_for(lambda: contents(api) == ["new", "old"], "old and new Pods run")
        restore_attachers(api)
        application.release("newer")
        wait_until_owned(api)
        application.promote()


def test_terminating_the_sync_ends_an_attacher_that_never_ends(shop: Application, api: Api) -> None:
    hold_attachers(api)
    with NothingIsLost(api):
        shop.push("new")
        wait_for_phase(api, "Paused")
        shop.wait_for(
            lambda: "waiting for completion of hook" in shop.operation()["message"],
            "the sync waits",
        )
        later = shop.push("newer")
        shop.wait_for(
            lambda: shop.get()["status"]["sync"]["revision"] == later, "Argo CD knows the commit"
        )
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


def assert_untouched(shop: Application, api: Api, *words: str) -> None:
    """Check that Argo CD shows an error with these words, and prunes nothing."""
    before = revision_with(api, greeting="old")
    rollout = api.get("Rollout", "app")
    with NothingIsLost(api):
        shop.wait_for_message(*words)
        assert shop.get()["status"]["sync"]["status"] == "Unknown"
        assert revision_with(api, greeting="old") == before
        assert api.get("Rollout", "app")["metadata"]["uid"] == rollout["metadata"]["uid"]
        assert api.get("Rollout", "app")["spec"] == rollout["spec"]
        # A corrected commit is synced.
        shop.repository.config = {}
        shop.repository.revert()
        shop.release("new")
        wait_for_phase(api, "Paused")
        promote(api)
        wait_for_phase(api, "Healthy")


def test_a_chart_that_fails_is_shown_and_does_not_prune_objects(
    shop: Application, api: Api
) -> None:
    shop.repository.commit(files={"templates/bad.yaml": '{{ fail "no such colour" }}'})
    shop.refresh()
    assert_untouched(shop, api, "no such colour", "exit status 1")


def test_a_wrong_configuration_is_shown_and_does_not_prune_objects(
    shop: Application, api: Api
) -> None:
    shop.repository.config = {"attacher": {"imagee": "x"}}
    shop.push("new")
    assert_untouched(shop, api, "postrender.yaml", "imagee", "image")


def test_a_chart_with_empty_output_is_shown_and_does_not_prune_objects(
    shop: Application, api: Api
) -> None:
    # This happens when a values file was emptied by mistake.
    shop.push("", configMaps={"app-config": None}, workloads=[])
    assert_untouched(shop, api, "the input is empty")


def test_a_killed_helm_is_shown_and_does_not_prune_objects(
    shop: Application, api: Api, manifests: Release
) -> None:
    shop.repository.commit(files={CUT: str(bytes_before_the_rollout(manifests))})
    shop.refresh()
    assert_untouched(shop, api, "helm: killed", "exit status 137")


def test_without_pipefail_a_killed_helm_prunes_the_remaining_objects(
    application: Application, api: Api, manifests: Release
) -> None:
    """Show why plugin.yaml needs `pipefail`."""
    application.spec["source"]["plugin"]["name"] = CARELESS_PLUGIN
    application.install()
    application.repository.commit(files={CUT: str(bytes_before_the_rollout(manifests))})
    application.refresh()
    application.wait_for(lambda: not api.find("Rollout", "app"), "the Rollout was pruned")


def bytes_before_the_rollout(manifests: Release) -> int:
    """Return the size of the first part of the manifests, with all ConfigMaps and no Rollout."""
    text = manifests.template({"configMaps": {"app-config": {"greeting": "old"}}})
    before, _, _ = text.partition("---\n# Source: scenario/templates/workloads.yaml")
    assert "kind: ConfigMap" in before
    assert "kind: Rollout" not in before
    return len(before.encode())


def test_a_hard_refresh_retries_a_render_that_failed_three_times(
    application: Application, tmp_path: Path
) -> None:
    """The fault is outside of the repository. Argo CD would wait for a commit, or an hour."""
    network = tmp_path / "network"
    application.repository.commit(files={NEEDS: str(network)})
    application.push("old")
    application.create()
    application.wait_for_message("helm: no network")

    def is_cached() -> bool:
        application.refresh()
        application.wait_for(
            lambda: REFRESH not in application.annotations(), "the refresh is done"
        )
        return "(cached)" in application.status_text()

    application.wait_for(is_cached, "the error is cached")
    network.touch()
    assert is_cached()
    application.refresh("hard")
    application.wait_until("Synced", "Healthy")
