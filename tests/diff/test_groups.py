"""Groups of changes that are alike: complete, true and small."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from postrender.config.settings import settings_from
from postrender.diff.build import compare
from postrender.diff.formats import REPORTERS
from postrender.diff.groups import group_changes
from postrender.diff.model import (
    ADDED,
    CHANGED,
    IMAGE,
    NEXT_PODS,
    REFUSED,
    ROLLS,
    TEMPLATE,
    Cause,
    FieldChange,
    ObjectChange,
    Preview,
    WorkloadChange,
)
from postrender.diff.redact import NOT_SHOWN
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


@pytest.mark.parametrize("count", [150, 500])
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
def test_each_change_is_in_one_group_or_changes_only_in_shared_labels(preview: Preview) -> None:
    groups = group_changes(preview)
    changes: tuple[Any, ...] = (*preview.workloads, *preview.contents, *preview.objects)
    found: list[Any] = [*groups.workloads, *groups.contents, *groups.objects]
    members = Counter(repr(member.identity) for group in found for member in group[0])
    labelled = {repr(member.identity) for group in groups.labels for member in group[0]}
    missing = Counter(repr(change.identity) for change in changes) - members
    assert {*missing} <= labelled
    assert not members - Counter(repr(change.identity) for change in changes)


VERSION = FieldChange('metadata.labels["helm.sh/chart"]', CHANGED, "shop-1", "shop-2")
IN_TEMPLATE = Cause(TEMPLATE, field=VERSION._replace(path=f"spec.template.{VERSION.path}"))


def labelled(name: str, effect: str, *more: FieldChange) -> WorkloadChange:
    identity = Identity("apps", "Deployment", None, name)
    return WorkloadChange(identity, CHANGED, effect, (IN_TEMPLATE,), fields=(VERSION, *more))


def service_of(name: str, *fields: FieldChange, change: str = CHANGED) -> ObjectChange:
    return ObjectChange(Identity("", "Service", None, name), change, fields)


def test_labels_of_very_different_objects_are_told_once() -> None:
    kind = FieldChange("spec.type", CHANGED, "ClusterIP", "NodePort")
    preview = Preview(
        "",
        "",
        workloads=(labelled("web", ROLLS),),
        objects=(service_of("a", VERSION), service_of("b", VERSION, kind)),
    )
    groups = group_changes(preview)
    ((_, workload, _),) = groups.workloads
    assert [(cause.reason, cause.keys) for cause in workload.causes] == [
        ("shared labels of the pod template", ("helm.sh/chart",))
    ]
    assert workload.fields == ()
    assert [change.fields for _, change, _ in groups.objects] == [(kind,)], "a has no more changes"
    ((members, shared, _),) = groups.labels
    assert [member.identity.name for member in members] == ["web", "a", "b"]
    assert shared.fields == (VERSION,)
    for name in ("text", "markdown", "html"):
        text = REPORTERS[name].render(preview, Terminal())
        assert text.count("shop-2") == 1


def test_labels_are_told_with_their_object_if_they_are_not_routine() -> None:
    alike = tuple(service_of(name, VERSION) for name in "abcd")
    assert group_changes(Preview("", "", objects=alike)).labels == [], "one group tells them once"
    two = Preview("", "", workloads=(labelled("web", ROLLS),), objects=alike[:1])
    assert group_changes(two).labels == []
    hidden = VERSION._replace(old=NOT_SHOWN, new=NOT_SHOWN)
    cause = IN_TEMPLATE._replace(field=hidden._replace(path=f"spec.template.{VERSION.path}"))
    workload = labelled("web", ROLLS)._replace(causes=(cause,), fields=())
    services = tuple(service_of(name, hidden) for name in "abcd")
    assert group_changes(Preview("", "", workloads=(workload,), objects=services)).labels == []


def test_a_label_that_makes_a_change_invalid_stays_with_its_workload() -> None:
    preview = Preview(
        "",
        "",
        workloads=(labelled("web", ROLLS), labelled("job", REFUSED), labelled("api", NEXT_PODS)),
        objects=(service_of("a", VERSION),),
    )
    groups = group_changes(preview)
    assert groups.workloads[0][1].identity.name == "job"
    assert "shop-2" in repr(groups.workloads[0][1].causes)
    ((members, *_),) = groups.labels
    assert [member.identity.name for member in members] == ["web", "api", "a"]


def test_labels_of_added_objects_are_not_changes() -> None:
    label = FieldChange("metadata.labels.team", ADDED, None, "a")
    added = tuple(service_of(name, label, change=ADDED) for name in "abc")
    changed = tuple(service_of(name, label) for name in "de")
    groups = group_changes(Preview("", "", objects=(*added, *changed)))
    assert [(shared.change, len(members)) for members, shared, _ in groups.labels] == [
        (ADDED, 3),
        (CHANGED, 2),
    ]
    assert [shared.change for _, shared, _ in groups.objects] == [ADDED] * 3


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
    ((_, shared, rest),) = group_changes(Preview("", "", workloads=changes[:2])).workloads
    assert (len(shared.causes), rest) == (2, [])
    ((members, shared, rest),) = group_changes(Preview("", "", workloads=changes)).workloads
    assert (len(members), len(shared.causes)) == (3, 1)
    assert [(change.identity.name, len(change.causes)) for change in rest] == [
        ("one", 1),
        ("two", 1),
    ]


def test_what_two_of_many_have_besides_does_not_split_a_group() -> None:
    sidecar = ("mesh", "mesh:1", "mesh:2")
    changes = tuple(
        rolls(f"w{number}", sidecar, *([("app", "app:1", "app:2")] if number < 2 else []))
        for number in range(30)
    )
    ((members, shared, rest),) = group_changes(Preview("", "", workloads=changes)).workloads
    assert (len(members), len(shared.causes)) == (30, 1)
    assert [change.identity.name for change in rest] == ["w0", "w1"]


def test_a_schema_that_some_kinds_share_makes_a_group() -> None:
    """A schema has many fields and is one line, so that it weighs less than other facts."""

    def definition(name: str, *properties: str) -> ObjectChange:
        start = "spec.versions[name=v1].schema.openAPIV3Schema.properties"
        schema = (FieldChange(f"{start}.{name}", ADDED, None, "string") for name in properties)
        identity = Identity("apiextensions.k8s.io", "CustomResourceDefinition", None, name)
        version = FieldChange('metadata.annotations["version"]', CHANGED, "1", "2")
        return ObjectChange(identity, CHANGED, (version, *schema))

    shared = [f"p{number}" for number in range(300)]
    changes = (*(definition(name, *shared) for name in "abc"), definition("d", "x", "y"))
    groups = group_changes(Preview("", "", objects=changes)).objects
    assert [(len(members), len(rest)) for members, _, rest in groups] == [(1, 0), (3, 0)]


def test_changed_lines_that_are_alike_are_told_once() -> None:
    """A run of changed lines is a part of a key, so that another run can differ."""

    def manifests(is_new: int) -> str:
        return "---\n".join(
            f"apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: c{number}}}\n"
            f"data:\n  app.conf: |\n    one {1 + is_new}\n    two\n"
            f"    three {is_new * number // 3}\n"
            for number in range(4)
        )

    old, new = (read_stream(manifests(is_new).encode(), "x.yaml") for is_new in (0, 1))
    ((members, shared, rest),) = group_changes(compare(old, new, SETTINGS)).contents
    assert len(members) == 4
    (hunk,) = shared.keys[0].hunks
    assert [line.sign + line.text for line in hunk.lines[:2]] == ["-one 1", "+one 2"]
    (own,) = rest
    (hunk,) = own.keys[0].hunks
    assert (hunk.old, hunk.old_count, hunk.new, hunk.new_count) == (2, 2, 2, 2)
    assert [line.sign + line.text for line in hunk.lines] == [" two", "-three 0", "+three 1"]


SIMILAR = """\
apiVersion: apps/v1
kind: Deployment
metadata: {name: %s, labels: {app: web}}
spec:
  replicas: 2
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}%s}
    spec: {containers: [{name: app, image: %s, args: [%s]}]}
"""
HIDDEN = ", annotations: {checksum/secret: e3b0c44298fc1c149afbf4c8996fb924}"


@pytest.mark.parametrize(
    ("old", "new", "remarks"),
    [
        (("a", "", "app:1", "x"), ("b", "", "app:2", "x"), ["all else as"]),
        (("a", HIDDEN, "app:1", "x"), ("b", HIDDEN, "app:1", "x"), ["all else that is shown as"]),
        (("a", "", "app:1", "x"), ("b", HIDDEN, "app:2", "y, z, u, v"), []),
    ],
)
def test_a_similar_object_with_another_name_has_only_what_differs(
    old: tuple[str, ...], new: tuple[str, ...], remarks: list[str]
) -> None:
    before, after = (read_stream((SIMILAR % side).encode(), "a.yaml") for side in (old, new))
    shown = REPORTERS["text"].render(compare(before, after, SETTINGS), Terminal())
    assert all(f"{remark} in the added Deployment/b" in shown for remark in remarks)
    assert ("replicas" in shown) == (not remarks)
    assert ("app:1 -> app:2" in shown) == (bool(remarks) and new[2] == "app:2")


def test_a_config_map_with_other_shared_labels_only_is_told_with_the_labels() -> None:
    sides = (
        "---\n".join(
            f"apiVersion: v1\nkind: {kind}\nmetadata: {{name: a{number}, "
            f"labels: {{helm.sh/chart: shop-{version}}}}}\n"
            for number, kind in enumerate(("ConfigMap", "ConfigMap", "Service", "ServiceAccount"))
        )
        for version in (1, 2)
    )
    before, after = (read_stream(side.encode(), "a.yaml") for side in sides)
    shown = REPORTERS["text"].render(compare(before, after, SETTINGS), Terminal())
    assert "SHARED LABELS" in shown
    assert "ConfigMap/a0, ConfigMap/a1" in shown
    assert "not renamed" not in shown
