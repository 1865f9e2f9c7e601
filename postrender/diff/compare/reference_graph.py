"""The reference graph of a preview: each object that changes, and all objects connected to it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence

from postrender.diff.compare.pairs import Pair
from postrender.diff.compare.usages import UsageIndex
from postrender.diff.compare.workloads import is_workload
from postrender.diff.labels import WORKLOAD_REF
from postrender.diff.model import ADDED, REMOVED, UNCHANGED, Edge, Graph, GraphNode
from postrender.inventory.model import ItemKey
from postrender.startup.records import NamedTuple


class _Link(NamedTuple):
    """A reference from one pair to another pair; source and target are indexes of pairs."""

    source: int
    target: int
    label: str


def find_graph(
    pairs: Sequence[Pair],
    old: UsageIndex,
    new: UsageIndex,
    changes: Mapping[int, str],
    effects: Mapping[int, str],
) -> tuple[Graph, frozenset[int]]:
    """Return the graph, and the indexes, in `pairs`, of the pairs that the graph shows.

    pairs: all pairs, sorted by identity;
    changes: the change of each pair that the preview reports, by the index of the pair;
    effects: the effect on each workload, by the index of the pair.
    """
    before = set(_links(pairs, old, is_new=False))
    after = set(_links(pairs, new, is_new=True))
    connected = _connected(changes, before | after)
    # Sort by index, because identities can be equal. The indexes are in the order of identities.
    ordered = sorted(connected, key=lambda number: (_role(pairs[number]), number))
    positions = {number: position for position, number in enumerate(ordered)}
    nodes = tuple(
        GraphNode(
            identity=pairs[number].identity,
            role=_role(pairs[number]),
            change=changes.get(number, UNCHANGED),
            effect=effects.get(number, ""),
        )
        for number in ordered
    )
    edges = [
        Edge(
            source=positions[link.source],
            target=positions[link.target],
            label=link.label,
            change=_change(is_old=link in before, is_new=link in after),
        )
        for link in before | after
        if link.source in positions
    ]
    return Graph(nodes, tuple(sorted(edges))), frozenset(connected)


def _change(*, is_old: bool, is_new: bool) -> str:
    if is_old and is_new:
        return UNCHANGED
    return ADDED if is_new else REMOVED


def _role(pair: Pair) -> str:
    if is_workload(pair.newest) and not pair.newest.is_attacher:
        return "workload"
    return "config" if pair.newest.is_content else "other"


def _links(pairs: Sequence[Pair], index: UsageIndex, *, is_new: bool) -> Iterator[_Link]:
    numbers: dict[ItemKey, int] = {}
    for number, pair in enumerate(pairs):
        compared = pair.new if is_new else pair.old
        if compared is not None and compared.item is not None:
            numbers[compared.item.key] = number
    for key, number in numbers.items():
        for usage in index.by_item.get(key, ()):
            if isinstance(usage.target, int) and usage.target != number:
                yield _Link(number, usage.target, usage.label)
        source = index.sources.get(key)
        if source is not None and source.item is not None and source.item.key in numbers:
            yield _Link(number, numbers[source.item.key], WORKLOAD_REF)


def _connected(changed: Mapping[int, str], links: set[_Link]) -> set[int]:
    """Return the indexes of the changed pairs, and of all pairs connected with a changed pair."""
    neighbours: dict[int, set[int]] = defaultdict(set)
    for link in links:
        neighbours[link.source].add(link.target)
        neighbours[link.target].add(link.source)
    connected: set[int] = set()
    queue = list(changed)
    while queue:
        number = queue.pop()
        if number not in connected:
            connected.add(number)
            queue += neighbours[number]
    return connected
