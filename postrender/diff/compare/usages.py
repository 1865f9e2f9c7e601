"""What each object names, on one side of a comparison, and what that is on the other."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence

from postrender.config.settings import CHECKSUM
from postrender.diff.compare.pairs import Pair
from postrender.diff.compare.side import ORIGINAL, ComparedObject, Side
from postrender.diff.labels import label_of
from postrender.inventory.model import Item, ItemKey, Reference
from postrender.kubernetes.hashing import canonical_json
from postrender.kubernetes.kinds import POD, SECRET, Identity, ObjectKey
from postrender.plan.namespaces import Resolver
from postrender.plan.workload_refs import find_rollouts
from postrender.startup.records import NamedTuple

# What is the same on both sides: the number of its pair, or what it is known by without one.
Target = int | ObjectKey


class Usage(NamedTuple):
    """A ConfigMap or Secret as one object names it.

    target: by which it is the same on both sides; identity: its base name; name: what stands in the
    reference once it is rendered; version: what a pod template has of it, so that new pods are made
    where this differs; label: by what it is named; is_in_template: whether in a pod template, or in
    a Pod.
    """

    target: Target
    identity: Identity
    name: str
    version: str
    label: str
    is_in_template: bool


class UsageIndex(NamedTuple):
    """All that the objects of a side name, by item.

    behind: by a Rollout with workloadRef, the workload whose pod template it has; rollouts: by such
    a workload, the Rollouts.
    """

    by_item: Mapping[ItemKey, Sequence[Usage]]
    behind: Mapping[ItemKey, ComparedObject]
    rollouts: Mapping[ItemKey, Sequence[ComparedObject]]

    def is_source_missing(self, each: ComparedObject) -> bool:
        """Tell whether an object takes its pod template from one that the manifests do not have."""
        item = each.item
        return item is not None and item.workload_ref is not None and item.key not in self.behind


def index_usages(side: Side, other: Side, pairs: Sequence[Pair], *, is_new: bool) -> UsageIndex:
    """Return what the objects of a side name; is_new: which side of the pairs it is."""
    numbers = _numbers(pairs, other.resolver, is_new=is_new)
    named = {}
    for each in side.objects:
        if each.item is not None and each.role != ORIGINAL:
            named[each.item.key] = list(_named(side, each.item, numbers))
    rollouts = {
        workload: [side.main[rollout.key] for rollout in own]
        for workload, own in find_rollouts(side.inventory.items, side.resolver).items()
    }
    behind = {
        rollout.item.key: side.main[key]
        for key, own in rollouts.items()
        for rollout in own
        if rollout.item
    }
    return UsageIndex(named, behind, rollouts)


class _Numbers(NamedTuple):
    """Which pair a ConfigMap or Secret belongs to.

    own: of those that this side has, by identity; others: of those that only the other one has, by
    identity in the namespace that resolver takes theirs for.
    """

    own: Mapping[ObjectKey, int]
    others: Mapping[ObjectKey, int]
    resolver: Resolver

    def other(self, base: ObjectKey) -> int | None:
        """Return the pair of what the other side has and this one does not."""
        return self.others.get(_at_home(base, self.resolver))


def _numbers(pairs: Sequence[Pair], resolver: Resolver, *, is_new: bool) -> _Numbers:
    own, others = {}, {}
    for number, pair in enumerate(pairs):
        each = pair.new if is_new else pair.old
        if not pair.newest.is_content:
            continue
        if each is not None:
            own[_base(each.identity)] = number
        else:
            others[_at_home(_base(pair.identity), resolver)] = number
    return _Numbers(own, others, resolver)


def _base(identity: Identity) -> ObjectKey:
    return identity.key_in(identity.namespace)


def _at_home(base: ObjectKey, resolver: Resolver) -> ObjectKey:
    return base._replace(namespace=resolver.effective_namespace(base.namespace))


def _named(side: Side, item: Item, numbers: _Numbers) -> Iterator[Usage]:
    linked = set()
    context = side.context
    for link in context.links.get(item.key, ()) if context else ():
        linked.add(link.reference.path)
        keeps_base_name = link.keeps_base_name and link.target.key in side.originals
        each = (side.originals if keeps_base_name else side.main)[link.target.key]
        is_inside = _is_inside(item, link.reference)
        yield _of(each, numbers, label_of(link.reference.path), is_in_template=is_inside)
    for mount in context.mounts.get(item.key, ()) if context else ():
        each = side.main[mount.item.key]
        # As a render writes it, so that both sides say the same.
        for label in (["volume"] if mount.path else []) + (["envFrom"] if mount.env_from else []):
            yield _of(each, numbers, label, is_in_template=True)
    for reference in item.references:
        if reference.path not in linked:
            yield from _elsewhere(side, item, reference, numbers)


def _is_inside(item: Item, reference: Reference) -> bool:
    """Tell whether a reference stands in a pod template; a Pod is one itself."""
    return reference.template is not None or item.identity.group_kind == POD


def _of(each: ComparedObject, numbers: _Numbers, label: str, *, is_in_template: bool) -> Usage:
    base = _base(each.identity)
    version = each.name
    if each.strategy == CHECKSUM:
        content = {key: each.data.get(key) for key in ("data", "binaryData", "stringData")}
        version += canonical_json(content)
    target = numbers.own.get(base, base)
    return Usage(target, each.identity, each.name, version, label, is_in_template)


def _elsewhere(side: Side, item: Item, reference: Reference, numbers: _Numbers) -> Iterator[Usage]:
    """Yield what a reference names that this side does not have.

    That is what the other side has, or a Secret whose name is that of a revision.
    """
    name, kind = reference.name, reference.rule.target
    base_name = side.base_names.get(name, name)
    identity = Identity(*kind, reference.namespace or item.identity.namespace, base_name)
    number = numbers.other(_base(identity))
    if number is None and (kind != SECRET or base_name == name):
        return
    target = _base(identity) if number is None else number
    is_inside = _is_inside(item, reference)
    yield Usage(target, identity, name, name, label_of(reference.path), is_inside)


def users_by_target(names: UsageIndex) -> dict[Target, list[ItemKey]]:
    """Return the items whose pod templates name each target."""
    users: dict[Target, list[ItemKey]] = defaultdict(list)
    for key, named in names.by_item.items():
        for target in dict.fromkeys(each.target for each in named if each.is_in_template):
            users[target].append(key)
    return users
