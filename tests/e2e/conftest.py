"""The fixtures of the end-to-end tests. None of them starts anything before a test asks for it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.e2e import absent
from tests.e2e.api import Api
from tests.e2e.applications import Application
from tests.e2e.argocd import ArgoCd
from tests.e2e.cluster import Cluster, ControlPlane
from tests.e2e.kubelet import StandIn
from tests.e2e.namespaces import make_namespace
from tests.e2e.programs import present
from tests.e2e.releases import Release
from tests.e2e.shared import argo_cd, control_plane


def pytest_configure(config: pytest.Config) -> None:
    """Have the plugin, also where it was not asked for from above."""
    if not config.pluginmanager.has_plugin(absent.__name__):
        config.pluginmanager.register(absent, absent.__name__)


@pytest.fixture(scope="session")
def run_folder(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Give the folder of what all tests of the run share."""
    base = tmp_path_factory.getbasetemp()
    # With xdist each worker has a folder of its own in that of the run.
    return (base.parent if hasattr(request.config, "workerinput") else base) / "e2e"


@pytest.fixture(scope="session")
def plane(run_folder: Path) -> Iterator[ControlPlane]:
    """Give the control plane that all tests of the run share, with its stand-in for a kubelet."""
    _skip_if_absent()
    with control_plane(run_folder) as found:
        yield found


@pytest.fixture(scope="session")
def argocd(plane: ControlPlane) -> Iterator[ArgoCd]:
    """Give the Argo CD that all tests of the run share; it starts with the first that asks."""
    with argo_cd(plane) as found:
        yield found


def _skip_if_absent() -> None:
    """Skip where a file was named on the command line, which is collected all the same."""
    if not present():
        pytest.skip("`make e2e` builds what it runs")


@pytest.fixture
def own_cluster(tmp_path: Path) -> Iterator[Cluster]:
    """Give a test a control plane of its own, to stop its API server; it takes 7 seconds."""
    _skip_if_absent()
    with Cluster(tmp_path / "plane") as cluster, StandIn(cluster.plane):
        yield cluster


@pytest.fixture
def namespace(request: pytest.FixtureRequest, plane: ControlPlane) -> Iterator[str]:
    """Give the name of a fresh namespace, which tells of the test, and delete it afterwards."""
    name = make_namespace(plane.api(), request.node.name)
    yield name
    plane.api().delete("Namespace", name)


@pytest.fixture
def api(plane: ControlPlane, namespace: str) -> Api:
    """Give the administrator's client for the test's namespace."""
    return plane.api(namespace)


@pytest.fixture(params=["helm3", "helm4"])
def release(
    request: pytest.FixtureRequest, plane: ControlPlane, namespace: str, tmp_path: Path
) -> Release:
    """Give a release of the chart, not installed yet, by Helm 3 and by Helm 4.

    `@pytest.mark.parametrize("release", ["helm3"], indirect=True)` runs a test with one of them.
    """
    return Release(request.param, plane, namespace, tmp_path / "release")


@pytest.fixture
def helm(release: Release) -> Release:
    """Give a release without postrender: what the Helms do by themselves."""
    release.postrender = False
    return release


@pytest.fixture
def manifests(plane: ControlPlane, namespace: str, tmp_path: Path) -> Release:
    """Give the chart for `apply`, in tests that need no release: Helm 3 renders it."""
    return Release("helm3", plane, namespace, tmp_path / "manifests")


@pytest.fixture
def application(
    argocd: ArgoCd, plane: ControlPlane, api: Api, tmp_path: Path
) -> Iterator[Application]:
    """Give an Application for the test's namespace, not created yet; delete it afterwards."""
    one = Application(argocd, plane, api, tmp_path / "repository")
    yield one
    one.forget()


@pytest.fixture
def shop(application: Application) -> Application:
    """Give an Application that was synced once, with greeting `old`, healthy and attached."""
    application.install()
    return application
