"""Edits of an object, as data, and their effect on plain data.

Every edit has a path in its document and is applied twice. This module applies the edit to plain
data, because hashes cover the edited object. postrender.yaml.splice applies the edit to the text.
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
    """Add new keys to the mapping at a path; create the mapping if it is missing."""

    path: Path
    entries: Mapping[str, Json]


class AddItems(NamedTuple):
    """Insert items at the start of the list at a path; create the list if it is missing."""

    path: Path
    items: Sequence[Json]


class AddAfter(NamedTuple):
    """Insert items after the list item at a path."""

    path: Path
    items: Sequence[Json]


class Remove(NamedTuple):
    """Remove the value at a path from its list or mapping."""

    path: Path


Addition = AddKeys | AddItems | AddAfter
Edit = SetScalar | Addition | Remove


class Site(NamedTuple):
    """The site of an edit: the characters of the text from start to end that the edit replaces.

    form: `scalar`; `value`, `whole`, `flow` or `flow-after` for text on one line; `block`,
        `block-after` or `lines` for block text. `splice` writes each form.
    indent: the column of block text.
    missing: the keys at the end of the edit's path that do not exist and are created.
    quote: the quote or block style of the replaced scalar.
    alias_paths: other paths whose value is the same text, through YAML aliases.
    line: the line of the changed scalar or item in the document, from 0.
    """

    start: int
    end: int
    form: str
    indent: int = 0
    missing: Path = ()
    quote: str = ""
    alias_paths: tuple[Path, ...] = ()
    line: int = 0


SiteKey = tuple[type[Edit], Path]


def set_keys(path: Path, existing: Mapping[str, Json], values: Mapping[str, str]) -> list[Edit]:
    """Return the edits that set values in the mapping at a path; existing: this mapping."""
    changed: list[Edit] = [
        SetScalar((*path, key), value)
        for key, value in values.items()
        if key in existing and existing[key] != value
    ]
    missing = {key: value for key, value in values.items() if key not in existing}
    return [*changed, AddKeys(path, missing)] if missing else changed


def apply_edits(data: Json, edits: Iterable[Edit], prefix: Path = ()) -> Json:
    """Apply edits to plain data in place and return the data.

    data: the value at `prefix` in the document; edits of other values are skipped.
    """
    selected = [edit for edit in edits if edit.path[: len(prefix)] == prefix]
    if any(isinstance(edit, (AddItems, AddAfter, Remove)) for edit in selected):
        # From the back: an added or removed item would shift the items after it.
        selected.sort(key=_sort_key, reverse=True)
    for edit in selected:
        _apply(data, edit, edit.path[len(prefix) :])
    return data


def _sort_key(edit: Edit) -> tuple[bool, list[tuple[int, str]]]:
    """Return the sort key of an edit: its path. In reverse order, AddItems are the last edits."""
    path = [(part, "") if isinstance(part, int) else (0, part) for part in edit.path]
    return not isinstance(edit, AddItems), path


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
    """Return the value at a path; create missing mappings, and `empty` at the end of the path."""
    for number, part in enumerate(path, 1):
        if isinstance(data, list) and isinstance(part, int):
            data = data[part]
        elif isinstance(data, dict) and isinstance(part, str):
            if data.get(part) is None:
                data[part] = {} if number < len(path) else empty
            data = data[part]
    return data
