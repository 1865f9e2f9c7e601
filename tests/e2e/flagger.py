"""A stand-in for Flagger 1.44, with the changes that the recipe needs, for one Canary `app`.

Flagger copies the Deployment `app` to `app-primary`, which has the pods in production. It also
copies each referenced ConfigMap to `NAME-primary`, unless the ConfigMap has the annotation
`flagger.app/config-tracking: disabled`. See Flagger's pkg/canary/config_tracker.go and
deployment_controller.go. The recipe was also run by hand with Flagger 1.44.0.
"""

from __future__ import annotations

import copy
import json
import secrets
from typing import Any

from tests.e2e.api import KINDS, Api, Json, Resource
from tests.e2e.commands import restart_pods
from tests.e2e.custom_kinds import define_kinds
from tests.e2e.queries import referenced_config_maps

KINDS["Canary"] = Resource("flagger.app/v1beta1", "canaries")
TRACKING = "flagger.app/config-tracking"
PRIMARY = "app=app-primary"


def define_canaries(api: Api) -> None:
    """Define the kind Canary, without Flagger's schema, unless another test has defined it."""
    define_kinds(api, "Canary")


def start_canary(api: Api) -> None:
    """Start the pods of the Deployment `app`: the new template runs next to the primary."""
    api.patch("Deployment", "app", {"spec": {"replicas": 1}})


def promote_canary(api: Api) -> None:
    """Copy the Deployment and its tracked ConfigMaps to the primary, and end the canary."""
    target = api.get("Deployment", "app")
    text = json.dumps(target["spec"]["template"])
    for name in referenced_config_maps(target):
        config_map = api.get("ConfigMap", name)
        if config_map["metadata"].get("annotations", {}).get(TRACKING) != "disabled":
            _write(api, _copy(api, "ConfigMap", name, data=config_map["data"]))
            text = text.replace(f'"{name}"', f'"{name}-primary"')
    template = json.loads(text)
    template["metadata"]["labels"]["app"] = "app-primary"
    template["metadata"].setdefault("annotations", {})["flagger-id"] = secrets.token_hex(8)
    spec = copy.deepcopy(target["spec"]) | {"replicas": 1, "template": template}
    spec["selector"] = {"matchLabels": {"app": "app-primary"}}
    _write(api, _copy(api, "Deployment", "app", spec=spec))
    api.patch("Deployment", "app", {"spec": {"replicas": 0}})


def restart_primary(api: Api) -> None:
    """Delete the pods in production, as when their node fails."""
    restart_pods(api, api.list("Pod", labels=PRIMARY))


def _copy(api: Api, kind: str, name: str, **content: Any) -> Json:
    """Return the primary of an object, which the Canary controls."""
    canary = api.get("Canary", "app")["metadata"]
    owner = {
        "apiVersion": "flagger.app/v1beta1",
        "kind": "Canary",
        "name": canary["name"],
        "uid": canary["uid"],
        "controller": True,
        "blockOwnerDeletion": True,
    }
    return {
        "apiVersion": KINDS[kind].version,
        "kind": kind,
        "metadata": {"name": f"{name}-primary", "ownerReferences": [owner]},
        **content,
    }


def _write(api: Api, obj: Json) -> None:
    """Create an object, or replace it."""
    kind, name = obj["kind"], obj["metadata"]["name"]
    if api.find(kind, name):
        api.request("PUT", api.path(kind, name), obj)
    else:
        api.create(obj)
