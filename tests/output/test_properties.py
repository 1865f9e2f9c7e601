"""Properties of the output that are true for every stream, in every style of YAML."""

from __future__ import annotations

from random import Random

import pytest
from hypothesis import HealthCheck, Phase, assume, given, settings
from hypothesis import strategies as st

from postrender.config.settings import AttacherSettings, Settings
from postrender.errors import UserError
from postrender.inventory.build import take_inventory
from postrender.kubernetes.kinds import CONFIG_MAP, SECRET, api_group, is_namespaced_workload
from postrender.output import render
from postrender.plan.build import make_plan
from postrender.yaml import parser
from postrender.yaml.stream import read_stream
from tests.effort import examples
from tests.lost_references import lost_references
from tests.manifests import Obj, dump, go_json, normalise
from tests.reference import comparable, reference_render
from tests.streams import EVERY_LAYOUT, Stream, object_lists, streams, styled_streams

EXAMPLES = settings(
    max_examples=examples(200),
    phases=[Phase.explicit, Phase.generate],
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
)

RUNS = st.tuples(
    st.sampled_from(["", "", "blue"]),
    st.sampled_from([None, False, True]),
    st.booleans(),
    st.sampled_from([True, True, False]),
).map(
    lambda drawn: Settings(
        namespace=drawn[0],
        keep_original=drawn[1],
        with_secrets=drawn[2],
        attacher=AttacherSettings(is_enabled=drawn[3], image="image:1"),
    )
)


def rendered(text: str, run: Settings) -> str:
    stream = read_stream(text.encode(), "stream")
    return "".join(render(make_plan(take_inventory(stream, run), run)))


def rendered_if_right(text: str, run: Settings) -> str:
    """Return the output, or skip the example if the stream has an error."""
    try:
        return rendered(text, run)
    except UserError:
        assume(False)
        raise


def sorted_objects(output: str) -> list[str]:
    """Return the objects of an output, independently of their order."""
    return sorted(map(go_json, normalise(output)))


@EXAMPLES
@given(text=streams(EVERY_LAYOUT), run=RUNS)
def test_a_further_rendering_does_not_change_the_output(text: str, run: Settings) -> None:
    output = rendered_if_right(text, run)
    assert rendered(output, run) == output


@EXAMPLES
@given(objects=object_lists(EVERY_LAYOUT), keeps=st.sampled_from([None, False, True]))
def test_a_namespace_can_be_written_or_given(objects: list[Obj], keeps: bool | None) -> None:
    run = Settings(
        namespace="blue",
        keep_original=keeps,
        with_secrets=True,
        attacher=AttacherSettings(is_enabled=False),
    )
    given_namespace = rendered_if_right(dump([with_blue(obj, False) for obj in objects]), run)
    written_namespace = rendered_if_right(dump([with_blue(obj, True) for obj in objects]), run)
    completed = [with_blue(obj, True) for obj in normalise(given_namespace)]
    assert sorted_objects(written_namespace) == sorted(map(go_json, completed))


def with_blue(obj: Obj, is_written: bool) -> Obj:
    """Return an object with the namespace blue written or absent, if its kind has a namespace."""
    group_kind = api_group(str(obj.get("apiVersion", ""))), str(obj.get("kind"))
    if group_kind not in (CONFIG_MAP, SECRET) and not is_namespaced_workload(group_kind):
        return obj
    metadata = {"namespace": "blue", **obj["metadata"]}
    if not is_written and metadata["namespace"] == "blue":
        del metadata["namespace"]
    return {**obj, "metadata": metadata}


@EXAMPLES
@given(stream=styled_streams(), run=RUNS)
def test_the_output_equals_the_output_of_the_reference(stream: Stream, run: Settings) -> None:
    expected = reference_render(
        stream.objects,
        namespace=run.namespace,
        secrets=run.with_secrets,
        keep_original=run.keep_original,
        attacher=run.attacher.is_enabled,
    )
    assert comparable(normalise(rendered(stream.text, run))) == comparable(expected)


@EXAMPLES
@given(stream=styled_streams(EVERY_LAYOUT), run=RUNS)
def test_every_reference_finds_the_content_of_the_input(stream: Stream, run: Settings) -> None:
    output = rendered_if_right(stream.text, run)
    assert not lost_references(stream.objects, normalise(output), run.namespace)


@EXAMPLES
@given(objects=object_lists(EVERY_LAYOUT), run=RUNS, order=st.randoms(use_true_random=False))
def test_the_order_of_the_documents_does_not_change_objects(
    objects: list[Obj], run: Settings, order: Random
) -> None:
    output = rendered_if_right(dump(objects), run)
    shuffled = order.sample(objects, len(objects))
    assert sorted_objects(rendered(dump(shuffled), run)) == sorted_objects(output)


@EXAMPLES
@given(text=streams(EVERY_LAYOUT), run=RUNS)
def test_documents_without_edits_keep_their_bytes(text: str, run: Settings) -> None:
    stream = read_stream(text.encode(), "stream")
    try:
        plan = make_plan(take_inventory(stream, run), run)
        output = "".join(render(plan))
    except UserError:
        assume(False)
        return
    edited = {key[0] for key in [*plan.edits, *plan.removed]}
    position = 0
    for index, document in enumerate(stream.texts):
        is_last = index == len(stream.texts) - 1
        if index not in edited and not is_last and document.strip():
            position = output.index(document, position) + len(document)


@settings(EXAMPLES, max_examples=examples(200))
@given(text=streams(EVERY_LAYOUT), run=RUNS)
def test_the_pure_parser_gives_the_same_output(text: str, run: Settings) -> None:
    output = rendered_if_right(text, run)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(parser, "CParser", None)
        assert rendered(text, run) == output
