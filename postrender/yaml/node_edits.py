"""Edits of documents that only the YAML parser can read, or that `splice` cannot apply.

`locate_in_nodes` finds the site of an edit. `rewrite_object` writes a whole object again.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any

from yaml.nodes import MappingNode, ScalarNode, SequenceNode

from postrender.errors import UserError
from postrender.yaml.edits import AddAfter, AddItems, Edit, Remove, SetScalar, Site, apply_edits
from postrender.yaml.nodes import (
    NodeDocument,
    child,
    is_alias,
    is_merge_key,
    key_node,
    merge_sources,
    node_at,
    read_scalar,
)
from postrender.yaml.parser import STRING, UNTAGGED, YamlNode
from postrender.yaml.paths import Json, Path
from postrender.yaml.scalars import Verbatim, VerbatimKey, block_text, flow_text, key_text

# The anchor and the tag before a value.
_PROPERTIES = re.compile(r"(?:[&!][^\s,\[\]{}]*\s+)*")
_COLON = re.compile(r"[ \t]*:")
_REST_OF_LINE = re.compile(r"[ \t]*(?:[ \t]#[^\r\n]*)?(?=\r?\n|\Z)")
_BLANK = re.compile(r"(?:\s|(?<=\s)#[^\r\n]*)*")
_LINE_BREAKS = "\n\r\x85\u2028\u2029"
_COMMENT = re.compile(r"(?:^|\s)#")


def locate_in_nodes(document: NodeDocument, edit: Edit) -> Site | None:
    """Find the site of an edit, None if the whole object must be written again.

    UserError if keys or items are to be added to a value that has another type and is not null.
    """
    if isinstance(edit, SetScalar):
        return _locate_scalar(document, edit.path)
    if isinstance(edit, Remove):
        return None
    if isinstance(edit, AddAfter):
        return _locate_after(document, edit.path)
    kind = SequenceNode if isinstance(edit, AddItems) else MappingNode
    return _locate_collection(document, edit.path, kind)


def alias_paths(document: NodeDocument, edit: Edit, site: Site) -> Iterator[Path]:
    """The other paths that YAML aliases give to the value that an edit at a site changes."""
    changed = edit.path[: len(edit.path) - len(site.missing)]
    if isinstance(edit, AddAfter):
        changed = edit.path[:-1]
    rest = edit.path[len(changed) :]
    paths = document.paths_to(node_at(document.root, changed))
    return ((*path, *rest) for path in paths if path != changed)


def _locate_scalar(document: NodeDocument, path: Path) -> Site | None:
    node = node_at(document.root, path)
    if node.__class__ is not ScalarNode:
        return None
    start, end = node.start_mark.index, node.end_mark.index
    if start == end:
        return _after_colon(document, path, node.start_mark.line)
    if document.text[start] in "&!" and not (node.value or node.style):
        # An anchor or a tag without a value. An alias can refer to the anchor.
        is_anchor = node.tag is UNTAGGED
        return Site(end, end, form="value", line=node.start_mark.line) if is_anchor else None
    return Site(
        start=after_properties(document.text, node),
        end=end,
        form="scalar",
        quote=node.style or "",
        line=node.start_mark.line,
    )


def after_properties(text: str, node: YamlNode) -> int:
    """The index at which the value of a node begins, after its anchor and its tag."""
    start, end = node.start_mark.index, node.end_mark.index
    return _PROPERTIES.match(text, start, end).end()  # type: ignore[union-attr]


def _after_colon(document: NodeDocument, path: Path, line: int = 0) -> Site | None:
    """The site after the colon of a key with an empty value, None if the colon is absent."""
    key = key_node(document.root, path)
    colon = None if key is None else _COLON.match(document.text, key.end_mark.index)
    return Site(start=colon.end(), end=colon.end(), form="value", line=line) if colon else None


def _locate_collection(document: NodeDocument, path: Path, kind: type[YamlNode]) -> Site | None:
    """The site of added keys (MappingNode) or items (SequenceNode) in the collection at a path.

    If the collection is missing, the site is in the innermost existing mapping on the path.
    """
    node, depth = document.root, 0
    for part in path:
        next_node = child(node, part)
        if next_node is None:
            break
        node, depth = next_node, depth + 1
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
        return None  # the first entry is an alias, and its node is elsewhere
    if node.flow_style:
        return Site(start=start, end=start, form="flow")
    if isinstance(node, MappingNode):
        line_start = text.rfind("\n", 0, start) + 1
        if text[line_start:start].rstrip(" \t").endswith("?"):
            return None
        return Site(start=start, end=start, form="block", indent=first.start_mark.column)
    dash = _dash_of(text, node, 0)
    if dash is None:
        return None
    return Site(start=dash, end=dash, form="block", indent=column_of(text, dash))


def _dash_of(text: str, sequence: YamlNode, index: int) -> int | None:
    """The index of the `-` of an item, None if it is not certain."""
    if index == 0:
        start = after_properties(text, sequence)
    elif is_alias(sequence, index - 1):
        return None
    else:
        start = content_end(text, sequence.value[index - 1])
    dash: int = _BLANK.match(text, start).end()  # type: ignore[union-attr]
    return dash if text.startswith("-", dash) else None


def column_of(text: str, index: int) -> int:
    """The number of characters between an index and the start of its line."""
    return index - 1 - max(text.rfind(line_break, 0, index) for line_break in _LINE_BREAKS)


def _in_place_of_empty(
    document: NodeDocument, node: YamlNode, path: Path, kind: type[YamlNode]
) -> Site | None:
    """The site at which a collection replaces `{}`, `[]`, a null or an empty value.

    None for a null with a tag, and for an empty value that does not follow a colon.
    """
    start, end = node.start_mark.index, node.end_mark.index
    if node.__class__ is ScalarNode:
        if read_scalar(node) is not None:
            _refuse(document, node, path, kind)
        if node.tag is not UNTAGGED:
            return None
        if start != end and not node.value:  # an anchor without a value
            return Site(start=end, end=end, form="value")
        if start == end:
            return _after_colon(document, path)
    elif not isinstance(node, kind):
        _refuse(document, node, path, kind)
    return Site(start=after_properties(document.text, node), end=end, form="whole")


def _refuse(document: NodeDocument, node: YamlNode, path: Path, kind: type[YamlNode]) -> None:
    types = {MappingNode: "a mapping", SequenceNode: "a list"}
    is_string = node.__class__ is ScalarNode and isinstance(read_scalar(node), str)
    scalar = "a string" if is_string else "a number or a boolean"
    expected = "`key: value` pairs" if kind is MappingNode else "a list"
    raise UserError(
        f"the value is {types.get(node.__class__, scalar)}, expected {types[kind]}",
        f"Write the value as {expected}",
        document.location_of(node, path),
    )


def _locate_after(document: NodeDocument, path: Path) -> Site | None:
    sequence, node = node_at(document.root, path[:-1]), node_at(document.root, path)
    if not isinstance(sequence, SequenceNode) or is_alias(sequence, path[-1]):
        return None
    end = content_end(document.text, node)
    line = node.start_mark.line
    if sequence.flow_style:
        return Site(start=end, end=end, form="flow-after", line=line)
    dash = _dash_of(document.text, sequence, int(path[-1]))
    if dash is None:
        return None
    indent = column_of(document.text, dash)
    form = "lines"
    if not end or document.text[end - 1] != "\n":
        rest = _REST_OF_LINE.match(document.text, end)
        if rest is None:
            return None
        form, end = "block-after", rest.end()
    return Site(start=end, end=end, form=form, indent=indent, line=line)


def content_end(text: str, node: YamlNode) -> int:
    """The index at which the text of a node ends, before any comments after the node.

    For a block scalar at the end, this is after its last line break, otherwise before the line
    break.
    """
    if node.__class__ is ScalarNode or node.flow_style or not node.value:
        return int(node.end_mark.index)
    last = node.value[-1][1] if isinstance(node, MappingNode) else node.value[-1]
    if is_alias(node, -1) or (last.__class__ is ScalarNode and not last.value):
        return _end_without_comments(text, node.start_mark.index, node.end_mark.index)
    return content_end(text, last)


def _end_without_comments(text: str, start: int, end: int) -> int:
    # The loop reads the lines backwards, because a pattern for all lines takes exponential time.
    while end > start:
        line_start = max(text.rfind("\n", start, end) + 1, start)
        comment = _COMMENT.search(text[line_start:end])
        line_end = line_start + comment.start() if comment else end
        content = text[line_start:line_end].rstrip()
        if content:
            return line_start + len(content)
        end = max(line_start - 1, start)
    return end


def rewrite_object(
    document: NodeDocument, path: Path, edits: Sequence[Edit], newline: str
) -> tuple[int, int, str]:
    """The range and the new text of the object at a path; the edits have paths in the document.

    Keys keep their order, and numbers, booleans and tagged scalars keep their text. The new text
    lacks the comments of the object, and has values instead of aliases and merge keys.
    """
    node = node_at(document.root, path)
    data = apply_edits(verbatim(node), edits, path)
    end = content_end(document.text, node)
    start = after_properties(document.text, node)
    parents = [node_at(document.root, path[:depth]) for depth in range(len(path) + 1)]
    if any(parent.flow_style for parent in parents):
        return start, end, flow_text(data)
    text = block_text(data, column_of(document.text, start), newline)
    return start, end, text + (newline if document.text[end - 1] == "\n" else "")


def verbatim_at(document: NodeDocument, path: Path) -> Json:
    """The object at a path, as verbatim() returns it."""
    return verbatim(node_at(document.root, path))


def verbatim(node: YamlNode) -> Json:
    """A node as data, with Verbatim for numbers, booleans and tagged scalars."""
    if isinstance(node, SequenceNode):
        return [verbatim(item) for item in node.value]
    if not isinstance(node, MappingNode):
        scalar: Json = _verbatim_scalar(node)
        return scalar
    mapping: dict[str, Json] = {}
    for key, value in node.value:
        if is_merge_key(key):
            for source in reversed(merge_sources(value)):
                data = verbatim(source)
                mapping.update(data if isinstance(data, dict) else {})
        else:
            mapping[_verbatim_key(key)] = verbatim(value)
    return mapping


def _verbatim_key(node: YamlNode) -> str:
    text: str = node.value
    return text if node.style or key_text(text) == text else VerbatimKey(text)


def _verbatim_scalar(node: YamlNode) -> Any:
    value = read_scalar(node)
    if value is None or node.tag is STRING:
        return value
    if node.tag is UNTAGGED:
        return value if isinstance(value, str) else Verbatim(node.value)
    return Verbatim(f"!<{node.tag}> {flow_text(node.value)}")
