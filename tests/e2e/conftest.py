"""The fixtures of the end-to-end tests. Each server starts when a test first needs it."""

from __future__ import annotations

import functools
import os
import re
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
from tests.e2e.shared import Kept, argo_cd, control_plane, kept_servers

# A fixture that asks for a server only in its body.
_ASKS = "place"
# At the end of a run, other processes would wait for these tests, which take most of a minute.
_LONG = re.compile(
    "test_(before_during_and_after_a_canary|every_rollback_and_every_upgrade_after_a_rollback"
    "|few_revisions_are_kept|the_originals_flags_leave|waves_and_a_hook_do_not_delay)"
)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Begin with the tests on nodes and with Argo CD: these servers work also while nobody waits.

    With `--dist worksteal`, each process begins with an equal part of the tests: the first with the
    nodes, the next two with Argo CD, and the others with the longest tests.
    """
    workers = int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", "1"))
    items.sort(key=lambda item: not _LONG.match(item.name))
    nodes = [item for item in items if _uses(item, "nodes")]
    argocd = [item for item in items if _uses(item, "argocd")]
    others = [item for item in items if item not in {*nodes, *argocd}]
    longest = [item for item in others if _LONG.match(item.name)]
    others = others[len(longest) :]
    part = len(items) // workers
    items.clear()
    firsts = [nodes, argocd[::2], argocd[1::2]] if workers > 2 else [nodes, argocd]
    left = max(workers - len(firsts), 1)
    for first in [*firsts, *(longest[number::left] for number in range(left))]:
        rest = max(part - len(first), 0)
        items += [*first, *others[:rest]]
        del others[:rest]
    items += others


@pytest.fixture(scope="session")
def run_folder(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder that all tests of the run share."""
    base = tmp_path_factory.getbasetemp()
    # With xdist each worker has its own folder inside of the run's folder.
    return (base.parent if hasattr(request.config, "workerinput") else base) / "e2e"


@pytest.fixture(scope="session", autouse=True)
def servers(run_folder: Path) -> Iterator[Kept]:
    """Keep the servers of the run until each process of pytest has ended its part."""
    with kept_servers(run_folder) as kept:
        yield kept


@pytest.fixture(autouse=True)
def needed_servers(
    request: pytest.FixtureRequest, run_folder: Path, servers: Kept
) -> Iterator[None]:
    """Let each server end when all tests of the run that use it have ended."""
    yield
    for name, lock in servers.items():
        ended = run_folder / name / "ended"
        with ended.open("a") as file:
            file.write("." * _uses(request.node, name))
        if ended.stat().st_size == _count_users(request.session, name):
            lock.close()


@functools.cache
def _count_users(session: pytest.Session, server: str) -> int:
    runs = (item for item in session.items if not item.get_closest_marker("skip"))
    return sum(_uses(item, server) for item in runs)


def _uses(item: pytest.Item, server: str) -> bool:
    """Return whether a test uses a server; its fixture has the same name."""
    fixtures = getattr(item, "fixturenames", ())
    return server in fixtures or _ASKS in fixtures


@pytest.fixture(scope="session")
def plane(run_folder: Path) -> ControlPlane:
    """Return the control plane that all tests of the run share, with its simulated kubelet."""
    with control_plane(run_folder) as control_plane_of_run:
        return control_plane_of_run


@pytest.fixture(scope="session")
def argocd(plane: ControlPlane) -> ArgoCd:
    """Return the Argo CD that all tests of the run share; the first test that uses it starts it."""
    with argo_cd(plane) as server:
        return server


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
    new_application.validates = False  # the tests on nodes do
    yield new_application
    new_application.forget()


@pytest.fixture
def shop(application: Application) -> Application:
    """Return an Application that was synced once, with greeting `old`, healthy and attached."""
    application.install()
    return application
