"""The differences between two values: the lines of texts, the fields of objects, and data keys.

difflib compares only short texts, because its time grows with the square of the number of lines, or
with the third power if many lines are equal. Like `git diff --patience`, `find_hunks` splits other
texts at lines that occur exactly once in each. A long part without such a line counts as replaced.

List items match by a key such as `name` or `port` if the values of the key are unique in each list.
Items of other lists match like the lines of texts.
"""

from __future__ import annotations

import base64
import binascii
import json
from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache
from hashlib import sha256
from io import StringIO
from itertools import accumulate

from postrender.diff.model import (
    ADDED,
    CHANGED,
    REMOVED,
    Blob,
    FieldChange,
    Hunk,
    KeyChange,
    Line,
    change_of,
)
from postrender.records import NamedTuple
from postrender.text import common_length
from postrender.yaml.paths import Json, format_path, mapping_at

TYPE_CHECKING = False
if TYPE_CHECKING:
    from difflib import Match, SequenceMatcher

# difflib compares texts if the count of old lines times the count of new lines is at most this
# number, and lists up to this length.
_MAX_PAIRS = 40_000
_MAX_SEQUENCE = 1000
# The work of difflib for each line or item, in pairs of equal lines. In 700 comparisons of public
# charts, the work was at most 3.
_MAX_WORK = 100
# How often a part of a text is split at anchors.
_MAX_SPLITS = 16


class _Change(NamedTuple):
    """A slice of the old lines, and the slice of the new lines that replaces the old lines."""

    start: int
    end: int
    new_start: int
    new_end: int


def find_hunks(old: str, new: str, context: int) -> tuple[Hunk, ...]:
    """The hunks of a unified diff, with `context` unchanged lines around each change."""
    old_lines, new_lines = _lines(old), _lines(new)
    groups = _groups(_changed_blocks(old_lines, new_lines), context)
    return tuple(_hunk(old_lines, new_lines, group, context) for group in groups)


def _lines(text: str) -> list[str]:
    """The lines with their line feeds; no other character ends a line."""
    return list(StringIO(text))


def _changed_blocks(old: list[str], new: list[str]) -> Iterator[_Change]:
    start = common_length(old, new)
    end = common_length(old[start:][::-1], new[start:][::-1])
    yield from _changes_between(old, new, start, len(old) - end, start, len(new) - end)


def _changes_between(
    old: Sequence[str],
    new: Sequence[str],
    start: int,
    end: int,
    new_start: int,
    new_end: int,
    splits: int = 0,
) -> Iterator[_Change]:
    count, new_count = end - start, new_end - new_start
    if not count and not new_count:
        return
    whole = _Change(start=start, end=end, new_start=new_start, new_end=new_end)
    if count * new_count <= 1:  # a side does not have lines, or each side has one line that differs
        yield whole
        return
    if count * new_count <= _MAX_PAIRS:
        changes = _changes_by_difflib(old[start:end], new[new_start:new_end])
        if changes is not None:
            for change in changes:
                yield _Change(
                    start=start + change.start,
                    end=start + change.end,
                    new_start=new_start + change.new_start,
                    new_end=new_start + change.new_end,
                )
            return
    if splits == _MAX_SPLITS:
        yield whole
    else:
        yield from _changes_by_anchors(old, new, whole, splits + 1)


def _changes_by_difflib(old: Sequence[str], new: Sequence[str]) -> list[_Change] | None:
    """The changes that difflib finds, None if this would be too much work."""
    matcher = _matcher_class()(old, new)
    try:
        return [
            _Change(start=start, end=end, new_start=new_start, new_end=new_end)
            for tag, start, end, new_start, new_end in matcher.get_opcodes()
            if tag != "equal"
        ]
    except _TooMuchWork:
        return None


class _TooMuchWork(Exception):  # noqa: N818
    """The work of difflib exceeds the limit."""


@cache
def _matcher_class() -> Callable[[Sequence[str], Sequence[str]], SequenceMatcher[str]]:
    from difflib import SequenceMatcher

    class Matcher(SequenceMatcher[str]):
        """A SequenceMatcher that stops after too much work.

        The work of a search for the longest match is the number of pairs of equal lines.
        """

        def __init__(self, old: Sequence[str], new: Sequence[str]) -> None:
            super().__init__(None, old, new, autojunk=False)
            counts = Counter(new)
            self.pairs = [0, *accumulate(counts[line] for line in old)]
            self.rest = _MAX_WORK * (len(old) + len(new))

        def find_longest_match(
            self, alo: int = 0, ahi: int | None = None, blo: int = 0, bhi: int | None = None
        ) -> Match:
            self.rest -= self.pairs[len(self.pairs) - 1 if ahi is None else ahi] - self.pairs[alo]
            if self.rest < 0:
                raise _TooMuchWork
            return super().find_longest_match(alo, ahi, blo, bhi)

    return Matcher


def _changes_by_anchors(
    old: Sequence[str], new: Sequence[str], whole: _Change, splits: int
) -> Iterator[_Change]:
    start, end, new_start, new_end = whole
    anchors = _anchors(old, new, range(start, end), range(new_start, new_end))
    if not anchors:
        yield whole
        return
    for anchor, new_anchor in anchors:
        if anchor < start:
            continue  # the equal lines after the previous anchor include this anchor
        yield from _changes_between(old, new, start, anchor, new_start, new_anchor, splits)
        start, new_start = anchor, new_anchor
        while start < end and new_start < new_end and old[start] == new[new_start]:
            start, new_start = start + 1, new_start + 1
    yield from _changes_between(old, new, start, end, new_start, new_end, splits)


def _anchors(
    old: Sequence[str], new: Sequence[str], inside: range, new_inside: range
) -> list[tuple[int, int]]:
    """(old index, new index) for lines that occur exactly once in each of two ranges.

    The result is the longest list of these pairs in which both indexes increase.
    """
    counts = Counter(old[number] for number in inside)
    new_counts = Counter(new[number] for number in new_inside)
    numbers = {new[number]: number for number in new_inside if new_counts[new[number]] == 1}
    pairs = [
        (number, numbers[old[number]])
        for number in inside
        if counts[old[number]] == 1 and old[number] in numbers
    ]
    return _longest_increasing(pairs)


def _longest_increasing(pairs: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """The longest subsequence in which the second index increases (patience sorting)."""
    tops: list[int] = []
    ends: list[int] = []
    previous: list[int] = []
    for number, (_, new_number) in enumerate(pairs):
        pile = bisect_left(tops, new_number)
        tops[pile : pile + 1] = [new_number]
        ends[pile : pile + 1] = [number]
        previous.append(ends[pile - 1] if pile else -1)
    subsequence = []
    number = ends[-1] if ends else -1
    while number >= 0:
        subsequence.append(pairs[number])
        number = previous[number]
    return subsequence[::-1]


def _groups(changes: Iterable[_Change], context: int) -> Iterator[list[_Change]]:
    group: list[_Change] = []
    for change in changes:
        if group and change.start - group[-1].end > 2 * context:
            yield group
            group = []
        group.append(change)
    if group:
        yield group


def _hunk(old: Sequence[str], new: Sequence[str], changes: Sequence[_Change], context: int) -> Hunk:
    first, last = changes[0], changes[-1]
    before = min(context, first.start)
    start, new_start = first.start - before, first.new_start - before
    end, new_end = min(last.end + context, len(old)), min(last.new_end + context, len(new))
    lines: list[Line] = []
    index = start
    for change in (*changes, _Change(start=end, end=end, new_start=new_end, new_end=new_end)):
        shift = change.new_start - change.start
        lines += [
            _line(" ", number + 1, number + shift + 1, old[number])
            for number in range(index, change.start)
        ]
        lines += [
            _line("-", number + 1, 0, old[number]) for number in range(change.start, change.end)
        ]
        lines += [
            _line("+", 0, number + 1, new[number])
            for number in range(change.new_start, change.new_end)
        ]
        index = change.end
    count, new_count = end - start, new_end - new_start
    # As in diff(1), a side without lines has the number of the line before the hunk.
    return Hunk(
        old=start + (1 if count else 0),
        old_count=count,
        new=new_start + (1 if new_count else 0),
        new_count=new_count,
        lines=tuple(lines),
    )


def _line(sign: str, old: int, new: int, text: str) -> Line:
    is_open = not text.endswith("\n")
    return Line(sign=sign, old=old, new=new, text=text if is_open else text[:-1], is_open=is_open)


# The keys that can identify list items, in order of preference (Kubernetes API: patchMergeKey).
_ITEM_KEYS = ("name", "mountPath", "devicePath", "containerPort", "port", "key", "ip")
# Mappings that a preview shows key by key even if one side does not have the mapping.
_SHOWN_BY_KEY = ("metadata", "annotations", "labels")

# Mappings of strings. If two of these mappings differ, `differing` keeps both mappings whole.
_STRING_MAPPINGS = ("annotations", "labels", "nodeSelector")

_encode = json.JSONEncoder(ensure_ascii=False, check_circular=False, sort_keys=True).encode


def is_same(old: Json, new: Json) -> bool:
    """Whether two values are equal; unlike in Python, 1 does not equal true."""
    if old != new or old.__class__ is not new.__class__:
        return False
    if old.__class__ not in (dict, list):
        return True
    # repr also distinguishes 1 from true, and is three times as fast as the JSON encoder. But equal
    # mappings have different reprs if their keys are in another order.
    return repr(old) == repr(new) or _encode(old) == _encode(new)


def differing(
    old: dict[str, Json], new: dict[str, Json]
) -> tuple[dict[str, Json], dict[str, Json]]:
    """Two objects without most of their equal parts, so that later steps are faster.

    A mapping that differs never becomes empty, because an empty mapping can have a meaning. The
    objects keep their kind, by which mark_content recognises a Secret.
    """
    if old.get("kind") != new.get("kind"):
        return old, new
    old_rest, new_rest = dict(old), dict(new)
    for key, old_value in old.items():
        new_value = new.get(key)
        if key == "kind" or key not in new:
            continue
        if is_same(old_value, new_value):
            del old_rest[key], new_rest[key]
        elif key in _STRING_MAPPINGS:
            continue
        elif isinstance(old_value, dict) and isinstance(new_value, dict):
            old_rest[key], new_rest[key] = differing(old_value, new_value)
    return (old_rest, new_rest) if old_rest and new_rest else (old, new)


def find_field_changes(old: Json, new: Json) -> list[FieldChange]:
    """The fields that differ, in the order of the older object, and added fields last.

    A null is a value, because an apply of the null deletes the field in the cluster: its
    FieldChange is ADDED or REMOVED, with None as both values.
    """
    return [] if is_same(old, new) else list(_changes(old, new, ""))


def _changes(old: Json, new: Json, path: str) -> Iterator[FieldChange]:
    if isinstance(old, dict) and isinstance(new, dict):
        yield from _in_mappings(old, new, path)
    elif isinstance(old, list) and isinstance(new, list):
        key = _item_key(old, new)
        if key:
            yield from _in_named_items(old, new, path, key)
        else:
            yield from _in_sequences(old, new, path)
    else:
        yield FieldChange(path=path, change=change_of(old, new), old=old, new=new)


def _in_mappings(old: dict[str, Json], new: dict[str, Json], path: str) -> Iterator[FieldChange]:
    for key in {**old, **new}:
        before, after = old.get(key), new.get(key)
        if before is None and after is None:
            if (key in old) != (key in new):
                change = ADDED if key in new else REMOVED
                yield FieldChange(path=_inside(path, key), change=change, old=None, new=None)
        elif not is_same(before, after):
            if key in _SHOWN_BY_KEY:
                before, after = _or_empty(before, after), _or_empty(after, before)
            yield from _changes(before, after, _inside(path, key))


def _or_empty(value: Json, other: Json) -> Json:
    return {} if value is None and other and isinstance(other, dict) else value


def _inside(path: str, key: str) -> str:
    part = format_path((key,))
    return part if not path else path + part if part.startswith("[") else f"{path}.{part}"


def _item_key(old: Sequence[Json], new: Sequence[Json]) -> str:
    items = [*old, *new]
    if not items or not all(isinstance(item, dict) for item in items):
        return ""
    return next((key for key in _ITEM_KEYS if _is_unique(key, old) and _is_unique(key, new)), "")


def _is_unique(key: str, items: Sequence[Json]) -> bool:
    names = [item.get(key) for item in items if isinstance(item, dict)]
    is_plain = all(isinstance(name, (str, int)) and not isinstance(name, bool) for name in names)
    return is_plain and len(set(map(str, names))) == len(items)


def _in_named_items(old: list[Json], new: list[Json], path: str, key: str) -> Iterator[FieldChange]:
    before, after = _by_name(old, key), _by_name(new, key)
    for name in {**before, **after}:
        if not is_same(before.get(name), after.get(name)):
            yield from _changes(before.get(name), after.get(name), f"{path}[{key}={name}]")
    old_order: list[Json] = [name for name in before if name in after]
    new_order: list[Json] = [name for name in after if name in before]
    if old_order != new_order:
        yield FieldChange(path=f"{path}[]", change=CHANGED, old=old_order, new=new_order)


def _by_name(items: list[Json], key: str) -> dict[str, Json]:
    return {str(item[key]): item for item in items if isinstance(item, dict)}


def _in_sequences(old: list[Json], new: list[Json], path: str) -> Iterator[FieldChange]:
    for before, after in _replaced_ranges(old, new):
        common = min(len(before), len(after))
        for number in range(common):
            old_item, new_item = old[before[number]], new[after[number]]
            if not is_same(old_item, new_item):
                yield from _changes(old_item, new_item, f"{path}[{after[number]}]")
        for number in before[common:]:
            yield FieldChange(path=f"{path}[{number}]", change=REMOVED, old=old[number], new=None)
        for number in after[common:]:
            yield FieldChange(path=f"{path}[{number}]", change=ADDED, old=None, new=new[number])


def _replaced_ranges(old: list[Json], new: list[Json]) -> Iterator[tuple[range, range]]:
    """Pairs of ranges: the items in the new range replace the items in the old range."""
    before, after = list(map(_encode, old)), list(map(_encode, new))
    if len(before) == len(after) == 1:
        if before != after:
            yield range(1), range(1)
        return
    is_short = max(len(old), len(new)) <= _MAX_SEQUENCE
    changes = _changes_by_difflib(before, after) if is_short else None
    for change in _changed_blocks(before, after) if changes is None else changes:
        yield range(change.start, change.end), range(change.new_start, change.new_end)


Content = Mapping[str, str | bytes]


def content_of(data: Mapping[str, Json], *, is_secret: bool) -> Content:
    """The values of a ConfigMap or Secret, by key.

    Values in `data` of a ConfigMap are text, those in `binaryData` bytes. For a Secret, all values
    are bytes, and `stringData` overrides `data` (core/v1 Secret). A value that is not base64 counts
    as the bytes of its text.
    """
    if is_secret:
        decoded = {key: _decoded(value) for key, value in _strings(data, "data").items()}
        texts = _strings(data, "stringData").items()
        return {**decoded, **{key: value.encode("utf-8", "surrogatepass") for key, value in texts}}
    binary = {key: _decoded(value) for key, value in _strings(data, "binaryData").items()}
    return {**_strings(data, "data"), **binary}


def _strings(data: Mapping[str, Json], field: str) -> dict[str, str]:
    values = mapping_at(data, (field,))
    return {key: "" if value is None else str(value) for key, value in values.items()}


def _decoded(text: str) -> bytes:
    try:
        # The API server ignores line breaks, and rejects all other characters outside base64.
        return base64.b64decode(text.replace("\n", "").replace("\r", ""), validate=True)
    except (binascii.Error, ValueError):
        return text.encode("utf-8", "surrogatepass")  # the API server rejects the object


def find_key_changes(old: Content, new: Content, context: int) -> tuple[KeyChange, ...]:
    """The keys that differ, sorted, with `context` unchanged lines around each change."""
    return tuple(
        _key_change(key, old.get(key), new.get(key), context)
        for key in sorted({*old, *new})
        if old.get(key) != new.get(key)
    )


def _key_change(
    key: str, old: str | bytes | None, new: str | bytes | None, context: int
) -> KeyChange:
    old_text, new_text = (value if isinstance(value, str) else "" for value in (old, new))
    return KeyChange(
        key=key,
        change=change_of(old, new),
        hunks=find_hunks(old_text, new_text, context),
        old_blob=_blob(old),
        new_blob=_blob(new),
    )


def _blob(value: str | bytes | None) -> Blob | None:
    return Blob(len(value), sha256(value).hexdigest()) if isinstance(value, bytes) else None
