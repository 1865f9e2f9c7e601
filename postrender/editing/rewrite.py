"""Objects and Lists written anew, where an edit has no plain site in their text.

Data, order and the text of numbers stay; comments inside are lost.
"""

from __future__ import annotations

from collections.abc import Sequence

from ruamel.yaml.nodes import MappingNode, SequenceNode

from postrender.document import (
    Composed,
    is_merge_key,
    key_text,
    merge_sources,
    node_at,
    read_scalar,
)
from postrender.editing.edits import Edit, apply_edits
from postrender.editing.emit import Verbatim, VerbatimKey, block_text, flow_text
from postrender.editing.sites import PROPERTIES, column_of, content_end
from postrender.editing.splice import Splice
from postrender.parser import STRING, UNTAGGED, Node
from postrender.paths import Data, Path


def rewrite_object(composed: Composed, path: Path, edits: Sequence[Edit], newline: str) -> Splice:
    """Return the splice that writes the object at a path anew with its edits made.

    Numbers, booleans and tagged scalars keep their text; comments inside the object are lost.
    """
    node = node_at(composed.root, path)
    data = apply_edits(verbatim(node, composed), edits, path)
    above = [node_at(composed.root, path[:depth]) for depth in range(len(path) + 1)]
    is_flow = any(parent.flow_style for parent in above)
    return _written(composed, node, data, newline, is_flow=is_flow)


def _written(
    composed: Composed, node: Node, data: Data, newline: str, *, is_flow: bool = False
) -> Splice:
    """Return the splice that puts data in the place of a node."""
    end = content_end(composed.text, node)
    start = PROPERTIES.match(composed.text, node.start_mark.index, end).end()  # type: ignore[union-attr]
    if is_flow or node.flow_style:
        return Splice(start, end, flow_text(data))
    written = block_text(data, column_of(composed.text, start), newline)
    return Splice(start, end, written + (newline if composed.text[end - 1] == "\n" else ""))


def verbatim(node: Node, composed: Composed) -> Data:
    """Return a node as plain data in which every scalar but a plain string keeps its own text."""
    if isinstance(node, SequenceNode):
        return [verbatim(item, composed) for item in node.value]
    if not isinstance(node, MappingNode):
        return _verbatim_scalar(node)
    merged: dict[str, Data] = {}
    mapping: dict[str, Data] = {}
    for key, value in node.value:
        if is_merge_key(key):
            for source in merge_sources(value):
                inner = verbatim(source, composed)
                merged = {**(inner if isinstance(inner, dict) else {}), **merged}
        else:
            mapping[_verbatim_key(key)] = verbatim(value, composed)
    return {**mapping, **{key: value for key, value in merged.items() if key not in mapping}}


def _verbatim_key(node: Node) -> str:
    text: str = node.value
    return text if node.style or key_text(text) == text else VerbatimKey(text)


def _verbatim_scalar(node: Node) -> Data:
    value = read_scalar(node)
    if value is None or node.ctag is STRING:
        return value
    if node.ctag is UNTAGGED:
        return value if isinstance(value, str) else Verbatim(node.value)
    return Verbatim(f"!<{node.tag}> {flow_text(node.value)}")
