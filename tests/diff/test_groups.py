"""Groups of changes that are alike: complete, true and small."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from postrender.config.load import settings_from
from postrender.diff.build import compare
from postrender.diff.formats import REPORTERS
from postrender.diff.groups import group_changes
from postrender.diff.model import (
    CHANGED,
    IMAGE,
    ROLLS,
    Cause,
    FieldChange,
    ObjectChange,
    Preview,
    WorkloadChange,
)
from postrender.diff.values import Terminal
from postrender.kubernetes.kinds import Identity
from postrender.yaml.stream import read_stream
from tests.diff.any_previews import ANY, PREVIEWS

SETTINGS = settings_from({"attacher": {"image": "example.com/postrender:1"}})


def service(number: int, is_new: int) -> str:
    """A service with a new broker; one of them has a larger pool, too, and one a new image."""
    name = f"svc-{number:03}"
    kind, version = ("Deployment", "apps/v1") if number % 3 else ("Rollout", "argoproj.io/v1alpha1")
    brokers = "kafka-0:9092,kafka-1:9092" + (",kafka-2:9092" if is_new else "")
    pool = 40 if is_new and number == 140 else 10
    tag = 2 if is_new and number == 141 else 1
    return f"""\
apiVersion: v1
kind: ConfigMap
metadata: {{name: {name}-config}}
data:
  application.yaml: |
    server: {{port: {8000 + number}}}
    kafka: {{bootstrapServers: "{brokers}", group: {name}}}
    hikari: {{maximumPoolSize: {pool}}}
---
apiVersion: {version}
kind: {kind}
metadata: {{name: {name}}}
spec:
  template:
    spec:
      containers:
        - name: {name}
          image: example/{name}:{tag}
          envFrom: [{{configMapRef: {{name: {name}-config}}}}]
"""


def services(count: int) -> Preview:
    sides = ["---\n".join(service(number, is_new) for number in range(count)) for is_new in (0, 1)]
    old, new = (read_stream(side.encode(), "x.yaml") for side in sides)
    return compare(old, new, SETTINGS)


@pytest.mark.parametrize("count", [150, 1_500])
def test_the_same_change_of_many_services_is_told_once(count: int) -> None:
    preview = services(count)
    for name in ("text", "markdown"):
        text = REPORTERS[name].render(preview, Terminal())
        assert len(text.splitlines()) < 50
        assert text.count("kafka-2") <= 2, "by path, and in the folded lines"
        assert "maximumPoolSize" in text
        assert f"svc-141:1{'` → `' if name == 'markdown' else ' -> '}example/svc-141:2" in text
        assert f"all {count:,}" in text
    page = REPORTERS["html"].render(preview, Terminal())
    assert page.count('class="entry"') == 2
    assert page.count("svc-007") >= 4, "the page links each name to its place in the graph"


FIELDS = [FieldChange(f"spec.f{number}", CHANGED, 0, number) for number in range(6)]
OBJECTS = st.lists(st.sets(st.sampled_from(FIELDS), min_size=1), min_size=1, max_size=20)


@ANY
@given(objects=OBJECTS)
def test_an_object_has_what_its_group_shares_and_what_is_besides(
    objects: list[set[FieldChange]],
) -> None:
    changes = tuple(
        ObjectChange(Identity("", "Service", None, f"s{number}"), CHANGED, tuple(fields))
        for number, fields in enumerate(objects)
    )
    groups = group_changes(Preview("", "", objects=changes)).objects
    assert sorted(member for members, *_ in groups for member in members) == sorted(changes)
    for members, shared, rest in groups:
        assert len(members) > 1 or shared == members[0]
        more = {change.identity: change.fields for change in rest}
        for member in members:
            own = more.get(member.identity, ())
            assert {*shared.fields, *own} == {*member.fields}
            assert len(shared.fields) + len(own) == len(member.fields)


@ANY
@given(preview=PREVIEWS)
def test_each_change_is_in_one_group(preview: Preview) -> None:
    groups = group_changes(preview)
    found: list[Any] = [*groups.workloads, *groups.contents, *groups.objects]
    changes: tuple[Any, ...] = (*preview.workloads, *preview.contents, *preview.objects)
    members = [member.identity for group in found for member in group[0]]
    assert sorted(map(repr, members)) == sorted(repr(change.identity) for change in changes)


def rolls(name: str, *images: tuple[str, str, str]) -> WorkloadChange:
    causes = tuple(Cause(IMAGE, container=part, old=old, new=new) for part, old, new in images)
    return WorkloadChange(Identity("apps", "Deployment", None, name), CHANGED, ROLLS, causes)


def test_names_of_containers_and_of_the_object_do_not_matter() -> None:
    changes = (
        rolls("querier", ("querier", "x/querier:1", "x/querier:2")),
        rolls("ingester", ("app", "x/ingester:1", "x/ingester:2")),
    )
    ((members, shared, rest),) = group_changes(Preview("", "", workloads=changes)).workloads
    assert (len(members), rest) == (2, [])
    assert shared.causes == (Cause(IMAGE, container="*", old="x/<name>:1", new="x/<name>:2"),)


def test_a_name_inside_a_word_stays() -> None:
    changes = (rolls("a", ("a", "data:a", "date:a")), rolls("b", ("b", "data:b", "date:b")))
    ((_, shared, _),) = group_changes(Preview("", "", workloads=changes)).workloads
    assert shared.causes[0].old == "data:<name>"


def test_two_containers_with_the_same_change_are_two_causes() -> None:
    change = ("x:1", "x:2")
    changes = (
        rolls("one", ("a", *change), ("b", *change)),
        rolls("two", ("c", *change), ("d", *change)),
        rolls("three", ("e", *change)),
    )
    alone, (members, shared, rest) = group_changes(Preview("", "", workloads=changes)).workloads
    assert alone[1].identity.name == "three"
    assert (len(members), len(shared.causes), rest) == (2, 2, [])
