"""The plugin gets into Argo CD's repo-server, as docs/argocd.md says."""

from __future__ import annotations

import json
from pathlib import Path

from tests.e2e.api import Api, Json
from tests.e2e.argocd import EXAMPLES
from tests.e2e.programs import argocd_repo_server
from tests.e2e.releases import Release
from tests.e2e.runs import parse


def assert_has_the_sidecar(deployment: Json) -> None:
    """Check the sidecar, and that all of Argo CD's own is as it was."""
    [before] = parse(argocd_repo_server().read_text())
    spec, original = (one["spec"]["template"]["spec"] for one in (deployment, before))
    containers = {one["name"]: one for one in spec["containers"]}
    sidecar = containers.pop("postrender")
    assert list(containers) == [one["name"] for one in original["containers"]]
    assert sidecar["command"] == ["/var/run/argocd/argocd-cmp-server"]
    assert sidecar["securityContext"]["runAsUser"] == 999
    volumes = {one["name"] for one in spec["volumes"]}
    assert volumes == {one["name"] for one in original["volumes"]} | {"postrender-tmp"}
    mounts = {one["mountPath"]: one["name"] for one in sidecar["volumeMounts"]}
    assert set(mounts.values()) <= volumes
    # Both have to be the repo-server's; the third must not be.
    [server] = [one for one in original["containers"] if one["name"] == "argocd-repo-server"]
    copied = original["initContainers"][0]["volumeMounts"]
    assert mounts.pop("/tmp") not in {one["name"] for one in server["volumeMounts"]}
    for path, name in mounts.items():
        theirs = {one["mountPath"]: one["name"] for one in [*server["volumeMounts"], *copied]}
        assert theirs[path] == name


def test_kustomize_adds_the_sidecar(manifests: Release, tmp_path: Path) -> None:
    [kustomization] = parse((EXAMPLES / "kustomization.yaml").read_text("utf-8"))
    # Of what it fetches, the part that it patches.
    kustomization["resources"] = ["installed.yaml"]
    (tmp_path / "kustomization.yaml").write_text(json.dumps(kustomization))
    (tmp_path / "installed.yaml").write_text(argocd_repo_server().read_text())
    (tmp_path / "repo-server.yaml").write_text((EXAMPLES / "repo-server.yaml").read_text("utf-8"))
    [built] = parse(manifests.kubectl("kustomize", str(tmp_path)).stdout)
    assert_has_the_sidecar(built)
    assert built["metadata"]["namespace"] == "argocd"


def test_kubectl_patch_adds_the_sidecar_to_what_is_installed(manifests: Release, api: Api) -> None:
    [deployment] = parse(argocd_repo_server().read_text())
    deployment["spec"]["replicas"] = 0
    api.create(deployment)
    name = "deployment/argocd-repo-server"
    manifests.kubectl("patch", name, "--patch-file", str(EXAMPLES / "repo-server.yaml"))
    assert_has_the_sidecar(api.get("Deployment", "argocd-repo-server"))
