"""Properties of a comparison, checked on random pairs of streams."""

from __future__ import annotations

import copy
import json
import re
from itertools import accumulate, compress
from random import Random
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, assume, given, settings
from hypothesis import strategies as st

from postrender.config.settings import AttacherSettings, Settings
from postrender.diff.build import compare
from postrender.diff.model import (
    ADDED,
    CHANGED,
    DROPPED,
    NEXT_RUN,
    REFUSED,
    REMOVED,
    RETAINED,
    REUSED,
    STAYS,
    Preview,
    RevisionChange,
)
from postrender.errors import UserError
from postrender.inventory.build import take_inventory
from postrender.kubernetes.hashing import HASH_SUFFIX
from postrender.kubernetes.kinds import Identity
from postrender.output import render
from postrender.plan.build import make_plan
from postrender.yaml.stream import Stream, read_stream
from tests.effort import examples
from tests.manifests import Obj, name_of, normalise
from tests.reference import templates_of
from tests.streams import LAYOUTS, PLAIN, WILDNESS, object_lists, stream_text

EXAMPLES = settings(
    max_examples=examples(300),
    phases=[Phase.explicit, Phase.generate],
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
)

RUNS = st.tuples(st.sampled_from(["", "", "blue"]), st.booleans(), st.booleans()).map(
    lambda drawn: Settings(
        namespace=drawn[0],
        keep_original=drawn[1],
        with_secrets=drawn[2],
        attacher=AttacherSettings(image="image:1", group="shop-attach"),
    )
)

# The name of an object that the chart itself names like a revision.
REVISION_NAME = re.compile(rf"{HASH_SUFFIX}$")

CONFIG_MAP = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: NAME, labels: {team: TEAM}}\n"
DEPLOYMENT = """\
apiVersion: apps/v1
kind: Deployment
metadata: {name: app}
spec:
  template:
    spec: {containers: [{name: main, image: a, envFrom: [{configMapRef: {name: web}}]}]}
"""


def changed(objects: list[Obj], random: Random) -> list[Obj]:
    """Return the objects after random changes and removals, in any order."""
    result = []
    for item in copy.deepcopy(objects):
        dice = random.randrange(10)
        if dice == 0:
            continue
        if dice < 5:
            change(item, random)
        result.append(item)
    if random.randrange(3) == 0:
        random.shuffle(result)
    return result


def change(item: Obj, random: Random) -> None:
    """Change one part of an object in place."""
    for key in ("data", "binaryData"):
        values = item.get(key)
        if isinstance(values, dict) and values and random.randrange(2):
            key = random.choice(sorted(values))
            values[key] = "Y2hhbmdlZA==" if item["kind"] == "Secret" else f"{values[key]}AAAA"
            return
    if item["kind"] == "ConfigMap" and random.randrange(2):
        item["data"] = {**(item.get("data") or {}), "added": "one\ntwo\n"}
        return
    templates = templates_of(item)
    if templates and random.randrange(3):
        spec = random.choice(templates).get("spec") or {}
        container = random.choice(spec.get("containers") or [{}])
        way = random.randrange(4)
        if way == 0:
            container["image"] = "registry.example/app:2"
        elif way == 1:
            container["env"] = [{"name": "B", "value": "changed"}]
        elif way == 2:
            container.pop("envFrom", None)
        else:
            spec["hostPID"] = True
        return
    metadata = item.setdefault("metadata", {})
    metadata["labels"] = {**(metadata.get("labels") or {}), "changed": "yes"}


@st.composite
def pairs(draw: Any) -> tuple[list[Obj], list[Obj]]:
    old = draw(object_lists(layouts=LAYOUTS))
    return old, changed(old, Random(draw(st.integers(0, 2**16))))


def text_of(objects: list[Obj], wildness: int = PLAIN, seed: int = 0) -> str:
    return stream_text(objects, Random(seed), wildness)


def stream_of(text: str, name: str = "stream") -> Stream:
    return read_stream(text.encode(), name)


def compared(old: str, new: str, run: Settings, *, is_first_release: bool = False) -> Preview:
    """Return the preview; skip the example if a side has an error."""
    try:
        return compare(stream_of(old), stream_of(new), run, is_first_release=is_first_release)
    except UserError:
        assume(False)
        raise


def rendered(text: str, run: Settings) -> str:
    try:
        return "".join(render(make_plan(take_inventory(stream_of(text), run), run)))
    except UserError:
        assume(False)
        raise


def without_undecided(preview: Preview) -> Preview:
    return preview._replace(undecided=())


def without_attachers(preview: Preview) -> Preview:
    """Return a preview of rendered manifests without the objects of attachers."""
    preview = without_undecided(preview)
    objects = tuple(
        change for change in preview.objects if not change.identity.name.endswith("-attach")
    )
    left_out = {change.identity for change in preview.objects} - {
        change.identity for change in objects
    }
    is_kept = [node.identity not in left_out for node in preview.graph.nodes]
    nodes = list(compress(preview.graph.nodes, is_kept))
    # Nodes may be equal: objects with a generateName do not have a name.
    numbers = [
        count - 1 if kept else -1 for kept, count in zip(is_kept, accumulate(is_kept), strict=True)
    ]
    edges = (
        edge._replace(source=numbers[edge.source], target=numbers[edge.target])
        for edge in preview.graph.edges
    )
    graph = preview.graph._replace(nodes=tuple(nodes), edges=tuple(edges))
    return preview._replace(objects=objects, graph=graph)


@EXAMPLES
@given(
    objects=object_lists(layouts=LAYOUTS),
    run=RUNS,
    styles=st.tuples(*[st.sampled_from(WILDNESS)] * 2),
    seed=st.integers(0, 2**16),
)
def test_the_same_objects_in_another_notation_do_not_differ(
    objects: list[Obj], run: Settings, styles: tuple[int, int], seed: int
) -> None:
    old, new = (text_of(objects, wildness, seed) for wildness in styles)
    preview = compared(old, new, run)
    assert not preview.has_certain_changes
    # Helm 3 does not pass hooks. A ResourceList is from kustomize, which does not have this limit.
    assert all("Helm 3 does not pass the hook" in part.problem for part in preview.undecided)
    assert {revision.change for revision in preview.revisions} <= {REUSED, RETAINED}


@EXAMPLES
@given(pair=pairs(), run=RUNS)
def test_equal_documents_can_be_left_unread(
    pair: tuple[list[Obj], list[Obj]], run: Settings
) -> None:
    old, new = (text_of(objects) for objects in pair)
    # With a comment, no document is equal on both sides.
    other = "".join(f"{text.rstrip()}\n# read\n" for text in stream_of(new).texts)
    assert without_undecided(compared(old, new, run)) == without_undecided(
        compared(old, other, run)
    )


@EXAMPLES
@given(pair=pairs(), run=RUNS)
def test_workloads_roll_exactly_if_their_rendered_pod_template_differs(
    pair: tuple[list[Obj], list[Obj]], run: Settings
) -> None:
    old, new = (text_of(objects) for objects in pair)
    before, after = (rendered_templates(text, run) for text in (old, new))
    expected = {key for key in before.keys() & after.keys() if before[key] != after[key]}
    preview = compared(old, new, run)
    assert rolling_workloads(preview, run) == expected
    # The API server accepts some changes of a Pod, which therefore stays.
    assert all(
        (change.effect == STAYS) == (not change.causes)
        for change in preview.workloads
        if change.change not in (ADDED, REMOVED) and change.identity.kind != "Pod"
    )


def rendered_templates(text: str, run: Settings) -> dict[tuple[str, str, str], str]:
    """Return the pod templates of every workload in the output."""
    without_attacher = run._replace(attacher=AttacherSettings(is_enabled=False))
    return templates_by_key(normalise(rendered(text, without_attacher)), run)


def templates_by_key(objects: Any, run: Settings) -> dict[tuple[str, str, str], str]:
    """Return the pod templates of every workload, as the API server stores them."""
    found = {}
    for item in objects:
        # The labels and annotations of a Pod can change, so only its spec is like a template.
        is_pod = item["kind"] == "Pod"
        templates = [{"spec": item.get("spec")}] if is_pod else templates_of(item)
        metadata = item.get("metadata") or {}
        if templates and metadata.get("name"):
            key = (item["kind"], metadata.get("namespace") or run.namespace, metadata["name"])
            found[key] = json.dumps(as_stored(templates), sort_keys=True)
    return found


def rolling_workloads(preview: Preview, run: Settings) -> set[tuple[str, str, str]]:
    """Return the workloads whose own pod template changes."""
    return {
        (change.identity.kind, change.identity.namespace or run.namespace, change.identity.name)
        for change in preview.workloads
        if change.causes and not change.via
    }


def as_stored(value: Any) -> Any:
    """Return data as the API server stores it: without null, empty lists and empty metadata."""
    if isinstance(value, dict):
        stored = {key: as_stored(inner) for key, inner in value.items() if inner is not None}
        return {
            key: inner
            for key, inner in stored.items()
            if inner != [] and (inner or key not in ("annotations", "labels", "metadata"))
        }
    return [as_stored(item) for item in value] if isinstance(value, list) else value


@EXAMPLES
@given(pair=pairs(), run=RUNS)
def test_rendered_and_unrendered_sides_give_the_same_preview(
    pair: tuple[list[Obj], list[Obj]], run: Settings
) -> None:
    old, new = (text_of(objects) for objects in pair)
    expected = without_undecided(compared(old, new, run))
    done = rendered(old, run), rendered(new, run)
    sides = [(done[0], new), (old, done[1])]
    # Such an object lacks the annotations of a render. Only two outputs compare these annotations.
    if not any(REVISION_NAME.search(name_of(item)) for item in (*pair[0], *pair[1])):
        sides.append(done)
    for before, after in sides:
        assert without_attachers(compared(before, after, run)) == expected


MIRRORED = {ADDED: REMOVED, REMOVED: ADDED}


@EXAMPLES
@given(pair=pairs(), run=RUNS)
def test_the_reverse_change_is_the_mirror_image(
    pair: tuple[list[Obj], list[Obj]], run: Settings
) -> None:
    old, new = (text_of(objects) for objects in pair)
    forward, reverse = compared(old, new, run), compared(new, old, run)
    for changes, mirrored in (
        (forward.contents, reverse.contents),
        (forward.objects, reverse.objects),
    ):
        assert [(item.identity, MIRRORED.get(item.change, item.change)) for item in changes] == [
            (item.identity, item.change) for item in mirrored
        ]
    assert [change.identity for change in forward.workloads] == [
        change.identity for change in reverse.workloads
    ]
    # Not equal: of two revisions that kustomize named, neither is the original of the other.
    assert dropped_revisions(forward) <= retained_revisions(reverse)
    assert dropped_revisions(reverse) <= retained_revisions(forward)


def dropped_revisions(preview: Preview) -> set[tuple[Identity, str]]:
    return {(item.identity, item.name) for item in preview.revisions if item.change == DROPPED}


def retained_revisions(preview: Preview) -> set[tuple[Identity, str]]:
    """Return the revisions that the newer side has as earlier revisions, also new ones."""
    return {(item.identity, item.name) for item in preview.revisions if item.is_retained}


def test_configmaps_with_a_generated_name_are_unrelated() -> None:
    nameless = "apiVersion: v1\nkind: ConfigMap\nmetadata: {generateName: job-}\ndata: {a: %s}\n"
    both = nameless % "one" + "---\n" + nameless % "two"
    preview = compare(stream_of(both), stream_of(nameless % "one"), Settings())
    assert (preview.contents, preview.objects) == ((), ())
    (note,) = preview.undecided
    assert "generateName" in note.problem


def test_the_graph_has_one_order_for_a_hook_and_an_object_of_the_same_name() -> None:
    job = """\
apiVersion: batch/v1
kind: Job
metadata: {{name: migrate, annotations: {{{annotation}}}}}
spec: {{template: {{spec: {{containers: [{{name: app, image: "{image}"}}]}}}}}}
"""
    filler = "apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: filler-{number}}}\n{comment}"
    hook = "helm.sh/hook: test"

    def changes(fillers: int) -> list[str]:
        # With a comment, a document is not equal on both sides and is therefore read.
        old, new = (
            [filler.format(number=number, comment=comment) for number in range(fillers)]
            for comment in ("", "# read\n")
        )
        old += [job.format(annotation=hook, image="app:1")]
        new += [
            job.format(annotation=hook, image="app:2"),
            job.format(annotation="", image="app:1"),
        ]
        preview = compared("---\n".join(old), "---\n".join(new), Settings())
        return [node.change for node in preview.graph.nodes]

    assert [changes(fillers) for fillers in range(20)] == [[CHANGED, ADDED]] * 20


def revision_of_web(data: str) -> str:
    """Return the name of a revision of the ConfigMap web, with the data."""
    config_map = CONFIG_MAP.replace("NAME", "web") + data
    found = re.search(
        rf"web{HASH_SUFFIX}\b", rendered(f"{config_map}---\n{DEPLOYMENT}", Settings())
    )
    assert found
    return found[0]


def test_a_change_of_an_earlier_revision_is_reported_although_no_side_is_rendered() -> None:
    name = revision_of_web("data: {a: one}\n")
    current = CONFIG_MAP.replace("NAME", "web") + "data: {a: two}\n"
    earlier = CONFIG_MAP.replace("NAME", name) + "data: {a: one}\n"
    text = "---\n".join((current, earlier, DEPLOYMENT))
    old, new = text, text.replace(earlier, earlier.replace("TEAM", "b"))
    [content] = compare(stream_of(old), stream_of(new), Settings()).contents
    assert content.new_revision == name
    assert [(field.path, field.new) for field in content.fields] == [("metadata.labels.team", "b")]


def test_the_graph_has_a_reference_to_a_name_that_only_a_render_creates() -> None:
    name = revision_of_web("data: {a: one}\n")
    config_map = CONFIG_MAP.replace("NAME", "web") + "data: {a: one}\n"
    pinned = DEPLOYMENT.replace("{name: app}", "{name: pinned}").replace(
        "name: web", f"name: {name}"
    )
    old = "---\n".join((config_map, DEPLOYMENT, pinned))
    new = old.replace("image: a", "image: b")
    graph = compare(stream_of(old), stream_of(new), Settings()).graph
    assert [node.identity.name for node in graph.nodes] == ["web", "app", "pinned"]
    assert {(edge.source, edge.target) for edge in graph.edges} == {(1, 0), (2, 0)}


def test_causes_have_the_same_order_for_rendered_and_unrendered_sides() -> None:
    revision = revision_of_web("data: {a: one}\n")
    web = CONFIG_MAP.replace("NAME", "web") + "data: {a: one}\n"
    other = CONFIG_MAP.replace("NAME", "other") + "data: {a: one}\n"
    first, second = (
        f"{{name: {number}, valueFrom: {{configMapKeyRef: {{name: {name}, key: a}}}}}}"
        for number, name in enumerate((revision, "other"))
    )
    variables = f"image: a, env: [{first}, {second}]"
    old = "---\n".join((web, other, DEPLOYMENT.replace("image: a", variables)))
    new = old.replace(f"{first}, ", "").replace("one", "two")
    for before in (old, rendered(old, Settings())):
        (change,) = compare(stream_of(before), stream_of(new), Settings()).workloads
        subjects = [cause.subject.name for cause in change.causes if cause.subject]
        assert subjects == ["other", "web"]


def test_a_secret_can_explain_a_value_as_in_a_render_without_secrets() -> None:
    secret = "apiVersion: v1\nkind: Secret\nmetadata: {name: web}\n"
    config_map = CONFIG_MAP.replace("NAME", "web") + "data: {a: one}\n"
    deployment = DEPLOYMENT.replace("image: a", "image: a, env: [{name: TEAM, value: web}]")
    old = "---\n".join((config_map, deployment, secret))
    new = old.replace("one", "two")
    for with_secrets, is_kept in ((False, False), (True, True)):
        run = Settings(with_secrets=with_secrets)
        is_original = "\nmetadata: {name: web, labels" in rendered(new, run)
        [content] = compare(stream_of(old), stream_of(new), run).contents
        assert (is_original, "original" in content.note) == (is_kept, is_kept)


def test_a_custom_resource_definition_does_not_explain_a_value() -> None:
    definition = "apiVersion: v1\nkind: CustomResourceDefinition\nmetadata: {name: web}\n"
    config_map = CONFIG_MAP.replace("NAME", "web") + "data: {a: one}\n"
    deployment = DEPLOYMENT.replace("image: a", "image: a, env: [{name: TEAM, value: web}]")
    old = "---\n".join((config_map, deployment, definition))
    new = old.replace("one", "two")
    assert "\nmetadata: {name: web, labels" in rendered(new, Settings())
    for before in (old, rendered(old, Settings())):
        notes = [
            item.note for item in compare(stream_of(before), stream_of(new), Settings()).contents
        ]
        assert any("original" in note for note in notes)


def test_an_immutable_original_stays_immutable() -> None:
    original = CONFIG_MAP.replace("NAME", "web") + "data: {a: one}\nimmutable: true\n"
    deployment = DEPLOYMENT.replace("image: a", "image: a, args: [--config-map, web]")
    old = "---\n".join((original, deployment))
    new = old.replace("one", "two")
    run = Settings(keep_original=True)
    # Originals are compared alone only if the data of one differs from its revision.
    before = rendered(old, run).replace(original, original.replace("one", "three"))
    assert "three" in before
    contents = compare(stream_of(before), stream_of(new), run).contents
    assert len(contents) == 2
    assert [content.fields for content in contents if content.fields] == []


def test_changes_of_earlier_revisions_are_in_the_order_of_the_older_manifests() -> None:
    revision = """\
apiVersion: v1
kind: ConfigMap
metadata:
  name: web-{name}
  labels: {{postrender/attach-group: shop-attach, team: {team}}}
  annotations: {{postrender/base-name: web, postrender/revision-number: "{number}"}}
data: {{key: "{number}"}}
"""
    hashes = ["b" * 9 + last for last in "cdfg2456"]

    def manifests(team: str) -> str:
        return "---\n".join(
            revision.format(name=name, team=f"{team}-{number}", number=number)
            for number, name in enumerate(hashes)
        )

    preview = compare(stream_of(manifests("old")), stream_of(manifests("new")), Settings())
    earlier = [content.fields[0].new for content in preview.contents]
    assert earlier == [f"new-{number}" for number in range(len(hashes))]


def test_a_revision_that_loses_its_owners_is_a_change() -> None:
    web = Identity(group="", kind="ConfigMap", namespace=None, name="web")
    reused = RevisionChange(identity=web, name="web-bbbbbbbbbc", change=REUSED)
    lost = reused._replace(lost_owners=("Deployment/web",))
    assert not Preview(old="old", new="new", revisions=(reused,)).has_changes
    assert Preview(old="old", new="new", revisions=(lost,)).has_changes


def test_a_role_loses_a_revision_with_its_configmap_in_one_namespace() -> None:
    """The rendered Role has fewer names, but only because the ConfigMap is removed."""

    def application(namespace: str) -> str:
        return f"""\
---
apiVersion: v1
kind: ConfigMap
metadata: {{name: settings, namespace: {namespace}}}
data: {{place: {namespace}}}
---
apiVersion: apps/v1
kind: Deployment
metadata: {{name: web, namespace: {namespace}}}
spec:
  template:
    spec:
      containers: [{{name: a, image: a, envFrom: [{{configMapRef: {{name: settings}}}}]}}]
"""

    role = """\
---
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: reader, namespace: blue}
rules: [{apiGroups: [""], resources: [configmaps], resourceNames: [settings], verbs: [get]}]
"""
    run = Settings(attacher=AttacherSettings(is_enabled=False))
    old, new = application("blue") + application("green") + role, application("green") + role
    expected = without_undecided(compared(old, new, run))
    before, after = rendered(old, run), rendered(new, run)
    assert 'resourceNames: [settings, "settings-' in before
    assert without_undecided(compared(before, after, run)) == expected
    assert without_undecided(compared(old, after, run)) == expected


SUSPENDED = """\
apiVersion: batch/v1
kind: Job
metadata: {name: report}
spec: {suspend: true, template: {spec: {containers: [{name: run, image: a}]}}}
"""


@pytest.mark.parametrize(
    ("before", "after", "effect"),
    [
        ("template: {", "template: {metadata: {labels: {queue: a}}, ", NEXT_RUN),
        ("template: {", "template: {metadata: {annotations: {a: b}}, ", NEXT_RUN),
        ("template: {", "template: {metadata: {finalizers: [a/b]}, ", REFUSED),
        ("spec: {containers", "spec: {schedulingGates: [{name: a/b}], containers", NEXT_RUN),
        ("spec: {containers", "spec: {schedulerName: a, containers", REFUSED),
        ("image: a", "image: a, resources: {limits: {cpu: 1}}", REFUSED),
        ("true, template: {spec: {", "false, template: {spec: {nodeSelector: {a: b}, ", NEXT_RUN),
    ],
)
def test_a_suspended_job_accepts_labels_and_fields_for_the_scheduler(
    before: str, after: str, effect: str
) -> None:
    new = SUSPENDED.replace(before, after)
    [workload] = compare(stream_of(SUSPENDED), stream_of(new), Settings()).workloads
    assert workload.effect == effect
