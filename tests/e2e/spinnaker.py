"""A stand-in for Spinnaker's stage Deploy (Manifest), with the effects that the recipe needs.

Spinnaker gives each ConfigMap a version, `NAME-vNNN`, and replaces the name in the other manifests
of the stage. It uses a version again if the content is equal. A ConfigMap with the annotation
`strategy.spinnaker.io/versioned: "false"` keeps its name. Nothing is pruned. See clouddriver's
KubernetesDeployManifestOperation.java and ResourceVersioner.java (spinnaker/spinnaker 8f1801d).
Spinnaker replaces names in the kinds of Kubernetes, and not in custom kinds such as Rollouts.
"""

from __future__ import annotations

import json
import re

from tests.e2e.api import Api, Json
from tests.e2e.attach_processes import parse
from tests.e2e.recipes import Recipe

VERSIONED = "strategy.spinnaker.io/versioned"


def deploy(recipe: Recipe, api: Api, text: str) -> None:
    """Deploy manifests as one stage."""
    manifests = parse(text)
    for manifest in manifests:
        if manifest["kind"] == "ConfigMap" and _is_versioned(manifest):
            _give_version(manifest, manifests, api)
    text = "\n---\n".join(json.dumps(manifest) for manifest in manifests)
    recipe.apply_text(text)


def _is_versioned(manifest: Json) -> bool:
    annotations = manifest["metadata"].get("annotations", {})
    return bool(annotations.get(VERSIONED) != "false")


def _give_version(config_map: Json, manifests: list[Json], api: Api) -> None:
    """Set the name of a version, in the ConfigMap and in the volumes that mount it."""
    base = config_map["metadata"]["name"]
    versions = {
        int(match[1]): live
        for live in api.list("ConfigMap")
        if (match := re.fullmatch(rf"{base}-v(\d\d\d)", live["metadata"]["name"]))
    }
    equal = (number for number, live in versions.items() if live["data"] == config_map["data"])
    number = next(equal, max(versions, default=-1) + 1)
    config_map["metadata"]["name"] = f"{base}-v{number:03}"
    for manifest in manifests:
        if manifest["kind"] == "Deployment":
            for volume in manifest["spec"]["template"]["spec"]["volumes"]:
                if volume["configMap"]["name"] == base:
                    volume["configMap"]["name"] = config_map["metadata"]["name"]
