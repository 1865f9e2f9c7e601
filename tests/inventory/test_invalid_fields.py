"""`check` finds values that the API server rejects (tests/e2e/test_api_types.py asks it)."""

from __future__ import annotations

from typing import Any

import pytest

from postrender.config.settings import Settings
from postrender.inventory.build import take_inventory
from postrender.inventory.notes import find_invalid_fields
from postrender.yaml.stream import read_stream
from tests.manifests import Obj, dump

LIMIT = 1024 * 1024


def content(kind: str, **fields: Any) -> Obj:
    return {"apiVersion": "v1", "kind": kind, "metadata": {"name": "a"}, **fields}


def pod_spec(**container: Any) -> Obj:
    return {"containers": [{"name": "a", "image": "a:1", **container}]}


def deployment(spec: Obj, annotations: Any = None) -> Obj:
    labels = {"app": "a"}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "a", "annotations": annotations},
        "spec": {
            "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": labels}, "spec": spec},
        },
    }


ACCEPTED = [
    content("ConfigMap", data={"a": "x" * LIMIT}),
    content("ConfigMap", binaryData={"a": "AAAA" * (LIMIT // 3)}),
    content("Secret", data={"a": "AAAA" * (LIMIT // 3) + "AA=="}),
    deployment(pod_spec(env=[{"name": "A", "value": None}, {"name": "B", "value": "8080"}])),
    deployment(pod_spec(), {"a": None, "b": "true"}),
]
REJECTED = [
    (content("ConfigMap", data={"a": "x" * LIMIT, "b": "x"}), ""),
    (content("ConfigMap", data={"a": "é" * (LIMIT // 2 + 1)}), ""),
    (content("ConfigMap", binaryData={"a": "AAAA" * (LIMIT // 3 + 1)}), ""),
    (content("Secret", data={"a": "AAAA" * (LIMIT // 3) + "AAA="}), ""),
    (content("Secret", stringData={"a": "x" * (LIMIT + 1)}), ""),
    (deployment(pod_spec(), {"a": True}), "metadata.annotations.a"),
    (
        deployment(pod_spec(env=[{"name": "A", "value": 8080}])),
        "spec.template.spec.containers[0].env[0].value",
    ),
    (content("Service", metadata={"name": "a", "labels": {"a": 1}}), "metadata.labels.a"),
    (
        content("Pod", spec=pod_spec(env=[{"name": "A", "value": False}])),
        "spec.containers[0].env[0].value",
    ),
    (
        content("Service", metadata={"name": "a", "annotations": {"a": {}}}),
        "metadata.annotations.a",
    ),
]


def paths(*objects: Obj) -> list[str]:
    stream = read_stream(dump(list(objects)).encode(), "stream")
    settings = Settings()
    return [
        finding.location.path for finding in find_invalid_fields(take_inventory(stream, settings))
    ]


@pytest.mark.parametrize(("item", "path"), REJECTED)
def test_a_rejected_value_is_a_finding(item: Obj, path: str) -> None:
    assert paths(item) == [path]


def test_an_accepted_value_is_not_a_finding() -> None:
    assert paths(*ACCEPTED) == []


def test_items_of_a_list_and_other_documents_are_read() -> None:
    items = {"apiVersion": "v1", "kind": "List", "items": [REJECTED[5][0], REJECTED[7][0]]}
    assert paths(ACCEPTED[3], items) == ["metadata.annotations.a", "metadata.labels.a"]
