"""The application of edits to the text of a document, with every other byte unchanged.

`edited_text` finds the site of each edit: the part of the text that it replaces. Most sites are in
the lines that `plain` has read, the others in the nodes of the YAML parser. If an edit has no site,
or two edits need the same one, the whole object is written again.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from operator import itemgetter

from postrender.errors import Location, UserError
from postrender.yaml.document import ParsedDocument
from postrender.yaml.edits import (
    AddAfter,
    AddItems,
    Addition,
    AddKeys,
    Edit,
    Remove,
    SetScalar,
    Site,
)
from postrender.yaml.paths import Json, Path, format_path, object_path
from postrender.yaml.plain import SCALAR, PlainDocument
from postrender.yaml.scalars import block_text, flow_text, resolve_plain

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

# A string that does not need quotes in block or flow style. _is_plain also excludes words such as
# `true`, which YAML does not read as strings.
_PLAIN_ANYWHERE = re.compile(r"[A-Za-z/][A-Za-z0-9._/-]*\Z|[0-9a-f]*[.-][A-Za-z0-9.-]*[A-Za-z]\Z")


# The start and end of the replaced characters in a document, and their replacement.
Splice = tuple[int, int, str]


def _apply_splices(text: str, splices: Iterable[Splice]) -> str:
    """Apply splices in order, and equal ones once.

    Different splices with the same range keep the order of the argument.
    """
    parts, position = [], 0
    for start, end, replacement in sorted(dict.fromkeys(splices), key=itemgetter(0, 1)):
        parts += [text[position:start], replacement]
        position = end
    return "".join([*parts, text[position:]])


def edited_text(document: ParsedDocument, edits: Sequence[Edit], newline: str) -> str:
    """The text of a document with edits applied; newline: the line break of the new text.

    UserError if an edit changes a string with aliases, but `edits` lacks the same change at the
    path of an alias, and for an addition to a value of a wrong type.
    """
    splices: list[Splice] = []
    edit_keys: set[str] = set()
    for path, object_edits in _by_object(edits).items():
        spliced = _splices(document, object_edits, edits, newline, edit_keys)
        if spliced is None:
            from postrender.yaml.node_edits import rewrite_object

            if path == () or document.nodes.has_aliases:
                # Rewrite the whole document: an alias can refer to an anchor in another object.
                splices = [rewrite_object(document.nodes, (), edits, newline)]
                break
            spliced = [rewrite_object(document.nodes, path, object_edits, newline)]
        splices += spliced
    document.release()
    return _apply_splices(document.text, splices)


def _by_object(edits: Sequence[Edit]) -> dict[Path, list[Edit]]:
    """The edits of a document, by the path of the edited object.

    An edit that adds or removes an item of a List edits the List.
    """
    if not any(edit.path and edit.path[0] == "items" for edit in edits):
        return {(): list(edits)}
    groups: dict[Path, list[Edit]] = defaultdict(list)
    for edit in edits:
        path = object_path(edit.path)
        if isinstance(edit, (AddAfter, Remove)) and edit.path == path:
            path = ()
        groups[path].append(edit)
    return dict(sorted(groups.items(), key=lambda group: len(group[0])))


def _splices(
    document: ParsedDocument,
    edits: Sequence[Edit],
    all_edits: Sequence[Edit],
    newline: str,
    edit_keys: set[str],
) -> list[Splice] | None:
    """The splices for the edits of one object, None if the object must be written again.

    It must be written again if an edit has no site or is a Remove, if two edits replace the same
    text differently, and for an addition to a value with aliases, unless all_edits has the same
    addition for each alias.
    edit_keys: the repr() of all_edits; empty before the first call.
    """
    splices: dict[tuple[int, int], dict[Splice, None]] = {}
    for edit in edits:
        if isinstance(edit, Remove):
            return None
        site = locate(document, edit)
        if site is None:
            return None
        new = (site.start, site.end, _new_text(_content(edit, site), site, newline))
        same_site = splices.setdefault((site.start, site.end), {})
        if new in same_site:
            continue  # an edit at an alias of the value, which has the same other paths
        for path in _alias_paths(document, edit, site):
            if not edit_keys:
                edit_keys.update(map(repr, all_edits))
            if repr(edit._replace(path=path)) not in edit_keys:
                if isinstance(edit, SetScalar):
                    _refuse_alias(edit, path, document.location_of(edit.path)._replace(path=""))
                return None
        same_site[new] = None
    if any(len(same_site) > 1 and start < end for (start, end), same_site in splices.items()):
        return None
    return [new for same_site in splices.values() for new in same_site]


def _alias_paths(document: ParsedDocument, edit: Edit, site: Site) -> Iterable[Path]:
    """The other paths that YAML aliases give to the value that an edit changes."""
    if document.plain or not document.nodes.has_aliases:
        return ()
    from postrender.yaml.node_edits import alias_paths

    return alias_paths(document.nodes, edit, site)


def _refuse_alias(edit: SetScalar, alias: Path, location: Location) -> None:
    path, alias_path = format_path(edit.path), format_path(alias)
    raise UserError(
        f"{path} and {alias_path} share one string through a YAML alias, but postrender would "
        "change only the string at the first path",
        "Write the string at both paths, without an alias",
        location,
    )


def _content(edit: SetScalar | Addition, site: Site) -> Json:
    if isinstance(edit, SetScalar):
        return edit.value
    content: Json = dict(edit.entries) if isinstance(edit, AddKeys) else list(edit.items)
    for key in reversed(site.missing):
        content = {str(key): content}
    return content


def _new_text(content: Json, site: Site, newline: str) -> str:
    form, indent = site.form, " " * site.indent
    if form == "scalar":
        return _scalar(content, site, newline)
    if form == "value":
        return " " + flow_text(content)
    if form == "whole":
        return flow_text(content)
    if form == "flow":
        return flow_text(content)[1:-1] + ", "
    if form == "flow-after":
        return ", " + flow_text(content)[1:-1]
    text = block_text(content, site.indent, newline)
    if form == "block":
        return text + newline + indent
    if form == "block-after":
        return newline + indent + text
    return indent + text + newline


def _scalar(value: Json, site: Site, newline: str) -> str:
    if site.quote == "'" and isinstance(value, str) and value.isprintable():
        return "'" + value.replace("'", "''") + "'"
    if site.quote in ("|", ">"):
        return flow_text(value) + newline
    if isinstance(value, str) and not site.quote and _is_plain(value):
        return value
    return flow_text(value)


def _is_plain(value: str) -> bool:
    """Whether a string certainly does not need quotes."""
    return _PLAIN_ANYWHERE.match(value) is not None and resolve_plain(value) == value


def locate(document: ParsedDocument, edit: Edit) -> Site | None:
    """Find the site of an edit, None if the whole object must be written again.

    UserError if the edit adds keys or items to a value of a wrong type, such as a string.
    """
    site = locate_in_lines(document.plain, edit) if document.plain else None
    if site is not None:
        return site
    from postrender.yaml.node_edits import locate_in_nodes

    return locate_in_nodes(document.nodes, edit)


def locate_in_lines(plain: PlainDocument, edit: Edit) -> Site | None:
    """Find the site of an edit, None if only the nodes of the YAML parser can tell."""
    locate_edit = _IN_LINES.get(type(edit))
    try:
        return locate_edit(plain, edit.path) if locate_edit else None
    except (KeyError, IndexError, TypeError, ValueError):
        return None  # the path is missing


def _locate_first_entry(plain: PlainDocument, path: Path, kind: type) -> Site | None:
    """The site before the first entry of the block collection (dict or list) at a path.

    If it is missing, the site is in the innermost existing mapping on the path. None for a flow
    collection, an empty collection, and a value of another type.
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
    _, column, *_ = parsed(first_line)
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
        *_, scalar_span, _ = plain.parsed_entry(number)
        if scalar_span is None:
            return None
        span = scalar_span
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
    form, *_ = plain.parsed_entry(number)
    if form != SCALAR:
        return None
    end = plain.start_of(number) + len(plain.lines[number])
    _, indent, *_ = plain.parsed_line(number)
    return Site(start=end, end=end, form="block-after", indent=indent, line=number)


def _span_in_flow(
    plain: PlainDocument, path: Path, parent: Any
) -> tuple[int, tuple[int, int, str]]:
    """The line of a value in a flow collection, and its start, end and quote in the line.

    IndexError, TypeError or ValueError if the value does not exist.
    """
    number = plain.entry_line(path[:-1])
    if number is None:
        raise ValueError(path)
    return number, plain.flow_span(number, plain.index_of(parent, path[-1]))


_IN_LINES: dict[type[Edit], Callable[[PlainDocument, Path], Site | None]] = {
    SetScalar: _locate_scalar,
    AddKeys: partial(_locate_first_entry, kind=dict),
    AddItems: partial(_locate_first_entry, kind=list),
    AddAfter: _locate_after,
}
