"""The fields in which two objects differ, each with its path.

Items of lists are known by their name where every item has one of its own, as strategic merge
patches know containers, volumes and variables; other lists are compared as sequences.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence

from postrender.diff.compare.redact import shown
from postrender.diff.model import ADDED, CHANGED, REMOVED, FieldChange, change_of
from postrender.yaml.paths import Json, format_path

# What the items of Kubernetes' own lists are known by, in this order (patchMergeKey in the API).
_NAMES = ("name", "mountPath", "devicePath", "containerPort", "port", "key", "ip")
# Longer lists are compared item by item: looking for what moved takes the square of the time.
_LONGEST_SEQUENCE = 1000

# Told key by key, also where all of it comes or goes: whether `annotations:` is there says nothing.
_OPENED = ("metadata", "annotations", "labels")

# Small mappings of texts, which are looked at as a whole.
_TEXTS = ("annotations", "labels", "nodeSelector")

_encode = json.JSONEncoder(ensure_ascii=False, sort_keys=True).encode


def is_same(old: Json, new: Json) -> bool:
    """Tell whether data is the same; 1 is not true, as it is in Python."""
    if old != new or old.__class__ is not new.__class__:
        return False
    if old.__class__ not in (dict, list):
        return True
    # repr tells 1 from true at a third of the cost, but only where the keys have one order.
    return repr(old) == repr(new) or _encode(old) == _encode(new)


def differing(
    old: dict[str, Json], new: dict[str, Json]
) -> tuple[dict[str, Json], dict[str, Json]]:
    """Return two objects without most of what is the same in both, which saves looking into it.

    No mapping is left empty, which would mean another thing, nor without the kind by which a Secret
    is known.
    """
    if old.get("kind") != new.get("kind"):
        return old, new  # the content is shown on one side and not on the other
    before, after = dict(old), dict(new)
    for key, value in old.items():
        other = new.get(key)
        if key == "kind" or key not in new:
            continue
        if is_same(value, other):
            del before[key], after[key]
        elif key not in _TEXTS and isinstance(value, dict) and isinstance(other, dict):
            before[key], after[key] = differing(value, other)
    return (before, after) if before and after else (old, new)


def find_field_changes(old: Json, new: Json, path: str = "") -> list[FieldChange]:
    """Return the fields that differ, in the order of the older object; [] if and only if none."""
    return [] if is_same(old, new) else list(_changes(old, new, path))


def _changes(old: Json, new: Json, path: str) -> Iterator[FieldChange]:
    if isinstance(old, dict) and isinstance(new, dict):
        yield from _in_mappings(old, new, path)
    elif isinstance(old, list) and isinstance(new, list):
        name = _name_of_items(old, new)
        if name:
            yield from _in_named(old, new, path, name)
        else:
            yield from _in_sequences(old, new, path)
    else:
        yield _change(path, old, new)


def _change(path: str, old: Json, new: Json) -> FieldChange:
    return FieldChange(path, change_of(old, new), shown(old), shown(new))


def _in_mappings(old: dict[str, Json], new: dict[str, Json], path: str) -> Iterator[FieldChange]:
    for key in [*old, *(key for key in new if key not in old)]:
        before, after = old.get(key), new.get(key)
        if before is not after and not is_same(before, after):
            if key in _OPENED:
                before, after = _opened(before, after), _opened(after, before)
            yield from _changes(before, after, _inside(path, key))


def _opened(value: Json, other: Json) -> Json:
    """Return an empty mapping in the place of one that only the other side has."""
    return {} if value is None and isinstance(other, dict) else value


def _inside(path: str, key: str) -> str:
    part = format_path((key,))
    return part if not path else path + part if part.startswith("[") else f"{path}.{part}"


def _name_of_items(old: Sequence[Json], new: Sequence[Json]) -> str:
    """Return the key that every item of both lists has another value of, or nothing."""
    items = [*old, *new]
    if not items or not all(isinstance(item, dict) for item in items):
        return ""
    return next((key for key in _NAMES if _tells_apart(key, old) and _tells_apart(key, new)), "")


def _tells_apart(key: str, items: Sequence[Json]) -> bool:
    names = [item.get(key) for item in items if isinstance(item, dict)]
    is_plain = all(isinstance(name, (str, int)) and not isinstance(name, bool) for name in names)
    return is_plain and len(set(map(str, names))) == len(items)


def _in_named(old: list[Json], new: list[Json], path: str, key: str) -> Iterator[FieldChange]:
    before, after = _by_name(old, key), _by_name(new, key)
    for name in [*before, *(name for name in after if name not in before)]:
        if not is_same(before.get(name), after.get(name)):
            yield from _changes(before.get(name), after.get(name), f"{path}[{key}={name}]")
    kept = [name for name in before if name in after]
    now = [name for name in after if name in before]
    if kept != now:
        yield FieldChange(f"{path}[]", CHANGED, kept, now)


def _by_name(items: list[Json], key: str) -> dict[str, Json]:
    return {str(item[key]): item for item in items if isinstance(item, dict)}


def _in_sequences(old: list[Json], new: list[Json], path: str) -> Iterator[FieldChange]:
    for before, after in _matches(old, new):
        common = min(len(before), len(after))
        for number in range(common):
            one, other = old[before[number]], new[after[number]]
            if not is_same(one, other):
                yield from _changes(one, other, f"{path}[{after[number]}]")
        for number in before[common:]:
            yield FieldChange(f"{path}[{number}]", REMOVED, shown(old[number]), None)
        for number in after[common:]:
            yield FieldChange(f"{path}[{number}]", ADDED, None, shown(new[number]))


def _matches(old: list[Json], new: list[Json]) -> Iterator[tuple[range, range]]:
    """Yield the runs of items that differ."""
    if max(len(old), len(new)) > _LONGEST_SEQUENCE:
        yield range(len(old)), range(len(new))
        return
    before, after = list(map(_encode, old)), list(map(_encode, new))
    if len(before) == len(after) == 1:
        if before != after:
            yield range(1), range(1)
        return
    from difflib import SequenceMatcher

    matcher = SequenceMatcher(None, before, after, autojunk=False)
    for tag, start, end, new_start, new_end in matcher.get_opcodes():
        if tag != "equal":
            yield range(start, end), range(new_start, new_end)
