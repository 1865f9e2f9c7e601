"""Every object in the output is valid for the OpenAPI schemas of Kubernetes.

The API server of tests/e2e also validates Rollouts.
"""

from __future__ import annotations

from pathlib import Path

import kubernetes_validate
import pytest

from postrender.config.settings import AttacherSettings, Settings
from postrender.inventory.build import take_inventory
from postrender.output import render
from postrender.plan.build import make_plan
from postrender.yaml.stream import read_stream
from tests.manifests import Obj, normalise

KUBERNETES = "1.35"
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


@pytest.mark.parametrize("attacher", ATTACHERS)
@pytest.mark.parametrize("with_secrets", [False, True])
def test_core_objects_match_the_openapi_schemas(attacher: str, with_secrets: bool) -> None:
    settings = Settings(attacher=ATTACHERS[attacher], with_secrets=with_secrets)
    objects = rendered(EXAMPLES / "v1.yaml", settings)
    core = [obj for obj in objects if not obj["apiVersion"].startswith("argoproj.io/")]
    assert {"Job", "Role", "RoleBinding", "ConfigMap", "StatefulSet"} <= {o["kind"] for o in core}
    for obj in core:
        kubernetes_validate.validate(obj, KUBERNETES, strict=True)
