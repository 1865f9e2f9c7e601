"""The search for the site of an edit: the part of the text that the edit replaces.

`locate` finds most sites in the lines that the module `plain` has read. `locate` finds the other
sites in the nodes of the YAML parser.
"""

from __future__ import annotations

from functools import partial

from postrender.yaml.document import ParsedDocument
from postrender.yaml.edits import AddAfter, AddItems, AddKeys, Edit, SetScalar, Site
from postrender.yaml.paths import Json, Path
from postrender.yaml.plain import SCALAR, PlainDocument, flow_spans, index_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any


def locate(document: ParsedDocument, edit: Edit) -> Site | None:
    """Return the site of an edit, or None if postrender must write the whole object again.

    Raises UserError if the edit adds keys or items to a value of a wrong type, such as a string.
    """
    site = locate_in_lines(document.plain, edit) if document.plain else None
    if site is not None:
        return site
    from postrender.yaml.node_sites import locate_in_nodes

    return locate_in_nodes(document.nodes, edit)


def locate_in_lines(plain: PlainDocument, edit: Edit) -> Site | None:
    """Return the site of an edit, None if locate() must search in the nodes of the YAML parser."""
    locate_edit = _IN_LINES.get(type(edit))
    try:
        return locate_edit(plain, edit.path) if locate_edit else None
    except (KeyError, IndexError, TypeError, ValueError):
        return None  # the path is missing


def _locate_first_entry(plain: PlainDocument, path: Path, kind: type) -> Site | None:
    """Return the site before the first entry of the block collection at a path.

    kind: the type of the collection, dict or list.
    If the collection is missing, the site is in the innermost existing mapping on the path.
    Returns None for a flow collection, an empty collection, and a value of another type.
    """
    value: Any = plain.data
    depth = 0
    for part in path:
        if not _has(value, part):
            break
        value = value[part]
        depth += 1
    numbers = plain.entry_lines.get(id(value))
    if not numbers or value.__class__ is not (kind if depth == len(path) else dict):
        return None
    first_line = numbers[0]
    parsed = plain.parsed_entry if value.__class__ is dict else plain.parsed_line
    column = parsed(first_line).column
    start = plain.start_of(first_line) + column
    return Site(start=start, end=start, form="block", indent=column, missing=path[depth:])


def _has(collection: Json, part: str | int) -> bool:
    if isinstance(collection, dict):
        return part in collection
    return isinstance(collection, list) and isinstance(part, int) and part < len(collection)


def _locate_scalar(plain: PlainDocument, path: Path) -> Site | None:
    parent = plain.existing_value(path[:-1])
    if parent[path[-1]].__class__ in (dict, list):
        return None
    number = plain.entry_line(path)
    if number is None:
        number, span = _span_in_flow(plain, path, parent)
    else:
        span = plain.parsed_entry(number).span  # type: ignore[assignment]
        if span is None:
            return None
    line_start = plain.start_of(number)
    start, end, quote = span
    return Site(
        start=line_start + start,
        end=line_start + end,
        form="scalar",
        quote=quote,
        line=number,
    )


def _locate_after(plain: PlainDocument, path: Path) -> Site | None:
    parent = plain.existing_value(path[:-1])
    if parent.__class__ is not list:
        return None
    number = plain.entry_line(path)
    if number is None:
        number, span = _span_in_flow(plain, path, parent)
        end = plain.start_of(number) + span[1]
        return Site(start=end, end=end, form="flow-after", line=number)
    if plain.parsed_entry(number).form != SCALAR:
        return None
    end = plain.start_of(number) + len(plain.lines[number])
    indent = plain.parsed_line(number).column
    return Site(start=end, end=end, form="block-after", indent=indent, line=number)


def _span_in_flow(
    plain: PlainDocument, path: Path, parent: Any
) -> tuple[int, tuple[int, int, str]]:
    """Return the line number and the span of the value at a path in a flow collection.

    parent: the flow collection.
    The span is the start, end and quote of the value in the line. Raises IndexError, TypeError or
    ValueError if the value does not exist.
    """
    number = plain.entry_line(path[:-1])
    if number is None:
        raise ValueError(path)
    return number, flow_spans(plain.lines[number])[index_of(parent, path[-1])]


_IN_LINES: dict[type[Edit], Callable[[PlainDocument, Path], Site | None]] = {
    SetScalar: _locate_scalar,
    AddKeys: partial(_locate_first_entry, kind=dict),
    AddItems: partial(_locate_first_entry, kind=list),
    AddAfter: _locate_after,
}
