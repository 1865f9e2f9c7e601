"""Groups of changes that are alike, so that a preview tells once what many objects share.

Parts of two changes, such as a field or the lines of a key, are alike if they differ only in the
names of the objects, of containers, and of the ConfigMaps and Secrets that a workload references.
Most objects of a release share a few parts and have some of their own. The parts of each object,
the most frequent first, are a path in a tree, as in an FP-tree of frequent pattern mining. A node
of the tree is a possible group, which shares the parts of its path; `_find_groups` chooses the
nodes that need the fewest lines.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from itertools import pairwise

from postrender.diff.fields import SCHEMA
from postrender.diff.model import (
    ADDED,
    CHANGED,
    REMOVED,
    Cause,
    ContentChange,
    FieldChange,
    Hunk,
    KeyChange,
    ObjectChange,
    Preview,
    WorkloadChange,
)
from postrender.diff.texts import without_items
from postrender.diff.words import EFFECTS
from postrender.kubernetes.kinds import Identity
from postrender.records import NamedTuple

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, TypeVar

    Change = TypeVar("Change", WorkloadChange, ContentChange, ObjectChange)
    # The changes of a group in order, a change with only what all of them share, and the changes
    # with only what they do not share, without those of which nothing is left.
    Group = tuple[list[Change], Change, list[Change]]
    # Of a ConfigMap or Secret: the number of its group, the keys that the group shares, and the
    # keys of its own, None if it shares everything.
    Link = tuple[int, tuple[str, ...], tuple[str, ...] | None]

# What stands for the name of each object of a group, and for any other name.
_OWN_NAME, _ANY_NAME = "<name>", "*"
# The weight, in lines, of what a reader must read around the parts of an object or a group.
_ALONE, _GROUP = 2, 4
_CONTAINER = re.compile(r"([cC]ontainers)\[name=[^\]]*\]")
# The fields of changes with parts that objects can share. Those of the second tuple have one value.
_LISTS = ("causes", "in_place", "fields", "keys", "former")
_SINGLE = ("note", "fate")
# Objects that decide what others may do, or that hold data.
_DANGEROUS = re.compile(
    r"(?:Cluster)?Role(?:Binding)?|NetworkPolicy|.*Webhook.*|.*Admission.*|.*SecurityPolicy"
    r"|CustomResourceDefinition|Namespace|PersistentVolume(?:Claim)?|PriorityClass|ServiceAccount"
)


class Groups(NamedTuple):
    """The groups of each section; a change that is not like any other is a group of one."""

    workloads: Sequence[Group[WorkloadChange]]
    contents: Sequence[Group[ContentChange]]
    objects: Sequence[Group[ObjectChange]]


def group_changes(preview: Preview) -> Groups:
    """The groups of a preview: the important first, then single changes, then groups."""
    contents = list(_groups(preview.contents, {}))
    links: dict[Identity, Link] = {}
    for number, (members, shared, rest) in enumerate(contents):
        own = {
            change.identity: tuple(key.key for key in change.keys) for change in rest if change.keys
        }
        common = tuple(key.key for key in shared.keys)
        for member in members:
            links[member.identity] = number, common, own.get(member.identity)
    ranks = {effect: rank for rank, effect in enumerate(EFFECTS)}
    return Groups(
        workloads=sorted(
            _groups(list(map(_with_joined_labels, preview.workloads)), links),
            key=lambda group: (ranks[group[1].effect], len(group[0]) > 1),
        ),
        contents=sorted(contents, key=lambda group: len(group[0]) > 1),
        objects=group_objects(preview.objects),
    )


def group_objects(changes: Sequence[ObjectChange]) -> list[Group[ObjectChange]]:
    """The groups of other objects: single objects before groups, and dangerous objects first."""
    return sorted(
        _groups(changes, {}),
        key=lambda group: (len(group[0]) > 1, not is_dangerous(group[1].identity)),
    )


def _with_joined_labels(workload: WorkloadChange) -> WorkloadChange:
    """A workload with one cause for a label that changes in its metadata and its pod template."""
    own = {field.path: field for field in workload.fields}
    causes, joined = [], set()
    for cause in workload.causes:
        before, mark, path = (
            cause.field.path.rpartition("metadata.labels") if cause.field else ("",) * 3
        )
        field = own.get(mark + path)
        if cause.field and field and before and field == cause.field._replace(path=field.path):
            joined.add(field.path)
            cause = cause._replace(field=field._replace(path=f"[{before}]{field.path}"))
        causes.append(cause)
    fields = tuple(field for field in workload.fields if field.path not in joined)
    return workload._replace(causes=tuple(causes), fields=fields)


def is_dangerous(identity: Identity) -> bool:
    """Whether an object decides what others may do, or holds data."""
    return bool(_DANGEROUS.fullmatch(identity.kind))


class _Part(NamedTuple):
    """A part of a change.

    field: the field of the change.
    key: equal for parts that are alike.
    size: in lines.
    """

    field: str
    value: Any
    key: str
    size: int


def _groups(changes: Sequence[Change], links: Mapping[Identity, Link]) -> Iterator[Group[Change]]:
    """The groups of changes, in the order of their first changes."""
    parts = [_parts(change, links) for change in changes]
    by_root: dict[Hashable, list[int]] = defaultdict(list)
    for number, change in enumerate(changes):
        by_root[_root(change, parts[number]) or number].append(number)
    found = [group for numbers in by_root.values() for group in _find_groups(numbers, parts)]
    for numbers, shared in sorted(found):
        members = [changes[number] for number in numbers]
        if len(members) == 1:
            yield members, members[0], []
            continue
        keys = set(shared)
        model = min(numbers, key=lambda number: len(parts[number]))
        kept = [part for part in parts[model] if part.key in keys]
        by_key = [{part.key: part.value for part in parts[number]} for number in numbers]
        values = [
            (part.field, _common([values[part.key] for values in by_key], members)) for part in kept
        ]
        rest = [
            _only(changes[number], own, is_rest=True)
            for number in numbers
            if (own := [(part.field, part.value) for part in parts[number] if part.key not in keys])
        ]
        yield members, _with_shared_replacement(_only(changes[model], values), members), rest


def _with_shared_replacement(shared: Change, members: Sequence[Change]) -> Change:
    """How the pods are replaced differs in the number of pods, and is no reason for a group."""
    if not isinstance(shared, WorkloadChange):
        return shared
    replacements = {member.replacement for member in members if isinstance(member, WorkloadChange)}
    return shared._replace(replacement=replacements.pop() if len(replacements) == 1 else "")


def _root(change: Change, parts: Sequence[_Part]) -> Hashable:
    """What all members of a group have in common in any case; None for a group of one.

    Objects that are added or removed are alike only if they are equal. A Secret whose data changes
    is alone, because a group would reveal that Secrets have equal content.
    """
    if not parts and not getattr(change, "parts", ()):
        return None
    is_whole = change.change in (ADDED, REMOVED) or change.identity.kind == "Secret"
    whole = tuple(part.key for part in parts) if is_whole else ()
    if isinstance(change, WorkloadChange):
        return change.effect, whole
    if isinstance(change, ContentChange):
        is_shown = change.change == CHANGED and "data" not in change.parts
        if change.identity.kind == "Secret" and not is_shown:
            return None
        is_renamed = change.old_revision != change.new_revision
        return change.identity.kind, change.change, change.strategy, change.parts, is_renamed, whole
    return change.change, whole


def _find_groups(
    numbers: Sequence[int], parts: Sequence[Sequence[_Part]]
) -> Iterator[tuple[list[int], list[str]]]:
    """Groups of changes, with the keys of the parts that they share."""
    counts = Counter(part.key for number in numbers for part in parts[number])
    nodes = [_Node(None, "", 0)]
    for number in numbers:
        node = nodes[0]
        size = sum(part.size for part in parts[number])
        for part in sorted(parts[number], key=lambda part: -counts[part.key]):
            if counts[part.key] == 1:
                break  # nothing below is shared
            if part.key not in node.children:
                child = _Node(node, part.key, node.depth + part.size)
                node.children[part.key] = child
                nodes.append(child)
            node = node.children[part.key]
        node.members.append(number)
        node.count, node.size = node.count + 1, node.size + size
        node.rests += size > node.depth
    for node in reversed(nodes):
        node.decide()
    for node in nodes:  # a parent comes before its children
        if node.parent and (node.is_joined or node.parent.owner is not node.parent):
            node.owner = node.parent.owner
        node.owner.group += node.members
    for node in nodes:
        if node.is_group and node.owner is node:
            yield sorted(node.group), list(node.keys())
        else:
            yield from (([number], []) for number in node.group)


class _Node:
    """A node of the tree: the parts on the path to it, and the changes that have all of them.

    depth: the lines of the parts.
    count, size: the number of changes at and below the node, and the lines of all their parts.
    rests: the number of changes at the node that have more parts.
    cost: the lines that all changes at and below the node need.
    is_group: whether the changes at the node are a group.
    is_joined: whether these changes are in a group of the parent.
    """

    __slots__ = (
        "children", "cost", "count", "depth", "group", "is_group", "is_joined", "key",
        "members", "owner", "parent", "rests", "size",
    )  # fmt: skip

    def __init__(self, parent: _Node | None, key: str, depth: int) -> None:
        self.parent, self.key, self.depth = parent, key, depth
        self.children: dict[str, _Node] = {}
        self.members: list[int] = []
        self.group: list[int] = []
        self.owner = self
        self.count = self.size = self.cost = self.rests = 0
        self.is_joined = self.is_group = False

    def decide(self) -> None:
        """Decide which children join a group at this node. The children have decided before."""
        children = self.children.values()
        own, count = self.size - len(self.members) * self.depth, self.count
        apart = self.size + _ALONE * len(self.members) + sum(child.cost for child in children)
        joined = own + self.rests
        for child in children:
            rest = child.size - child.count * self.depth + child.count
            child.is_joined = rest < child.cost
            joined += min(rest, child.cost)
            count += child.count if child.is_joined else 0
            self.count, self.size = self.count + child.count, self.size + child.size
        joined += self.depth + _GROUP
        self.is_group = count > 1 and self.parent is not None and joined < apart
        self.cost = joined if self.is_group else apart
        for child in children:
            child.is_joined = child.is_joined and self.is_group

    def keys(self) -> Iterator[str]:
        """The keys of the parts on the path to the node."""
        node: _Node | None = self
        while node and node.parent:
            yield node.key
            node = node.parent


# -------------------------------------------------------------------------------- parts of a change


def _parts(change: Change, links: Mapping[Identity, Link]) -> list[_Part]:
    name = change.identity.name
    parts = []
    seen: Counter[str] = Counter()
    for field, value, link in _values(change, links):
        general = _key_of(value, name)
        text = repr(general)
        if name and name in text:
            text = repr(_placed(general, name))
        key = f"{field} {text} {link}"
        seen[key] += 1
        key = f"{key} {seen[key]}" if seen[key] > 1 else key
        parts.append(_Part(field, value, key, _size(value, text)))
    return parts


def _values(change: Change, links: Mapping[Identity, Link]) -> Iterator[tuple[str, Any, object]]:
    """The field of each part, its value, and what else makes parts differ."""
    for field in _LISTS:
        for value in getattr(change, field, ()):
            if isinstance(value, KeyChange):
                yield from ((field, part, "") for part in _parts_of_key(value))
            elif (
                isinstance(value, Cause) and value.keys and value.subject and value.subject in links
            ):
                number, common, own = links[value.subject]
                if common or not own:
                    yield field, value._replace(keys=common), number
                if own is not None:
                    yield field, value._replace(keys=own), (number, value.subject)
            elif isinstance(value, Identity):
                yield field, value, links.get(value, "")
            else:
                yield field, value, ""
    for field in _SINGLE:
        if value := getattr(change, field, None):
            yield field, value, ""
    if isinstance(change, WorkloadChange) and change.via:
        yield "via", change.via, ""


def _parts_of_key(key: KeyChange) -> list[KeyChange]:
    """A key as one change for each field, or for each run of changed lines."""
    if key.change != CHANGED or key.remark or key.old_blob or key.new_blob:
        return [key]
    if key.fields:
        alike: dict[str, list[FieldChange]] = defaultdict(list)
        for field in key.fields:
            alike[repr(without_items(field))].append(field)
        return [key._replace(hunks=(), fields=tuple(fields)) for fields in alike.values()]
    hunks = [part for hunk in key.hunks for part in _runs(hunk)]
    return [key._replace(hunks=(hunk,)) for hunk in hunks] or [key]


def _runs(whole: Hunk) -> Iterator[Hunk]:
    """A hunk for each run of changed lines, with the unchanged lines before and after the run."""
    signs = [line.sign for line in whole.lines]
    starts = [
        number
        for number, (before, sign) in enumerate(pairwise([" ", *signs]))
        if before == " " != sign
    ]
    if len(starts) < 2:
        yield whole
        return
    old, new, before = whole.old, whole.new, 0
    for start, following in zip(starts, [*starts[1:], len(whole.lines)], strict=True):
        lines = whole.lines[before:following]
        old_lines, new_lines = (sum(line.sign != sign for line in lines) for sign in "+-")
        yield Hunk(old, old_lines, new, new_lines, lines)
        end = start
        while end < following and whole.lines[end].sign != " ":
            end += 1
        passed = whole.lines[before:end]
        old += sum(line.sign != "+" for line in passed)
        new += sum(line.sign != "-" for line in passed)
        before = end


def _key_of(value: Any, name: str) -> Any:
    """A value without container names, line numbers, and names of ConfigMaps and Secrets.

    name: of the object.
    """
    if isinstance(value, Identity):
        return value._replace(name=_ANY_NAME, namespace=None)
    if isinstance(value, FieldChange):
        return _without_containers(value)
    if isinstance(value, Cause):
        return value._replace(
            container=value.container and _ANY_NAME,
            subject=value.subject and _key_of(value.subject, name),
            field=value.field and _without_containers(value.field),
        )
    if isinstance(value, KeyChange):
        lines = (line for hunk in value.hunks for line in hunk.lines if line.sign != " ")
        fields = tuple(dict.fromkeys(repr(without_items(field)) for field in value.fields))
        head = value._replace(key=_general_key(value.key, name), hunks=(), fields=())
        return tuple(head), fields, [line._replace(old=0, new=0) for line in lines]
    return value


def _general_key(key: str, name: str) -> str:
    """`*.json` for a key such as `nodes.json` of an object such as `dashboards-nodes`."""
    stem, dot, extension = key.rpartition(".")
    return f"{_ANY_NAME}{dot}{extension}" if stem and name.endswith(stem) else key


def _without_containers(field: FieldChange) -> FieldChange:
    if "ontainers[" not in field.path:
        return field
    return field._replace(path=_CONTAINER.sub(rf"\1[{_ANY_NAME}]", field.path))


def _placed(value: Any, name: str) -> Any:
    """A value with a placeholder for the object's own name, where it is a whole word."""
    if isinstance(value, str):
        return _with_placeholder(value, name) if name and name in value else value
    if isinstance(value, tuple):
        inner = [_placed(part, name) for part in value]
        return value._make(inner) if hasattr(value, "_make") else tuple(inner)
    if isinstance(value, list):
        return [_placed(part, name) for part in value]
    if isinstance(value, dict):
        return {_placed(key, name): _placed(part, name) for key, part in value.items()}
    return value


def _with_placeholder(text: str, name: str) -> str:
    first, *rest = text.split(name)
    parts = [first]
    for before, after in pairwise((first, *rest)):
        is_word = not (before[-1:].isalnum() or after[:1].isalnum())
        parts += (_OWN_NAME if is_word else name), after
    return "".join(parts)


def _size(value: Any, text: str) -> int:
    if isinstance(value, KeyChange):
        return 1 + (len(value.fields) or sum(len(hunk.lines) for hunk in value.hunks))
    if isinstance(value, FieldChange) and SCHEMA in value.path:
        return 0  # many are one line
    return 1 + text.count("\\n")


def _common(values: Sequence[Any], members: Sequence[Change]) -> Any:
    """A value that is true for all members, with as many names as possible."""
    first = values[0]
    if isinstance(first, KeyChange):
        return _common_key(values, members)
    if len(set(map(repr, values))) == 1:
        return first
    placed = [
        _placed(value, member.identity.name) for value, member in zip(values, members, strict=True)
    ]
    if len(set(map(repr, placed))) == 1:
        return placed[0]
    return _key_of(placed[0], "")


def _common_key(values: Sequence[KeyChange], members: Sequence[Change]) -> KeyChange:
    name = members[0].identity.name
    first: KeyChange = _placed(values[0], name)
    if len({value.key for value in values}) > 1:
        first = first._replace(key=_general_key(values[0].key, name), hunks=())
    if any(len(value.fields) > 1 for value in values):
        first = first._replace(fields=tuple(field for value in values for field in value.fields))
    return first


def _only(change: Change, values: Iterable[tuple[str, Any]], *, is_rest: bool = False) -> Change:
    """A change with only some of its parts."""
    parts: dict[str, list[Any]] = defaultdict(list)
    for field, value in values:
        parts[field].append(value)
    fields: dict[str, Any] = {
        field: tuple(parts[field]) for field in _LISTS if hasattr(change, field)
    }
    if isinstance(change, ContentChange):
        fields["keys"] = tuple(_joined_keys(parts["keys"], change.keys))
        fields |= {"old_revision": "", "new_revision": "", "users": fields["former"]}
        fields |= {"strategy": "" if is_rest else change.strategy}
        fields |= {"note": "".join(parts["note"]), "fate": next(iter(parts["fate"]), None)}
    if isinstance(change, WorkloadChange):
        fields["via"] = next(iter(parts["via"]), None)
    return change._replace(**fields)


def _joined_keys(parts: Iterable[KeyChange], whole: Iterable[KeyChange]) -> Iterator[KeyChange]:
    by_key: dict[str, list[KeyChange]] = defaultdict(list)
    for part in parts:
        by_key[part.key].append(part)
    sizes = {key.key: (len(_parts_of_key(key)), key) for key in whole}
    for name, group in by_key.items():
        size, key = sizes.get(name, (0, group[0]))
        if len(group) == size:
            yield key
        else:
            hunks = tuple(hunk for part in group for hunk in part.hunks)
            yield key._replace(
                hunks=hunks, fields=tuple(field for part in group for field in part.fields)
            )
