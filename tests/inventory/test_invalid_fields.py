"""`check` finds values that the API server rejects (tests/e2e/test_api_types.py asks it)."""

from __future__ import annotations

from typing import Any

import pytest

from postrender.config.settings import Settings
from postrender.inventory.build import take_inventory
from postrender.inventory.fields import find_invalid_fields
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


# What a new user writes. A fragment, such as a patch of kustomize, lacks fields on purpose.
MISTAKES: list[tuple[str, str, str, str]] = [
    (
        "kind: ConfigMap\nmetadata: {name: a}\n",
        "",
        "the field apiVersion is missing, so",
        "Add the field apiVersion",
    ),
    ("apiVersion: v1\nmetadata: {name: a}\n", "", "the field kind is missing, so", "Add the"),
    ("metadata: {name: a}\nspec: {}\n", "", "the field apiVersion is missing", "Add the field"),
    (
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {labels: {}}\n",
        "metadata",
        "the field metadata.name is missing, so",
        "Add the name",
    ),
    ("apiVersion: v1\nkind: Secret\n", "", "the field metadata.name is missing", "Add the name"),
    (dump([content("ConfigMap", data={"a": 1})]), "data.a", "is not a string", "Put the value in"),
    (dump([content("ConfigMap", data="a: b")]), "data", "is not a mapping", "Correct the field"),
    (
        dump([deployment({"containers": [{"name": "a"}]})]),
        "spec.template.spec.containers[0]",
        "the field image is missing, so",
        "Add the field",
    ),
    (
        dump([deployment(pod_spec(image="a:<no value>"))]),
        "spec.template.spec.containers[0].image",
        "the value contains `<no value>`, which a template prints",
        "Set the value, or give",
    ),
    (
        dump([deployment(pod_spec(args=["--a=%!s(<nil>)"]))]),
        "spec.template.spec.containers[0].args",
        "the value contains `%!s(<nil>`, which a template prints",
        "Set the value, or give",
    ),
    (
        "apiVersion: v1\nkind: Service\nmetadata: {name: a, labels: {a: on}}\n",
        "metadata.labels.a",
        "the value on, which means true, is not a string",
        "Put the value in quotes",
    ),
    (
        "apiVersion: v1\nkind: Service\nmetadata: {name: a, labels: {a: 3}}\n",
        "metadata.labels.a",
        "the value 3 is not a string",
        "Put the value in quotes",
    ),
]
NO_MISTAKES = [
    "kind: DaemonSet\nmetadata: {labels: {a: b}}\nspec: {}\n",  # values of a chart
    "apiVersion: v2\nname: chart\n",
    "apiVersion: v1\nkind: Config\nclusters: []\n",
    "apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\nresources: [a.yaml]\n",
    "apiVersion: batch/v1\nkind: Job\nmetadata: {generateName: a-}\n",
    "apiVersion: v1\nkind: PodList\n",
    "apiVersion: authorization.k8s.io/v1\nkind: SelfSubjectAccessReview\n",
    "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: a}\nspec:\n  template: {spec: "
    "{containers: [{name: a, env: []}]}}\n",  # a patch
    "apiVersion: batch/v1\nkind: CronJob\nmetadata: {name: a}\nspec: {jobTemplate: {spec: "
    "{template: {spec: {restartPolicy: Never, containers: [{name: a}]}}}}}\n",
    dump([content("ConfigMap", data={"a": "x: <no value>"})]),
    dump([content("Service", metadata={"name": "a", "annotations": {"a": "<no value>"}})]),
]


@pytest.mark.parametrize(("text", "path", "problem", "fix"), MISTAKES)
def test_a_mistake_has_its_place_and_fix(text: str, path: str, problem: str, fix: str) -> None:
    found = [*find_invalid_fields(take_inventory(read_stream(text.encode(), "a"), Settings()))]
    assert found
    assert found[0].location.path == path
    assert problem in found[0].problem
    assert found[0].fix.startswith(fix)


@pytest.mark.parametrize("text", NO_MISTAKES)
def test_a_fragment_is_not_a_mistake(text: str) -> None:
    assert [*find_invalid_fields(take_inventory(read_stream(text.encode(), "a"), Settings()))] == []


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
