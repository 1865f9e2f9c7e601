"""Who names what, as a graph of all that a change touches and whatever is connected with it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Iterator, Mapping, Sequence

from postrender.diff.compare.attachers import is_attacher
from postrender.diff.compare.pairs import Pair, order_of
from postrender.diff.compare.usages import UsageIndex
from postrender.diff.compare.workloads import is_workload
from postrender.diff.labels import WORKLOAD_REF
from postrender.diff.model import ADDED, REMOVED, UNCHANGED, Edge, Graph, GraphNode
from postrender.inventory.model import ItemKey

_Edge = tuple[int, int, str]


def find_graph(
    pairs: Sequence[Pair],
    old: UsageIndex,
    new: UsageIndex,
    changes: Mapping[int, str],
    effects: Mapping[int, str],
) -> tuple[Graph, frozenset[int]]:
    """Return the graph, and the numbers of the pairs in it.

    changes: of every pair in which something changes (or which it concerns); effects: of workloads.
    """
    before = set(_edges(pairs, old, is_new=False))
    after = set(_edges(pairs, new, is_new=True))
    touched = _connected(set(changes), before | after)
    basis = sorted(
        (number for number in touched),
        key=lambda number: (_role(pairs[number]), order_of(pairs[number].identity)),
    )
    numbers = {number: position for position, number in enumerate(basis)}
    nodes = tuple(
        GraphNode(
            pairs[number].identity,
            _role(pairs[number]),
            changes.get(number, UNCHANGED),
            effects.get(number, ""),
        )
        for number in basis
    )
    edges = [
        Edge(
            numbers[source],
            numbers[target],
            label,
            UNCHANGED if edge in before and edge in after else ADDED if edge in after else REMOVED,
        )
        for edge in before | after
        for source, target, label in [edge]
        if source in numbers
    ]
    return Graph(nodes, tuple(sorted(edges))), frozenset(touched)


def _role(pair: Pair) -> str:
    if is_workload(pair.newest) and not is_attacher(pair.newest):
        return "workload"
    return "config" if pair.newest.is_content else "other"


def _edges(pairs: Sequence[Pair], names: UsageIndex, *, is_new: bool) -> Iterator[_Edge]:
    numbers: dict[ItemKey, int] = {}
    for number, pair in enumerate(pairs):
        each = pair.new if is_new else pair.old
        if each is not None and each.item is not None:
            numbers[each.item.key] = number
    for key, number in numbers.items():
        for named in names.by_item.get(key, ()):
            if isinstance(named.target, int) and named.target != number:
                yield number, named.target, named.label
        target = names.behind.get(key)
        if target is not None and target.item is not None and target.item.key in numbers:
            yield number, numbers[target.item.key], WORKLOAD_REF


def _connected(changed: set[int], edges: set[_Edge]) -> set[int]:
    """Return what changes, with all that is connected with it."""
    neighbours: dict[Hashable, set[int]] = defaultdict(set)
    for source, target, _ in edges:
        neighbours[source].add(target)
        neighbours[target].add(source)
    touched: set[int] = set()
    waiting = list(changed)
    while waiting:
        number = waiting.pop()
        if number not in touched:
            touched.add(number)
            waiting += neighbours[number]
    return touched
