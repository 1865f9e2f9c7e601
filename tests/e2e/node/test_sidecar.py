"""The story of a canary through Argo CD, whose repo-server renders in the image of the sidecar.

The image runs in a Pod on a real node. The repo-server reaches the Pod through a socket.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.api import Json
from tests.e2e.applications import Application, example
from tests.e2e.argocd import NAMESPACE, ArgoCdServer
from tests.e2e.node.containers import is_ready
from tests.e2e.node.images import SIDECAR, build_sidecar, buildah, locked_storage
from tests.e2e.node.nodes import NodeCluster
from tests.e2e.node.story import CHART, IMAGE, WAYS, Shop, new_namespace, new_release, play
from tests.e2e.programs import program
from tests.e2e.queries import owners, revisions

SECONDS = 120
# Argo CD's image has one program for all parts; the name of a link selects the part.
SCRIPT = """\
#!/bin/sh
exec /var/run/argocd/argocd cmp-server "$@"
"""


class GitShop(Shop):
    """The shop as an Application: each release is a commit, which Argo CD syncs."""

    application: Application

    def deploy(self, setting: str, **values: Any) -> None:
        """Commit one value for all ConfigMaps, and wait until Argo CD has synced the commit."""
        application = self.application
        application.repository.commit({**self.values, "setting": setting, **values})
        if application.argocd.find("Application", application.name):
            application.refresh()
        else:
            application.create()
        application.wait_until_synced()


@pytest.fixture
def cluster(images: list[Path], tmp_path: Path) -> Iterator[NodeCluster]:
    """Yield a cluster with a node that has the image of the sidecar."""
    folder = tmp_path / "sidecar"
    folder.mkdir()
    with locked_storage():
        build_sidecar(folder)
        archive = tmp_path / "sidecar.tar"
        buildah("push", "--quiet", SIDECAR, f"oci-archive:{archive}:{SIDECAR}")
    with NodeCluster(tmp_path / "plane", [*images, archive]) as cluster:
        yield cluster


def sidecar_pod(programs: Path, sockets: Path) -> Json:
    """Return a Pod with the sidecar of examples/argocd, and with folders of this machine."""
    patch = example("repo-server.yaml")["spec"]["template"]["spec"]
    [container] = patch["containers"]
    container |= {"image": SIDECAR, "imagePullPolicy": "Never"}
    variables = {variable["name"]: variable for variable in container["env"]}
    variables["POSTRENDER_ATTACHER_IMAGE"]["value"] = IMAGE
    folders = {"var-files": programs, "plugins": sockets}
    volumes = [{"name": name, "hostPath": {"path": str(path)}} for name, path in folders.items()]
    return {
        "kind": "Pod",
        "metadata": {"name": "sidecar"},
        "spec": {"containers": [container], "volumes": [*patch["volumes"], *volumes]},
    }


def test_argo_cd_renders_in_the_image_of_the_sidecar(cluster: NodeCluster, tmp_path: Path) -> None:
    plane = cluster.plane
    programs = tmp_path / "programs"
    programs.mkdir()
    shutil.copy(program("argocd"), programs / "argocd")
    (programs / "argocd-cmp-server").write_text(SCRIPT)
    (programs / "argocd-cmp-server").chmod(0o755)
    with ArgoCdServer(tmp_path / "argocd", plane, has_plugins=False) as server:
        sockets = server.argocd.sockets
        sockets.chmod(0o777)
        # The user of the sidecar is not the owner of the folders of this test.
        tmp_path.chmod(0o755)
        argo_api = plane.api(NAMESPACE)
        argo_api.create(sidecar_pod(programs, sockets))
        argo_api.wait_for(
            lambda: is_ready(argo_api.get("Pod", "sidecar")), "the sidecar runs", SECONDS
        )
        argo_api.wait_for(lambda: list(sockets.glob("*.sock")), "the plugin listens", SECONDS)

        api = new_namespace(plane, "sidecar")
        release = new_release("helm4", plane, api, tmp_path / "release")
        shop = GitShop(release, api, cluster.label, autoMount=True)
        shop.application = Application(server.argocd, plane, api, tmp_path / "repository")
        shutil.rmtree(shop.application.repository.chart)
        shutil.copytree(CHART, shop.application.repository.chart)
        rows = play(shop)
        assert [row.values for row in rows] == [
            dict.fromkeys(WAYS, release) for release in ("v1", "v2", "v1", "v1")
        ]
        shop.application.promote()
        assert {"Rollout/app"} <= set(owners(revisions(api)[0]))
