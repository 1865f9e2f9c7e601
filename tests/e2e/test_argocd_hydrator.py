"""Argo CD's source hydrator renders with the plugin, and commits the result to a branch."""

from __future__ import annotations

import pytest

from tests.e2e.api import Api
from tests.e2e.applications import Application
from tests.e2e.argocd import HAS_HYDRATOR
from tests.e2e.lifecycle_checks import NothingIsLost, wait_until_owned
from tests.e2e.queries import contents, revision_with, wait_for_phase
from tests.e2e.rollouts import promote

BRANCH = "hydrated"

pytestmark = pytest.mark.skipif(
    not HAS_HYDRATOR, reason="the hydrator passes plugins since Argo CD 3.5"
)


@pytest.fixture
def hydrated(application: Application) -> Application:
    """Return an Application that syncs the branch with the rendered manifests."""
    source = application.spec.pop("source")
    application.spec["sourceHydrator"] = {
        "drySource": source,
        "syncSource": {"targetBranch": BRANCH, "path": "rendered"},
    }
    return application


def sync(application: Application, greeting: str) -> str:
    """Push a configuration; return the manifests that Argo CD has committed and synced."""
    dry = application.push(greeting)
    if not application.argocd.find("Application", application.name):
        application.create()

    def commit() -> str | None:
        operation = application.get()["status"]["sourceHydrator"]["currentOperation"]
        is_over = (operation["drySHA"], operation["phase"]) == (dry, "Hydrated")
        return str(operation["hydratedSHA"]) if is_over else None

    rendered = application.wait_for(commit, f"{dry[:8]} is committed to {BRANCH}")
    application.wait_until_synced(rendered)
    return application.repository.file(rendered, "rendered/manifest.yaml")


def test_a_canary_from_a_branch_with_rendered_manifests(hydrated: Application, api: Api) -> None:
    assert "app-config-" in sync(hydrated, "old")
    wait_for_phase(api, "Healthy")
    wait_until_owned(api)
    with NothingIsLost(api):
        manifests = sync(hydrated, "new")
        assert revision_with(api, greeting="new")["metadata"]["name"] in manifests
        assert revision_with(api, greeting="old")["metadata"]["name"] not in manifests
        wait_for_phase(api, "Paused")
        api.wait_for(lambda: contents(api) == ["new", "old"], "old and new Pods run")
        wait_until_owned(api)
        promote(api)
        wait_for_phase(api, "Healthy")
