"""The reference graph of a preview: the objects that change, and all connected objects."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence

from postrender.diff.labels import WORKLOAD_REF
from postrender.diff.model import ADDED, REMOVED, UNCHANGED, Edge, Graph, GraphNode
from postrender.diff.pairs import Pair
from postrender.diff.usages import UsageIndex
from postrender.diff.workloads import is_workload
from postrender.inventory.model import ItemKey


def find_graph(
    pairs: Sequence[Pair],
    old: UsageIndex,
    new: UsageIndex,
    changes: Mapping[int, str],
    effects: Mapping[int, str],
) -> tuple[Graph, frozenset[int]]:
    """Return the graph, and the indexes, in `pairs`, of the pairs that the graph shows.

    pairs: all pairs, sorted by identity.
    changes: the change of each pair that the preview reports, by the index of the pair.
    effects: the effect on each workload, by the index of the pair.
    """
    before = set(_edges(pairs, old, is_new=False))
    after = set(_edges(pairs, new, is_new=True))
    edge_changes = {
        **dict.fromkeys(before, REMOVED),
        **dict.fromkeys(after, ADDED),
        **dict.fromkeys(before & after, UNCHANGED),
    }
    connected = _connected(changes, edge_changes)
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
        edge._replace(source=positions[edge.source], target=positions[edge.target], change=change)
        for edge, change in edge_changes.items()
        if edge.source in positions
    ]
    return Graph(nodes, tuple(sorted(edges))), frozenset(connected)


def _role(pair: Pair) -> str:
    if is_workload(pair.newest) and not pair.newest.is_attacher:
        return "workload"
    return "config" if pair.newest.is_content else "other"


def _edges(pairs: Sequence[Pair], index: UsageIndex, *, is_new: bool) -> Iterator[Edge]:
    """Return the references on one side; `source` and `target` are indexes of pairs."""
    numbers: dict[ItemKey, int] = {}
    for number, pair in enumerate(pairs):
        compared = pair.new if is_new else pair.old
        if compared is not None and compared.item is not None:
            numbers[compared.item.key] = number
    for key, number in numbers.items():
        for usage in index.by_item.get(key, ()):
            if isinstance(usage.target, int) and usage.target != number:
                yield Edge(source=number, target=usage.target, label=usage.label)
        source = index.sources.get(key)
        if source is not None and source.item is not None and source.item.key in numbers:
            yield Edge(source=number, target=numbers[source.item.key], label=WORKLOAD_REF)


def _connected(changed: Mapping[int, str], edges: Iterable[Edge]) -> set[int]:
    """Return the indexes of the changed pairs, and of all pairs connected with a changed pair."""
    neighbours: dict[int, set[int]] = defaultdict(set)
    for edge in edges:
        neighbours[edge.source].add(edge.target)
        neighbours[edge.target].add(edge.source)
    connected: set[int] = set()
    queue = list(changed)
    while queue:
        number = queue.pop()
        if number not in connected:
            connected.add(number)
            queue += neighbours[number]
    return connected
