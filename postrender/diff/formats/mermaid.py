"""The reference graph of `postrender diff` or `postrender explain`, as a Mermaid flowchart.

A drawing shows changes in words and in colours. The IDs of boxes and frames contain only letters,
digits and `_`, and all other texts are escaped, so a name cannot change the syntax of a drawing.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from textwrap import wrap

from postrender.diff.formats import Reporter
from postrender.diff.model import (
    ADDED,
    CHANGED,
    HOOK,
    NEXT_PODS,
    NEXT_RUN,
    NO_PODS,
    REFUSED,
    REMOVED,
    ROLLS,
    STAYS,
    UNCHANGED,
    Edge,
    Graph,
    GraphNode,
    Preview,
)
from postrender.diff.summary import is_metadata_only
from postrender.diff.values import size_of
from postrender.diff.words import EFFECTS
from postrender.text import visible

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Protocol

    from postrender.diff.values import Terminal

    class HasGraph(Protocol):
        """A preview of `postrender diff`, or an explanation of `postrender explain`."""

        @property
        def graph(self) -> Graph:
            """The reference graph."""


# The colour of a box, and the colour of its border or of an arrow. _INK is the colour of text in
# boxes. Text, boxes and arrows are visible on light and dark pages.
_COLOURS = {
    ADDED: ("#dafbe1", "#1a7f37"),
    REMOVED: ("#ffebe9", "#cf222e"),
    CHANGED: ("#fff8c5", "#9a6700"),
    UNCHANGED: ("#f6f8fa", "#57606a"),
}
_INK = "#1f2328"

# The limits of Mermaid, which shows an error in place of a larger graph. The author of a diagram
# cannot change the limits (mermaid 11, config schema, maxTextSize and maxEdges).
MAX_CHARACTERS, MAX_EDGES = 50_000, 500
_SHORTEST_BOX = len('  n_[""]\n')

_SHAPES = {"workload": ("[", "]"), "config": ("(", ")"), "other": ("{{", "}}")}
_ARROWS = {ADDED: "==>", REMOVED: "-.->", UNCHANGED: "-->"}
# Characters that Mermaid and Markdown do not interpret, except in the marker of a list item.
_PLAIN = frozenset(" /.,()-")
_LIST_MARKER = re.compile(r"-|\d+[.)]")

# The maximum number of characters in a line of a box.
_WIDTH = 24
_PIECE = re.compile(rf".{{1,{_WIDTH}}}\Z|.{{1,{_WIDTH}}}(?<=[./,-])|.{{1,{_WIDTH}}}")
_NOT_IN_ID = re.compile(r"[^A-Za-z0-9]+")
_LONGEST_ID = 40
_NOTHING_TO_DRAW = "There is nothing to draw."


class MermaidReporter(Reporter):
    """The reference graph as a Mermaid flowchart, without the contents of the objects."""

    file_suffix = "mmd"
    is_complete = False

    def render(self, source: HasGraph, terminal: Terminal) -> str:
        """The graph of a preview or an explanation as a Mermaid flowchart.

        A graph that is too large for Mermaid gets a notice and loses objects. Changed objects and
        their neighbours have priority.
        """
        graph = drawn_graph(source) if isinstance(source, Preview) else source.graph
        chart = _flowchart(graph, () if graph.nodes else (_NOTHING_TO_DRAW,))
        if _fits(chart):
            return chart
        order = nodes_by_relevance(graph)
        total = len(order)

        def truncated(size: int) -> str:
            notice = (
                f"{total - size} of {total} objects are not drawn:",
                f"Mermaid draws at most {MAX_EDGES} arrows",
                f"and {MAX_CHARACTERS:,} characters.",
                "Use --format json for all objects.",
            )
            return _flowchart(subgraph(graph, order[:size]), notice)

        sizes = range(min(total, MAX_CHARACTERS // _SHORTEST_BOX))
        too_large = bisect_left(sizes, True, key=lambda size: not _fits(truncated(size)))
        return truncated(max(too_large - 1, 0))


# A box: its ID, its role as in GraphNode, the lines of its text, and the key of its colours.
Box = tuple[str, str, tuple[str, ...], str]
# A namespace: its ID, its title, "" if the frame is not drawn, and its boxes.
Frame = tuple[str, str, list[Box]]
# All edges that differ only in their labels: the IDs of two boxes, the label, and the change.
Arrow = tuple[str, str, str, str]


def draw(graph: Graph) -> tuple[list[Frame], list[Arrow]]:
    """The boxes of a graph, with a frame for each namespace, and the arrows."""
    ids = _unique(_node_slug(node) for node in graph.nodes)
    boxes: dict[str | None, list[Box]] = defaultdict(list)
    for node, box_id in zip(graph.nodes, ids, strict=True):
        boxes[node.identity.namespace].append(_box(node, box_id))
    titles = [visible(f"namespace {name}") if name and len(boxes) > 1 else "" for name in boxes]
    frame_ids = _unique(f"in_{_slug(name or '')}" for name in boxes)
    frames = list(zip(frame_ids, titles, boxes.values(), strict=True))
    return frames, list(_arrows(graph.edges, ids))


def _node_slug(node: GraphNode) -> str:
    identity = node.identity
    return "n_" + _slug(f"{identity.kind} {identity.namespace or ''} {identity.name}")


def _slug(text: str) -> str:
    return _NOT_IN_ID.sub("_", text)[:_LONGEST_ID].strip("_")


def _unique(slugs: Iterable[str]) -> list[str]:
    """A unique ID for each slug: `x`, `x__2` and `x__3` for three slugs `x`; none contains `__`."""
    seen: Counter[str] = Counter()
    ids = []
    for slug in slugs:
        seen[slug] += 1
        ids.append(f"{slug}__{seen[slug]}" if seen[slug] > 1 else slug)
    return ids


def _box(node: GraphNode, box_id: str) -> Box:
    change = "" if node.change == UNCHANGED else node.change
    effect = ""
    if node.effect not in ("", NO_PODS) and (change or node.effect != STAYS):
        effect = EFFECTS[node.effect].drawn or EFFECTS[node.effect].verb.one
    status = ", ".join(word for word in (change, effect) if word)
    texts = (node.identity.kind, node.identity.name, status, node.note)
    lines = tuple(line for text in texts for line in _wrapped(visible(text)))
    style = change or (CHANGED if effect else UNCHANGED)
    return box_id, node.role, lines, style


def _arrows(edges: Iterable[Edge], ids: Sequence[str]) -> Iterator[Arrow]:
    labels: dict[tuple[int, int, str, bool], dict[str, None]] = defaultdict(dict)
    for edge in edges:
        labels[edge.source, edge.target, edge.change, edge.keeps_base_name][edge.label] = None
    for (source, target, change, keeps_base_name), names in labels.items():
        notes = [change] if change != UNCHANGED else []
        notes += ["keeps the base name"] if keeps_base_name else []
        label = ", ".join(filter(None, names)) + (f" ({', '.join(notes)})" if notes else "")
        yield ids[source], ids[target], visible(label).strip(), change


def _wrapped(text: str) -> list[str]:
    """The lines of a text; a word that is longer than a line ends after punctuation if possible."""
    lines = wrap(text, _WIDTH, break_long_words=False, break_on_hyphens=False)
    return [piece for line in lines for piece in _PIECE.findall(line)]


def drawn_graph(preview: Preview) -> Graph:
    """The objects of a preview with a reference; no objects if only labels and the like change."""
    graph = preview.graph
    changed = [edge for edge in graph.edges if edge.change != UNCHANGED]
    is_same = all(
        is_metadata_only(content) and content.old_revision == content.new_revision
        for content in preview.contents
    )
    if is_same and not changed and not preview.only:
        return Graph()
    return subgraph(graph, {end for edge in graph.edges for end in (edge.source, edge.target)})


def nodes_by_relevance(graph: Graph) -> list[int]:
    """The indexes of all nodes. Changed nodes and their neighbours are first."""
    neighbours: dict[int, list[int]] = defaultdict(list)
    changed = {index for index, node in enumerate(graph.nodes) if _is_changed(node)}
    for edge in graph.edges:
        neighbours[edge.source].append(edge.target)
        neighbours[edge.target].append(edge.source)
        if edge.change != UNCHANGED:
            changed |= {edge.source, edge.target}
    changed_first = sorted(range(len(graph.nodes)), key=lambda index: index not in changed)
    order = (node for index in changed_first for node in (index, *neighbours[index]))
    return list(dict.fromkeys(order))


def _is_changed(node: GraphNode) -> bool:
    return node.change != UNCHANGED or node.effect in (ROLLS, NEXT_RUN, NEXT_PODS, HOOK, REFUSED)


def subgraph(graph: Graph, indexes: Iterable[int]) -> Graph:
    """Only the nodes at these indexes, and the edges between these nodes."""
    new_indexes = {old: new for new, old in enumerate(sorted(indexes))}
    return Graph(
        tuple(graph.nodes[index] for index in new_indexes),
        tuple(
            edge._replace(source=new_indexes[edge.source], target=new_indexes[edge.target])
            for edge in graph.edges
            if edge.source in new_indexes and edge.target in new_indexes
        ),
    )


def _flowchart(graph: Graph, notice: Sequence[str]) -> str:
    frames, arrows = draw(graph)
    lines = ["flowchart LR"]
    if notice:
        lines.append(f'  notice["{_text(notice)}"]')
    for frame_id, title, frame_boxes in frames:
        boxes = [f"  {_box_line(box)}" for box in frame_boxes]
        if title:
            head = f'  subgraph {frame_id}["{_text((title,))}"]'
            boxes = [head, *(f"  {box}" for box in boxes), "  end"]
            boxes.append(f"  class {frame_id} namespace")
        lines += boxes
    lines += [f"  {_arrow(arrow)}" for arrow in arrows]
    return "\n".join([*lines, *_styles(arrows)]) + "\n"


def _styles(arrows: Sequence[Arrow]) -> Iterator[str]:
    yield f"  classDef namespace fill:none,stroke:{_COLOURS[UNCHANGED][1]}"
    for change, (fill, line) in _COLOURS.items():
        name = "default" if change == UNCHANGED else change
        yield f"  classDef {name} fill:{fill},stroke:{line},color:{_INK}"
    for change in (ADDED, REMOVED):
        indexes = [str(index) for index, (*_, drawn) in enumerate(arrows) if drawn == change]
        if indexes:
            yield f"  linkStyle {','.join(indexes)} stroke:{_COLOURS[change][1]}"


def _box_line(box: Box) -> str:
    box_id, role, lines, style = box
    opening, closing = _SHAPES[role]
    suffix = f":::{style}" if style != UNCHANGED else ""
    return f'{box_id}{opening}"{_text(lines)}"{closing}{suffix}'


def _arrow(arrow: Arrow) -> str:
    source, target, label, change = arrow
    shown = f'|"{_text((label,))}"|' if label else ""
    return f"{source} {_ARROWS[change]}{shown} {target}"


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
