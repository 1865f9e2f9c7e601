"""Edits of a document, as records, and the effect of edits on parsed data.

postrender applies an edit of a revision twice. apply_edits() applies the edit to parsed data,
because the hash covers the edited data. The module `splice` applies the edit to the text.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from postrender.startup.records import NamedTuple
from postrender.yaml.paths import Json, Path


class SetScalar(NamedTuple):
    """An edit that replaces the scalar at a path by a string or a boolean."""

    path: Path
    value: str | bool


class AddKeys(NamedTuple):
    """An edit that adds new keys to the mapping at a path, and creates a missing mapping."""

    path: Path
    entries: Mapping[str, Json]


class AddItems(NamedTuple):
    """An edit that inserts items at the start of the list at a path, and creates a missing list."""

    path: Path
    items: Sequence[Json]


class AddAfter(NamedTuple):
    """An edit that inserts items after the list item at a path."""

    path: Path
    items: Sequence[Json]


class Remove(NamedTuple):
    """An edit that removes the value at a path from its list or mapping."""

    path: Path


Addition = AddKeys | AddItems | AddAfter
Edit = SetScalar | Addition | Remove


class Site(NamedTuple):
    """The site of an edit: the characters of the text from start to end that the edit replaces.

    form: the form in which the module `splice` writes the new text: `scalar` for a scalar; `value`,
        `whole`, `flow` or `flow-after` for one line; `block`, `block-after` or `lines` for a block.
    indent: the column of the new text if the form is for a block, else 0.
    missing: the keys at the end of the edit's path that do not exist. The edit creates these keys.
    quote: the quote, `|` or `>` of the replaced scalar, "" for an unquoted scalar.
    alias_paths: the other paths whose values the edit also changes, because of YAML aliases.
    line: the line, from 0, of the scalar of SetScalar or of the item of AddAfter; else 0.
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
    """Return the edits that set values in a mapping, [] if the mapping has all these values.

    existing: the mapping at the path.
    """
    changed: list[Edit] = [
        SetScalar((*path, key), value)
        for key, value in values.items()
        if key in existing and existing[key] != value
    ]
    missing = {key: value for key, value in values.items() if key not in existing}
    return [*changed, AddKeys(path, missing)] if missing else changed


def apply_edits(data: Json, edits: Iterable[Edit], prefix: Path = ()) -> Json:
    """Apply edits to data in place and return the data.

    data: the value at `prefix` in the document. The function skips edits outside of this value.
    """
    selected = [edit for edit in edits if edit.path[: len(prefix)] == prefix]
    if any(isinstance(edit, (AddItems, AddAfter, Remove)) for edit in selected):
        # Edit the last item first, because an added or removed item shifts all later items.
        selected.sort(key=_sort_key, reverse=True)
    for edit in selected:
        _apply(data, edit, edit.path[len(prefix) :])
    return data


def _sort_key(edit: Edit) -> tuple[bool, list[tuple[int, str]]]:
    """Return a sort key: AddItems have lower keys than other edits, and otherwise paths decide."""
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
    elif isinstance(edit, SetScalar) and isinstance(parent, (list, dict)):
        parent[last] = edit.value  # type: ignore[index]


def _reach(data: Json, path: Path, empty: Json) -> Json:
    """Return the value at a path. Set a missing or null value to `empty`; create its parents."""
    for number, part in enumerate(path, 1):
        if isinstance(data, list) and isinstance(part, int):
            data = data[part]
        elif isinstance(data, dict) and isinstance(part, str):
            if data.get(part) is None:
                data[part] = {} if number < len(path) else empty
            data = data[part]
    return data
