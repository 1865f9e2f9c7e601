"""Attach groups: the revisions that one attacher looks after.

Each namespace has one group, named after its first workload. A revision that an earlier run
labelled keeps its group. A second pass, or several outputs in one stream, therefore result in the
same groups.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence

from postrender.inventory.model import Item, ItemKey
from postrender.kubernetes.annotations import GROUP_LABEL
from postrender.kubernetes.kinds import Identity, strings_at
from postrender.plan.attacher_job import (
    AttachedWorkload,
    AttachGroup,
    group_name_for,
    is_workload_attachable,
    wave_of,
)
from postrender.plan.model import PlanContext, Retained
from postrender.startup.records import NamedTuple

TYPE_CHECKING = False
if TYPE_CHECKING:
    from postrender.attach.request import RevisionRef

# The namespace and the name of a group.
_GroupKey = tuple[str | None, str]


class AttachGroups(NamedTuple):
    """The attach groups of a stream.

    group_names: by ConfigMap or Secret;
    retained_group_names: for each of PlanContext.retained. If the namespace of a retained revision
        has no group, this is the group that the revision had.
    """

    groups: tuple[AttachGroup, ...]
    group_names: Mapping[ItemKey, str]
    retained_group_names: Sequence[str]


def find_groups(context: PlanContext, render_ids: Mapping[ItemKey, str]) -> AttachGroups:
    """Return the groups of a stream; render_ids: by workload that references revisions."""
    workloads = [
        item
        for item in context.inventory.items
        if item.key in render_ids and is_workload_attachable(item)
    ]
    defaults = _default_names(context, workloads)
    group_keys = {item.key: _group_key(context, item, defaults) for item in workloads}
    group_names = _group_names(context, workloads, group_keys, defaults)
    retained_names = [
        _retained_group_name(context, retained, group_names, defaults)
        for retained in context.retained
    ]
    emitted: dict[_GroupKey, set[RevisionRef]] = defaultdict(set)
    for pairs in (
        _revisions(context, group_names),
        _retained_revisions(context, retained_names),
        # A revision may write its namespace when the workload that references it does not.
        ((group_keys[item.key], ref) for item in workloads for ref in _refs(context, item)),
    ):
        for group_key, ref in pairs:
            emitted[group_key].add(ref)
    members: dict[_GroupKey, list[Item]] = defaultdict(list)
    for item in workloads:
        members[group_keys[item.key]].append(item)
    rollouts = context.rollouts
    groups = tuple(
        AttachGroup(
            name=group_key[1],
            namespace=items[0].identity.namespace,
            workloads=tuple(_attached(context, items, render_ids, rollouts)),
            emitted=tuple(sorted(emitted[group_key])),
        )
        for group_key, items in members.items()
    )
    return AttachGroups(groups, group_names, retained_names)


def _namespace(context: PlanContext, identity: Identity) -> str | None:
    return context.resolver.certain_namespace(identity.namespace)


def _default_names(context: PlanContext, workloads: Sequence[Item]) -> dict[str | None, str]:
    """Return the group name of each namespace, from its first workload.

    The name is the group of a revision that the workload references, or the workload's own name.
    """
    defaults: dict[str | None, str] = {}
    for item in workloads:
        namespace = _namespace(context, item.identity)
        if namespace not in defaults:
            defaults[namespace] = _labelled(context, item) or group_name_for(item.identity)
    return defaults


def _labelled(context: PlanContext, item: Item) -> str:
    """Return the group of the first revision from an earlier run that a workload references."""
    for target in context.targets(item):
        if target.key not in context.names and context.revision_of(target):
            return target.labels[GROUP_LABEL]
    return ""


def _group_key(
    context: PlanContext, workload: Item, defaults: Mapping[str | None, str]
) -> _GroupKey:
    namespace = _namespace(context, workload.identity)
    return namespace, _labelled(context, workload) or defaults[namespace]


def _group_names(
    context: PlanContext,
    workloads: Sequence[Item],
    group_keys: Mapping[ItemKey, _GroupKey],
    defaults: Mapping[str | None, str],
) -> dict[ItemKey, str]:
    """Return the group of each object: the group of the first workload that references it."""
    names: dict[ItemKey, str] = {}
    for item in workloads:
        for target in context.targets(item):
            names.setdefault(target.key, group_keys[item.key][1])
    for key in context.names:
        item = context.decisions[key].item
        if key not in names:
            # The attacher sees no object that references this one. Use the namespace's group.
            default = defaults.get(_namespace(context, item.identity))
            names[key] = default or group_name_for(_first_source(context, item))
    for key, decision in context.decisions.items():
        if decision.is_revision and GROUP_LABEL in decision.item.labels:
            names[key] = decision.item.labels[GROUP_LABEL]
    return names


def _first_source(context: PlanContext, item: Item) -> Identity:
    for links in context.links.values():
        for link in links:
            if link.target.key == item.key and link.is_rewritable:
                return link.source.identity
    return item.identity


def _retained_group_name(
    context: PlanContext,
    retained: Retained,
    group_names: Mapping[ItemKey, str],
    defaults: Mapping[str | None, str],
) -> str:
    if retained.current is not None and retained.current in group_names:
        return group_names[retained.current]
    revision = retained.revision
    label = strings_at(dict(revision.content), "labels").get(GROUP_LABEL, "")
    return defaults.get(_namespace(context, revision.identity), label)


def _revisions(
    context: PlanContext, group_names: Mapping[ItemKey, str]
) -> Iterator[tuple[_GroupKey, RevisionRef]]:
    """Yield the revisions of the stream, with their groups, and the originals next to them.

    `postrender adopt` may have labelled the live originals.
    """
    kept = context.kept_keys
    for item_key, group_name in group_names.items():
        item = context.decisions[item_key].item
        if context.revision_of(item):
            key = context.resolver.certain_key_of(item.identity, item.base_name)
            kind, revision_name = _ref(context, item)
            yield (key.namespace, group_name), (kind, revision_name)
            if key in kept:
                yield (key.namespace, group_name), (kind, item.base_name)


def _retained_revisions(
    context: PlanContext, group_names: Sequence[str]
) -> Iterator[tuple[_GroupKey, RevisionRef]]:
    for retained, group_name in zip(context.retained, group_names, strict=True):
        if retained.is_emitted:
            identity = retained.revision.identity
            group_key = _namespace(context, identity), group_name
            yield group_key, (identity.kind.lower(), identity.name)


def _attached(
    context: PlanContext,
    items: Sequence[Item],
    render_ids: Mapping[ItemKey, str],
    rollouts: Mapping[ItemKey, Sequence[Item]],
) -> Iterator[AttachedWorkload]:
    """Yield the workloads of a group, each with the Rollouts that use its pod template."""
    for item in items:
        refs = _refs(context, item)
        for workload in (item, *rollouts.get(item.key, ())):
            yield AttachedWorkload(
                identity=workload.identity,
                render_id=render_ids[item.key],
                names=refs,
                wave=wave_of(workload),
            )


def _refs(context: PlanContext, item: Item) -> tuple[RevisionRef, ...]:
    """Return the revisions that an object's pod templates reference or mount."""
    targets = [target for target in context.targets(item) if context.revision_of(target)]
    # Sorted, because an auto-mount is at a different position in the output than in the input.
    return tuple(sorted({_ref(context, target) for target in targets}))


def _ref(context: PlanContext, item: Item) -> RevisionRef:
    return item.identity.kind.lower(), context.revision_of(item)
