"""Duplicate keys and merge keys are read as by sigs.k8s.io/yaml, and edits change the winner.

The expected values are those that sigs.k8s.io/yaml 1.6.0 (`YAMLToJSON`) returns.
"""

from __future__ import annotations

import copy

import pytest
from hypothesis import given
from hypothesis import strategies as st

from postrender.errors import Location
from postrender.yaml.document import ParsedDocument
from postrender.yaml.edits import AddAfter, SetScalar, apply_edits
from postrender.yaml.node_edits import alias_paths, locate_in_nodes, verbatim_at
from postrender.yaml.nodes import compose, duplicate_keys
from postrender.yaml.paths import Json, format_path
from postrender.yaml.splice import edited_text
from tests.manifests import load
from tests.yaml.test_plain import values

LOCATION = Location("document", line=1)


def read(text: str) -> Json:
    return compose(text, LOCATION).read()


@pytest.mark.parametrize(
    ("text", "data"),
    [
        ("a: 1\na: 2\n", {"a": 2}),
        ("q: {a: {b: 1}, a: {c: 2}}\n", {"q": {"a": {"c": 2}}}),
        ("q: {a: own, <<: {a: merged}}\n", {"q": {"a": "merged"}}),
        ("q: {<<: {a: merged}, a: own}\n", {"q": {"a": "own"}}),
        ("q: {<<: {a: x, b: x}, <<: {a: z}}\n", {"q": {"a": "z", "b": "x"}}),
        ("q: {<<: [{a: x, b: x}, {a: z}]}\n", {"q": {"a": "x", "b": "x"}}),
        ("q: {a: o, <<: {a: z, <<: {a: x, b: x}}, b: o}\n", {"q": {"a": "x", "b": "o"}}),
        ("q: {a: {r: 1}, <<: {a: {q: 1}}}\n", {"q": {"a": {"q": 1}}}),
        ("q: {a: b, <<: []}\n", {"q": {"a": "b"}}),
        ('q: {"<<": {a: b}}\n', {"q": {"<<": {"a": "b"}}}),
        ("q: {!!merge <<: {a: b}}\n", {"q": {"a": "b"}}),
    ],
)
def test_the_last_entry_of_a_key_wins(text: str, data: Json) -> None:
    assert read(text) == data
    assert load(text, pure=True) == [data]
    assert verbatim_at(compose(text, LOCATION), ()) is not None


def test_duplicate_keys_are_found_in_the_order_of_the_text() -> None:
    first = "a: 1\nb: [{c: 1, c: 2, c: 3}]\na: {d: 1}\na: {d: 1, d: 2}\n"
    text = f"{first}<<: {{a: 1}}\non: 1\n'true': 2\n1: 1\n'1': 2\n"
    duplicates = duplicate_keys(compose(text, LOCATION).root)
    assert [
        (
            format_path(duplicate.path),
            duplicate.first.start_mark.line,
            duplicate.key.start_mark.line,
            duplicate.is_ambiguous,
        )
        for duplicate in duplicates
    ] == [
        ("a", 0, 3, False),
        ("true", 5, 6, True),
        ("1", 7, 8, True),
        ("b[0].c", 1, 1, False),
        ("a.d", 3, 3, False),
    ]


@st.composite
def mappings(draw: st.DrawFn, depth: int = 3) -> str:
    """Return a flow mapping with duplicate keys and merge keys; `*x` is an alias of a mapping."""
    entries = []
    for _ in range(draw(st.integers(0, 4))):
        key = draw(st.sampled_from(["a", "b", "c", "on", "<<"]))
        if key == "<<":
            sources = ["*x", "{}", "[*x, {a: 1, b: {c: 2}}]", "[{a: 3}, *x]"]
            value = draw(st.sampled_from(sources) | mappings(0))
        elif depth:
            value = draw(st.sampled_from(["1", "text", "*x", "[*x, d]"]) | mappings(depth - 1))
        else:
            value = draw(st.sampled_from(["1", "text"]))
        entries.append(f"{key}: {value}")
    return "{" + ", ".join(entries) + "}"


@given(mappings(1), mappings())
def test_an_edit_of_any_scalar_changes_the_parsed_value(anchor: str, mapping: str) -> None:
    text = f"x: &x {anchor.replace('*x', '{b: 4}')}\nq: {mapping}\n"
    document = compose(text, LOCATION)
    data = document.read()
    assert [data] == load(text, pure=True)
    for path, value in values(data, ()):
        if isinstance(value, (dict, list)):
            continue
        edit = SetScalar(path, "changed")
        site = locate_in_nodes(document, edit)
        assert site is not None
        edits = [
            edit,
            *(SetScalar(other, "changed") for other in alias_paths(document, edit, site)),
        ]
        expected = apply_edits(copy.deepcopy(data), edits)
        assert read(edited_text(ParsedDocument(text, LOCATION, None), edits, "\n")) == expected, (
            text,
            path,
        )


@pytest.mark.parametrize("text", ["a: &n web\nb:\n- *n\n- c\n", "a: &n web\nb: [*n, c]\n"])
def test_an_item_after_an_alias_is_not_at_the_anchor(text: str) -> None:
    document = ParsedDocument(text, LOCATION, None)
    edited = edited_text(document, [AddAfter(("b", 0), ("new",))], "\n")
    assert read(edited) == {"a": "web", "b": ["web", "new", "c"]}
