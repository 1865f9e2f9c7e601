"""The fixtures of the tests on real nodes."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.e2e.api import Api
from tests.e2e.node.images import ImageError, archives
from tests.e2e.node.machine import obstacle
from tests.e2e.node.nodes import RealNodes
from tests.e2e.node.story import Shop, new_namespace, new_release
from tests.e2e.shared import real_nodes


@pytest.fixture(scope="session")
def images() -> list[Path]:
    """Return the archives of the images; skip the test if this machine cannot run a node.

    With POSTRENDER_NODE_REQUIRED=1 the test fails instead.
    """
    problem = obstacle()
    if not problem:
        try:
            return archives()
        except ImageError as error:
            problem = f"the image cannot be built: {error}"
    if os.environ.get("POSTRENDER_NODE_REQUIRED") == "1":
        pytest.fail(problem)
    pytest.skip(problem)


@pytest.fixture(scope="session")
def nodes(images: list[Path], run_folder: Path) -> RealNodes:
    """Return the cluster with two real nodes that all tests of the run share."""
    assert images
    with real_nodes(run_folder) as shared:
        return shared


@pytest.fixture
def pods_api(request: pytest.FixtureRequest, nodes: RealNodes) -> Iterator[Api]:
    """Yield a client for a new namespace, which is deleted afterwards."""
    api = new_namespace(nodes.plane, request.node.name)
    yield api
    api.delete("Namespace", api.namespace)


@pytest.fixture
def shop(request: pytest.FixtureRequest, nodes: RealNodes, pods_api: Api, tmp_path: Path) -> Shop:
    """Return a release of the shop, not installed yet: by Helm 4, if the test sets no tool."""
    tool = getattr(request, "param", "helm4")
    release = new_release(tool, nodes.plane, pods_api, tmp_path / "release")
    return Shop(release, pods_api, nodes.label)
