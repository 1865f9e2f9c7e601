"""The differences between two texts, such as the values of a ConfigMap's keys.

A text that is JSON or YAML is also compared by path, because a line of minified JSON says nothing,
and because the order of its keys, its notation and its comments mean nothing to most programs.
"""

from __future__ import annotations

import base64
import binascii
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from hashlib import sha256

from postrender.diff.fields import find_field_changes
from postrender.diff.lines import changed_blocks, find_hunks
from postrender.diff.model import (
    Blob,
    FieldChange,
    Hunk,
    KeyChange,
    change_of,
)
from postrender.errors import Location, UserError
from postrender.records import NamedTuple
from postrender.yaml.document import parse_document
from postrender.yaml.paths import Json, mapping_at
from postrender.yaml.plain import MAX_DEPTH

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

ONLY_LINE_ENDS = "only line endings change"
ONLY_WHITE_SPACE = "only white space at the ends of lines changes"
ONLY_NOTATION = "only the order, the notation or comments change"
NO_LONGER_JSON, NO_LONGER_YAML = (
    "the value is no longer valid JSON",
    "the value is no longer valid YAML",
)

# A line of a YAML mapping or list. Other texts are not worth a parser.
_YAML_LINE = re.compile(r"(?:[\w\"'./-][^\n:]*:(?:\s|\Z)|- )")
# A scalar that programs read differently, as YAML 1.1 or 1.2.
_AMBIGUOUS = re.compile(
    r"(?:^|[\s\[{,])(?:y|n|yes|no|on|off|0\d+|0o\d+|\d+_[\d_]+|\d+:[\d:]+)(?=$|[\s\]},:])", re.I
)
_ITEM = re.compile(r"\[(?!\")[^\[\]]*\]")
_TOKEN = re.compile(r"\w+|\s+|[^\w\s]")
# The number of equal characters around a difference in a long line.
_CONTEXT = 20


def compare_texts(
    old: str, new: str, hunks: Sequence[Hunk], name: str = ""
) -> tuple[tuple[FieldChange, ...], str]:
    """The fields that differ if both texts are JSON or YAML, and a remark or "".

    The fields are empty if they would not tell every difference that a program can read.
    hunks: the lines that differ.
    name: the name of the key or file.
    """
    old_lines, new_lines = (text.replace("\r\n", "\n").split("\n") for text in (old, new))
    if old_lines == new_lines:
        return (), ONLY_LINE_ENDS
    if [line.rstrip() for line in old_lines] == [line.rstrip() for line in new_lines]:
        return (), ONLY_WHITE_SPACE
    before = _read(old, name)
    if before is None:
        return (), ""
    data, is_json = before
    after = _read(new, name, is_json=is_json)
    if after is None:
        is_named = is_json or name.endswith((".yaml", ".yml"))
        return (), (NO_LONGER_JSON if is_json else NO_LONGER_YAML) if is_named else ""
    fields = tuple(find_field_changes(data, after[0]))
    lines = [line.text for hunk in hunks for line in hunk.lines if line.sign != " "]
    is_ambiguous = not is_json and any(map(_AMBIGUOUS.search, lines))
    if not fields:
        return (), "" if is_ambiguous else ONLY_NOTATION
    has_comments = any(line.lstrip().startswith("#") for line in lines)
    return (() if is_ambiguous or has_comments else fields), ""


class Difference(NamedTuple):
    """What differs in two long texts: fields, or the lines of a text with several, or words."""

    remark: str
    fields: tuple[FieldChange, ...] = ()
    hunks: tuple[Hunk, ...] = ()
    words: tuple[tuple[str, str], ...] = ()


def compare_long(old: str, new: str) -> Difference:
    """The difference of two long texts, in the form that tells most."""
    hunks = find_hunks(old, new, 1)
    fields, remark = compare_texts(old, new, hunks)
    if fields:
        return Difference(remark, fields=fields)
    if "\n" in old or "\n" in new:
        return Difference(remark, hunks=hunks)
    return Difference(remark, words=tuple(word_changes(old, new)))


def _read(text: str, name: str, *, is_json: bool | None = None) -> tuple[Json, bool] | None:
    """The mapping or list in a JSON or YAML text, and whether it is JSON; None for other texts.

    is_json: which of both it must be, None for any.
    """
    start = text.lstrip()[:1]
    data: Json = None
    if is_json is not False and start in ("{", "["):
        try:
            data = json.loads(text, object_pairs_hook=_without_duplicates)
        except (ValueError, RecursionError):
            data = None
        if data is not None and _is_deep(data):
            return None
        if data is not None or is_json:
            return None if data is None else (data, True)
    if is_json or not (name.endswith((".yaml", ".yml")) or _looks_like_yaml(text)):
        return None
    try:
        document = parse_document(text, Location(""))
        data = document.data
        is_plain = isinstance(data, (dict, list)) and not document.duplicate_keys()
    except UserError:
        return None
    return (data, False) if is_plain else None


def _is_deep(data: Json) -> bool:
    """Whether JSON has more levels than a YAML document can have."""
    level: list[Any] = [data]
    for _ in range(MAX_DEPTH):
        level = [
            inner
            for value in level
            for inner in (value.values() if isinstance(value, dict) else value)
            if isinstance(inner, (dict, list))
        ]
        if not level:
            return False
    return True


def _without_duplicates(pairs: list[tuple[str, Json]]) -> dict[str, Json]:
    data = dict(pairs)
    if len(data) != len(pairs):
        raise ValueError("programs read different values of a key that is there twice")
    return data


def _looks_like_yaml(text: str) -> bool:
    lines = (line for line in text.split("\n", 30) if line.strip())
    first = next((line for line in lines if not line.startswith(("#", "---"))), "")
    return bool(_YAML_LINE.match(first))


def folded(fields: Iterable[FieldChange]) -> list[tuple[FieldChange, int]]:
    """The fields, each with a count: equal changes of several list items are one, with `[*]`."""
    groups: dict[str, tuple[FieldChange, list[FieldChange]]] = {}
    for field in fields:
        pattern = without_items(field)
        groups.setdefault(repr(pattern), (pattern, []))[1].append(field)
    return [
        (pattern if len(group) > 1 else group[0], len(group)) for pattern, group in groups.values()
    ]


def without_items(field: FieldChange) -> FieldChange:
    """A field with `[*]` for each item of a list."""
    return field._replace(path=_ITEM.sub("[*]", field.path))


def word_changes(old: str, new: str) -> Iterator[tuple[str, str]]:
    """Every part that differs in two long lines, with some equal characters around it."""
    before, after = tokens_of(old), tokens_of(new)
    starts, new_starts = _offsets(before), _offsets(after)
    spans: list[tuple[int, int, int, int]] = []
    for block in changed_blocks(before, after):
        start, end = starts[block.start], starts[block.end]
        new_start, new_end = new_starts[block.new_start], new_starts[block.new_end]
        if spans and start - spans[-1][1] <= 2 * _CONTEXT:
            spans[-1] = (spans[-1][0], end, spans[-1][2], new_end)
        else:
            spans.append((start, end, new_start, new_end))
    for start, end, new_start, new_end in spans:
        yield _with_context(old, start, end), _with_context(new, new_start, new_end)


def tokens_of(line: str) -> list[str]:
    """The words, the spaces and the other characters of a line."""
    return _TOKEN.findall(line)


def _offsets(tokens: Sequence[str]) -> list[int]:
    offsets = [0]
    for token in tokens:
        offsets.append(offsets[-1] + len(token))
    return offsets


def _with_context(text: str, start: int, end: int) -> str:
    first, last = max(start - _CONTEXT, 0), end + _CONTEXT
    return ("…" if first else "") + text[first:last] + ("…" if last < len(text) else "")


# --------------------------------------------------------------------------- the data of an object

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
    hunks = find_hunks(old_text, new_text, context)
    is_text = isinstance(old, str) and isinstance(new, str)
    fields, remark = compare_texts(old_text, new_text, hunks, key) if is_text else ((), "")
    return KeyChange(
        key=key,
        change=change_of(old, new),
        hunks=hunks,
        fields=fields,
        remark=remark,
        old_blob=_blob(old),
        new_blob=_blob(new),
    )


def _blob(value: str | bytes | None) -> Blob | None:
    return Blob(len(value), sha256(value).hexdigest()) if isinstance(value, bytes) else None
