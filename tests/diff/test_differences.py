"""Differences of texts and objects: they are complete, and small."""

from __future__ import annotations

import copy
import random
import re
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from postrender.diff.fields import find_field_changes, restricted
from postrender.diff.lines import find_hunks
from postrender.diff.marks import MARKED_KEYS
from postrender.diff.model import ADDED, CHANGED, REMOVED, FieldChange, Hunk
from postrender.diff.normalise import comparable
from postrender.diff.redact import NOT_SHOWN, redact
from postrender.diff.texts import compare_texts, word_changes
from postrender.yaml.paths import Json, differing_parts, is_same
from tests.effort import examples

TEXTS = st.lists(st.sampled_from(["a\n", "b\n", "\n", "\r\n", "c", "  a\n", "\u2028\n"])).map(
    "".join
)


def lines_of(text: str) -> list[str]:
    return re.findall(r"[^\n]*\n|[^\n]+\Z", text)


def patched(old: str, hunks: tuple[Hunk, ...]) -> str:
    """Return the text after the hunks are applied to another text, which they must match."""
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
            if line.sign != "-":
                result.append(text)
            assert line.old == (0 if line.sign == "+" else position)
            assert line.new == (0 if line.sign == "-" else len(result))
    return "".join(result + rest[position:])


@given(old=TEXTS, new=TEXTS, context=st.integers(0, 4))
@example(old="", new="a", context=3)
@example(old="a", new="a\n", context=3)
def test_hunks_turn_the_old_text_into_the_new_text(old: str, new: str, context: int) -> None:
    hunks = find_hunks(old, new, context)
    assert patched(old, hunks) == new
    assert bool(hunks) == (old != new)


@given(old=TEXTS, new=TEXTS, context=st.integers(0, 4))
def test_hunks_have_at_most_the_requested_context(old: str, new: str, context: int) -> None:
    check_hunks(find_hunks(old, new, context), context)


@pytest.mark.parametrize("length", [1, 250])
def test_only_changed_lines_are_shown_as_changed(length: int) -> None:
    """Long texts are compared by another algorithm, at lines that occur once."""
    one, two = ("".join(f"{word} {n}\n" for n in range(length)) for word in ("one", "two"))
    hunks = find_hunks(f"a\n{one}b\n{two}", f"c\n{one}d\n{two}e\n", 0)
    lines = [line.sign + line.text for hunk in hunks for line in hunk.lines]
    assert lines == ["-a", "+c", "-b", "+d", "+e"]


@pytest.mark.parametrize("context", [0, 1, 3])
def test_hunks_of_long_texts_with_repeated_lines_have_a_change(context: int) -> None:
    """Long texts are split at lines that occur once, between equal lines."""
    dice = random.Random(context)
    for _ in range(30):
        lines = [f"{dice.randrange(150)}\n" for _ in range(600)]
        changed = [line for line in lines if dice.random() > 0.02]
        for _ in range(12):
            changed.insert(dice.randrange(len(changed)), f"new {dice.randrange(5)}\n")
        old, new = "".join(lines), "".join(changed)
        hunks = find_hunks(old, new, context)
        assert patched(old, hunks) == new
        check_hunks(hunks, context)


def check_hunks(hunks: tuple[Hunk, ...], context: int) -> None:
    """Check that each hunk has a change, and at most `context` lines around each change."""
    for hunk in hunks:
        signs = "".join(line.sign for line in hunk.lines)
        assert signs.strip()
        assert len(signs) - len(signs.lstrip(" ")) <= context
        assert len(signs) - len(signs.rstrip(" ")) <= context
        assert " " * (2 * context + 1) not in signs.strip()
        assert hunk.old_count == signs.count("-") + signs.count(" ")
        assert hunk.new_count == signs.count("+") + signs.count(" ")


def test_a_line_that_moves_in_a_long_text_does_not_change_other_lines() -> None:
    lines = [f"line {number}\n" for number in range(3000)]
    moved = [*lines[1:2000], lines[0], *lines[2000:]]
    hunks = find_hunks("".join(lines), "".join(moved), 0)
    assert [(hunk.old_count, hunk.new_count) for hunk in hunks] == [(1, 0), (0, 1)]


@pytest.mark.parametrize("words", [2, 100, 30_000])
def test_long_texts_of_any_kind_are_compared_quickly(words: int) -> None:
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


def without_nulls(data: Any) -> Any:
    """Return data without keys that are null, in the form in which it is compared."""
    if isinstance(data, dict):
        return {key: without_nulls(value) for key, value in data.items() if value is not None}
    return [without_nulls(value) for value in data] if isinstance(data, list) else data


@given(old=DATA, new=DATA)
def test_fields_differ_exactly_if_the_data_differs(old: Any, new: Any) -> None:
    before, after = without_nulls(old), without_nulls(new)
    originals = copy.deepcopy((before, after))
    changes = find_field_changes(before, after)
    assert bool(changes) == (not is_same(before, after))
    assert (before, after) == originals
    for change in changes:
        assert change.change in (ADDED, REMOVED, CHANGED)
        assert not is_same(change.old, change.new) or change.old is None


def test_the_number_one_does_not_equal_true() -> None:
    assert find_field_changes({"a": [1]}, {"a": [True]}) == [
        FieldChange(path="a[0]", change=CHANGED, old=1, new=True),
    ]


def test_containers_are_matched_by_name() -> None:
    old = {"containers": [{"name": "app", "image": "a:1"}, {"name": "log", "image": "l:1"}]}
    new = {"containers": [{"name": "log", "image": "l:1"}, {"name": "app", "image": "a:2"}]}
    assert find_field_changes(old, new) == [
        FieldChange(path="containers[name=app].image", change=CHANGED, old="a:1", new="a:2"),
        FieldChange(path="containers[]", change=CHANGED, old=["app", "log"], new=["log", "app"]),
    ]


def test_two_mounts_of_one_volume_are_matched_by_mount_path() -> None:
    old = {"volumeMounts": [{"name": "a", "mountPath": "/a"}, {"name": "a", "mountPath": "/b"}]}
    new = {"volumeMounts": [{"name": "a", "mountPath": "/a"}, {"name": "b", "mountPath": "/b"}]}
    assert find_field_changes(old, new) == [
        FieldChange(path="volumeMounts[mountPath=/b].name", change=CHANGED, old="a", new="b"),
    ]


def test_a_new_argument_does_not_change_later_arguments() -> None:
    old, new = {"args": ["a", "b", "c"]}, {"args": ["a", "x", "b", "c"]}
    assert find_field_changes(old, new) == [
        FieldChange(path="args[1]", change=ADDED, old=None, new="x")
    ]


def test_a_new_item_in_a_very_long_list_does_not_change_later_items() -> None:
    """difflib would need too much time."""
    items = [f"--flag-{number}" for number in range(1_000)]
    changes = list(find_field_changes({"args": items}, {"args": ["--new", *items]}))
    assert changes == [FieldChange(path="args[0]", change=ADDED, old=None, new="--new")]


def test_the_items_of_a_list_that_is_too_much_work_are_matched_by_index() -> None:
    """Of these items, 40,000 pairs are equal, and no item occurs only once on both sides."""
    old, new = ([item for n in range(200) for item in ("x", f"{side}{n}")] for side in "ab")
    changes = list(find_field_changes({"args": old}, {"args": new}))
    assert [change.path for change in changes] == [f"args[{n}]" for n in range(1, 400, 2)]


def test_the_content_of_a_secret_inside_another_object_is_redacted() -> None:
    old: dict[str, Json] = {"manifest": {"kind": "Secret", "data": {"password": "b2xk"}}}
    names: dict[str, str] = {}
    new: dict[str, Json] = {"manifest": {"kind": "Secret", "data": {"password": "bmV3"}}}
    (change,) = find_field_changes(comparable(old, names), comparable(new, names))
    assert redact(change, {}) == FieldChange(
        path="manifest.data", change=CHANGED, old=NOT_SHOWN, new=NOT_SHOWN
    )


KEYS = st.sampled_from(["kind", "metadata", "labels", "annotations", "nodeSelector", "data", "a"])
LEAVES: st.SearchStrategy[Any] = st.sampled_from(
    [None, True, 1, 0, "", "Secret", "Role", "web-4h2mbtbbt6", "b", [], {}]
)
VALUES = st.recursive(
    LEAVES, lambda inner: st.dictionaries(KEYS, inner) | st.lists(inner, max_size=2), max_leaves=12
)
MAPPINGS = st.dictionaries(KEYS, VALUES, max_size=4)


@settings(max_examples=examples(600))
@given(old=MAPPINGS, new=MAPPINGS, shared=MAPPINGS)
@example(old={}, new={"kind": "Secret"}, shared={"kind": None, "data": None})
def test_equal_parts_of_objects_can_be_left_out(old: Json, new: Json, shared: Json) -> None:
    assert isinstance(old, dict)
    assert isinstance(new, dict)
    assert isinstance(shared, dict)
    names = {"web-4h2mbtbbt6": "web"}
    # Shared parts are at several depths, and each side may override some of them.
    sides = [{**shared, **side, "metadata": {**shared, "labels": side}} for side in (old, new)]
    whole = [comparable(copy.deepcopy(side), names) for side in sides]
    parts = [
        comparable(side, names)
        for side in restricted(sides[0], sides[1], differing_parts(*sides), MARKED_KEYS)
    ]
    # Sorted, because an empty mapping means nothing and may change the order.
    actual, expected = (
        sorted(map(repr, find_field_changes(before, after))) for before, after in (parts, whole)
    )
    assert actual == expected


@pytest.mark.parametrize("null", ["null", "~", ""])
def test_the_path_of_a_null_is_shown(null: str) -> None:
    old, new = "a: 1\nb:\n", f"a: 1\nb: {null}\nc: {null}\n"
    fields, remark = compare_texts(old, new, find_hunks(old, new, 1), "a.yaml")
    assert [(field.path, field.change) for field in fields] == [("c", ADDED)]
    assert not remark
    fields, _ = compare_texts(new, old.replace("b:", "b: 2"), (), "a.yaml")
    assert [(field.path, field.change) for field in fields] == [("b", CHANGED), ("c", REMOVED)]


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ([None, 1], [2, 1], ("[0]", CHANGED)),
        ([1, {"a": 1}], [1, None], ("[1]", CHANGED)),
        ([None], [1, 2], ("[1]", ADDED)),
        ([1], [1, None], ("[1]", ADDED)),
    ],
)
def test_a_null_in_a_list_is_a_value(old: list[Any], new: list[Any], expected: Any) -> None:
    assert expected in [(one.path, one.change) for one in find_field_changes(old, new)]


def test_a_changed_comment_is_shown_with_the_lines() -> None:
    old, new = "# a\nlevel: info\n", "# b\nlevel: debug\n"
    assert compare_texts(old, new, find_hunks(old, new, 1), "a.yaml") == ((), "")


def test_words_that_differ_near_each_other_are_told_as_one() -> None:
    near, far = "." * 40, "." * 41
    start, shown = "=" * 50, f"…{'=' * 20}"
    old, new = f"word{near}b", f"longer{near}c"
    assert [*word_changes(start + old, start + new)] == [(shown + old, shown + new)]
    begin, end = f"{'.' * 20}…", f"…{'.' * 20}"
    assert [*word_changes(f"a{far}b", f"long{far}c")] == [
        (f"a{begin}", f"long{begin}"),
        (f"{end}b", f"{end}c"),
    ]
