"""Groups of changes that are alike, so that a preview tells once what many objects share.

Most objects of a release share a few facts and have some of their own. What all members of a group
have is told once, and what a member has besides is told with its name. Labels such as the version
of the chart, which very different objects share, have their own groups.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Mapping, Sequence

from postrender.diff.alike import LISTS, Fact, common_value, facts_of, parts_of_key, values_of
from postrender.diff.fields import find_field_changes
from postrender.diff.model import (
    ADDED,
    CHANGED,
    REFUSED,
    REMOVED,
    TEMPLATE,
    Cause,
    ContentChange,
    FieldChange,
    KeyChange,
    ObjectChange,
    Preview,
    WorkloadChange,
)
from postrender.diff.redact import NOT_SHOWN
from postrender.diff.values import count_values
from postrender.diff.words import EFFECTS
from postrender.kubernetes.kinds import Identity
from postrender.records import NamedTuple, grouped

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, TypeVar

    from postrender.diff.alike import AnyChange

    Change = TypeVar("Change", WorkloadChange, ContentChange, ObjectChange)
    Changed = TypeVar("Changed", WorkloadChange, ObjectChange)
    # The changes of a group in order, a change with only what all of them share, and the changes
    # with only what they do not share, without those of which nothing is left.
    Group = tuple[list[Change], Change, list[Change]]

# The lines around the facts of a single change, around those of a group, and of one of its members.
_ALONE, _GROUP, _MEMBER = 2, 4, 1
_LABEL = re.compile(r"(.*)(metadata\.labels\b(.*))")
# Labels of fewer objects are not routine.
_MANY_OBJECTS = 3
# An object with another name has so many values for each one that differs.
_LEAST_ALIKE = 3
_SHARED_LABELS = "shared labels of the pod template"
# Objects that decide what others may do, or that hold data.
_DANGEROUS = re.compile(
    r"(?:Cluster)?Role(?:Binding)?|NetworkPolicy|.*Webhook.*|.*Admission.*|.*SecurityPolicy"
    r"|CustomResourceDefinition|Namespace|PersistentVolume(?:Claim)?|PriorityClass|ServiceAccount"
)


class Groups(NamedTuple):
    """The groups of each section; a change that is not like any other is a group of one.

    labels: the objects that share labels. Other groups do not have these labels, and not the
    objects of which nothing else changes.
    """

    workloads: Sequence[Group[WorkloadChange]]
    contents: Sequence[Group[ContentChange]]
    objects: Sequence[Group[ObjectChange]]
    labels: Sequence[Group[ObjectChange]]


def group_changes(preview: Preview) -> Groups:
    """The groups of a preview: the dangerous first, then single changes, then groups."""
    preview = preview._replace(
        workloads=_with_moves(preview.workloads), objects=_with_moves(preview.objects)
    )
    workloads = list(map(_with_joined_labels, preview.workloads))
    labels, shared = _group_labels((*workloads, *preview.contents, *preview.objects))
    contents = list(_groups(_without(shared, preview.contents), {}))
    numbers = {
        change.identity: number for number, group in enumerate(contents) for change in group[0]
    }
    ranks = {effect: rank for rank, effect in enumerate(EFFECTS)}
    return Groups(
        workloads=sorted(
            _groups(_without(shared, workloads), numbers),
            key=lambda group: (ranks[group[1].effect], len(group[0]) > 1),
        ),
        contents=sorted(contents, key=lambda group: len(group[0]) > 1),
        objects=sorted(
            _groups(_without(shared, preview.objects), {}),
            key=lambda group: (len(group[0]) > 1, not is_dangerous(group[1].identity)),
        ),
        labels=labels,
    )


def _with_moves(changes: Sequence[Changed]) -> tuple[Changed, ...]:
    """The changes, where an object that moves to another namespace, or that gets another name, has
    only what differs.
    """
    moved: dict[Identity, Changed] = {}
    for old, new in _pairs(changes, lambda one: one.identity.key_in(None)):
        fields = _differences(old, new)
        rest = "all else is equal" if fields else "all fields are equal"
        moved[old.identity] = _remarked(old, "moves to another namespace", ())
        moved[new.identity] = _remarked(new, f"moved from another namespace, {rest}", fields)
    left = [one for one in changes if one.identity not in moved]
    for old, new in _pairs(left, lambda one: one.identity._replace(name="")):
        fields = _differences(old, new)
        if len(fields) * _LEAST_ALIKE <= sum(count_values(one.new) for one in new.fields):
            is_known = not any(NOT_SHOWN in str(one.new) for one in new.fields)
            rest = "all else" if is_known else "all else that is shown"
            moved[old.identity] = _remarked(old, f"{rest} as in the added {new.identity}", ())
            remark = f"{rest} as in the removed {old.identity}"
            moved[new.identity] = _remarked(new, remark, fields)
    return tuple(moved.get(one.identity, one) for one in changes) if moved else tuple(changes)


def _pairs(
    changes: Iterable[Changed], key_of: Callable[[Changed], Hashable]
) -> Iterator[tuple[Changed, Changed]]:
    """The removed and the added object of each key that has one of both."""
    removed, added = (
        grouped((one for one in changes if one.change == change), key_of)
        for change in (REMOVED, ADDED)
    )
    for key, [old, *others] in removed.items():
        if not others and len(added.get(key, ())) == 1 and not is_dangerous(old.identity):
            yield old, added[key][0]


def _differences(old: Changed, new: Changed) -> list[FieldChange]:
    before = {field.path: field.old for field in old.fields}
    after = {field.path: field.new for field in new.fields}
    return [
        field
        for path in {**before, **after}
        for field in find_field_changes(before.get(path), after.get(path), path)
    ]


def _remarked(change: Changed, remark: str, fields: Iterable[FieldChange]) -> Changed:
    slot = "replacement" if isinstance(change, WorkloadChange) else "note"
    text = " · ".join(filter(None, (getattr(change, slot), remark)))
    values: dict[str, Any] = {"fields": tuple(fields), slot: text}
    return change._replace(**values)


def is_dangerous(identity: Identity) -> bool:
    """Whether an object decides what others may do, or holds data."""
    return bool(_DANGEROUS.fullmatch(identity.kind))


# ------------------------------------------------------------------------------------------ labels


def _label(field: FieldChange | None) -> tuple[str, FieldChange | None]:
    """The path of an object or pod template, and the change of its label; None if it is none."""
    match = _LABEL.fullmatch(field.path) if field else None
    return (match[1], field._replace(path=match[2])) if field and match else ("", None)


def _with_joined_labels(workload: WorkloadChange) -> WorkloadChange:
    """A workload with one cause for a label that changes in its metadata and its pod template."""
    own = {field.path: field for field in workload.fields}
    causes, joined = [], set()
    for cause in workload.causes:
        prefix, label = _label(cause.field)
        if label and prefix and own.get(label.path) == label:
            joined.add(label.path)
            cause = cause._replace(field=label._replace(path=f"[{prefix}]{label.path}"))
        causes.append(cause)
    if not joined:
        return workload
    fields = tuple(field for field in workload.fields if field.path not in joined)
    return workload._replace(causes=tuple(causes), fields=fields)


def _group_labels(changes: Sequence[AnyChange]) -> tuple[list[Group[ObjectChange]], set[str]]:
    """The groups of objects that share labels, and the reprs of these labels.

    These are only labels of objects that cannot be in one group, each of which would repeat them.
    """
    labels_of = [{repr(label): label for label in _labels(change)} for change in changes]
    counts = Counter(key for labels in labels_of for key in labels)
    roots: dict[str, set[Hashable]] = defaultdict(set)
    for change, labels in zip(changes, labels_of, strict=True):
        for key in labels:
            roots[key].add(change.identity if _is_whole(change) else _root(change))
    shared = {key for key in roots if len(roots[key]) > 1 and counts[key] >= _MANY_OBJECTS}
    groups: dict[Hashable, list[ObjectChange]] = defaultdict(list)
    for change, labels in zip(changes, labels_of, strict=True):
        fields = tuple(label for key, label in labels.items() if key in shared)
        kind = change.change if _is_whole(change) else CHANGED
        if fields:
            groups[kind, repr(fields)].append(ObjectChange(change.identity, kind, fields))
    return [(members, members[0], []) for members in groups.values()], shared


def _labels(change: AnyChange) -> Iterator[FieldChange]:
    """The changes of labels that need not be told at an object if they are routine."""
    if _is_refused(change):
        return
    # An object inside, such as in volumeClaimTemplates, can have labels too.
    labels = [label for prefix, label in map(_label, change.fields) if not prefix]
    causes = change.causes if isinstance(change, WorkloadChange) else ()
    labels += [_label(cause.field)[1] for cause in causes]
    # Values that are not shown need not be equal.
    yield from (label for label in labels if label and label.old != NOT_SHOWN)


def _without(shared: set[str], changes: Iterable[Change]) -> Iterator[Change]:
    """The changes without shared labels, and without those of which nothing is left."""
    for change in changes:
        if not shared or _is_refused(change):
            yield change
            continue
        rest = change._replace(fields=tuple(f for f in change.fields if repr(f) not in shared))
        if isinstance(rest, WorkloadChange):
            rest = rest._replace(causes=tuple(_causes_without(shared, rest.causes)))
        is_renamed = isinstance(rest, ContentChange) and rest.old_revision != rest.new_revision
        # That a ConfigMap keeps its name is no change.
        left = rest._replace(reason="") if isinstance(rest, ContentChange) else rest
        if rest == change or _is_whole(rest) or is_renamed or any(values_of(left)):
            yield rest


def _is_refused(change: AnyChange) -> bool:
    return isinstance(change, WorkloadChange) and change.effect == REFUSED


def _causes_without(shared: set[str], causes: Iterable[Cause]) -> Iterator[Cause]:
    names = []
    for cause in causes:
        label = _label(cause.field)[1]
        if label and repr(label) in shared:
            names.append(label.path.removeprefix("metadata.labels").strip('.[]"'))
        else:
            yield cause
    if names:
        yield Cause(TEMPLATE, reason=_SHARED_LABELS, keys=tuple(names))


# ------------------------------------------------------------------------------------------ groups


def _groups(changes: Iterable[Change], numbers: Mapping[Identity, int]) -> Iterator[Group[Change]]:
    """The groups of changes, in the order of their first changes; numbers: as for facts_of."""
    changes = list(changes)
    found = [facts_of(change, numbers) for change in changes]
    # Facts that are equal with all names are alike even if they contain the name of one object.
    counts = Counter(fact.texts[0] for facts in found for fact in facts)
    by_key = [{fact.texts[counts[fact.texts[0]] < 2]: fact for fact in facts} for facts in found]
    by_root: dict[Hashable, list[int]] = defaultdict(list)
    for number, (change, facts) in enumerate(zip(changes, by_key, strict=True)):
        whole = tuple(facts) if _is_whole(change) else ()
        by_root[number if _is_alone(change, facts) else (_root(change), whole)].append(number)
    groups = (group for members in by_root.values() for group in _find_groups(members, by_key))
    for group in sorted(groups):
        if len(group) == 1:
            yield [changes[group[0]]], changes[group[0]], []
        else:
            yield _group([(changes[number], by_key[number]) for number in group])


def _root(change: AnyChange) -> Hashable:
    """What the members of a group have in common in any case."""
    if isinstance(change, WorkloadChange):
        return change.effect
    if isinstance(change, ContentChange):
        is_renamed = change.old_revision != change.new_revision
        return change.identity.kind, change.change, change.strategy, change.parts, is_renamed
    return change.change


def _is_whole(change: AnyChange) -> bool:
    """Whether the object is new or gone, and is only like objects with equal fields."""
    return change.change in (ADDED, REMOVED)


def _is_alone(change: AnyChange, facts: Collection[str]) -> bool:
    """Whether there is nothing to share, or it would reveal that Secrets have equal content."""
    if isinstance(change, ContentChange) and change.identity.kind == "Secret":
        return change.change != CHANGED or not change.parts or "data" in change.parts
    return not facts


class _Node:
    """A node of the tree of shared facts, as in an FP-tree of frequent pattern mining.

    The facts of each change, the most frequent first, are a path from the root.
    depth: the lines of the facts on the path to the node.
    count, rests: the number of changes whose path leads through the node, and of those that have
    more facts than the node.
    members: the changes whose shared facts end at the node.
    group: if the node is the `top` of a group, the members.
    """

    __slots__ = ("children", "count", "depth", "group", "members", "rests", "top")

    def __init__(self, depth: float) -> None:
        self.children: dict[str, _Node] = {}
        self.members: list[int] = []
        self.group: list[int] = []
        self.depth, self.count, self.rests, self.top = depth, 0, 0, self


def _find_groups(
    numbers: Sequence[int], by_key: Sequence[Mapping[str, Fact]]
) -> Iterator[list[int]]:
    """Groups of changes that share facts, so that a preview needs few lines."""
    counts = Counter(key for number in numbers for key in by_key[number])
    root = _Node(0.0)
    nodes = [root]
    for number in numbers:
        node, facts = root, by_key[number]
        # Shared labels are no reason for a group of workloads that are not alike otherwise.
        keys = sorted(facts, key=lambda key: (_SHARED_LABELS in key, -counts[key], key))
        for length, key in enumerate(keys, 1):
            if counts[key] == 1:
                break  # no other change has the rest
            if key not in node.children:
                node.children[key] = _Node(node.depth + facts[key].size)
                nodes.append(node.children[key])
            node = node.children[key]
            node.count += 1
            node.rests += length < len(keys)
        node.members.append(number)
    for node in nodes:  # a parent comes before its children
        for child in node.children.values():
            top = node.top
            around = _ALONE if top is root else _MEMBER
            saved = (child.depth - top.depth) * (child.count - 1) + around * child.count
            child.top = child if saved > top.depth + _GROUP + _MEMBER * child.rests else top
        node.top.group += node.members
    yield from ([number] for number in root.group)
    yield from (node.group for node in nodes[1:] if node.group)


def _group(members: Sequence[tuple[Change, Mapping[str, Fact]]]) -> Group[Change]:
    changes = [change for change, _ in members]
    first, facts = members[0]
    shared = {key for key in facts if all(key in other for _, other in members)}
    values = [
        (fact.field, common_value([other[key].value for _, other in members], changes))
        for key, fact in facts.items()
        if key in shared
    ]
    rest = []
    for change, other in members:
        own = [(fact.field, fact.value) for key, fact in other.items() if key not in shared]
        if own:
            rest.append(_only(change, own, is_rest=True))
    common = _only(first, values)
    # How the pods are replaced differs in the number of pods, and is no reason for another group.
    if isinstance(common, WorkloadChange):
        replacements = {getattr(change, "replacement", "") for change in changes}
        common = common._replace(replacement=replacements.pop() if len(replacements) == 1 else "")
    return changes, common, rest


def _only(change: Change, values: Iterable[tuple[str, Any]], *, is_rest: bool = False) -> Change:
    """A change with only some of its facts."""
    parts: dict[str, list[Any]] = defaultdict(list)
    for field, value in values:
        parts[field].append(value)
    fields: dict[str, Any] = {field: tuple(parts[field]) for field in LISTS}
    fields |= {field: "".join(parts[field]) for field in ("note", "reason")}
    fields |= {field: next(iter(parts[field]), None) for field in ("fate", "via")}
    fields["is_mounted"] = any(parts["is_mounted"])
    if isinstance(change, ContentChange):
        fields["keys"] = tuple(_joined_keys(parts["keys"], change.keys))
        fields |= {"old_revision": "", "new_revision": "", "users": fields["former"]}
        fields |= {"strategy": "" if is_rest else change.strategy}
    return change._replace(**{field: fields[field] for field in fields if field in change._fields})


def _joined_keys(parts: Iterable[KeyChange], whole: Iterable[KeyChange]) -> Iterator[KeyChange]:
    by_key = grouped(parts, lambda part: part.key)
    keys = {key.key: key for key in whole}
    for name, group in by_key.items():
        key = keys.get(name)
        if key and len(group) == len(parts_of_key(key)):
            yield key
        else:
            hunks = tuple(hunk for part in group for hunk in part.hunks)
            fields = tuple(field for part in group for field in part.fields)
            yield group[0]._replace(hunks=hunks, fields=fields)
