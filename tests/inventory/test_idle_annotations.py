"""An annotation of postrender that it does not know is reported with the nearest one."""

from __future__ import annotations

from unittest import mock

import pytest

from postrender.cli.render import plan_of
from postrender.config.settings import Settings
from postrender.inventory.build import Inventory, take_inventory
from postrender.inventory.notes import find_idle_annotations
from postrender.kubernetes import annotations as known_annotations
from postrender.kubernetes.annotations import PREFIX, is_unknown
from postrender.yaml.document import ParsedDocument
from postrender.yaml.stream import read_stream

CONFIG_MAP = """apiVersion: v1
kind: ConfigMap
metadata:
  name: app
  annotations: {ANNOTATION: x}
data: {a: b}
"""


def findings(annotation: str) -> list[str]:
    text = CONFIG_MAP.replace("ANNOTATION", annotation)
    plan = plan_of(read_stream(text.encode(), "app.yaml"), Settings())
    return [str(finding) for finding in plan.findings if finding.code == "unknown-annotation"]


@pytest.mark.parametrize(
    ("annotation", "fix"),
    [
        ("postrender/stratgy", "Rename the annotation to postrender/strategy"),
        ("postrender/mountpath", "Rename the annotation to postrender/mount-path"),
        ("postrender/qqq", "Remove the annotation, or use one of postrender/strategy,"),
    ],
)
def test_a_misspelt_annotation_is_reported(annotation: str, fix: str) -> None:
    (text,) = findings(annotation)
    assert text.startswith("app.yaml:1 (document 1, ConfigMap/app) metadata.annotations: ")
    problem = (
        f"postrender does not know the annotation {annotation}, so the annotation has no effect"
    )
    assert f"{problem}. {fix}" in text


@pytest.mark.parametrize("annotation", ["postrender/sweep", "example.com/stratgy"])
def test_other_annotations_are_not_reported(annotation: str) -> None:
    assert findings(annotation) == []


def test_every_annotation_of_postrender_is_known() -> None:
    values = [value for value in vars(known_annotations).values() if isinstance(value, str)]
    own = [value for value in values if value.startswith(PREFIX) and value != PREFIX]
    assert own
    assert not [value for value in own if is_unknown(value)]


def test_a_list_is_parsed_once_for_all_of_its_items() -> None:
    """The work for a List does not grow with the product of its items and its length."""
    items = "".join(f"- {{kind: ConfigMap, apiVersion: v1, {meta(n)}}}\n" for n in range(9))
    text = f"apiVersion: v1\nkind: List\nitems:\n{items}"
    inventory = take_inventory(read_stream(text.encode(), "list.yaml"), Settings())
    parsed = []

    def document(found: Inventory, index: int) -> ParsedDocument:
        parsed.append(index)
        kept = found.parsed[index]
        assert kept is not None
        return kept

    with mock.patch.object(Inventory, "document", document):
        codes = [finding.code for finding in find_idle_annotations(inventory, Settings())]
    assert codes == ["unknown-annotation"] * 9
    assert parsed == [0]


def meta(number: int) -> str:
    return f"metadata: {{name: a{number}, annotations: {{postrender/qqq: x}}}}"


def test_a_claim_template_does_not_take_annotations() -> None:
    text = """apiVersion: v1
kind: ConfigMap
metadata: {name: app}
---
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: web, namespace: 1}
spec:
  volumeClaimTemplates:
    - metadata: {name: data, annotations: {postrender/strategy: rename}}
"""
    inventory = take_inventory(read_stream(text.encode(), "app.yaml"), Settings())
    (finding,) = find_idle_annotations(inventory, Settings())
    assert finding.code == "misplaced-annotation"
    assert finding.location.path == "spec.volumeClaimTemplates[0].metadata.annotations"
    assert inventory.items[1].identity.namespace is None
