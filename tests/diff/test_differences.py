"""What differs between two texts and between two objects: enough to make the one into the other."""

from __future__ import annotations

import copy
import random
import re
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from postrender.diff.compare.fields import differing, find_field_changes, is_same
from postrender.diff.compare.hunks import find_hunks
from postrender.diff.compare.normalise import BaseNames, comparable
from postrender.diff.model import ADDED, CHANGED, REMOVED, FieldChange, Hunk
from postrender.yaml.paths import Json

TEXTS = st.lists(st.sampled_from(["a\n", "b\n", "\n", "\r\n", "c", "  a\n", "\u2028\n"])).map(
    "".join
)


def lines_of(text: str) -> list[str]:
    return re.findall(r"[^\n]*\n|[^\n]+\Z", text)


def patched(old: str, hunks: tuple[Hunk, ...]) -> str:
    """Return the text that the hunks make of another, which they must fit."""
    rest, result, position = lines_of(old), [], 0
    for hunk in hunks:
        start = hunk.old - 1 if hunk.old_count else hunk.old
        result += rest[position:start]
        position = start
        for line in hunk.lines:
            text = line.text + ("" if line.is_open else "\n")
            if line.sign != "+":
                assert rest[position] == text
                position += 1
                assert line.old == position
            if line.sign != "-":
                result.append(text)
                assert line.new == len(result)
    return "".join(result + rest[position:])


@given(old=TEXTS, new=TEXTS, context=st.integers(0, 4))
@example(old="", new="a", context=3)
@example(old="a", new="a\n", context=3)
def test_hunks_make_the_one_text_into_the_other(old: str, new: str, context: int) -> None:
    hunks = find_hunks(old, new, context)
    assert patched(old, hunks) == new
    assert bool(hunks) == (old != new)


@given(old=TEXTS, new=TEXTS, context=st.integers(0, 4))
def test_hunks_have_no_more_lines_around_them_than_asked_for(
    old: str, new: str, context: int
) -> None:
    for hunk in find_hunks(old, new, context):
        signs = "".join(line.sign for line in hunk.lines)
        assert len(signs) - len(signs.lstrip(" ")) <= context
        assert len(signs) - len(signs.rstrip(" ")) <= context
        assert " " * (2 * context + 1) not in signs.strip()
        assert hunk.old_count == signs.count("-") + signs.count(" ")
        assert hunk.new_count == signs.count("+") + signs.count(" ")


def test_a_line_that_moves_in_a_long_text_leaves_the_others() -> None:
    lines = [f"line {number}\n" for number in range(3000)]
    moved = [*lines[1:2000], lines[0], *lines[2000:]]
    hunks = find_hunks("".join(lines), "".join(moved), 0)
    assert [(hunk.old_count, hunk.new_count) for hunk in hunks] == [(1, 0), (0, 1)]


@pytest.mark.parametrize("words", [2, 100, 30_000])
def test_long_texts_of_any_kind_are_compared(words: int) -> None:
    # difflib alone takes minutes for the first two.
    dice = random.Random(words)
    old, new = ("".join(f"{dice.randrange(words)}\n" for _ in range(20_000)) for _ in range(2))
    assert patched(old, find_hunks(old, new, 3)) == new


SCALARS = st.sampled_from([None, True, False, 0, 1, 1.5, "", "a", "1", "true"])
NAMED = st.lists(
    st.fixed_dictionaries({"name": st.sampled_from("abcd")}, optional={"value": SCALARS}),
    max_size=4,
)
DATA = st.recursive(
    SCALARS,
    lambda inner: st.one_of(
        st.lists(inner, max_size=4),
        NAMED,
        st.dictionaries(st.sampled_from(["a", "b.c", "name", "kind"]), inner, max_size=3),
    ),
    max_leaves=8,
)


def kept(data: Any) -> Any:
    """Return data as it is compared: without keys that are null."""
    if isinstance(data, dict):
        return {key: kept(value) for key, value in data.items() if value is not None}
    return [kept(value) for value in data] if isinstance(data, list) else data


@given(old=DATA, new=DATA)
def test_fields_differ_where_data_does(old: Any, new: Any) -> None:
    before, after = kept(old), kept(new)
    originals = copy.deepcopy((before, after))
    changes = find_field_changes(before, after)
    assert bool(changes) == (not is_same(before, after))
    assert (before, after) == originals
    for change in changes:
        assert change.change in (ADDED, REMOVED, CHANGED)
        assert not is_same(change.old, change.new) or change.old is None


def test_one_is_not_true() -> None:
    assert find_field_changes({"a": [1]}, {"a": [True]}) == [
        FieldChange("a[0]", CHANGED, 1, True),
    ]


def test_containers_are_known_by_their_name() -> None:
    old = {"containers": [{"name": "app", "image": "a:1"}, {"name": "log", "image": "l:1"}]}
    new = {"containers": [{"name": "log", "image": "l:1"}, {"name": "app", "image": "a:2"}]}
    assert find_field_changes(old, new) == [
        FieldChange("containers[name=app].image", CHANGED, "a:1", "a:2"),
        FieldChange("containers[]", CHANGED, ["app", "log"], ["log", "app"]),
    ]


def test_a_path_mounted_twice_is_known_by_where() -> None:
    old = {"volumeMounts": [{"name": "a", "mountPath": "/a"}, {"name": "a", "mountPath": "/b"}]}
    new = {"volumeMounts": [{"name": "a", "mountPath": "/a"}, {"name": "b", "mountPath": "/b"}]}
    assert find_field_changes(old, new) == [
        FieldChange("volumeMounts[mountPath=/b].name", CHANGED, "a", "b"),
    ]


def test_an_argument_in_the_middle_moves_no_other() -> None:
    old, new = {"args": ["a", "b", "c"]}, {"args": ["a", "x", "b", "c"]}
    assert find_field_changes(old, new) == [FieldChange("args[1]", ADDED, None, "x")]


def test_the_content_of_a_secret_inside_another_object_is_not_shown() -> None:
    old: dict[str, Json] = {"manifest": {"kind": "Secret", "data": {"password": "b2xk"}}}
    names = BaseNames({}, {})
    new: dict[str, Json] = {"manifest": {"kind": "Secret", "data": {"password": "bmV3"}}}
    (change,) = find_field_changes(comparable(old, names), comparable(new, names))
    assert change == FieldChange("manifest.data", CHANGED, "(not shown)", "(not shown)")


KEYS = st.sampled_from(["kind", "metadata", "labels", "annotations", "nodeSelector", "data", "a"])
LEAVES: st.SearchStrategy[Any] = st.sampled_from(
    [None, True, 1, 0, "", "Secret", "Role", "web-4h2mbtbbt6", "b", [], {}]
)
VALUES = st.recursive(
    LEAVES, lambda inner: st.dictionaries(KEYS, inner) | st.lists(inner, max_size=2), max_leaves=12
)
MAPPINGS = st.dictionaries(KEYS, VALUES, max_size=4)


@settings(max_examples=300, deadline=None)
@given(old=MAPPINGS, new=MAPPINGS, shared=MAPPINGS)
@example(old={}, new={"kind": "Secret"}, shared={"kind": None, "data": None})
def test_what_is_the_same_need_not_be_looked_into(old: Json, new: Json, shared: Json) -> None:
    assert isinstance(old, dict)
    assert isinstance(new, dict)
    assert isinstance(shared, dict)
    names = BaseNames({"web-4h2mbtbbt6": "web"}, {})
    # Shared parts at several depths, of which each side may have some of its own.
    sides = [{**shared, **own, "metadata": {**shared, "labels": own}} for own in (old, new)]
    whole = [comparable(copy.deepcopy(each), names) for each in sides]
    parts = [comparable(each, names) for each in differing(sides[0], sides[1])]
    # An empty mapping is as good as none, and may stand elsewhere in the order of the older object.
    found, expected = (
        sorted(map(repr, find_field_changes(one, other))) for one, other in (parts, whole)
    )
    assert found == expected
