"""Who names what, drawn: Mermaid for a Markdown page, DOT for Graphviz.

What changes is told by words as well as by colours. A name is data: whatever it holds, it cannot
become part of the drawing's own language.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from textwrap import wrap

from postrender.diff.model import (
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
    GraphNode,
)
from postrender.startup.patterns import pattern
from postrender.startup.records import NamedTuple
from postrender.text.escapes import visible

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Protocol

    class HasGraph(Protocol):
        """What has a graph: a preview, and what explain tells."""

        @property
        def graph(self) -> Graph:
            """Who names what."""


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


class Colours(NamedTuple):
    """How a change is drawn: what a box is filled with, lines, and what lines are made of."""

    fill: str
    line: str
    dots: str


# With the ink, to be read on a light page and on a dark one.
COLOURS = {
    ADDED: Colours("#dafbe1", "#1a7f37", "bold"),
    REMOVED: Colours("#ffebe9", "#cf222e", "dashed"),
    CHANGED: Colours("#fff8c5", "#9a6700", "solid"),
    UNCHANGED: Colours("#f6f8fa", "#57606a", "solid"),
}
INK = "#1f2328"

# Mermaid breaks lines that are much longer than this by itself.
_WIDTH = 24
_PIECE = pattern(rf".{{1,{_WIDTH}}}\Z|.{{1,{_WIDTH}}}(?<=[./,-])|.{{1,{_WIDTH}}}")
_NO_ID = pattern(r"[^A-Za-z0-9]+")
_LONGEST_ID = 40
NOTHING = "There is nothing to draw."


class Box(NamedTuple):
    """One object as it is drawn; style: a change, by whose colours."""

    id: str
    lines: tuple[str, ...]
    role: str
    style: str


class Frame(NamedTuple):
    """A namespace with the boxes in it; title: "" where no line is drawn around them."""

    id: str
    title: str
    boxes: tuple[Box, ...]


class Arrow(NamedTuple):
    """All by which one object names another; source and target: ids of boxes."""

    source: str
    target: str
    label: str
    change: str


class Drawing(NamedTuple):
    """All that is to be drawn."""

    frames: tuple[Frame, ...]
    arrows: tuple[Arrow, ...]


def draw(graph: Graph) -> Drawing:
    """Return the boxes and arrows of a graph, in frames for its namespaces."""
    ids = _unique(_node_slug(node) for node in graph.nodes)
    boxes: dict[str | None, list[Box]] = defaultdict(list)
    for node, id_ in zip(graph.nodes, ids, strict=True):
        boxes[node.identity.namespace].append(_box(node, id_))
    titles = [visible(f"namespace {name}") if name and len(boxes) > 1 else "" for name in boxes]
    frame_ids = _unique(f"in_{_slug(name or '')}" for name in boxes)
    frames = map(Frame, frame_ids, titles, map(tuple, boxes.values()))
    return Drawing(tuple(frames), tuple(_arrows(graph.edges, ids)))


def _node_slug(node: GraphNode) -> str:
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


def _box(node: GraphNode, id_: str) -> Box:
    change = "" if node.change == UNCHANGED else node.change
    effect = "" if not change and node.effect == STAYS else _EFFECTS.get(node.effect, "")
    words = ", ".join(word for word in (change, effect) if word)
    texts = (node.identity.kind, node.identity.name, words, node.note)
    lines = tuple(line for text in texts for line in wrapped(visible(text)))
    return Box(id_, lines, node.role, change or (CHANGED if effect else UNCHANGED))


def _arrows(edges: Iterable[Edge], ids: Sequence[str]) -> Iterator[Arrow]:
    """Yield one arrow for the edges that differ only in their labels."""
    labels: dict[tuple[int, int, str, bool], dict[str, None]] = defaultdict(dict)
    for edge in edges:
        labels[edge.source, edge.target, edge.change, edge.keeps_base_name][edge.label] = None
    for (source, target, change, keeps_base_name), by in labels.items():
        more = [change] if change != UNCHANGED else []
        more += ["keeps the base name"] if keeps_base_name else []
        words = ", ".join(filter(None, by))
        words += f" ({', '.join(more)})" if more else ""
        yield Arrow(ids[source], ids[target], visible(words).strip(), change)


def wrapped(text: str) -> list[str]:
    """Return a text in lines, broken between words, and where one is too long at its hyphens."""
    lines = wrap(text, _WIDTH, break_long_words=False, break_on_hyphens=False)
    return [piece for line in lines for piece in _PIECE.findall(line)]


def by_interest(graph: Graph) -> list[int]:
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


def _is_changed(node: GraphNode) -> bool:
    return node.change != UNCHANGED or node.effect in (ROLLS, NEXT_RUN, NEXT_PODS, HOOK, REFUSED)


def part(graph: Graph, numbers: Iterable[int]) -> Graph:
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
