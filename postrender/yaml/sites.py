"""Where in a document's text an edit is made, found while the document is at hand."""

from __future__ import annotations

from postrender.startup.records import NamedTuple
from postrender.yaml.document import ParsedDocument
from postrender.yaml.edits import AddAfter, AddItems, AddKeys, Edit, SetScalar
from postrender.yaml.paths import Json, Path
from postrender.yaml.plain import SCALAR, PlainDocument, flow_spans, index_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any


class Site(NamedTuple):
    """Where an edit changes the text: characters start to end of it are replaced.

    form: how the new text is written there (see _FORMS); indent: the column of block text;
    missing: keys to be made above the edit's own; quote: the style of a replaced scalar;
    others: further paths at which the same text is read, through aliases.
    """

    start: int
    end: int
    form: str
    indent: int = 0
    missing: Path = ()
    quote: str = ""
    others: tuple[Path, ...] = ()
    line: int = 0


SiteKey = tuple[type[Edit], Path]


def locate(document: ParsedDocument, edit: Edit) -> Site | None:
    """Return the site of an edit in a document, or None where it has no plain one."""
    site = locate_in_lines(document.plain, edit) if document.plain else None
    if site is not None:
        return site
    from postrender.yaml.node_sites import locate_in_nodes

    return locate_in_nodes(document.nodes, edit)


def locate_in_lines(plain: PlainDocument, edit: Edit) -> Site | None:
    """Return the site of an edit, None where the lines leave it open."""
    locate_edit = _IN_LINES.get(type(edit))
    try:
        return locate_edit(plain, edit.path) if locate_edit else None
    except (KeyError, IndexError, TypeError, ValueError):
        return None  # nothing is at the path, or it is inside a flow collection of another shape


def _locate_keys(plain: PlainDocument, path: Path) -> Site | None:
    return _locate_first_entry(plain, path, dict)


def _locate_items(plain: PlainDocument, path: Path) -> Site | None:
    return _locate_first_entry(plain, path, list)


def _locate_first_entry(plain: PlainDocument, path: Path, kind: type) -> Site | None:
    """Return the site before the first entry of a block collection.

    Where there is none at the path, keys for it are added to the nearest mapping above.
    """
    value: Any = plain.data
    depth = 0
    for part in path:
        if not _has(value, part):
            break
        value = value[part]
        depth += 1
    numbers = plain.lines_of.get(id(value))
    if not numbers or value.__class__ is not (kind if depth == len(path) else dict):
        return None
    line = plain.entry(numbers[0]) if value.__class__ is dict else plain.line(numbers[0])
    column = line.column
    start = plain.start_of(numbers[0]) + column
    return Site(start, start, "block", column, path[depth:])


def _has(collection: Json, part: str | int) -> bool:
    if isinstance(collection, dict):
        return part in collection
    return isinstance(collection, list) and isinstance(part, int) and part < len(collection)


def _locate_scalar(plain: PlainDocument, path: Path) -> Site | None:
    parent = plain.value_at(path[:-1])
    if parent[path[-1]].__class__ in (dict, list):
        return None
    if id(parent) not in plain.lines_of:
        number, span = _span_in_flow(plain, path, parent)
    else:
        number = plain.number_in(parent, path[-1])
        span = plain.entry(number).span  # type: ignore[assignment]
        if span is None:
            return None
    start = plain.start_of(number)
    return Site(start + span[0], start + span[1], "scalar", quote=span[2], line=number)


def _locate_after(plain: PlainDocument, path: Path) -> Site | None:
    parent = plain.value_at(path[:-1])
    if parent.__class__ is not list:
        return None
    if id(parent) not in plain.lines_of:
        number, span = _span_in_flow(plain, path, parent)
        end = plain.start_of(number) + span[1]
        return Site(end, end, "flow-after", line=number)
    number = plain.number_in(parent, path[-1])
    if plain.entry(number).form != SCALAR:
        return None
    end = plain.start_of(number) + len(plain.lines[number])
    return Site(end, end, "block-after", plain.line(number).column, line=number)


def _span_in_flow(
    plain: PlainDocument, path: Path, parent: Any
) -> tuple[int, tuple[int, int, str]]:
    """Return the line of a flow collection, and where in that line one of its values is.

    Raises IndexError, TypeError or ValueError where there is none.
    """
    number = plain.number_of(path[:-1])
    if number is None:
        raise ValueError(path)
    return number, flow_spans(plain.lines[number])[index_of(parent, path[-1])]


_IN_LINES: dict[type[Edit], Callable[[PlainDocument, Path], Site | None]] = {
    SetScalar: _locate_scalar,
    AddKeys: _locate_keys,
    AddItems: _locate_items,
    AddAfter: _locate_after,
}
