"""The graph of a preview or an explanation in the DOT language, for Graphviz."""

from __future__ import annotations

from collections.abc import Iterable

from postrender.diff.model import UNCHANGED
from postrender.diff.wording.drawing import COLOURS, INK, NOTHING, Arrow, Box, draw, wrapped

TYPE_CHECKING = False
if TYPE_CHECKING:
    from postrender.diff.wording.drawing import HasGraph
    from postrender.diff.wording.terminal import Terminal

FILE_SUFFIX = "dot"
_DOT_SHAPES = {"workload": "box", "config": "note", "other": "ellipse"}


def render(source: HasGraph, terminal: Terminal) -> str:
    """Return a graph in the DOT language of Graphviz."""
    drawing = draw(source.graph)
    line = COLOURS[UNCHANGED].line
    lines = [
        "digraph postrender {",
        "  rankdir=LR; nodesep=0.2; ranksep=0.9; fontname=Helvetica; fontsize=11;",
        f'  node [fontname=Helvetica, fontsize=11, style=filled, fontcolor="{INK}"];',
        f'  edge [fontname=Helvetica, fontsize=9, color="{line}", fontcolor="{line}"];',
    ]
    for frame in drawing.frames:
        boxes = [f"  {_dot_box(box)}" for box in frame.boxes]
        if frame.title:
            title = _dot_text((frame.title,))
            lines.append(f"  subgraph cluster_{frame.id} {{")
            lines.append(f'    label="{title}"; style="rounded"; color="{line}";')
            lines += [*(f"  {box}" for box in boxes), "  }"]
        else:
            lines += boxes
    lines += [f"  {_dot_arrow(arrow)}" for arrow in drawing.arrows]
    if not source.graph.nodes:
        lines.append(f'  nothing [shape=plaintext, style="", label="{NOTHING}"];')
    return "\n".join([*lines, "}"]) + "\n"


def _dot_box(box: Box) -> str:
    colours = COLOURS[box.style]
    return (
        f'{box.id} [label="{_dot_text(box.lines)}", shape={_DOT_SHAPES[box.role]}, '
        f'fillcolor="{colours.fill}", color="{colours.line}"];'
    )


def _dot_arrow(arrow: Arrow) -> str:
    colours = COLOURS[arrow.change]
    style = f', style={colours.dots}, color="{colours.line}", fontcolor="{colours.line}"'
    label = _dot_text(wrapped(arrow.label))
    attributes = f'label="{label}"{style if arrow.change != UNCHANGED else ""}'
    return f"{arrow.source} -> {arrow.target} [{attributes}];"


def _dot_text(lines: Iterable[str]) -> str:
    """Return lines for a quoted string, in which Graphviz reads escapes and HTML's entities."""
    return "\\n".join(
        line.replace("&", "&amp;").replace("\\", "\\\\").replace('"', '\\"') for line in lines
    )
