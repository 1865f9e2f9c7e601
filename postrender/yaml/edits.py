"""Edits of an object: what to change, as data, and the same change made to plain data.

An edit names a path in its document. It is carried out twice: here on plain data (for hashes of
what will be there) and in postrender.yaml.splice on the text.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from postrender.startup.records import NamedTuple
from postrender.yaml.paths import Json, Path


class SetScalar(NamedTuple):
    """Replace the scalar at a path by another string or boolean."""

    path: Path
    value: str | bool


class AddKeys(NamedTuple):
    """Add keys that are not there yet to the mapping at a path; it is made if it is missing."""

    path: Path
    entries: Mapping[str, Json]


class AddItems(NamedTuple):
    """Put items before the others in the list at a path; it is made if it is missing."""

    path: Path
    items: Sequence[Json]


class AddAfter(NamedTuple):
    """Put items after the one at a path, in its list."""

    path: Path
    items: Sequence[Json]


class Remove(NamedTuple):
    """Take what is at a path out of its list or mapping."""

    path: Path


Addition = AddKeys | AddItems | AddAfter
Edit = SetScalar | Addition | Remove


def apply_edits(data: Json, edits: Iterable[Edit], prefix: Path = ()) -> Json:
    """Make the edits whose path begins with prefix in data, which stands there; return it."""
    inside = [edit for edit in edits if edit.path[: len(prefix)] == prefix]
    if any(isinstance(edit, (AddItems, AddAfter, Remove)) for edit in inside):
        # From the back, so that an item that comes or goes moves none that another edit names.
        inside.sort(key=_position, reverse=True)
    for edit in inside:
        _apply(data, edit, edit.path[len(prefix) :])
    return data


def _position(edit: Edit) -> tuple[bool, list[tuple[int, str]]]:
    """Order edits by their place; those that add items before the others come first of all."""
    parts = [(part, "") if isinstance(part, int) else (0, part) for part in edit.path]
    return not isinstance(edit, AddItems), parts


def _apply(data: Json, edit: Edit, path: Path) -> None:
    if isinstance(edit, AddKeys):
        target = _reach(data, path, {})
        if isinstance(target, dict):
            target.update(edit.entries)
        return
    if isinstance(edit, AddItems):
        items = _reach(data, path, [])
        if isinstance(items, list):
            items[:0] = edit.items
        return
    parent, last = _reach(data, path[:-1], {}), path[-1]
    if isinstance(edit, AddAfter) and isinstance(parent, list) and isinstance(last, int):
        parent[last + 1 : last + 1] = edit.items
    elif isinstance(edit, Remove) and isinstance(parent, list) and isinstance(last, int):
        del parent[last]
    elif isinstance(edit, Remove) and isinstance(parent, dict):
        parent.pop(last, None)
    elif isinstance(edit, SetScalar):
        _set(parent, last, edit.value)


def _set(parent: Json, last: str | int, value: Json) -> None:
    if isinstance(parent, list):
        parent[int(last)] = value
    elif isinstance(parent, dict):
        parent[last] = value


def _reach(data: Json, path: Path, empty: Json) -> Json:
    """Return what is at a path, making the mappings (and at its end, `empty`) that are missing."""
    for number, part in enumerate(path, 1):
        if isinstance(data, list) and isinstance(part, int):
            data = data[part]
        elif isinstance(data, dict) and isinstance(part, str):
            if data.get(part) is None:
                data[part] = {} if number < len(path) else empty
            data = data[part]
    return data
