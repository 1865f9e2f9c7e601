"""Every object in the output is valid for Kubernetes and Argo Rollouts.

Kubernetes' own kinds are checked against its OpenAPI schemas, from the package kubernetes-validate.
Argo's kinds are checked against the CRDs of its release, from the Go module proxy. Without Go, the
tests of Argo's kinds are skipped.
"""

from __future__ import annotations

import json
import shutil
import subprocess
from functools import cache
from pathlib import Path
from typing import Any

import jsonschema
import kubernetes_validate
import pytest

from postrender.config.settings import AttacherSettings, Settings
from postrender.inventory.build import take_inventory
from postrender.output import render
from postrender.plan.build import make_plan
from postrender.yaml.stream import read_stream
from tests.e2e.versions import selected
from tests.reference import Obj, normalise

KUBERNETES = "1.35"
ARGO_ROLLOUTS = f"github.com/argoproj/argo-rollouts@v{selected('argo-rollouts')[0].version}"
EXAMPLES = Path(__file__).parents[2] / "examples" / "rendered"

ATTACHERS = {
    "hook": AttacherSettings(image="registry.example.com/postrender:1", mode="hook"),
    "job": AttacherSettings(image="registry.example.com/postrender:1", mode="job"),
    "patched": AttacherSettings(
        image="registry.example.com/postrender:1",
        image_pull_policy="Always",
        is_required=True,
        creates_service_account=False,
        service_account="mine",
        pod_template={
            "spec": {
                "imagePullSecrets": [{"name": "registry"}],
                "tolerations": [{"key": "spot", "operator": "Exists"}],
                "containers": [{"name": "attach", "resources": {"limits": {"memory": "1Gi"}}}],
            }
        },
    ),
}


def rendered(path: Path, settings: Settings) -> list[Obj]:
    stream = read_stream(path.read_bytes(), path.name)
    return normalise("".join(render(make_plan(take_inventory(stream, settings), settings))))


@pytest.mark.parametrize("name", ["v1", "v2"])
@pytest.mark.parametrize("attacher", ATTACHERS)
@pytest.mark.parametrize("with_secrets", [False, True])
def test_core_objects_match_the_openapi_schemas(
    name: str, attacher: str, with_secrets: bool
) -> None:
    settings = Settings(attacher=ATTACHERS[attacher], with_secrets=with_secrets)
    objects = rendered(EXAMPLES / f"{name}.yaml", settings)
    core = [obj for obj in objects if not obj["apiVersion"].startswith("argoproj.io/")]
    assert {"Job", "Role", "RoleBinding", "ConfigMap", "StatefulSet"} <= {o["kind"] for o in core}
    for obj in core:
        kubernetes_validate.validate(obj, KUBERNETES, strict=True)


@cache
def argo_schemas() -> dict[str, Any]:
    """Return the schemas of Argo's kinds, {} if they cannot be downloaded."""
    if shutil.which("go") is None:
        return {}
    result = subprocess.run(
        ["go", "mod", "download", "-json", ARGO_ROLLOUTS],
        capture_output=True,
        text=True,
        check=False,
    )
    if result.returncode != 0:
        return {}
    schemas = {}
    for file in Path(json.loads(result.stdout)["Dir"], "manifests", "crds").glob("*-crd.yaml"):
        for crd in normalise(file.read_text()):
            version = crd["spec"]["versions"][0]
            schemas[crd["spec"]["names"]["kind"]] = version["schema"]["openAPIV3Schema"]
    return schemas


@pytest.mark.parametrize("name", ["v1", "v2"])
def test_rollouts_match_argos_crds(name: str) -> None:
    schemas = argo_schemas()
    if not schemas:
        pytest.skip("Argo's CRDs come from the Go module proxy, and Go or the proxy is missing")
    objects = rendered(EXAMPLES / f"{name}.yaml", Settings(attacher=ATTACHERS["hook"]))
    argo = [obj for obj in objects if obj["apiVersion"].startswith("argoproj.io/")]
    assert len(argo) == 2
    for obj in argo:
        jsonschema.validate(obj, schemas[obj["kind"]])
