"""Edits made in the text of a document, with every other byte left as it is.

`locate` finds the site of an edit while the nodes are at hand; `splice` needs only sites. Where an
edit has no plain site (an explicit `? key`, a mapping that aliases share), the object it belongs
to is written anew and nothing else.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple

from ruamel.yaml.nodes import MappingNode, ScalarNode, SequenceNode

from postrender.document import (
    UNTAGGED,
    Composed,
    Node,
    child,
    children,
    compose,
    is_alias_outside,
    node_at,
    paths_by_node,
    read_scalar,
)
from postrender.edits import AddAfter, AddItems, AddKeys, Edit, SetScalar, apply_edits
from postrender.emit import Verbatim, block_text, flow_text
from postrender.errors import Place, UserError
from postrender.paths import Data, Path, format_path, value_at

_PROPERTIES = re.compile(r"(?:[&!][^\s,\[\]{}]*\s+)*")
_PLAIN_ANYWHERE = re.compile(r"[A-Za-z/][A-Za-z0-9._/-]*\Z|[0-9a-f]*[.-][A-Za-z0-9.-]*[A-Za-z]\Z")
_NULL = re.compile(r"(?:~|null|Null|NULL)?\Z")
_COLON = re.compile(r"[ \t]*:")
_REST_OF_LINE = re.compile(r"[ \t]*(?:[ \t]#[^\r\n]*)?(?=\r?\n|\Z)")
_TRAILING = re.compile(r"(?:\s|(?<=\s)#[^\n]*)+\Z")


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


class Splice(NamedTuple):
    """Characters start to end of a text are to be replaced by another text."""

    start: int
    end: int
    text: str


def apply_splices(text: str, splices: Iterable[Splice]) -> str:
    """Return text with all splices made; several at one point keep their order."""
    parts, position = [], 0
    for splice_ in sorted(dict.fromkeys(splices), key=lambda splice_: (splice_.start, splice_.end)):
        parts += [text[position : splice_.start], splice_.text]
        position = splice_.end
    return "".join([*parts, text[position:]])


# --- finding sites -------------------------------------------------------------------------------


def locate(composed: Composed, edit: Edit) -> Site | None:
    """Return the site of an edit in a document, or None where it has no plain one."""
    if isinstance(edit, SetScalar):
        site = _locate_scalar(composed, edit.path)
    elif isinstance(edit, AddAfter):
        site = _locate_after(composed, edit.path)
    else:
        site = _locate_collection(
            composed, edit.path, SequenceNode if isinstance(edit, AddItems) else MappingNode
        )
    if site is None or not composed.has_aliases:
        return site
    anchor = edit.path[: len(edit.path) - len(site.missing)]
    if isinstance(edit, AddAfter):
        anchor = edit.path[:-1]
    others = paths_by_node(composed)[id(node_at(composed.root, anchor))]
    tail = edit.path[len(anchor) :]
    return site._replace(others=tuple((*path, *tail) for path in others if path != anchor))


def _locate_scalar(composed: Composed, path: Path) -> Site | None:
    node = node_at(composed.root, path)
    if node.__class__ is not ScalarNode:
        return None
    start, end = node.start_mark.index, node.end_mark.index
    if start == end:
        parent_key = _key_node(composed, path)
        colon = _after_colon(composed.text, parent_key)
        return Site(colon, colon, "value", line=node.start_mark.line) if colon else None
    start = _PROPERTIES.match(composed.text, start, end).end()  # type: ignore[union-attr]
    return Site(start, end, "scalar", quote=node.style or "", line=node.start_mark.line)


def _key_node(composed: Composed, path: Path) -> Node | None:
    parent = node_at(composed.root, path[:-1])
    if not isinstance(parent, MappingNode):
        return None
    return next((key for key, _ in parent.value if key.value == path[-1]), None)


def _after_colon(text: str, key: Node | None) -> int:
    """Return the index behind the colon of a key, or 0 where it has none."""
    colon = _COLON.match(text, key.end_mark.index) if key is not None else None
    return colon.end() if colon else 0


def _locate_collection(composed: Composed, path: Path, kind: type[Node]) -> Site | None:
    """Find where keys (or items) go, in what is at path or in the mapping above that is there."""
    node, depth = composed.root, 0
    for part in path:
        inner = child(node, part)
        if inner is None:
            break
        node, depth = inner, depth + 1
    missing = path[depth:]
    if missing:
        kind = MappingNode
    if isinstance(node, kind) and node.value:
        site = _before_first(composed.text, node)
    else:
        site = _in_place_of_empty(composed, node, path[:depth], kind)
    return site._replace(missing=missing) if site and missing else site


def _before_first(text: str, node: Node) -> Site | None:
    first = node.value[0][0] if isinstance(node, MappingNode) else node.value[0]
    start = first.start_mark.index
    if not node.start_mark.index <= start < node.end_mark.index:
        return None  # an alias: its node stands elsewhere
    if node.flow_style:
        return Site(start, start, "flow")
    if isinstance(node, MappingNode):
        line_start = text.rfind("\n", 0, start) + 1
        if text[line_start:start].rstrip(" \t").endswith("?"):
            return None
        return Site(start, start, "block", first.start_mark.column)
    dash = _dash_before(text, start)
    return None if dash is None else Site(dash, dash, "block", _column(text, dash))


def _dash_before(text: str, index: int) -> int | None:
    """Return the index of the `-` of the block list item that begins at index."""
    before = text[:index].rstrip(" \t")
    return len(before) - 1 if before.endswith("-") else None


def _column(text: str, index: int) -> int:
    return index - (text.rfind("\n", 0, index) + 1)


def _in_place_of_empty(composed: Composed, node: Node, path: Path, kind: type[Node]) -> Site | None:
    """Find the `{}`, the null or the nothing that a collection can be written in place of."""
    start, end = node.start_mark.index, node.end_mark.index
    if node.__class__ is ScalarNode:
        if node.style or node.ctag is not UNTAGGED or not _NULL.match(node.value):
            _refuse(composed, node, path, kind)
        if start == end or not node.value:
            colon = _after_colon(composed.text, _key_node(composed, path))
            return Site(colon, colon, "value") if colon else None
    elif not isinstance(node, kind):
        _refuse(composed, node, path, kind)
    start = _PROPERTIES.match(composed.text, start, end).end()  # type: ignore[union-attr]
    return Site(start, end, "whole")


def _refuse(composed: Composed, node: Node, path: Path, kind: type[Node]) -> None:
    wanted = "mapping" if kind is MappingNode else "list"
    raise UserError(
        f"not a {wanted}", "mend the template that wrote it", composed.place_of(node, path)
    )


def _locate_after(composed: Composed, path: Path) -> Site | None:
    sequence, node = node_at(composed.root, path[:-1]), node_at(composed.root, path)
    if not isinstance(sequence, SequenceNode) or is_alias_outside(node, sequence):
        return None
    end = content_end(composed.text, node)
    line = node.start_mark.line
    if sequence.flow_style:
        return Site(end, end, "flow-after", line=line)
    dash = _dash_before(composed.text, node.start_mark.index)
    if dash is None:
        return None
    indent = _column(composed.text, dash)
    if end and composed.text[end - 1] == "\n":
        return Site(end, end, "lines", indent, line=line)
    rest = _REST_OF_LINE.match(composed.text, end)
    return Site(rest.end(), rest.end(), "block-after", indent, line=line) if rest else None


def content_end(text: str, node: Node) -> int:
    """Return where the text of a node ends, without the comments that follow it.

    A block scalar ends behind its last line break; everything else in the middle of a line.
    """
    if node.__class__ is ScalarNode or node.flow_style or not node.value:
        return int(node.end_mark.index)
    last = children(node)[-1]
    if is_alias_outside(last, node) or (last.__class__ is ScalarNode and not last.value):
        inside = text[node.start_mark.index : node.end_mark.index]
        return int(node.start_mark.index) + len(_TRAILING.sub("", inside))
    return content_end(text, last)


# --- writing -------------------------------------------------------------------------------------


def splice(
    edits: Sequence[Edit],
    all_edits: Sequence[Edit],
    sites: Mapping[SiteKey, Site | None],
    newline: str,
    place: Callable[[], Place],
) -> list[Splice] | None:
    """Return the splices that make edits, or None where one has no plain site.

    all_edits: those of the whole document, among which an alias must find its own; place: of the
    first line, asked for only where an error needs it.
    Raises UserError where an alias reads a string that only one of its places may change.
    """
    splices: dict[tuple[int, int], list[Splice]] = {}
    wanted: set[tuple[str, Path, str]] = set()
    for edit in edits:
        site = sites[type(edit), edit.path]
        if site is None:
            return None
        if site.others and not wanted:
            wanted = set(map(_key_of, all_edits))
        for other in site.others:
            if _key_of(edit._replace(path=other)) not in wanted:
                if isinstance(edit, SetScalar):
                    start = place()
                    _refuse_alias(edit, other, start._replace(line=start.line + site.line))
                return None
        made = _splice(edit, site, newline)
        at = splices.setdefault((site.start, site.end), [])
        if made not in at:
            at.append(made)
    if any(len(at) > 1 and at[0].end > at[0].start for at in splices.values()):
        return None
    return [made for at in splices.values() for made in at]


def _key_of(edit: Edit) -> tuple[str, Path, str]:
    """Return what two equal edits have in common; an edit itself may hold unhashable data."""
    content = (
        edit.value
        if isinstance(edit, SetScalar)
        else edit.entries
        if isinstance(edit, AddKeys)
        else edit.items
    )
    return type(edit).__name__, edit.path, repr(content)


def _refuse_alias(edit: SetScalar, other: Path, place: Place) -> None:
    raise UserError(
        f"{format_path(edit.path)} is to become {edit.value!r}, but {format_path(other)} shares "
        "its text through an alias and is to stay as it is",
        "write the string out at one of the two places",
        place,
    )


def _splice(edit: Edit, site: Site, newline: str) -> Splice:
    return Splice(site.start, site.end, _FORMS[site.form](_content(edit, site), site, newline))


def _content(edit: Edit, site: Site) -> Data:
    if isinstance(edit, SetScalar):
        return edit.value
    content: Data = dict(edit.entries) if isinstance(edit, AddKeys) else list(edit.items)
    for key in reversed(site.missing):
        content = {key: content}
    return content


def _scalar(value: Data, site: Site, newline: str) -> str:
    if site.quote == "'" and isinstance(value, str) and value.isprintable():
        return "'" + value.replace("'", "''") + "'"
    if site.quote in ("|", ">"):
        return flow_text(value) + newline
    if isinstance(value, str) and not site.quote and _PLAIN_ANYWHERE.match(value):
        return value
    return flow_text(value)


def _block(content: Data, site: Site, newline: str) -> str:
    return block_text(content, site.indent, newline) + newline + " " * site.indent


def _block_after(content: Data, site: Site, newline: str) -> str:
    return newline + " " * site.indent + block_text(content, site.indent, newline)


def _value(content: Data, _site: Site, _newline: str) -> str:
    return " " + flow_text(content)


def _whole(content: Data, _site: Site, _newline: str) -> str:
    return flow_text(content)


def _flow(content: Data, _site: Site, _newline: str) -> str:
    return flow_text(content)[1:-1] + ", "


def _flow_after(content: Data, _site: Site, _newline: str) -> str:
    return ", " + flow_text(content)[1:-1]


def _lines_of(content: Data, site: Site, newline: str) -> str:
    return " " * site.indent + block_text(content, site.indent, newline) + newline


_FORMS: dict[str, Callable[[Data, Site, str], str]] = {
    "scalar": _scalar,
    "value": _value,
    "whole": _whole,
    "flow": _flow,
    "flow-after": _flow_after,
    "block": _block,
    "block-after": _block_after,
    "lines": _lines_of,
}


def remove_items(text: str, paths: Sequence[Path], place: Place, newline: str) -> str:
    """Return a document's text without some objects of its List; the List is written anew."""
    composed = compose(text, place)
    data = verbatim(composed.root, composed)
    for path in sorted(paths, key=repr, reverse=True):
        items = value_at(data, path[:-1])
        if isinstance(items, list) and isinstance(path[-1], int):
            del items[path[-1]]
    start, end = composed.root.start_mark.index, content_end(text, composed.root)
    written = flow_text(data) if composed.root.flow_style else block_text(data, 0, newline)
    return apply_splices(text, [Splice(start, end, written + text[end - 1 : end].strip(" \t}]"))])


def rewrite_object(composed: Composed, path: Path, edits: Sequence[Edit], newline: str) -> Splice:
    """Return the splice that writes the object at a path anew with its edits made.

    Numbers, booleans and tagged scalars keep their text; comments inside the object are lost.
    """
    node = node_at(composed.root, path)
    data = apply_edits(verbatim(node, composed), edits, path)
    start, end = node.start_mark.index, content_end(composed.text, node)
    start = _PROPERTIES.match(composed.text, start, end).end()  # type: ignore[union-attr]
    above = [node_at(composed.root, path[:depth]) for depth in range(len(path) + 1)]
    if any(parent.flow_style for parent in above):
        return Splice(start, end, flow_text(data))
    written = block_text(data, _column(composed.text, start), newline)
    return Splice(start, end, written + (newline if composed.text[end - 1 : end] == "\n" else ""))


def verbatim(node: Node, composed: Composed) -> Data:
    """Return a node as plain data in which every scalar but a plain string keeps its own text."""
    if isinstance(node, SequenceNode):
        return [verbatim(item, composed) for item in node.value]
    if not isinstance(node, MappingNode):
        return _verbatim_scalar(node)
    merged: dict[str, Data] = {}
    mapping: dict[str, Data] = {}
    for key, value in node.value:
        if key.value == "<<" and not key.style:
            sources = value.value if isinstance(value, SequenceNode) else [value]
            for source in sources:
                inner = verbatim(source, composed)
                merged = {**(inner if isinstance(inner, dict) else {}), **merged}
        else:
            mapping[key.value] = verbatim(value, composed)
    return {**mapping, **{key: value for key, value in merged.items() if key not in mapping}}


def _verbatim_scalar(node: Node) -> Data:
    value = read_scalar(node)
    if isinstance(value, str) and node.ctag is UNTAGGED:
        return value
    if node.ctag is UNTAGGED:
        return Verbatim(node.value or "null")
    return Verbatim(f"!<{node.tag}> {flow_text(node.value)}")
