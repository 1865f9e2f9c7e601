"""What each object names, on one side of a comparison, and what that is on the other."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from postrender.items import Item, ItemKey, Reference
from postrender.objects import SECRET, GroupKind, Identity
from postrender.planning.rollouts import find_rollouts
from postrender.preview.comparing.pairs import Pair
from postrender.preview.comparing.sides import ORIGINAL, Object, Side
from postrender.preview.labels import label_of
from postrender.revision import canonical_json
from postrender.settings import CHECKSUM

Base = tuple[GroupKind, str | None, str]
# What is the same on both sides: the number of its pair, or what it is known by without one.
Target = int | Base


class Named(NamedTuple):
    """A ConfigMap or Secret as one object names it.

    target: by which it is the same on both sides; identity: its base name; name: what stands in the
    reference once it is rendered; version: what a pod template has of it, so that new pods are made
    where this differs; label: by what it is named; is_in_template: whether in a pod template.
    """

    target: Target
    identity: Identity
    name: str
    version: str
    label: str
    is_in_template: bool


class Names(NamedTuple):
    """All that the objects of a side name, by item.

    behind: by a Rollout with workloadRef, the workload whose pod template it has; rollouts: by such
    a workload, the Rollouts.
    """

    by_item: Mapping[ItemKey, Sequence[Named]]
    behind: Mapping[ItemKey, Object]
    rollouts: Mapping[ItemKey, Sequence[Object]]

    def is_source_missing(self, each: Object) -> bool:
        """Tell whether an object takes its pod template from one that the manifests do not have."""
        item = each.item
        return item is not None and item.workload_ref is not None and item.key not in self.behind


def find_names(side: Side, pairs: Sequence[Pair], *, is_new: bool) -> Names:
    """Return what the objects of a side name; is_new: which side of the pairs it is."""
    numbers = _numbers(pairs, is_new=is_new)
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
    return Names(named, behind, rollouts)


def _numbers(pairs: Sequence[Pair], *, is_new: bool) -> dict[Base, int]:
    numbers = {}
    for number, pair in enumerate(pairs):
        each = pair.new if is_new else pair.old
        if each is not None and each.is_content:
            numbers[_base(each.identity)] = number
    return numbers


def _base(identity: Identity) -> Base:
    return identity.group_kind, identity.namespace, identity.name


def _named(side: Side, item: Item, numbers: Mapping[Base, int]) -> Iterator[Named]:
    linked = set()
    choices = side.choices
    for link in choices.links.get(item.key, ()) if choices else ():
        linked.add(link.reference.path)
        stays = link.stays and link.target.key in side.originals
        each = (side.originals if stays else side.main)[link.target.key]
        is_inside = link.reference.template is not None
        yield _of(each, numbers, label_of(link.reference.path), is_in_template=is_inside)
    for mount in choices.mounts.get(item.key, ()) if choices else ():
        each = side.main[mount.item.key]
        # As a render writes it, so that both sides say the same.
        for label in (["volume"] if mount.path else []) + (["envFrom"] if mount.env_from else []):
            yield _of(each, numbers, label, is_in_template=True)
    for reference in item.references:
        if reference.rule.target == SECRET and reference.path not in linked:
            yield from _elsewhere(side, item, reference, numbers)


def _of(each: Object, numbers: Mapping[Base, int], label: str, *, is_in_template: bool) -> Named:
    base = _base(each.identity)
    version = each.name
    if each.strategy == CHECKSUM:
        content = {key: each.data.get(key) for key in ("data", "binaryData", "stringData")}
        version += canonical_json(content)
    target = numbers.get(base, base)
    return Named(target, each.identity, each.name, version, label, is_in_template)


def _elsewhere(
    side: Side, item: Item, reference: Reference, numbers: Mapping[Base, int]
) -> Iterator[Named]:
    """Yield a Secret that the manifests do not have, where its name is that of a revision."""
    base_name = side.base_names.get(reference.name)
    if base_name:
        identity = Identity(*SECRET, reference.namespace or item.identity.namespace, base_name)
        base, label = _base(identity), label_of(reference.path)
        is_inside = reference.template is not None
        name = reference.name
        yield Named(numbers.get(base, base), identity, name, name, label, is_inside)


def users_by_target(names: Names) -> dict[Target, list[ItemKey]]:
    """Return the items whose pod templates name each target."""
    users: dict[Target, list[ItemKey]] = defaultdict(list)
    for key, named in names.by_item.items():
        for target in dict.fromkeys(each.target for each in named if each.is_in_template):
            users[target].append(key)
    return users
