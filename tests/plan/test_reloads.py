"""The workloads that reload a mounted file themselves, which `try` names."""

from __future__ import annotations

import json
from typing import Any

import pytest

from postrender.config.settings import AttacherSettings, Settings
from postrender.inventory.build import take_inventory
from postrender.plan.build import make_plan
from postrender.plan.readers import find_reloads
from postrender.yaml.stream import Source, read_streams

Obj = dict[str, Any]
SETTINGS = Settings(attacher=AttacherSettings(is_enabled=False))
MOUNT = [{"name": "config", "mountPath": "/etc/config"}]
MAIN: Obj = {"name": "web", "image": "nginx:1", "volumeMounts": MOUNT}


def found(*containers: Obj, config: Obj | None = None, labels: Obj | None = None) -> list[str]:
    """Return what a Deployment reloads; it mounts `web`, and has variables of `other`.

    The ConfigMaps are renamed even if a sidecar finds them by a label.
    """
    pod = {
        "containers": [MAIN, *containers],
        "volumes": [
            {"name": "x", "emptyDir": {}},
            {"name": "config", "configMap": {"name": "web"}},
        ],
        "initContainers": [
            {"name": "i", "image": "i", "envFrom": [{"configMapRef": {"name": "other"}}]}
        ],
    }
    objects = [
        {
            "apiVersion": "apps/v1",
            "kind": "Deployment",
            "metadata": {"name": "web"},
            "spec": {"template": {"spec": {**pod, **(config or {})}}},
        },
        *(
            {
                "apiVersion": "v1",
                "kind": "ConfigMap",
                "metadata": {
                    "name": name,
                    "labels": labels or {},
                    "annotations": {"postrender/strategy": "rename"},
                },
                "data": {"a": "b"},
            }
            for name in ("web", "other")
        ),
    ]
    text = "\n---\n".join(map(json.dumps, objects)).encode()
    plan = make_plan(take_inventory(read_streams([Source("x", text)], "x"), SETTINGS), SETTINGS)
    assert plan.context
    return [
        target.name
        for targets in find_reloads(plan.context, plan.context.names).values()
        for target in targets
    ]


@pytest.mark.parametrize(
    "fields",
    [
        {"image": "quay.io/prometheus-operator/prometheus-config-reloader:v0.93.1"},
        {"image": "ghcr.io/jimmidyson/configmap-reload@sha256:2cf24d"},
        {"image": "localhost:5000/natsio/nats-server-config-reloader"},
        {"image": "alpine", "name": "nginx-reloader"},
        {"image": "own", "args": ["--watched-dir=/etc/config", "--reload-url=http://x"]},
        {"image": "own", "args": ["-volume-dir", "/etc/config"]},
        {"image": "fluent/fluent-bit", "args": ["--enable-hot-reload"]},
        {"image": "vector", "command": ["vector", "--watch-config"]},
        {"image": "traefik", "args": ["--providers.file.watch=true"]},
        {"image": "prom", "args": ["--enable-feature=exemplar-storage,auto-reload-config"]},
        {
            "image": "alpine",
            "command": ["sh", "-c", "while inotifywait -e modify /etc; do :; done"],
        },
    ],
    ids=lambda fields: " ".join(map(str, fields.values())),
)
def test_a_container_that_reloads_a_mounted_file_is_found(fields: Obj) -> None:
    assert found({"name": "side", "volumeMounts": MOUNT, **fields}) == ["web"]


def test_the_main_container_and_a_native_sidecar_can_reload() -> None:
    sidecar = {"name": "config-reloader", "image": "x", "volumeMounts": MOUNT}
    assert found(config={"initContainers": [sidecar]}) == ["web"]
    assert found(config={"containers": [{**MAIN, "args": ["--hot-reload"]}]}) == ["web"]


@pytest.mark.parametrize(
    "container",
    [
        {"name": "side", "image": "own", "volumeMounts": MOUNT},
        {"name": "side", "image": "configmap-reload"},
        {"name": "side", "image": "configmap-reload", "volumeMounts": [{"name": "x"}]},
        {"name": "side", "image": "reload.example.com/web", "volumeMounts": MOUNT},
        {"name": "side", "image": "own", "args": ["--providers.file.watch=false"]},
        {"name": 1, "image": None, "args": "--hot-reload", "volumeMounts": "x"},
    ],
)
def test_other_containers_are_not_found(container: Obj) -> None:
    assert found(container) == []


def test_a_config_map_that_keeps_its_name_is_not_found() -> None:
    sidecar = {"name": "side", "image": "configmap-reload", "volumeMounts": MOUNT}
    names = {"configMap": {"name": "elsewhere"}, "name": "config"}
    assert found(sidecar, config={"volumes": [names]}) == []


def test_a_sidecar_finds_config_maps_by_their_label() -> None:
    env = [{"name": "LABEL", "value": "dashboard"}, {"name": "LABEL_VALUE", "value": "1"}]
    sidecar = {"name": "side", "image": "docker.io/kiwigrid/k8s-sidecar:2", "env": env}
    assert found(sidecar, labels={"dashboard": "1"}) == ["web", "other"]
    assert found(sidecar, labels={"dashboard": "2"}) == []
    assert found({**sidecar, "env": env[:1]}, labels={"dashboard": "2"}) == ["web", "other"]
    assert found(sidecar) == []
