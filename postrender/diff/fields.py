"""The fields that differ between two objects.

List items match by a key such as `name` or `port` if the values of the key are unique in each list.
Items of other lists match like the lines of texts.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

from postrender.diff.lines import changed_items
from postrender.diff.marks import Masked, Redacted
from postrender.diff.model import ADDED, CHANGED, REMOVED, FieldChange, change_of
from postrender.yaml.paths import Json, Parts, format_path, is_same, sorted_json

# The keys that can identify list items, in order of preference (Kubernetes API: patchMergeKey).
_ITEM_KEYS = ("name", "mountPath", "devicePath", "containerPort", "port", "key", "ip")
# Mappings that a preview shows key by key even if one side does not have the mapping.
_SHOWN_BY_KEY = ("metadata", "annotations", "labels")

# Mappings of strings. If two of these mappings differ, `restricted` keeps both mappings whole.
_STRING_MAPPINGS = ("annotations", "labels", "nodeSelector")

# The field with the schema of a version of a custom kind (apiextensions.k8s.io/v1).
SCHEMA = "schema.openAPIV3Schema"


def restricted(
    old: dict[str, Json], new: dict[str, Json], parts: Parts, kept: Collection[str]
) -> tuple[dict[str, Json], dict[str, Json]]:
    """Two objects without most of their equal parts, so that later steps are faster.

    A mapping that differs never becomes empty, because an empty mapping can have a meaning.
    kept: the keys that every mapping keeps.
    """
    if parts is None or old.get("kind") != new.get("kind"):
        return old, new
    sides: tuple[dict[str, Json], dict[str, Json]] = ({}, {})
    for key in dict.fromkeys((*parts, *kept)):
        before, after = old.get(key), new.get(key)
        if isinstance(before, dict) and isinstance(after, dict) and key not in _STRING_MAPPINGS:
            before, after = restricted(before, after, parts.get(key, {}), kept)
        if key in old:
            sides[0][key] = before
        if key in new:
            sides[1][key] = after
    return sides if all(sides) else (old, new)


def find_field_changes(old: Json, new: Json, path: str = "") -> list[FieldChange]:
    """The fields that differ, in the order of the older object, and added fields last.

    path: of the two values.

    A null is a value, because an apply of the null deletes the field in the cluster: its
    FieldChange is ADDED or REMOVED, with None as both values.
    """
    return [] if is_same(old, new) else list(_changes(old, new, path))


def _changes(old: Json, new: Json, path: str, *, is_in_both: bool = False) -> Iterator[FieldChange]:
    """The changes of a value; is_in_both: whether None is a null, and not an absent value."""
    if isinstance(old, dict) and isinstance(new, dict):
        yield from _in_mappings(old, new, path)
    elif isinstance(old, list) and isinstance(new, list):
        key = _item_key(old, new)
        if key:
            yield from _in_named_items(old, new, path, key)
        else:
            yield from _in_sequences(old, new, path)
    elif old.__class__ is Masked and new.__class__ is Masked:
        # Without a difference of the data, only comments or the notation differ.
        differing = find_field_changes(old.data, new.data, path)
        hidden = FieldChange(path=path, change=CHANGED, old=Redacted(old), new=Redacted(new))
        yield from differing or [hidden]
    else:
        change = CHANGED if is_in_both else change_of(old, new)
        yield FieldChange(path=path, change=change, old=old, new=new)


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
            is_in_both = key in old and key in new
            yield from _changes(before, after, _inside(path, key), is_in_both=is_in_both)


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


def inner_paths(value: dict[str, Json] | list[Json], path: str) -> Iterator[tuple[str, Json]]:
    """The path of each value directly in a mapping or list, with the value.

    path: of the mapping or list.
    """
    if isinstance(value, dict):
        yield from ((_inside(path, key), inner) for key, inner in value.items())
        return
    key = _item_key(value, ())
    for number, item in enumerate(value):
        name = f"{key}={item[key]}" if key and isinstance(item, dict) else number
        yield f"{path}[{name}]", item


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
                place = f"{path}[{after[number]}]"
                yield from _changes(old_item, new_item, place, is_in_both=True)
        for number in before[common:]:
            yield FieldChange(path=f"{path}[{number}]", change=REMOVED, old=old[number], new=None)
        for number in after[common:]:
            yield FieldChange(path=f"{path}[{number}]", change=ADDED, old=None, new=new[number])


def _replaced_ranges(old: list[Json], new: list[Json]) -> Iterator[tuple[range, range]]:
    """Pairs of ranges: the items in the new range replace the items in the old range."""
    before, after = list(map(sorted_json, old)), list(map(sorted_json, new))
    if len(before) == len(after) == 1:
        if before != after:
            yield range(1), range(1)
        return
    for block in changed_items(before, after):
        yield range(block.start, block.end), range(block.new_start, block.new_end)
