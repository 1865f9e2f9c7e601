"""The changes of ConfigMaps and Secrets, of workloads, and of other objects."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence

from postrender.diff.attachers import comparable_pair, is_left_out
from postrender.diff.compare.fields import differing, find_field_changes, is_same
from postrender.diff.compare.model import Side
from postrender.diff.compare.unreported import find_unreported
from postrender.diff.contents import (
    ComparedContent,
    Users,
    annotations_to_leave_out,
    compare_content,
)
from postrender.diff.model import (
    ADDED,
    CHANGED,
    REMOVED,
    ContentChange,
    FieldChange,
    ObjectChange,
    WorkloadChange,
)
from postrender.diff.normalise import BaseNames, as_written, comparable, without_cluster_values
from postrender.diff.pairs import Pair, sort_key
from postrender.diff.usages import Target, UsageIndex
from postrender.diff.workloads import Comparison, find_workload_change, is_workload
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
    contents = {number: content.change for number, content in compared.items()}
    comparison = Comparison(
        old=usages[0],
        new=usages[1],
        contents=contents,
        rewritten=frozenset(number for number, content in compared.items() if content.is_rewritten),
        base_names=names,
    )
    workloads, objects = _other_changes(pairs, comparison, old, new)
    objects |= find_unreported(pairs, {**contents, **workloads, **objects}, old, new)
    return Changes(contents, workloads, objects)


def _compared_contents(
    pairs: Sequence[Pair],
    names: BaseNames,
    users: Mapping[Target, Users],
    context: int,
    *,
    is_exact: bool,
) -> dict[int, ComparedContent]:
    """Return the ConfigMaps and Secrets that change, by the index of the pair.

    is_exact: whether both sides are outputs of postrender. If so, annotations_to_leave_out decides
    which annotations the function does not compare.
    """
    contents = {}
    for number, pair in enumerate(pairs):
        if pair.newest.is_content and pair.identity.name:
            left_out = annotations_to_leave_out(pair) if is_exact else None
            content = compare_content(pair, names, users.get(number, Users()), context, left_out)
            if content:
                contents[number] = content
    return contents


def _other_changes(
    pairs: Sequence[Pair], comparison: Comparison, old: Side, new: Side
) -> tuple[dict[int, WorkloadChange], dict[int, ObjectChange]]:
    """Return the changes of workloads and of other objects, by the index of the pair."""
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


def _users(pairs: Sequence[Pair], old: UsageIndex, new: UsageIndex) -> dict[Target, Users]:
    before, after = (
        _identities_by_target(pairs, index, is_new=is_new)
        for index, is_new in ((old, False), (new, True))
    )
    return {
        target: Users(
            all=tuple(sorted(before[target] | after[target], key=sort_key)),
            former=tuple(sorted(before[target] - after[target], key=sort_key)),
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
