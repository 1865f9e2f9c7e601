"""The types of fields: against the schemas of Kubernetes, and value by value."""

from __future__ import annotations

from typing import Any

import pytest

from postrender.kubernetes.validation.field_types import UnknownField, find_wrong_types, type_of
from postrender.yaml.paths import format_path
from release import field_types as written


def test_the_file_has_every_field_of_its_versions() -> None:
    names = [name for name in type_of("versions") if name in written.versions()]
    kinds, mappings = written.kubernetes(names)
    assert names
    for kind, mapping in kinds.items():
        assert type_of(kind) == mapping
    for name, fields in mappings.items():
        assert fields.items() <= written.without_values(type_of(name)).items(), name


def found(api_version: str, kind: str, **fields: Any) -> dict[str, str]:
    root = {"apiVersion": api_version, "kind": kind, "metadata": {"name": "a"}, **fields}
    return {format_path(path): text for path, text in find_wrong_types(root, None)}


def in_container(**fields: Any) -> dict[str, Any]:
    return {"spec": {"containers": [{"name": "a", **fields}]}}


WRONG: dict[str, list[object]] = {
    "stdin": ["true", 1, [], {}],
    "image": [1, True, [], {}],
    "args": ["a", {"a": "b"}, 1],
    "securityContext": ["", [], True],
    "resources": [{"limits": {"cpu": True}}, {"limits": {"cpu": "two"}}, {"limits": {"cpu": []}}],
    "livenessProbe": [
        *({"periodSeconds": "5"}, {"periodSeconds": 5.5}, {"periodSeconds": 2**31}),
        *({"tcpSocket": {"port": True}}, {"tcpSocket": {"port": 8.5}}),
    ],
}


@pytest.mark.parametrize(
    ("field", "value"), [(field, value) for field, values in WRONG.items() for value in values]
)
def test_a_value_of_another_type_is_a_problem(field: str, value: object) -> None:
    assert len(found("v1", "Pod", **in_container(**{field: value}))) == 1


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("stdin", None),
        ("securityContext", {}),
        ("resources", {"limits": {"cpu": 0.5, "memory": 1, "example.com/a": "1"}}),
        ("livenessProbe", {"periodSeconds": 5.0, "tcpSocket": {"port": "http"}}),
        ("restartPolicyRules", [{"action": "Restart"}]),  # since Kubernetes 1.34
    ],
)
def test_a_value_of_the_type_is_none(field: str, value: object) -> None:
    assert not found("v1", "Pod", **in_container(**{field: value}))


@pytest.mark.parametrize(
    ("field", "clause"),
    [
        ("imagepullpolicy", "the field does not exist, and imagePullPolicy does"),
        ("resource", "the field does not exist, and resources does"),
        ("notAtAll", "the field does not exist"),
    ],
)
def test_a_field_that_does_not_exist_names_a_similar_one(field: str, clause: str) -> None:
    assert found("v1", "Pod", **in_container(**{field: "a"})) == {
        f"spec.containers[0].{field}": clause
    }


def test_a_field_of_the_metadata_is_known_too() -> None:
    (clause,) = found("v1", "Pod", metadata={"name": "a", "label": {}}).values()
    assert isinstance(clause, UnknownField)


def test_a_claim_template_has_annotations_too() -> None:
    template = {"metadata": {"annotations": {"a": True}}}
    assert [*found("apps/v1", "StatefulSet", spec={"volumeClaimTemplates": [template]})] == [
        "spec.volumeClaimTemplates[0].metadata.annotations.a"
    ]


def test_the_steps_of_a_rollout_have_types() -> None:
    strategy = {"canary": {"steps": [{"setWeight": "20"}, {"pause": {"duration": "1h"}}]}}
    assert [*found("argoproj.io/v1alpha1", "Rollout", spec={"strategy": strategy})] == [
        "spec.strategy.canary.steps[0].setWeight"
    ]


def test_a_schema_in_a_definition_is_a_schema() -> None:
    schema = {"type": "object", "properties": {"a": {"type": 1}, "b": {"default": 1, "x": 2}}}
    versions = [{"name": "v1", "schema": {"openAPIV3Schema": schema}}]
    problems = found(
        "apiextensions.k8s.io/v1", "CustomResourceDefinition", spec={"versions": versions}
    )
    start = "spec.versions[0].schema.openAPIV3Schema.properties"
    assert [*problems] == [f"{start}.a.type", f"{start}.b.x"]


@pytest.mark.parametrize("kind", ["ConfigMap", "Secret"])
def test_a_clause_shows_no_content(kind: str) -> None:
    problems = found("v1", kind, data={"password": 12345, "other": True})
    assert "12345" not in str(problems)
    assert [*problems] == (["data"] if kind == "Secret" else ["data.password", "data.other"])


def test_an_unknown_kind_has_no_problems() -> None:
    assert not found("example.com/v1", "Deployment", spec=5)
    assert not found("apps/v9", "Deployment", spec=5)
