"""Revisions made by hand, without postrender: ConfigMaps `config-1` etc. and their users."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tests.e2e.api import Api, Json
from tests.e2e.pods import ROOT_CA
from tests.e2e.queries import referenced_config_maps
from tests.e2e.releases import Release, Values

KEEP = {"helm.sh/resource-policy": "keep"}
GROUPS = {"Deployment": "apps/v1", "StatefulSet": "apps/v1", "Rollout": "argoproj.io/v1alpha1"}
# A canary that pauses until somebody promotes it, and a canary without a pause.
PAUSED: list[Json] = [{"setWeight": 50}, {"pause": {}}]
AT_ONCE: list[Json] = [{"setWeight": 100}]


# Manifests


def config(number: int, *, keep: bool = False, **fields: Any) -> Json:
    """Return ConfigMap `config-<number>`, which contains its number; `fields` are added to it."""
    metadata = {"name": f"config-{number}"} | ({"annotations": KEEP} if keep else {})
    data = {"greeting": str(number)}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data, **fields}


def template(number: int, image: str = "app:1", **metadata: Any) -> Json:
    """Return a pod template that references `config-<number>`."""
    source = [{"configMapRef": {"name": f"config-{number}"}}]
    containers = [{"name": "app", "image": image, "envFrom": source}]
    return {"metadata": {"labels": {"app": "app"}, **metadata}, "spec": {"containers": containers}}


def workload(kind: str, number: int, image: str = "app:1", **spec: Any) -> Json:
    """Return a workload `app` with one Pod, which references `config-<number>`."""
    default: Json = {
        "replicas": 1,
        "selector": {"matchLabels": {"app": "app"}},
        "template": template(number, image),
    }
    if kind == "Rollout":
        default["strategy"] = {"canary": {"steps": AT_ONCE}}
    if kind == "StatefulSet":
        default["serviceName"] = "app"
    return {
        "apiVersion": GROUPS[kind],
        "kind": kind,
        "metadata": {"name": "app"},
        "spec": default | spec,
    }


def job(number: int, name: str = "once", hook: str = "", **spec: Any) -> Json:
    """Return a Job that references `config-<number>` and succeeds once that ConfigMap exists."""
    pod = template(number)
    pod["spec"]["restartPolicy"] = "Never"
    metadata: Json = {"name": name} | ({"annotations": {"helm.sh/hook": hook}} if hook else {})
    spec = {"template": pod, "backoffLimit": 0, **spec}
    return {"apiVersion": "batch/v1", "kind": "Job", "metadata": metadata, "spec": spec}


def failing_job(name: str = "fails", hook: str = "") -> Json:
    """Return a Job that fails within a second, because its ConfigMap never exists."""
    return job(404, name, hook, activeDeadlineSeconds=1)


def list_of(*items: Json, **metadata: Any) -> Json:
    """Return a List of objects."""
    return {"apiVersion": "v1", "kind": "List", "metadata": metadata, "items": list(items)}


def chart_of(*objects: Json) -> Values:
    """Return the values with which the test chart consists of these objects."""
    return {"configMaps": {"app-config": None}, "workloads": [], "extra": list(objects)}


# Live objects


def config_maps(api: Api) -> list[str]:
    """Return the names of the ConfigMaps, except the one that Kubernetes adds."""
    return [name for name in api.names("ConfigMap") if name != ROOT_CA]


def referenced_config_map(api: Api, kind: str) -> str:
    """Return the ConfigMap that the live workload `app` references."""
    [name] = referenced_config_maps(api.get(kind, "app"))
    return name


def reference(owner: Json, **changed: Any) -> Json:
    """Return an owner reference to a live object."""
    metadata = {key: owner["metadata"][key] for key in ("name", "uid")}
    return {"apiVersion": owner["apiVersion"], "kind": owner["kind"], **metadata, **changed}


# Post-renderers


def post_renderer(helm: Release, *lines: str) -> list[str]:
    """Write a shell script as a program and as a plugin; return Helm's options for it.

    The script runs in its own folder, `helm.folder / "by-hand"`.
    """
    home = helm.folder / "helm" / "data" / "plugins" / "by-hand"
    home.mkdir(parents=True, exist_ok=True)
    script = home / "run"
    script.write_text("\n".join(["#!/bin/sh", f"cd {post_renderer_folder(helm)}", *lines, ""]))
    script.chmod(0o755)
    post_renderer_folder(helm).mkdir(exist_ok=True)
    plugin = {
        "apiVersion": "v1",
        "type": "postrenderer/v1",
        "name": "by-hand",
        "version": "0.0.1",
        "runtime": "subprocess",
        "runtimeConfig": {"platformCommand": [{"command": "${HELM_PLUGIN_DIR}/run"}]},
    }
    (home / "plugin.yaml").write_text(json.dumps(plugin))
    return ["--post-renderer", str(script) if helm.tool == "helm3" else "by-hand"]


def post_renderer_folder(helm: Release) -> Path:
    """Return the folder in which a post-renderer made by hand runs."""
    return helm.folder / "by-hand"


def write_chart(helm: Release, **templates: str) -> str:
    """Write a chart of these templates, given by file name without extension; return its folder."""
    folder = helm.folder / "texts"
    (folder / "templates").mkdir(parents=True, exist_ok=True)
    (folder / "Chart.yaml").write_text("apiVersion: v2\nname: texts\nversion: 1.0.0\n")
    for name, text in templates.items():
        (folder / "templates" / f"{name}.yaml").write_text(text)
    return str(folder)
