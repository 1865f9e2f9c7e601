"""The graph of a preview or an explanation as a Mermaid flowchart, for a Markdown page."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence

from postrender.diff.model import ADDED, REMOVED, UNCHANGED
from postrender.diff.wording.drawing import (
    COLOURS,
    INK,
    NOTHING,
    Arrow,
    Box,
    Drawing,
    by_interest,
    draw,
    part,
)
from postrender.diff.wording.truncate import size_of
from postrender.startup.patterns import pattern

TYPE_CHECKING = False
if TYPE_CHECKING:
    from postrender.diff.wording.drawing import HasGraph
    from postrender.diff.wording.terminal import Terminal

FILE_SUFFIX = "mmd"

# Beyond these Mermaid draws an error, and a page cannot set them (mermaid 11, config schema,
# maxTextSize and maxEdges).
MAX_CHARACTERS, MAX_EDGES = 50_000, 500
_SHORTEST_BOX = len('  n_[""]\n')

_MERMAID_SHAPES = {"workload": ("[", "]"), "config": ("(", ")"), "other": ("{{", "}}")}
_MERMAID_ARROWS = {ADDED: "==>", REMOVED: "-.->", UNCHANGED: "-->"}
# Characters that mean nothing to Mermaid or to Markdown, except where a line begins like a list.
_PLAIN = frozenset(" /.,()-")
_LIST = pattern(r"-|\d+[.)]")


def render(source: HasGraph, terminal: Terminal) -> str:
    """Return a graph as a Mermaid flowchart.

    One that is larger than what Mermaid draws is cut, with a notice in it: what changes and what is
    next to it stays longest.
    """
    graph = source.graph
    whole = _mermaid(draw(graph), () if graph.nodes else (NOTHING,))
    if _fits(whole):
        return whole
    order = by_interest(graph)
    total = len(order)

    def cut(size: int) -> str:
        notice = (
            f"{total - size} of {total} objects are not drawn:",
            f"Mermaid takes {MAX_EDGES} arrows",
            f"and {MAX_CHARACTERS:,} characters.",
            "The format dot has them all.",
        )
        return _mermaid(draw(part(graph, order[:size])), notice)

    sizes = range(min(total, MAX_CHARACTERS // _SHORTEST_BOX))
    too_large = bisect_left(sizes, True, key=lambda size: not _fits(cut(size)))
    return cut(max(too_large - 1, 0))


def _mermaid(drawing: Drawing, notice: Sequence[str]) -> str:
    lines = ["flowchart LR"]
    if notice:
        lines.append(f'  notice["{_mermaid_text(notice)}"]')
    for frame in drawing.frames:
        boxes = [f"  {_mermaid_box(box)}" for box in frame.boxes]
        if frame.title:
            head = f'  subgraph {frame.id}["{_mermaid_text((frame.title,))}"]'
            boxes = [head, *(f"  {box}" for box in boxes), "  end"]
            boxes.append(f"  class {frame.id} namespace")
        lines += boxes
    lines += [f"  {_mermaid_arrow(arrow)}" for arrow in drawing.arrows]
    return "\n".join([*lines, *_mermaid_styles(drawing.arrows)]) + "\n"


def _mermaid_styles(arrows: Sequence[Arrow]) -> Iterator[str]:
    yield f"  classDef namespace fill:none,stroke:{COLOURS[UNCHANGED].line}"
    for change, colours in COLOURS.items():
        name = "default" if change == UNCHANGED else change
        yield f"  classDef {name} fill:{colours.fill},stroke:{colours.line},color:{INK}"
    for change in (ADDED, REMOVED):
        numbers = [str(number) for number, arrow in enumerate(arrows) if arrow.change == change]
        if numbers:
            yield f"  linkStyle {','.join(numbers)} stroke:{COLOURS[change].line}"


def _mermaid_box(box: Box) -> str:
    opening, closing = _MERMAID_SHAPES[box.role]
    style = f":::{box.style}" if box.style != UNCHANGED else ""
    return f'{box.id}{opening}"{_mermaid_text(box.lines)}"{closing}{style}'


def _mermaid_arrow(arrow: Arrow) -> str:
    label = f'|"{_mermaid_text((arrow.label,))}"|' if arrow.label else ""
    return f"{arrow.source} {_MERMAID_ARROWS[arrow.change]}{label} {arrow.target}"


def _mermaid_text(lines: Iterable[str]) -> str:
    return "<br/>".join(map(_mermaid_line, lines))


def _mermaid_line(line: str) -> str:
    plain = 1 if _LIST.match(line) else 0
    line = line.replace(":fa-", ":\N{WORD JOINER}fa-")  # `fa:fa-ban` would be drawn as an icon
    return "".join(
        char if at >= plain and (char.isalnum() or char in _PLAIN) else f"#{ord(char)};"
        for at, char in enumerate(line)
    )


def _fits(text: str) -> bool:
    # Mermaid counts as JavaScript does: in units of UTF-16.
    arrows = sum(text.count(f" {arrow}") for arrow in _MERMAID_ARROWS.values())
    return arrows <= MAX_EDGES and size_of(text) <= MAX_CHARACTERS
