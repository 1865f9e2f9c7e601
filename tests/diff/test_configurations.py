"""A preview of a changed configuration, and of finished outputs, which no configuration changes."""

from __future__ import annotations

from functools import cache
from itertools import permutations
from typing import Any

import pytest

from postrender.config.settings import Settings, settings_from
from postrender.diff.build import compare
from postrender.diff.model import Preview
from postrender.inventory.build import take_inventory
from postrender.output import render
from postrender.plan.build import make_plan
from postrender.yaml.stream import Stream, read_stream

MANIFESTS = """\
apiVersion: v1
kind: ConfigMap
metadata: {name: app-config}
data: {greeting: hello}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: web-config}
data: {a: b}
---
apiVersion: v1
kind: Secret
metadata: {name: login}
stringData: {password: hunter2}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  template:
    spec:
      containers:
        - name: web
          image: web:1
          envFrom:
            - configMapRef: {name: app-config}
            - configMapRef: {name: web-config}
            - secretRef: {name: login}
---
apiVersion: example.com/v1
kind: Widget
metadata: {name: widget}
spec: {config: web-config}
"""
IMAGE = {"image": "good:1"}
CONFIGURATIONS: list[dict[str, Any]] = [
    {"attacher": IMAGE},
    {"attacher": {"image": "evil:1"}},
    {"attacher": {**IMAGE, "podTemplate": {"spec": {"hostPID": True}}}},
    {"attacher": {**IMAGE, "enabled": False}},
    {"attacher": {**IMAGE, "mode": "job"}},
    {"attacher": {**IMAGE, "rbac": {"create": False}}},
    {"attacher": {**IMAGE, "group": "shop"}},
    {"attacher": IMAGE, "secrets": True},
    {"attacher": IMAGE, "keepOriginal": True},
    {"attacher": IMAGE, "immutable": False},
    {"attacher": IMAGE, "rules": [{"strategy": "ignore"}]},
    {"attacher": IMAGE, "rules": [{"match": {"name": "web-*"}, "strategy": "checksum"}]},
    {"attacher": IMAGE, "rules": [{"match": {"kind": "Deployment"}, "rewriteReferences": False}]},
    {
        "attacher": IMAGE,
        "references": [{"kind": "Widget", "path": "spec.config", "target": "ConfigMap"}],
    },
]


def stream(text: str) -> Stream:
    return read_stream(text.encode(), "manifests.yaml")


@cache
def settings_of(number: int) -> Settings:
    return settings_from(CONFIGURATIONS[number])


@cache
def output(number: int) -> str:
    settings = settings_of(number)
    return "".join(render(make_plan(take_inventory(stream(MANIFESTS), settings), settings)))


def preview(old: str, new: str, settings: Settings, old_settings: Settings | None) -> Preview:
    return compare(stream(old), stream(new), settings, old_settings=old_settings)


@pytest.mark.parametrize("number", range(len(CONFIGURATIONS)))
def test_a_changed_configuration_is_told(number: int) -> None:
    """Also if it changes only the attacher. If the outputs differ, so does the preview."""
    for other in range(number, len(CONFIGURATIONS)):
        settings = settings_of(other)
        found = preview(MANIFESTS, MANIFESTS, settings, settings_of(number))
        outputs = output(number), output(other)
        assert found.has_changes == (outputs[0] != outputs[1]), CONFIGURATIONS[other]
        # Outputs with revisions have the same preview, whatever the current configuration.
        if all("postrender/attach-group" in text for text in outputs):
            for unrelated in (settings, settings_of(7 + other % 5)):
                assert preview(*outputs, unrelated, None).has_changes == found.has_changes


@pytest.mark.parametrize(("number", "other"), list(permutations((0, 7, 8, 11, 13), 2)))
def test_an_output_has_no_other_revisions(number: int, other: int) -> None:
    """The configuration of the working directory does not render an output again."""
    text = output(number)
    found = preview(text, text.replace("web:1", "web:2"), settings_of(other), None)
    assert found.revisions
    assert all(revision.name in text for revision in found.revisions)
    assert [workload.identity.name for workload in found.workloads] == ["web"]
    assert found.contents == ()


def test_an_input_that_mentions_the_label_is_rendered() -> None:
    """A NetworkPolicy of the user can select the Pods of the attacher."""
    policy = """\
---
apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
metadata: {name: attacher}
spec:
  podSelector: {matchExpressions: [{key: postrender/attach-group, operator: Exists}]}
"""
    old = MANIFESTS + policy
    found = preview(old, old.replace("a: b", "a: c"), Settings(), None)
    assert [change.strategy for change in found.contents] == ["rename"]
    assert {revision.change for revision in found.revisions} >= {"new", "superseded"}


def test_an_annotation_of_postrender_does_not_remove_the_fields_around() -> None:
    old = MANIFESTS.replace(
        "    spec:\n      containers",
        "    metadata: {annotations: {}}\n    spec:\n      containers",
    )
    checksum = "{postrender/checksum: '0'}"
    found = preview(
        old, old.replace("annotations: {}", f"annotations: {checksum}"), Settings(), None
    )
    [workload] = found.workloads
    paths = [cause.field.path for cause in workload.causes if cause.field]
    assert paths
    assert all(path.startswith("spec.template.metadata") for path in paths)
