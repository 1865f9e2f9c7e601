"""The records of edits, and their application to parsed data, because hashes cover the edited data.

The module `splice` applies edits to the text.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

from postrender.records import NamedTuple
from postrender.yaml.paths import Json, Path, mappings_in

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


class SetScalar(NamedTuple):
    """Replace the scalar at a path."""

    path: Path
    value: str | bool


class AddKeys(NamedTuple):
    """Add new keys to the mapping at a path, which the edit creates if it is missing."""

    path: Path
    entries: Mapping[str, Json]


class AddItems(NamedTuple):
    """Insert items at the start of the list at a path, which the edit creates if it is missing."""

    path: Path
    items: Sequence[Json]


class AddAfter(NamedTuple):
    """Insert items after the list item at a path."""

    path: Path
    items: Sequence[Json]


class Remove(NamedTuple):
    """Remove the list item or the key at a path."""

    path: Path


Addition = AddKeys | AddItems | AddAfter
Edit = SetScalar | Addition | Remove


class Site(NamedTuple):
    """The part of the text that an edit replaces; empty for an insertion.

    start, end: indexes in the document.
    form: how `splice` writes the new text: a scalar for `scalar`, one line for `value`, `whole`,
        `flow` and `flow-after`, block YAML for `block`, `block-after` and `lines`.
    indent: the column of the block YAML, 0 for the other forms.
    missing: the keys at the end of the edit's path that the edit must create.
    quote: the quote, `|` or `>` of the replaced scalar; "" if unquoted, and for other forms.
    line: of the replaced scalar (SetScalar) or of the item (AddAfter), from 0.
    """

    start: int
    end: int
    form: str
    indent: int = 0
    missing: Path = ()
    quote: str = ""
    line: int = 0


def set_keys(path: Path, existing: Mapping[str, Json], values: Mapping[str, str]) -> list[Edit]:
    """The edits that set these keys of the mapping at a path, which is `existing`."""
    changed: list[Edit] = [
        SetScalar((*path, key), value)
        for key, value in values.items()
        if key in existing and existing[key] != value
    ]
    missing = {key: value for key, value in values.items() if key not in existing}
    return [*changed, AddKeys(path, missing)] if missing else changed


def merge_by_name(base: Json, own: Json, merge: Callable[[Json, Json], Json]) -> list[Json] | None:
    """Merge two lists of named items, those of `base` first.

    None if `base` or `own` is not a list, or if an item does not have a name.
    merge: merges two items with the same name, first the item of `base`.
    """
    if not (_are_all_named(base) and _are_all_named(own)):
        return None
    items = {item["name"]: item for item in mappings_in(own)}
    merged = [
        merge(item, items.pop(item["name"])) if item["name"] in items else item
        for item in mappings_in(base)
    ]
    return [*merged, *items.values()]


def _are_all_named(items: Json) -> bool:
    return isinstance(items, list) and all(
        isinstance(item, dict) and isinstance(item.get("name"), str) for item in items
    )


def copied(data: Any) -> Any:
    """A deep copy, in which values that YAML aliases share are separate."""
    if isinstance(data, dict):
        return {
            key: copied(value) if value.__class__ in (dict, list) else value
            for key, value in data.items()
        }
    return [copied(value) for value in data] if isinstance(data, list) else data


def apply_edits(data: Any, edits: Iterable[Edit], prefix: Path = ()) -> Any:
    """A copy of data with edits, which shares the parts without edits with the data.

    data: the value at the path `prefix` of the document.
    edits: with paths in the document; those outside the data are skipped.
    """
    selected = [edit for edit in edits if edit.path[: len(prefix)] == prefix]
    if any(isinstance(edit, (AddItems, AddAfter, Remove)) for edit in selected):
        # An added or removed item shifts all later items of its list. Apply the edits from the last
        # item to the first item, and apply AddItems last.
        selected.sort(key=_sort_key, reverse=True)
    edited = _Edited(data)
    for edit in selected:
        edited.apply(edit, edit.path[len(prefix) :])
    return edited.data


def _sort_key(edit: Edit) -> tuple[bool, list[tuple[int, str]]]:
    """Order by path, with AddItems before all other edits."""
    path = [(part, "") if isinstance(part, int) else (0, part) for part in edit.path]
    return not isinstance(edit, AddItems), path


class _Edited:
    """A copy of data, whose containers are copied when an edit first reaches them.

    own: the copied containers, by id().
    """

    __slots__ = ("data", "own")

    def __init__(self, data: Any) -> None:
        self.own: dict[int, Json] = {}
        self.data = self.copy_of(data)

    def copy_of(self, data: Any) -> Any:
        if data.__class__ not in (dict, list) or id(data) in self.own:
            return data
        copy = data.copy()
        self.own[id(copy)] = copy
        return copy

    def apply(self, edit: Edit, path: Path) -> None:
        if isinstance(edit, AddKeys):
            target = self.reach(path, {})
            if isinstance(target, dict):
                target.update(edit.entries)
            return
        if isinstance(edit, AddItems):
            items = self.reach(path, [])
            if isinstance(items, list):
                items[:0] = edit.items
            return
        parent, last = self.reach(path[:-1], {}), path[-1]
        if isinstance(edit, AddAfter) and isinstance(parent, list) and isinstance(last, int):
            parent[last + 1 : last + 1] = edit.items
        elif isinstance(edit, Remove) and isinstance(parent, list) and isinstance(last, int):
            del parent[last]
        elif isinstance(edit, Remove) and isinstance(parent, dict):
            parent.pop(last, None)
        elif isinstance(edit, SetScalar) and isinstance(parent, (list, dict)):
            parent[last] = edit.value  # type: ignore[index]

    def reach(self, path: Path, empty: Any) -> Any:
        """The value at a path; a missing or null one becomes `empty`, below new mappings."""
        data = self.data
        for number, part in enumerate(path, 1):
            if isinstance(data, dict) and isinstance(part, str):
                if data.get(part) is None:
                    data[part] = {} if number < len(path) else empty
            elif not (isinstance(data, list) and isinstance(part, int)):
                continue
            data[part] = self.copy_of(data[part])
            data = data[part]
        return data


def merge_patch(data: Json, patch: Json) -> Json:
    """Data after the application of a patch.

    Mappings merge by key, and a null in the patch removes the key. Lists merge by name if every
    item of both has a string as `name`. Any other value replaces the existing value.
    """
    if isinstance(data, dict) and isinstance(patch, Mapping):
        merged = {key: merge_patch(data.get(key), value) for key, value in patch.items()}
        both = {**data, **merged}
        return {key: value for key, value in both.items() if patch.get(key, "") is not None}
    if isinstance(patch, Mapping):
        return {key: value for key, value in patch.items() if value is not None}
    merged_list = merge_by_name(data, patch, merge_patch)
    return patch if merged_list is None else merged_list
