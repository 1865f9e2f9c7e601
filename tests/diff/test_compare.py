"""Properties of a comparison, against the naive reference implementation where that can tell."""

from __future__ import annotations

import copy
import json
from random import Random
from typing import Any

from hypothesis import HealthCheck, Phase, assume, given, settings
from hypothesis import strategies as st

from postrender.config.settings import AttacherSettings, Settings
from postrender.diff.build import compare
from postrender.diff.model import ADDED, DROPPED, REMOVED, RETAINED, REUSED, STAYS, Preview
from postrender.errors import UserError
from postrender.inventory.build import take_inventory
from postrender.kubernetes.kinds import Identity
from postrender.output.build import render
from postrender.plan.build import make_plan
from postrender.yaml.stream import Stream, read_stream
from tests.reference import (
    InputError,
    Obj,
    reference_render,
    templates_of,
)
from tests.streams import FEATURE_SETS, LAYOUTS, Styler, grouped, object_lists, stream_text

EXAMPLES = settings(
    max_examples=150,
    deadline=None,
    phases=[Phase.explicit, Phase.generate],
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
)

RUNS = st.tuples(st.sampled_from(["", "", "blue"]), st.booleans(), st.booleans()).map(
    lambda drawn: Settings(
        namespace=drawn[0],
        keep_original=drawn[1],
        with_secrets=drawn[2],
        attacher=AttacherSettings(image="image:1"),
    )
)

PLAIN = frozenset[str]()


def changed(objects: list[Obj], random: Random) -> list[Obj]:
    """Return objects of which some are changed, some gone, and one may be new."""
    result = []
    for each in copy.deepcopy(objects):
        dice = random.randrange(10)
        if dice == 0:
            continue
        if dice < 5:
            change(each, random)
        result.append(each)
    if random.randrange(3) == 0:
        random.shuffle(result)
    return result


def change(each: Obj, random: Random) -> None:
    """Change something of an object, in place."""
    for key in ("data", "binaryData"):
        values = each.get(key)
        if isinstance(values, dict) and values and random.randrange(2):
            key = random.choice(sorted(values))
            values[key] = "Y2hhbmdlZA==" if each["kind"] == "Secret" else f"{values[key]}AAAA"
            return
    if each["kind"] == "ConfigMap" and random.randrange(2):
        each["data"] = {**(each.get("data") or {}), "added": "one\ntwo\n"}
        return
    templates = templates_of(each)
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
    metadata = each.setdefault("metadata", {})
    metadata["labels"] = {**(metadata.get("labels") or {}), "changed": "yes"}


@st.composite
def pairs(draw: Any) -> tuple[list[Obj], list[Obj]]:
    old = draw(object_lists(layouts=LAYOUTS))
    return old, changed(old, Random(draw(st.integers(0, 2**16))))


def text_of(objects: list[Obj], features: frozenset[str] = PLAIN, seed: int = 0) -> str:
    style = Styler(Random(seed), features)
    return stream_text(grouped(objects, style), style)


def stream_of(text: str, name: str = "stream") -> Stream:
    return read_stream(text.encode(), name)


def compared(old: str, new: str, run: Settings) -> Preview:
    """Return the preview, or give the example up where a side is at fault."""
    try:
        return compare(stream_of(old), stream_of(new), run)
    except UserError:
        assume(False)
        raise


def rendered(text: str, run: Settings) -> str:
    try:
        return "".join(render(make_plan(take_inventory(stream_of(text), run), run)))
    except UserError:
        assume(False)
        raise


def without_places(preview: Preview) -> Preview:
    return preview._replace(undecided=())


def without_attachers(preview: Preview) -> Preview:
    """Return a preview of rendered manifests without what a render says of its own Job."""
    objects = [each for each in preview.objects if not each.identity.name.endswith("-attach")]
    return without_places(preview)._replace(objects=tuple(objects))


@EXAMPLES
@given(
    objects=object_lists(layouts=LAYOUTS),
    run=RUNS,
    styles=st.tuples(FEATURE_SETS, FEATURE_SETS),
    seed=st.integers(0, 2**16),
)
def test_the_same_objects_in_another_style_are_no_change(
    objects: list[Obj], run: Settings, styles: tuple[frozenset[str], frozenset[str]], seed: int
) -> None:
    old, new = (text_of(objects, features, seed) for features in styles)
    preview = compared(old, new, run)
    assert not preview.has_changes
    assert not [each for each in preview.revisions if each.change not in (REUSED, RETAINED)]


@EXAMPLES
@given(pair=pairs(), run=RUNS)
def test_what_is_the_same_need_not_be_read(
    pair: tuple[list[Obj], list[Obj]], run: Settings
) -> None:
    old, new = (text_of(objects) for objects in pair)
    # A comment in each document, so that none is the same on both sides.
    other = "".join(f"{each.text.rstrip()}\n# read\n" for each in stream_of(new).documents)
    assert without_places(compared(old, new, run)) == without_places(compared(old, other, run))


@EXAMPLES
@given(pair=pairs(), run=RUNS)
def test_what_rolls_has_another_pod_template_when_it_is_rendered(
    pair: tuple[list[Obj], list[Obj]], run: Settings
) -> None:
    old, new = (text_of(objects) for objects in pair)
    try:
        before, after = (rendered_templates(text, run) for text in (old, new))
    except InputError:
        assume(False)
        raise
    expected = {key for key in before.keys() & after.keys() if before[key] != after[key]}
    preview = compared(old, new, run)
    rolling = {
        (each.identity.kind, each.identity.namespace or run.namespace, each.identity.name)
        for each in preview.workloads
        if each.causes and not each.via
    }
    assert rolling == expected
    assert all(
        (each.effect == STAYS) == (not each.causes)
        for each in preview.workloads
        if each.change not in (ADDED, REMOVED)
    )


def rendered_templates(text: str, run: Settings) -> dict[tuple[str, str, str], str]:
    """Return the pod templates of every workload as the reference renders them, by identity."""
    objects: Any = reference_render(
        text,
        namespace=run.namespace or None,
        secrets=run.with_secrets,
        keep_original=run.keep_original,
        attacher=False,
    )
    found = {}
    for each in objects:
        templates = templates_of(each)
        metadata = each.get("metadata") or {}
        if templates and metadata.get("name"):
            key = (each["kind"], metadata.get("namespace") or run.namespace, metadata["name"])
            found[key] = json.dumps(without_nothing(templates), sort_keys=True)
    return found


def without_nothing(value: Any) -> Any:
    """Return data as the API server keeps it: without null, empty lists and empty metadata."""
    if isinstance(value, dict):
        inner = {key: without_nothing(each) for key, each in value.items() if each is not None}
        return {
            key: each
            for key, each in inner.items()
            if each != [] and (each or key not in ("annotations", "labels", "metadata"))
        }
    return [without_nothing(each) for each in value] if isinstance(value, list) else value


@EXAMPLES
@given(pair=pairs(), run=RUNS)
def test_rendered_and_not_are_compared_alike(
    pair: tuple[list[Obj], list[Obj]], run: Settings
) -> None:
    old, new = (text_of(objects) for objects in pair)
    expected = without_places(compared(old, new, run))
    done = rendered(old, run), rendered(new, run)
    for before, after in (done, (done[0], new), (old, done[1])):
        assert without_attachers(compared(before, after, run)) == expected


MIRRORED = {ADDED: REMOVED, REMOVED: ADDED}


@EXAMPLES
@given(pair=pairs(), run=RUNS)
def test_the_way_back_is_the_mirror_image(pair: tuple[list[Obj], list[Obj]], run: Settings) -> None:
    old, new = (text_of(objects) for objects in pair)
    there, back = compared(old, new, run), compared(new, old, run)
    for one, other in ((there.contents, back.contents), (there.objects, back.objects)):
        assert [(each.identity, MIRRORED.get(each.change, each.change)) for each in one] == [
            (each.identity, each.change) for each in other
        ]
    assert [each.identity for each in there.workloads] == [each.identity for each in back.workloads]
    # Of two revisions that a kustomization named, one is no original of the other.
    assert told_as(DROPPED, there) <= told_as(RETAINED, back)
    assert told_as(DROPPED, back) <= told_as(RETAINED, there)


def told_as(change: str, preview: Preview) -> set[tuple[Identity, str]]:
    """Return the revisions of which one thing is told."""
    return {(each.identity, each.name) for each in preview.revisions if each.change == change}


def test_config_maps_without_a_name_of_their_own_are_no_originals_of_one_another() -> None:
    nameless = "apiVersion: v1\nkind: ConfigMap\nmetadata: {generateName: job-}\ndata: {a: %s}\n"
    both = nameless % "one" + "---\n" + nameless % "two"
    preview = compare(stream_of(both), stream_of(nameless % "one"), Settings())
    assert (preview.contents, preview.objects) == ((), ())
    (note,) = preview.undecided
    assert "generateName" in note.problem
