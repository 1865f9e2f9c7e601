"""The plugin's installation into Argo CD's repo-server, as in docs/how-to/argocd.md."""

from __future__ import annotations

import json
from pathlib import Path

from tests.e2e.api import Api, Json
from tests.e2e.argocd import EXAMPLES
from tests.e2e.attach_processes import parse
from tests.e2e.programs import argocd_repo_server
from tests.e2e.releases import Release


def assert_has_the_sidecar(deployment: Json) -> None:
    """Check the sidecar, and that Argo CD's own containers and volumes are unchanged."""
    [installed] = parse(argocd_repo_server().read_text())
    spec, original = (obj["spec"]["template"]["spec"] for obj in (deployment, installed))
    containers = {container["name"]: container for container in spec["containers"]}
    sidecar = containers.pop("postrender")
    assert list(containers) == names(original["containers"])
    assert sidecar["command"] == ["/var/run/argocd/argocd-cmp-server"]
    assert sidecar["securityContext"]["runAsUser"] == 999
    volumes = set(names(spec["volumes"]))
    assert volumes == {*names(original["volumes"]), "postrender-tmp"}
    mounts = {mount["mountPath"]: mount["name"] for mount in sidecar["volumeMounts"]}
    assert set(mounts.values()) <= volumes
    # The other two volumes must be those of the repo-server, but not /tmp.
    [server] = [
        container
        for container in original["containers"]
        if container["name"] == "argocd-repo-server"
    ]
    copied = original["initContainers"][0]["volumeMounts"]
    assert mounts.pop("/tmp") not in names(server["volumeMounts"])
    theirs = {mount["mountPath"]: mount["name"] for mount in [*server["volumeMounts"], *copied]}
    assert {path: theirs[path] for path in mounts} == mounts


def names(items: list[Json]) -> list[str]:
    return [item["name"] for item in items]


def test_kustomize_adds_the_sidecar(manifests: Release, tmp_path: Path) -> None:
    [kustomization] = parse((EXAMPLES / "kustomization.yaml").read_text("utf-8"))
    # Only the part of the fetched manifests that is patched.
    kustomization["resources"] = ["installed.yaml"]
    (tmp_path / "kustomization.yaml").write_text(json.dumps(kustomization))
    (tmp_path / "installed.yaml").write_text(argocd_repo_server().read_text())
    (tmp_path / "repo-server.yaml").write_text((EXAMPLES / "repo-server.yaml").read_text("utf-8"))
    [built] = parse(manifests.kubectl("kustomize", str(tmp_path)).stdout)
    assert_has_the_sidecar(built)
    assert built["metadata"]["namespace"] == "argocd"


def test_kubectl_patch_adds_the_sidecar_to_an_installed_argo_cd(
    manifests: Release, api: Api
) -> None:
    [deployment] = parse(argocd_repo_server().read_text())
    deployment["spec"]["replicas"] = 0
    api.create(deployment)
    name = "deployment/argocd-repo-server"
    manifests.kubectl("patch", name, "--patch-file", str(EXAMPLES / "repo-server.yaml"))
    assert_has_the_sidecar(api.get("Deployment", "argocd-repo-server"))
