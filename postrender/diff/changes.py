"""The changes of all pairs, and the graph of the objects that change with all connected objects."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence

from postrender.diff.attachers import comparable_pair, is_left_out
from postrender.diff.contents import (
    annotations_to_leave_out,
    compare_content,
)
from postrender.diff.fields import differing, find_field_changes, is_same
from postrender.diff.model import (
    ADDED,
    CHANGED,
    REMOVED,
    UNCHANGED,
    ContentChange,
    Edge,
    FieldChange,
    Graph,
    GraphNode,
    ObjectChange,
    WorkloadChange,
)
from postrender.diff.normalise import BaseNames, as_written, comparable, without_cluster_values
from postrender.diff.pairs import Pair, Side, sort_key
from postrender.diff.undecided import find_unreported
from postrender.diff.usages import WORKLOAD_REF, Target, UsageIndex
from postrender.diff.workloads import Comparison, find_workload_change, is_workload
from postrender.inventory.model import ItemKey
from postrender.kubernetes.kinds import Identity
from postrender.records import NamedTuple


class Changes(NamedTuple):
    """The changes of the objects, by the index of the object's pair in the list of all pairs."""

    contents: Mapping[int, ContentChange]
    workloads: Mapping[int, WorkloadChange]
    objects: Mapping[int, ObjectChange]

    @property
    def change_by_pair(self) -> dict[int, str]:
        """The field `change` of each change in this record, by the index of the pair."""
        reported: dict[int, ContentChange | WorkloadChange | ObjectChange]
        reported = {**self.contents, **self.workloads, **self.objects}
        return {number: change.change for number, change in reported.items()}

    @property
    def removes_workload(self) -> bool:
        """True if the change removes a workload."""
        return any(change.change == REMOVED for change in self.workloads.values())


def find_changes(
    pairs: Sequence[Pair],
    old: Side,
    new: Side,
    usages: tuple[UsageIndex, UsageIndex],
    names: BaseNames,
    context: int,
) -> Changes:
    """Return the changes of all pairs.

    usages: the usages on the older and on the newer side.
    context: the number of unchanged lines before and after each change in a text.
    """
    is_exact = old.is_rendered and new.is_rendered
    users = _users(pairs, *usages)
    compared = _compared_contents(pairs, names, users, context, is_exact=is_exact)
    contents = {number: change for number, (change, _) in compared.items()}
    comparison = Comparison(
        old=usages[0],
        new=usages[1],
        contents=contents,
        rewritten=frozenset(
            number for number, (_, is_rewritten) in compared.items() if is_rewritten
        ),
        base_names=names,
    )
    workloads, objects = _other_changes(pairs, comparison, old, new)
    objects |= find_unreported(pairs, {**contents, **workloads, **objects}, old, new)
    return Changes(contents, workloads, objects)


def _compared_contents(
    pairs: Sequence[Pair],
    names: BaseNames,
    users: Mapping[Target, tuple[Sequence[Identity], Sequence[Identity]]],
    context: int,
    *,
    is_exact: bool,
) -> dict[int, tuple[ContentChange, bool]]:
    """Return the ConfigMaps and Secrets that change, by the index of the pair, as compare_content.

    is_exact: whether both sides are outputs of postrender. If so, annotations_to_leave_out decides
    which annotations the function does not compare.
    """
    contents = {}
    for number, pair in enumerate(pairs):
        if pair.newest.is_content and pair.identity.name:
            left_out = annotations_to_leave_out(pair) if is_exact else None
            both, former = users.get(number, ((), ()))
            content = compare_content(pair, names, context, left_out, both, former)
            if content:
                contents[number] = content
    return contents


def _other_changes(
    pairs: Sequence[Pair], comparison: Comparison, old: Side, new: Side
) -> tuple[dict[int, WorkloadChange], dict[int, ObjectChange]]:
    workloads, objects = {}, {}
    for number, pair in enumerate(pairs):
        if pair.newest.is_content or not pair.identity.name:
            continue
        if is_workload(pair.newest) and not pair.newest.is_attacher:
            workload = find_workload_change(pair, comparison)
            if workload:
                workloads[number] = workload
        else:
            change = _object_change(pair, comparison.base_names, old, new)
            if change:
                objects[number] = change
    return workloads, objects


def _object_change(
    pair: Pair, names: BaseNames, old_side: Side, new_side: Side
) -> ObjectChange | None:
    is_attacher = pair.newest.is_attacher
    if pair.both is None:
        if is_attacher and is_left_out(pair, old_side, new_side):
            return None
        return ObjectChange(pair.identity, ADDED if pair.new else REMOVED)
    old, new = comparable_pair(pair.both, old_side, new_side) if is_attacher else pair.both
    fields = []
    if not is_same(old.data, new.data):
        before, after = differing(*without_cluster_values(old.data, new.data))
        form = as_written if is_attacher else comparable
        fields = find_field_changes(form(before, names), form(after, names))
    if old.name != new.name:
        path = "metadata.name"
        fields.append(FieldChange(path=path, change=CHANGED, old=old.name, new=new.name))
    return ObjectChange(pair.identity, CHANGED, tuple(fields)) if fields else None


def _users(
    pairs: Sequence[Pair], old: UsageIndex, new: UsageIndex
) -> dict[Target, tuple[list[Identity], list[Identity]]]:
    """Return the workloads that reference each target, and those that no longer do."""
    before, after = (
        _identities_by_target(pairs, index, is_new=is_new)
        for index, is_new in ((old, False), (new, True))
    )
    return {
        target: (
            sorted(before[target] | after[target], key=sort_key),
            sorted(before[target] - after[target], key=sort_key),
        )
        for target in {**before, **after}
    }


def _identities_by_target(
    pairs: Sequence[Pair], index: UsageIndex, *, is_new: bool
) -> defaultdict[Target, set[Identity]]:
    by_target: defaultdict[Target, set[Identity]] = defaultdict(set)
    for pair in pairs:
        compared = pair.new if is_new else pair.old
        for usage in index.by_item.get(compared.item.key, ()) if compared and compared.item else ():
            if usage.is_in_template:
                by_target[usage.target].add(pair.identity)
    return by_target


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
