"""The reference graph of `postrender diff` or `postrender explain`, as a Mermaid flowchart."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence

from postrender.diff.model import ADDED, REMOVED, UNCHANGED
from postrender.diff.values import size_of
from postrender.diff.wording.drawing import (
    COLOURS,
    INK,
    NOTHING_TO_DRAW,
    Arrow,
    Box,
    Drawing,
    draw,
    nodes_by_relevance,
    subgraph,
)
from postrender.startup.patterns import pattern

TYPE_CHECKING = False
if TYPE_CHECKING:
    from postrender.diff.wording.drawing import HasGraph
    from postrender.diff.wording.terminal import Terminal

FILE_SUFFIX = "mmd"

# The limits of Mermaid, which shows an error in place of a larger graph. The author of a diagram
# cannot change the limits (mermaid 11, config schema, maxTextSize and maxEdges).
MAX_CHARACTERS, MAX_EDGES = 50_000, 500
_SHORTEST_BOX = len('  n_[""]\n')

_SHAPES = {"workload": ("[", "]"), "config": ("(", ")"), "other": ("{{", "}}")}
_ARROWS = {ADDED: "==>", REMOVED: "-.->", UNCHANGED: "-->"}
# Characters that Mermaid and Markdown do not interpret, except in the marker of a list item.
_PLAIN = frozenset(" /.,()-")
_LIST_MARKER = pattern(r"-|\d+[.)]")


def render(source: HasGraph, terminal: Terminal) -> str:
    """Return the graph of a preview or an explanation as a Mermaid flowchart.

    If a graph is too large for Mermaid, the chart has a notice and leaves out objects. Changed
    objects and their neighbours have priority.
    """
    graph = source.graph
    chart = _flowchart(draw(graph), () if graph.nodes else (NOTHING_TO_DRAW,))
    if _fits(chart):
        return chart
    order = nodes_by_relevance(graph)
    total = len(order)

    def truncated(size: int) -> str:
        notice = (
            f"{total - size} of {total} objects are not drawn:",
            f"Mermaid draws at most {MAX_EDGES} arrows",
            f"and {MAX_CHARACTERS:,} characters.",
            "Use --format dot for all objects.",
        )
        return _flowchart(draw(subgraph(graph, order[:size])), notice)

    sizes = range(min(total, MAX_CHARACTERS // _SHORTEST_BOX))
    too_large = bisect_left(sizes, True, key=lambda size: not _fits(truncated(size)))
    return truncated(max(too_large - 1, 0))


def _flowchart(drawing: Drawing, notice: Sequence[str]) -> str:
    lines = ["flowchart LR"]
    if notice:
        lines.append(f'  notice["{_text(notice)}"]')
    for frame in drawing.frames:
        boxes = [f"  {_box_line(box)}" for box in frame.boxes]
        if frame.title:
            head = f'  subgraph {frame.id}["{_text((frame.title,))}"]'
            boxes = [head, *(f"  {box}" for box in boxes), "  end"]
            boxes.append(f"  class {frame.id} namespace")
        lines += boxes
    lines += [f"  {_arrow(arrow)}" for arrow in drawing.arrows]
    return "\n".join([*lines, *_styles(drawing.arrows)]) + "\n"


def _styles(arrows: Sequence[Arrow]) -> Iterator[str]:
    yield f"  classDef namespace fill:none,stroke:{COLOURS[UNCHANGED].line}"
    for change, colours in COLOURS.items():
        name = "default" if change == UNCHANGED else change
        yield f"  classDef {name} fill:{colours.fill},stroke:{colours.line},color:{INK}"
    for change in (ADDED, REMOVED):
        indexes = [str(index) for index, arrow in enumerate(arrows) if arrow.change == change]
        if indexes:
            yield f"  linkStyle {','.join(indexes)} stroke:{COLOURS[change].line}"


def _box_line(box: Box) -> str:
    opening, closing = _SHAPES[box.role]
    style = f":::{box.style}" if box.style != UNCHANGED else ""
    return f'{box.id}{opening}"{_text(box.lines)}"{closing}{style}'


def _arrow(arrow: Arrow) -> str:
    label = f'|"{_text((arrow.label,))}"|' if arrow.label else ""
    return f"{arrow.source} {_ARROWS[arrow.change]}{label} {arrow.target}"


def _text(lines: Iterable[str]) -> str:
    return "<br/>".join(map(_line, lines))


def _line(line: str) -> str:
    start = 1 if _LIST_MARKER.match(line) else 0
    line = line.replace(":fa-", ":\N{WORD JOINER}fa-")  # Mermaid draws `fa:fa-ban` as an icon
    return "".join(
        char if position >= start and (char.isalnum() or char in _PLAIN) else f"#{ord(char)};"
        for position, char in enumerate(line)
    )


def _fits(text: str) -> bool:
    arrows = sum(text.count(f" {arrow}") for arrow in _ARROWS.values())
    return arrows <= MAX_EDGES and size_of(text) <= MAX_CHARACTERS
