"""A blue-green release with Helm 4, by the command of docs/how-to/blue-green.md."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.e2e.api import Api
from tests.e2e.cluster import ControlPlane
from tests.e2e.commands import end_canary, restart_pods_with
from tests.e2e.lifecycle_checks import NothingIsLost, wait_until_owned
from tests.e2e.programs import ROOT
from tests.e2e.queries import apply_attached, contents, revision_with, wait_for_phase
from tests.e2e.recipes import Recipe
from tests.pages import commands_in

PAGE = ROOT / "docs" / "how-to" / "blue-green.md"
CANARY = """\
    canary:
      steps:
        - setWeight: 50
        - pause: {}
"""
BLUE_GREEN = """\
    blueGreen:
      activeService: app-active
      previewService: app-preview
      autoPromotionEnabled: false
      scaleDownDelaySeconds: 1
"""
SERVICE = """\
---
apiVersion: v1
kind: Service
metadata: {name: app-NAME}
spec:
  selector: {app: app}
  ports: [{port: 80}]
"""


@pytest.fixture
def recipe(plane: ControlPlane, api: Api, tmp_path: Path) -> Recipe:
    """Return a folder with a chart whose Rollout is blue-green."""
    made = Recipe("checksum", "helm4", plane, api.namespace, tmp_path / "page")
    made.use_after()
    made.edit("templates/app.yaml", CANARY, BLUE_GREEN)
    made.edit("values.yaml", "revisionHistoryLimit: 10", "revisionHistoryLimit: 0")
    services = "".join(SERVICE.replace("NAME", name) for name in ("active", "preview"))
    (made.folder / "chart" / "templates" / "services.yaml").write_text(services)
    return made


def command() -> str:
    """Return the command of the page."""
    [block] = commands_in(PAGE, "Release with Helm 4")
    return block.text


def test_old_pods_keep_their_revision_until_they_are_deleted(
    recipe: Recipe, plane: ControlPlane, api: Api
) -> None:
    with NothingIsLost(api):
        apply_attached(api, lambda: recipe.run_text(command()))
        wait_for_phase(api, "Healthy")
        recipe.edit("values.yaml", "greeting: hello", "greeting: bye")
        attacher = apply_attached(api, lambda: recipe.run_text(command()))
        wait_for_phase(api, "Paused")
        old, new = ["hello", "hello"], ["bye", "bye"]
        api.wait_for(lambda: contents(api) == [*new, *old], "the preview runs")
        restart_pods_with(api, "hello")
        api.wait_for(lambda: contents(api) == [*new, *old], "the old pods are back")
        wait_until_owned(api)
        end_canary(plane, api, attacher)
        api.wait_for(lambda: contents(api) == new, "the old pods are deleted")
    revision_with(api, greeting="bye")


def test_the_selectors_of_the_services_conflict_with_server_side_apply(
    recipe: Recipe, api: Api
) -> None:
    on_the_server = command().replace(" --server-side=false", "")
    apply_attached(api, lambda: recipe.run_text(on_the_server))
    wait_for_phase(api, "Healthy")
    recipe.edit("values.yaml", "greeting: hello", "greeting: bye")
    refused = recipe.run_text(on_the_server, check=False)
    assert "conflict" in refused.stderr
    assert ".spec.selector" in refused.stderr
    # Helm has applied the other objects, the attacher too, so the same upgrade continues.
    recipe.run_text(command())
    wait_for_phase(api, "Paused")
    wait_until_owned(api)
