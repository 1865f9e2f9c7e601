"""The reference graph of `postrender diff` or `postrender explain`, in DOT for Graphviz."""

from __future__ import annotations

from collections.abc import Iterable

from postrender.diff.formats.mermaid import COLOURS, INK, NOTHING_TO_DRAW, Arrow, Box, draw, wrapped
from postrender.diff.model import UNCHANGED

TYPE_CHECKING = False
if TYPE_CHECKING:
    from postrender.diff.formats.mermaid import HasGraph
    from postrender.diff.values import Terminal

FILE_SUFFIX = "dot"
_SHAPES = {"workload": "box", "config": "note", "other": "ellipse"}


def render(source: HasGraph, terminal: Terminal) -> str:
    """Return the graph of a preview or an explanation in the DOT language."""
    drawing = draw(source.graph)
    line = COLOURS[UNCHANGED].line
    lines = [
        "digraph postrender {",
        "  rankdir=LR; nodesep=0.2; ranksep=0.9; fontname=Helvetica; fontsize=11;",
        f'  node [fontname=Helvetica, fontsize=11, style=filled, fontcolor="{INK}"];',
        f'  edge [fontname=Helvetica, fontsize=9, color="{line}", fontcolor="{line}"];',
    ]
    for frame in drawing.frames:
        boxes = [f"  {_box(box)}" for box in frame.boxes]
        if frame.title:
            title = _text((frame.title,))
            lines.append(f"  subgraph cluster_{frame.id} {{")
            lines.append(f'    label="{title}"; style="rounded"; color="{line}";')
            lines += [*(f"  {box}" for box in boxes), "  }"]
        else:
            lines += boxes
    lines += [f"  {_arrow(arrow)}" for arrow in drawing.arrows]
    if not source.graph.nodes:
        lines.append(f'  nothing [shape=plaintext, style="", label="{NOTHING_TO_DRAW}"];')
    return "\n".join([*lines, "}"]) + "\n"


def _box(box: Box) -> str:
    colours = COLOURS[box.style]
    return (
        f'{box.id} [label="{_text(box.lines)}", shape={_SHAPES[box.role]}, '
        f'fillcolor="{colours.fill}", color="{colours.line}"];'
    )


def _arrow(arrow: Arrow) -> str:
    colours = COLOURS[arrow.change]
    attributes = f'label="{_text(wrapped(arrow.label))}"'
    if arrow.change != UNCHANGED:
        attributes += f", style={colours.line_style}"
        attributes += f', color="{colours.line}", fontcolor="{colours.line}"'
    return f"{arrow.source} -> {arrow.target} [{attributes}];"


def _text(lines: Iterable[str]) -> str:
    """Return lines as the content of one quoted string, with escapes for special characters."""
    return "\\n".join(
        line.replace("&", "&amp;").replace("\\", "\\\\").replace('"', '\\"') for line in lines
    )
