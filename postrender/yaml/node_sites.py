"""Where the YAML parser's nodes say that an edit is made: for what the lines leave open."""

from __future__ import annotations

from ruamel.yaml.nodes import MappingNode, ScalarNode, SequenceNode

from postrender.errors import UserError
from postrender.startup.patterns import pattern
from postrender.yaml.edits import AddAfter, AddItems, Edit, Remove, SetScalar
from postrender.yaml.nodes import NodeDocument, child, is_alias, key_node, node_at, read_scalar
from postrender.yaml.parser import UNTAGGED, YamlNode
from postrender.yaml.paths import Path
from postrender.yaml.sites import Site

PROPERTIES = pattern(r"(?:[&!][^\s,\[\]{}]*\s+)*")
_COLON = pattern(r"[ \t]*:")
_REST_OF_LINE = pattern(r"[ \t]*(?:[ \t]#[^\r\n]*)?(?=\r?\n|\Z)")
_BLANK = pattern(r"(?:\s|(?<=\s)#[^\r\n]*)*")
_LINE_BREAKS = "\n\r\x85\u2028\u2029"
_TRAILING = pattern(r"(?:\s|(?<=\s)#[^\n]*)+\Z")


def locate_in_nodes(document: NodeDocument, edit: Edit) -> Site | None:
    """Return the site of an edit, or None where it has no plain one."""
    if isinstance(edit, SetScalar):
        site = _locate_scalar(document, edit.path)
    elif isinstance(edit, Remove):
        return None
    elif isinstance(edit, AddAfter):
        site = _locate_after(document, edit.path)
    else:
        site = _locate_collection(
            document, edit.path, SequenceNode if isinstance(edit, AddItems) else MappingNode
        )
    if site is None or not document.has_aliases:
        return site
    anchor = edit.path[: len(edit.path) - len(site.missing)]
    if isinstance(edit, AddAfter):
        anchor = edit.path[:-1]
    tail = edit.path[len(anchor) :]
    others = document.paths_to(node_at(document.root, anchor))
    return site._replace(others=tuple((*path, *tail) for path in others if path != anchor))


def _locate_scalar(document: NodeDocument, path: Path) -> Site | None:
    node = node_at(document.root, path)
    if node.__class__ is not ScalarNode:
        return None
    start, end = node.start_mark.index, node.end_mark.index
    if start == end:
        parent_key = key_node(document.root, path)
        colon = _after_colon(document.text, parent_key)
        return Site(colon, colon, "value", line=node.start_mark.line) if colon else None
    start = PROPERTIES.match(document.text, start, end).end()  # type: ignore[union-attr]
    return Site(start, end, "scalar", quote=node.style or "", line=node.start_mark.line)


def _after_colon(text: str, key: YamlNode | None) -> int:
    """Return the index behind the colon of a key, or 0 where it has none."""
    colon = _COLON.match(text, key.end_mark.index) if key is not None else None
    return colon.end() if colon else 0


def _locate_collection(document: NodeDocument, path: Path, kind: type[YamlNode]) -> Site | None:
    """Find where keys (or items) go, in what is at path or in the mapping above that is there."""
    node, depth = document.root, 0
    for part in path:
        inner = child(node, part)
        if inner is None:
            break
        node, depth = inner, depth + 1
    missing = path[depth:]
    if missing:
        kind = MappingNode
    if isinstance(node, kind) and node.value:
        site = _before_first(document.text, node)
    else:
        site = _in_place_of_empty(document, node, path[:depth], kind)
    return site._replace(missing=missing) if site and missing else site


def _before_first(text: str, node: YamlNode) -> Site | None:
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
    dash = _dash_of(text, node, 0)
    return None if dash is None else Site(dash, dash, "block", column_of(text, dash))


def _dash_of(text: str, sequence: YamlNode, number: int) -> int | None:
    """Return the index of the `-` before an item of a block list, or None where it is not plain."""
    if number == 0:
        match = PROPERTIES.match(text, sequence.start_mark.index)
        start = match.end() if match else 0
    elif is_alias(sequence, number - 1):
        return None
    else:
        start = content_end(text, sequence.value[number - 1])
    blank = _BLANK.match(text, start)
    dash = blank.end() if blank else start
    return dash if text[dash : dash + 1] == "-" else None


def column_of(text: str, index: int) -> int:
    """Return how many characters stand before an index on its line."""
    return index - 1 - max(text.rfind(line_break, 0, index) for line_break in _LINE_BREAKS)


def _in_place_of_empty(
    document: NodeDocument, node: YamlNode, path: Path, kind: type[YamlNode]
) -> Site | None:
    """Find the `{}`, the null or the nothing that a collection can be written in place of."""
    start, end = node.start_mark.index, node.end_mark.index
    if node.__class__ is ScalarNode:
        if read_scalar(node) is not None:
            _refuse(document, node, path, kind)
        if node.ctag is not UNTAGGED:
            return None
        if start != end and not node.value:
            return Site(end, end, "value")  # behind an anchor
        if start == end:
            colon = _after_colon(document.text, key_node(document.root, path))
            return Site(colon, colon, "value") if colon else None
    elif not isinstance(node, kind):
        _refuse(document, node, path, kind)
    start = PROPERTIES.match(document.text, start, end).end()  # type: ignore[union-attr]
    return Site(start, end, "whole")


def _refuse(document: NodeDocument, node: YamlNode, path: Path, kind: type[YamlNode]) -> None:
    wanted = "mapping" if kind is MappingNode else "list"
    raise UserError(
        f"not a {wanted}", "mend the template that wrote it", document.location_of(node, path)
    )


def _locate_after(document: NodeDocument, path: Path) -> Site | None:
    sequence, node = node_at(document.root, path[:-1]), node_at(document.root, path)
    if not isinstance(sequence, SequenceNode) or is_alias(sequence, path[-1]):
        return None
    end = content_end(document.text, node)
    line = node.start_mark.line
    if sequence.flow_style:
        return Site(end, end, "flow-after", line=line)
    dash = _dash_of(document.text, sequence, int(path[-1]))
    if dash is None:
        return None
    indent = column_of(document.text, dash)
    if end and document.text[end - 1] == "\n":
        return Site(end, end, "lines", indent, line=line)
    rest = _REST_OF_LINE.match(document.text, end)
    return Site(rest.end(), rest.end(), "block-after", indent, line=line) if rest else None


def content_end(text: str, node: YamlNode) -> int:
    """Return where the text of a node ends, without the comments that follow it.

    A block scalar ends behind its last line break; everything else in the middle of a line.
    """
    if node.__class__ is ScalarNode or node.flow_style or not node.value:
        return int(node.end_mark.index)
    last = node.value[-1][1] if isinstance(node, MappingNode) else node.value[-1]
    if is_alias(node, -1) or (last.__class__ is ScalarNode and not last.value):
        inside = text[node.start_mark.index : node.end_mark.index]
        return int(node.start_mark.index) + len(_TRAILING.sub("", inside))
    return content_end(text, last)
