"""Writing a whole object again, if the module `splice` cannot apply all edits of the object."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ruamel.yaml.nodes import MappingNode, SequenceNode

from postrender.yaml.edits import Edit, apply_edits
from postrender.yaml.emit import Verbatim, VerbatimKey, block_text, flow_text
from postrender.yaml.node_sites import after_properties, column_of, content_end
from postrender.yaml.nodes import NodeDocument, is_merge_key, merge_sources, node_at, read_scalar
from postrender.yaml.parser import STRING, UNTAGGED, YamlNode
from postrender.yaml.paths import Json, Path
from postrender.yaml.scalars import key_text


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
    if value is None or node.ctag is STRING:
        return value
    if node.ctag is UNTAGGED:
        return value if isinstance(value, str) else Verbatim(node.value)
    return Verbatim(f"!<{node.tag}> {flow_text(node.value)}")
