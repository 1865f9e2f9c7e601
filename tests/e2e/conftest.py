"""The fixtures of the end-to-end tests. Each server starts when a test first needs it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.e2e.api import Api
from tests.e2e.applications import Application
from tests.e2e.argocd import ArgoCd
from tests.e2e.cluster import Cluster, ControlPlane
from tests.e2e.kubelet import StandIn
from tests.e2e.namespaces import leave_namespace, make_namespace
from tests.e2e.releases import Release
from tests.e2e.shared import argo_cd, control_plane, kept_servers


@pytest.fixture(scope="session")
def run_folder(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder that all tests of the run share."""
    base = tmp_path_factory.getbasetemp()
    # With xdist each worker has its own folder inside of the run's folder.
    return (base.parent if hasattr(request.config, "workerinput") else base) / "e2e"


@pytest.fixture(scope="session", autouse=True)
def servers(run_folder: Path) -> Iterator[None]:
    """Keep the servers of the run until each process of pytest has ended its part."""
    with kept_servers(run_folder):
        yield


@pytest.fixture(scope="session")
def plane(run_folder: Path) -> Iterator[ControlPlane]:
    """Yield the control plane that all tests of the run share, with its simulated kubelet."""
    with control_plane(run_folder) as control_plane_of_run:
        yield control_plane_of_run


@pytest.fixture(scope="session")
def argocd(plane: ControlPlane) -> Iterator[ArgoCd]:
    """Yield the Argo CD that all tests of the run share; the first test that uses it starts it."""
    with argo_cd(plane) as server:
        yield server


@pytest.fixture
def own_cluster(tmp_path: Path) -> Iterator[Cluster]:
    """Yield a separate control plane, whose API server the test may stop (takes 7 seconds)."""
    with Cluster(tmp_path / "plane") as cluster, StandIn(cluster.plane):
        yield cluster


@pytest.fixture
def namespace(request: pytest.FixtureRequest, plane: ControlPlane) -> Iterator[str]:
    """Yield the name of a new namespace, derived from the test's name, and empty it afterwards."""
    name = make_namespace(plane.api(), request.node.name)
    yield name
    leave_namespace(plane.api(name))


@pytest.fixture
def api(plane: ControlPlane, namespace: str) -> Api:
    """Return the administrator's client for the test's namespace."""
    return plane.api(namespace)


@pytest.fixture(params=["helm3", "helm4"])
def release(
    request: pytest.FixtureRequest, plane: ControlPlane, namespace: str, tmp_path: Path
) -> Release:
    """Return a release of the chart, not installed yet, by Helm 3 and by Helm 4.

    `@pytest.mark.parametrize("release", ["helm3"], indirect=True)` runs a test with one of them.
    """
    return Release(request.param, plane, namespace, tmp_path / "release")


@pytest.fixture
def helm(release: Release) -> Release:
    """Return a release without postrender, to test Helm alone."""
    release.postrender = False
    return release


@pytest.fixture
def manifests(plane: ControlPlane, namespace: str, tmp_path: Path) -> Release:
    """Return the chart for `apply`, for tests without a release: Helm 3 renders it."""
    return Release("helm3", plane, namespace, tmp_path / "manifests")


@pytest.fixture
def application(
    argocd: ArgoCd, plane: ControlPlane, api: Api, tmp_path: Path
) -> Iterator[Application]:
    """Yield an Application for the test's namespace, not created yet; delete it afterwards."""
    new_application = Application(argocd, plane, api, tmp_path / "repository")
    yield new_application
    new_application.forget()


@pytest.fixture
def shop(application: Application) -> Application:
    """Return an Application that was synced once, with greeting `old`, healthy and attached."""
    application.install()
    return application
