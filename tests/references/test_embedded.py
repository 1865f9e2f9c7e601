"""The search for references by the shape of a field."""

from __future__ import annotations

from typing import Any

import pytest

from postrender.kubernetes.kinds import CONFIG_MAP, SECRET, GroupKind
from postrender.references.custom import embedded_references
from postrender.yaml.paths import format_path

BOTH = (CONFIG_MAP, SECRET)


def found(spec: Any, targets: tuple[GroupKind, ...] = BOTH) -> list[tuple[str, str]]:
    """Return the path below `spec` and the target of each reference."""
    return [
        (format_path(reference.path[1:]), reference.target[1])
        for reference in embedded_references({"spec": spec}, targets)
    ]


@pytest.mark.parametrize(
    ("spec", "path", "kind"),
    [
        ({"configMap": {"name": "web"}}, "configMap.name", "ConfigMap"),
        ({"configMapRef": {"name": "web"}}, "configMapRef.name", "ConfigMap"),
        ({"configMapKeyRef": {"name": "web"}}, "configMapKeyRef.name", "ConfigMap"),
        ({"configMapName": "web"}, "configMapName", "ConfigMap"),
        ({"configmap": "web"}, "configmap", "ConfigMap"),
        ({"config-map_name": "web"}, "config-map_name", "ConfigMap"),
        ({"configMaps": ["web"]}, "configMaps[0]", "ConfigMap"),
        ({"extraConfigMaps": [{"name": "web"}]}, "extraConfigMaps[0].name", "ConfigMap"),
        ({"from": [{"kind": "ConfigMap", "name": "web"}]}, "from[0].name", "ConfigMap"),
        ({"ca": {"type": "ConfigMap", "name": "web"}}, "ca.name", "ConfigMap"),
        ({"tls": {"secretName": "web"}}, "tls.secretName", "Secret"),
        ({"secretRef": {"name": "web"}}, "secretRef.name", "Secret"),
        ({"imagePullSecrets": [{"name": "web"}]}, "imagePullSecrets[0].name", "Secret"),
        ({"source": {"kind": "Secret", "name": "web"}}, "source.name", "Secret"),
    ],
)
def test_a_shape_is_found(spec: Any, path: str, kind: str) -> None:
    assert found(spec) == [(path, kind)]


def test_a_name_next_to_a_key_may_mean_both_targets() -> None:
    assert found({"username": {"name": "web", "key": "name"}}) == [
        ("username.name", "ConfigMap"),
        ("username.name", "Secret"),
    ]


@pytest.mark.parametrize(
    "spec",
    [
        {"name": "web"},
        {"service": {"name": "web", "port": 80}},
        {"env": [{"name": "web", "value": "web"}]},
        # An embedded manifest has the name of a new object.
        {"manifest": {"kind": "ConfigMap", "metadata": {"name": "web"}}},
        {"template": {"metadata": {"labels": {"configmap": "web"}}}},
        {"configMap": {"items": [{"key": "web", "path": "web"}]}},
        {"configMap": 5},
    ],
)
def test_another_name_is_not_found(spec: Any) -> None:
    assert found(spec) == []


def test_only_the_targets_are_found() -> None:
    spec = {"configMapName": "web", "secretName": "web"}
    assert found(spec, (CONFIG_MAP,)) == [("configMapName", "ConfigMap")]


def test_metadata_and_status_are_not_searched() -> None:
    data: dict[str, Any] = {
        "metadata": {"annotations": {"configMap": "web"}},
        "status": {"configMapName": "web"},
    }
    assert list(embedded_references(data, BOTH)) == []
