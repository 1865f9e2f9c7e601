"""Who names what, drawn: Mermaid for a Markdown page, DOT for Graphviz.

What changes is told by words as well as by colours. A name is data: whatever it holds, it cannot
become part of the drawing's own language.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from textwrap import wrap

from postrender.preview.fitting import size_of
from postrender.preview.model import (
    ADDED,
    CHANGED,
    ENDS,
    HOOK,
    NEXT_PODS,
    NEXT_RUN,
    REFUSED,
    REMOVED,
    ROLLS,
    STARTS,
    STAYS,
    UNCHANGED,
    Edge,
    Graph,
    Node,
)
from postrender.startup.patterns import pattern
from postrender.startup.records import NamedTuple
from postrender.visible import visible

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Protocol

    class HasGraph(Protocol):
        """What has a graph: a preview, and what explain tells."""

        @property
        def graph(self) -> Graph:
            """Who names what."""


# Beyond these Mermaid draws an error, and a page cannot set them (mermaid 11, config schema,
# maxTextSize and maxEdges).
MAX_CHARACTERS, MAX_EDGES = 50_000, 500
_SHORTEST_BOX = len('  n_[""]\n')

_EFFECTS = {
    ROLLS: "rolls",
    STARTS: "starts",
    ENDS: "ends",
    NEXT_RUN: "its next run has it",
    NEXT_PODS: "its next pods have it",
    HOOK: "runs anew, as a hook",
    REFUSED: "the API server refuses it",
    STAYS: "its pods stay",
}


class _Colours(NamedTuple):
    """How a change is drawn: what a box is filled with, lines, and what lines are made of."""

    fill: str
    line: str
    dots: str


# With the ink, to be read on a light page and on a dark one.
_COLOURS = {
    ADDED: _Colours("#dafbe1", "#1a7f37", "bold"),
    REMOVED: _Colours("#ffebe9", "#cf222e", "dashed"),
    CHANGED: _Colours("#fff8c5", "#9a6700", "solid"),
    UNCHANGED: _Colours("#f6f8fa", "#57606a", "solid"),
}
_INK = "#1f2328"

# Mermaid breaks lines that are much longer than this by itself.
_WIDTH = 24
_PIECE = pattern(rf".{{1,{_WIDTH}}}\Z|.{{1,{_WIDTH}}}(?<=[./,-])|.{{1,{_WIDTH}}}")
_NO_ID = pattern(r"[^A-Za-z0-9]+")
_LONGEST_ID = 40
_NOTHING = "There is nothing to draw."


class _Box(NamedTuple):
    """One object as it is drawn; style: a change, by whose colours."""

    id: str
    lines: tuple[str, ...]
    role: str
    style: str


class _Frame(NamedTuple):
    """A namespace with the boxes in it; title: "" where no line is drawn around them."""

    id: str
    title: str
    boxes: tuple[_Box, ...]


class _Arrow(NamedTuple):
    """All by which one object names another; source and target: ids of boxes."""

    source: str
    target: str
    label: str
    change: str


class _Drawing(NamedTuple):
    """All that is to be drawn."""

    frames: tuple[_Frame, ...]
    arrows: tuple[_Arrow, ...]


def to_mermaid(source: HasGraph) -> str:
    """Return a graph as a Mermaid flowchart.

    One that is larger than what Mermaid draws is cut, with a notice in it: what changes and what is
    next to it stays longest.
    """
    graph = source.graph
    whole = _mermaid(_draw(graph), () if graph.nodes else (_NOTHING,))
    if _fits(whole):
        return whole
    order = _by_interest(graph)
    total = len(order)

    def cut(size: int) -> str:
        notice = (
            f"{total - size} of {total} objects are not drawn:",
            f"Mermaid takes {MAX_EDGES} arrows",
            f"and {MAX_CHARACTERS:,} characters.",
            "The format dot has them all.",
        )
        return _mermaid(_draw(_part(graph, order[:size])), notice)

    sizes = range(min(total, MAX_CHARACTERS // _SHORTEST_BOX))
    too_large = bisect_left(sizes, True, key=lambda size: not _fits(cut(size)))
    return cut(max(too_large - 1, 0))


def to_dot(source: HasGraph) -> str:
    """Return a graph in the DOT language of Graphviz."""
    drawing = _draw(source.graph)
    line = _COLOURS[UNCHANGED].line
    lines = [
        "digraph postrender {",
        "  rankdir=LR; nodesep=0.2; ranksep=0.9; fontname=Helvetica; fontsize=11;",
        f'  node [fontname=Helvetica, fontsize=11, style=filled, fontcolor="{_INK}"];',
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
        lines.append(f'  nothing [shape=plaintext, style="", label="{_NOTHING}"];')
    return "\n".join([*lines, "}"]) + "\n"


# --- what is drawn, in either language -----------------------------------------------------------


def _draw(graph: Graph) -> _Drawing:
    ids = _unique(_node_slug(node) for node in graph.nodes)
    boxes: dict[str | None, list[_Box]] = defaultdict(list)
    for node, id_ in zip(graph.nodes, ids, strict=True):
        boxes[node.identity.namespace].append(_box(node, id_))
    titles = [visible(f"namespace {name}") if name and len(boxes) > 1 else "" for name in boxes]
    frame_ids = _unique(f"in_{_slug(name or '')}" for name in boxes)
    frames = map(_Frame, frame_ids, titles, map(tuple, boxes.values()))
    return _Drawing(tuple(frames), tuple(_arrows(graph.edges, ids)))


def _node_slug(node: Node) -> str:
    kind, namespace, name = node.identity[1:]
    return "n_" + _slug(f"{kind} {namespace or ''} {name}")


def _slug(text: str) -> str:
    return _NO_ID.sub("_", text)[:_LONGEST_ID].strip("_")


def _unique(slugs: Iterable[str]) -> list[str]:
    """Return slugs with numbers after those that were there before; none has `__` itself."""
    seen: Counter[str] = Counter()
    ids = []
    for slug in slugs:
        seen[slug] += 1
        ids.append(f"{slug}__{seen[slug]}" if seen[slug] > 1 else slug)
    return ids


def _box(node: Node, id_: str) -> _Box:
    change = "" if node.change == UNCHANGED else node.change
    effect = "" if not change and node.effect == STAYS else _EFFECTS.get(node.effect, "")
    words = ", ".join(word for word in (change, effect) if word)
    texts = (node.identity.kind, node.identity.name, words, node.note)
    lines = tuple(line for text in texts for line in _wrapped(visible(text)))
    return _Box(id_, lines, node.role, change or (CHANGED if effect else UNCHANGED))


def _arrows(edges: Iterable[Edge], ids: Sequence[str]) -> Iterator[_Arrow]:
    """Yield one arrow for the edges that differ only in their labels."""
    labels: dict[tuple[int, int, str, bool], dict[str, None]] = defaultdict(dict)
    for edge in edges:
        labels[edge.source, edge.target, edge.change, edge.stays][edge.label] = None
    for (source, target, change, stays), by in labels.items():
        more = [change] if change != UNCHANGED else []
        more += ["keeps the base name"] if stays else []
        words = ", ".join(filter(None, by))
        words += f" ({', '.join(more)})" if more else ""
        yield _Arrow(ids[source], ids[target], visible(words).strip(), change)


def _wrapped(text: str) -> list[str]:
    """Return a text in lines, broken between words, and where one is too long at its hyphens."""
    lines = wrap(text, _WIDTH, break_long_words=False, break_on_hyphens=False)
    return [piece for line in lines for piece in _PIECE.findall(line)]


def _by_interest(graph: Graph) -> list[int]:
    """Return the numbers of all nodes: first those that change, each before its neighbours."""
    near: dict[int, list[int]] = defaultdict(list)
    changed = {number for number, node in enumerate(graph.nodes) if _is_changed(node)}
    for edge in graph.edges:
        near[edge.source].append(edge.target)
        near[edge.target].append(edge.source)
        if edge.change != UNCHANGED:
            changed |= {edge.source, edge.target}
    first = sorted(range(len(graph.nodes)), key=lambda number: number not in changed)
    return list(dict.fromkeys(each for number in first for each in (number, *near[number])))


def _is_changed(node: Node) -> bool:
    return node.change != UNCHANGED or node.effect in (ROLLS, NEXT_RUN, NEXT_PODS, HOOK, REFUSED)


def _part(graph: Graph, numbers: Iterable[int]) -> Graph:
    """Return the part of a graph that has these nodes, in the order of the whole."""
    new = {old: number for number, old in enumerate(sorted(numbers))}
    return Graph(
        tuple(graph.nodes[number] for number in new),
        tuple(
            edge._replace(source=new[edge.source], target=new[edge.target])
            for edge in graph.edges
            if edge.source in new and edge.target in new
        ),
    )


# --- Mermaid -------------------------------------------------------------------------------------

_MERMAID_SHAPES = {"workload": ("[", "]"), "config": ("(", ")"), "other": ("{{", "}}")}
_MERMAID_ARROWS = {ADDED: "==>", REMOVED: "-.->", UNCHANGED: "-->"}
# Characters that mean nothing to Mermaid or to Markdown, except where a line begins like a list.
_PLAIN = frozenset(" /.,()-")
_LIST = pattern(r"-|\d+[.)]")


def _mermaid(drawing: _Drawing, notice: Sequence[str]) -> str:
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


def _mermaid_styles(arrows: Sequence[_Arrow]) -> Iterator[str]:
    yield f"  classDef namespace fill:none,stroke:{_COLOURS[UNCHANGED].line}"
    for change, colours in _COLOURS.items():
        name = "default" if change == UNCHANGED else change
        yield f"  classDef {name} fill:{colours.fill},stroke:{colours.line},color:{_INK}"
    for change in (ADDED, REMOVED):
        numbers = [str(number) for number, arrow in enumerate(arrows) if arrow.change == change]
        if numbers:
            yield f"  linkStyle {','.join(numbers)} stroke:{_COLOURS[change].line}"


def _mermaid_box(box: _Box) -> str:
    opening, closing = _MERMAID_SHAPES[box.role]
    style = f":::{box.style}" if box.style != UNCHANGED else ""
    return f'{box.id}{opening}"{_mermaid_text(box.lines)}"{closing}{style}'


def _mermaid_arrow(arrow: _Arrow) -> str:
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


# --- DOT -----------------------------------------------------------------------------------------

_DOT_SHAPES = {"workload": "box", "config": "note", "other": "ellipse"}


def _dot_box(box: _Box) -> str:
    colours = _COLOURS[box.style]
    return (
        f'{box.id} [label="{_dot_text(box.lines)}", shape={_DOT_SHAPES[box.role]}, '
        f'fillcolor="{colours.fill}", color="{colours.line}"];'
    )


def _dot_arrow(arrow: _Arrow) -> str:
    colours = _COLOURS[arrow.change]
    style = f', style={colours.dots}, color="{colours.line}", fontcolor="{colours.line}"'
    label = _dot_text(_wrapped(arrow.label))
    attributes = f'label="{label}"{style if arrow.change != UNCHANGED else ""}'
    return f"{arrow.source} -> {arrow.target} [{attributes}];"


def _dot_text(lines: Iterable[str]) -> str:
    """Return lines for a quoted string, in which Graphviz reads escapes and HTML's entities."""
    return "\\n".join(
        line.replace("&", "&amp;").replace("\\", "\\\\").replace('"', '\\"') for line in lines
    )
