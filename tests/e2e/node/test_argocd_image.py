"""Argo CD on real nodes, with an image of the attacher that no registry has."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.e2e.api import Api, Json
from tests.e2e.applications import Application
from tests.e2e.argocd import ArgoCdServer
from tests.e2e.lifecycle_checks import wait_until_owned
from tests.e2e.node.nodes import RealNodes
from tests.e2e.node.story import CHART, IMAGE
from tests.e2e.queries import attachers, revisions, wait_for_phase
from tests.rings import in_matrix

# The host resolves on the node, and nothing listens on the port.
NO_IMAGE = "localhost:1/none:1"


class ArgoCdWithoutImage(ArgoCdServer):
    """Argo CD whose sidecar sets no image, so that each commit sets it."""

    def _environment(self) -> dict[str, str]:
        return {
            name: value
            for name, value in super()._environment().items()
            if name != "POSTRENDER_ATTACHER_IMAGE"
        }


@pytest.fixture
def application(nodes: RealNodes, pods_api: Api, tmp_path: Path) -> Iterator[Application]:
    """Yield an Application with the chart of the nodes, not created yet."""
    with ArgoCdWithoutImage(tmp_path / "argocd", nodes.plane) as server:
        found = Application(server.argocd, nodes.plane, pods_api, tmp_path / "repository")
        shutil.rmtree(found.repository.chart)
        shutil.copytree(CHART, found.repository.chart)
        yield found


def push(application: Application, setting: str, image: str) -> None:
    application.repository.config = {"attacher": {"image": image}}
    application.repository.commit({"setting": setting, "autoMount": True})
    application.refresh()


@in_matrix
def test_an_image_that_cannot_be_pulled_delays_only_the_sync(
    application: Application, pods_api: Api
) -> None:
    push(application, "v1", NO_IMAGE)
    application.create()
    [pod] = application.wait_for(lambda: waiting_for_image(pods_api), "the image is not found")
    application.wait_for(
        lambda: "waiting for completion of hook" in application.operation()["message"], "waits"
    )
    # The application runs, and has all of its configuration.
    application.wait_until("Synced", "Healthy")
    wait_for_phase(pods_api, "Healthy")
    assert application.operation()["phase"] == "Running"
    assert len(revisions(pods_api)) == 6
    # The deadline of ten minutes is now.
    job = pod["metadata"]["ownerReferences"][0]["name"]
    pods_api.patch("Job", job, {"spec": {"activeDeadlineSeconds": 1}})
    application.wait_for(
        lambda: "Retrying attempt #1" in application.operation()["message"], "retry"
    )
    [hook] = [hook for hook in application.hooks() if hook["name"] == job]
    assert hook["message"] == "Job was active longer than specified deadline"
    # The retry syncs the corrected commit.
    push(application, "v1", IMAGE)
    application.wait_until_synced()
    application.wait_until("Synced", "Healthy")
    wait_until_owned(pods_api)


def waiting_for_image(api: Api) -> list[Json]:
    """Return the attachers whose image was not pulled."""
    reasons = ("ErrImagePull", "ImagePullBackOff")
    return [
        pod
        for pod in attachers(api)
        for status in pod["status"].get("containerStatuses", [])
        if status["state"].get("waiting", {}).get("reason") in reasons
    ]
