"""What makes changes alike: the facts of a change, and when two facts are equal.

A fact is a cause, a field, a note, or the part of a key that changes a path or a run of lines. Two
facts are alike if they differ only in the names of the objects, of containers, and of the
ConfigMaps and Secrets that a workload references.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise

from postrender.diff.fields import SCHEMA
from postrender.diff.model import (
    CHANGED,
    Cause,
    ContentChange,
    FieldChange,
    Hunk,
    KeyChange,
    ObjectChange,
    WorkloadChange,
)
from postrender.diff.texts import without_items
from postrender.kubernetes.kinds import Identity
from postrender.records import NamedTuple, grouped

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    AnyChange = WorkloadChange | ContentChange | ObjectChange

# The fields of changes that contain facts. Those of the second tuple have one value.
LISTS, SINGLE = (
    ("causes", "in_place", "fields", "keys", "former"),
    ("reason", "note", "fate", "via", "is_mounted"),
)
# What stands for the name of each object of a group, and for any other name.
_OWN_NAME, _ANY_NAME = "<name>", "*"
_CONTAINER = re.compile(r"([cC]ontainers)\[name=[^\]]*\]")


class Fact(NamedTuple):
    """A fact of a change.

    field: the field of the change.
    texts: equal for facts that are alike: one with the object's own name, and one without.
    size: in lines.
    """

    field: str
    value: Any
    texts: tuple[str, str]
    size: float


def facts_of(change: AnyChange, numbers: Mapping[Identity, int]) -> list[Fact]:
    """The facts of a change.

    numbers: of the groups of ConfigMaps and Secrets. References to different groups are not alike.
    """
    facts, seen = [], Counter[tuple[str, str]]()
    name = change.identity.name
    for field, value in values_of(change):
        target: Any = value if isinstance(value, Identity) else getattr(value, "subject", None)
        general = _general(value, name)
        text = repr(general)
        placed = repr(_placed(general, name)) if name and name in text else text
        seen[field, placed] += 1  # two containers of an object can change in the same way
        start = f"{field} {seen[field, placed]} {numbers.get(target, '')} "
        facts.append(Fact(field, value, (start + text, start + placed), _size(value, text)))
    return facts


def values_of(change: AnyChange) -> Iterator[tuple[str, Any]]:
    """The facts of a change, each with its field."""
    for field in LISTS:
        for value in getattr(change, field, ()):
            parts = parts_of_key(value) if isinstance(value, KeyChange) else (value,)
            yield from ((field, part) for part in parts)
    for field in SINGLE:
        if value := getattr(change, field, None):
            yield field, value


def parts_of_key(key: KeyChange) -> list[KeyChange]:
    """A key as one change for each field, or for each run of changed lines."""
    if key.change != CHANGED or key.remark or key.old_blob or key.new_blob:
        return [key]
    if key.fields:
        alike = grouped(key.fields, lambda field: repr(without_items(field)))
        return [key._replace(hunks=(), fields=tuple(fields)) for fields in alike.values()]
    return [key._replace(hunks=(run,)) for hunk in key.hunks for run in _runs(hunk)] or [key]


def _runs(hunk: Hunk) -> Iterator[Hunk]:
    """A hunk for each run of changed lines, with the unchanged lines before the run."""
    signs = "".join(line.sign for line in hunk.lines)
    last = len(signs.rstrip())
    cuts = [number for number in range(1, last) if signs[number - 1] != " " == signs[number]]
    if not cuts:
        yield hunk
        return
    old, new = hunk.old, hunk.new
    for start, end in pairwise((0, *cuts, len(signs))):
        old_count, new_count = (end - start - signs[start:end].count(sign) for sign in "+-")
        lines = hunk.lines[start:end]
        # As in diff(1), a side without lines has the number of the line before the hunk.
        yield Hunk(old - (not old_count), old_count, new - (not new_count), new_count, lines)
        old, new = old + old_count, new + new_count


def _general(value: Any, name: str) -> Any:
    """A value without container names, line numbers, and names of ConfigMaps and Secrets.

    name: of the object.
    """
    if isinstance(value, Identity):
        return value._replace(name=_ANY_NAME, namespace=None)
    if isinstance(value, FieldChange):
        return value._replace(path=_CONTAINER.sub(rf"\1[{_ANY_NAME}]", value.path))
    if isinstance(value, Cause):
        return value._replace(
            container=value.container and _ANY_NAME,
            subject=value.subject and _general(value.subject, name),
            field=value.field and _general(value.field, name),
        )
    if isinstance(value, KeyChange):
        lines = (line for hunk in value.hunks for line in hunk.lines if line.sign != " ")
        fields = dict.fromkeys(repr(without_items(field)) for field in value.fields)
        head = value._replace(key=_general_key(value.key, name), hunks=(), fields=())
        return tuple(head), tuple(fields), [line._replace(old=0, new=0) for line in lines]
    return value


def _general_key(key: str, name: str) -> str:
    """`*.json` for a key such as `nodes.json` of an object such as `dashboards-nodes`."""
    stem, dot, extension = key.rpartition(".")
    return f"{_ANY_NAME}{dot}{extension}" if stem and name.endswith(stem) else key


def _placed(value: Any, name: str) -> Any:
    """A value with a placeholder for the object's own name, where it is a whole word."""
    if isinstance(value, str):
        return _replaced(value, name) if name and name in value else value
    if isinstance(value, tuple):
        inner = [_placed(part, name) for part in value]
        return value._make(inner) if hasattr(value, "_make") else tuple(inner)
    if isinstance(value, list):
        return [_placed(part, name) for part in value]
    if isinstance(value, dict):
        return {_placed(key, name): _placed(part, name) for key, part in value.items()}
    return value


def _replaced(text: str, name: str) -> str:
    # To compile a pattern for each name would take a tenth of the time of a preview.
    parts, start, index = [], 0, text.find(name)
    while index >= 0:
        end = index + len(name)
        if text[index - 1 : index].isalnum() or text[end : end + 1].isalnum():
            index = text.find(name, index + 1)
            continue
        parts += [text[start:index], _OWN_NAME]
        start, index = end, text.find(name, end)
    return "".join((*parts, text[start:]))


def _size(value: Any, text: str) -> float:
    if isinstance(value, KeyChange):
        return 1 + (len(value.fields) or sum(len(hunk.lines) for hunk in value.hunks))
    if isinstance(value, FieldChange) and SCHEMA in value.path:
        return 0.02  # about fifty are one line
    return 1 + text.count("\\n")


def common_value(values: Sequence[Any], members: Sequence[AnyChange]) -> Any:
    """A value that is true for all members, with as many names as possible."""
    names = [member.identity.name for member in members]
    if isinstance(values[0], KeyChange):
        return _common_key(values, names[0])
    forms = [
        values,
        [_placed(value, name) for value, name in zip(values, names, strict=True)],
        [_placed(_general(values[0], names[0]), names[0])],
    ]
    return next(form[0] for form in forms if len(set(map(repr, form))) == 1)


def _common_key(values: Sequence[KeyChange], name: str) -> KeyChange:
    first: KeyChange = _placed(values[0], name)
    if len({value.key for value in values}) > 1:
        first = first._replace(key=_general_key(values[0].key, name), hunks=())
    if any(len(value.fields) > 1 for value in values):
        first = first._replace(fields=tuple(field for value in values for field in value.fields))
    return first
