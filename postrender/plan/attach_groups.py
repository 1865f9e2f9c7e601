"""Which revisions one attacher looks after: a set for each namespace, with a name that stays.

A set is named after its first workload. Revisions that an earlier run labelled keep their set, so
that a second pass, or several outputs in one stream, make the same sets again.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence

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

RevisionRef = tuple[str, str]


class AttachGroups(NamedTuple):
    """The sets of a stream; for each object that is renamed, and each of choices.carried, its set.

    A carried revision whose namespace has no set keeps the one that it had.
    """

    sets: tuple[AttachGroup, ...]
    group_names: Mapping[ItemKey, str]
    retained_names: Sequence[str]


def find_groups(context: PlanContext, render_ids: Mapping[ItemKey, str]) -> AttachGroups:
    """Return the sets of a stream; render_ids: of the workloads that name revisions."""
    members = [item for item in context.inventory.items if item.key in render_ids]
    attachable = [item for item in members if is_workload_attachable(item)]
    defaults = _defaults(context, attachable)
    group_name_of = {item.key: _set_of(context, item, defaults) for item in attachable}
    group_names = _set_names(context, attachable, group_name_of, defaults)
    groups: dict[tuple[str | None, str], list[Item]] = {}
    key_of: dict[ItemKey, tuple[str | None, str]] = {}
    for item in attachable:
        namespace = context.resolver.group_namespace(item.identity.namespace)
        key_of[item.key] = namespace, group_name_of[item.key]
        groups.setdefault(key_of[item.key], []).append(item)
    retained_names = [
        _carried_set(context, each, group_names, defaults) for each in context.retained
    ]
    emitted = _emitted(context, attachable, key_of, group_names)
    for each, name in zip(context.retained, retained_names, strict=True):
        if each.is_emitted:
            identity = each.past.identity
            namespace = context.resolver.group_namespace(identity.namespace)
            emitted[namespace, name].add((identity.kind.lower(), identity.name))
    rollouts = context.rollouts
    sets = tuple(
        AttachGroup(
            group_key[1],
            items[0].identity.namespace,
            _workloads(context, items, render_ids, rollouts),
            tuple(sorted(emitted[group_key])),
        )
        for group_key, items in groups.items()
    )
    return AttachGroups(sets, group_names, retained_names)


def _carried_set(
    context: PlanContext,
    retained: Retained,
    group_names: Mapping[ItemKey, str],
    defaults: Mapping[str | None, str],
) -> str:
    if retained.current is not None and retained.current in group_names:
        return group_names[retained.current]
    past = retained.past
    own = strings_at(dict(past.content), "labels").get(GROUP_LABEL, "")
    return defaults.get(context.resolver.group_namespace(past.identity.namespace), own)


def _emitted(
    context: PlanContext,
    workloads: list[Item],
    key_of: Mapping[ItemKey, tuple[str | None, str]],
    group_names: Mapping[ItemKey, str],
) -> dict[tuple[str | None, str], set[RevisionRef]]:
    """Return, by namespace and name of a set, every revision of it in the stream.

    Kept originals are among them: `postrender adopt` may have labelled the live ones.
    """
    emitted: dict[tuple[str | None, str], set[RevisionRef]] = defaultdict(set)
    originals = _originals(context)
    for key, name in group_names.items():
        item = context.decisions[key].item
        if context.revision_of(item):
            namespace = context.resolver.group_namespace(item.identity.namespace)
            kind, revision = _argument(context, item)
            base_name = item.base_name
            emitted[namespace, name].add((kind, revision))
            if (kind, namespace, base_name) in originals:
                emitted[namespace, name].add((kind, base_name))
    for workload in workloads:
        # A revision may write its namespace where the workload that names it does not.
        emitted[key_of[workload.key]].update(_names(context, workload))
    return emitted


def _originals(context: PlanContext) -> set[tuple[str, str | None, str]]:
    """Return kind, namespace and name of the objects that keep their names in the output."""
    return {
        (
            decision.item.identity.kind.lower(),
            context.resolver.group_namespace(decision.item.identity.namespace),
            decision.item.identity.name,
        )
        for key, decision in context.decisions.items()
        if key not in context.names or decision.keep_reason
    }


def _defaults(context: PlanContext, workloads: list[Item]) -> dict[str | None, str]:
    """Return the name of each namespace's set: after the first workload, unless it has one."""
    defaults: dict[str | None, str] = {}
    for item in workloads:
        namespace = context.resolver.group_namespace(item.identity.namespace)
        if namespace not in defaults:
            defaults[namespace] = _labelled(context, item) or group_name_for(item.identity)
    return defaults


def _labelled(context: PlanContext, item: Item) -> str:
    """Return the set of the first revision from an earlier run that a workload names."""
    for target in context.targets(item):
        if target.key not in context.names and context.revision_of(target):
            return target.labels[GROUP_LABEL]
    return ""


def _set_of(context: PlanContext, item: Item, defaults: Mapping[str | None, str]) -> str:
    namespace = context.resolver.group_namespace(item.identity.namespace)
    return _labelled(context, item) or defaults[namespace]


def _set_names(
    context: PlanContext,
    workloads: list[Item],
    group_name_of: Mapping[ItemKey, str],
    defaults: Mapping[str | None, str],
) -> dict[ItemKey, str]:
    """Return the set of each object: that of the first workload that names it."""
    names: dict[ItemKey, str] = {}
    for item in workloads:
        for target in context.targets(item):
            names.setdefault(target.key, group_name_of[item.key])
    for key in context.names:
        item = context.decisions[key].item
        namespace = context.resolver.group_namespace(item.identity.namespace)
        if key not in names:
            # Only objects that the attacher does not see name it: the set it would be in, if any.
            names[key] = defaults.get(namespace) or group_name_for(_first_source(context, item))
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


def _workloads(
    context: PlanContext,
    items: list[Item],
    render_ids: Mapping[ItemKey, str],
    rollouts: Mapping[ItemKey, Sequence[Item]],
) -> tuple[AttachedWorkload, ...]:
    workloads = []
    for item in items:
        names = _names(context, item)
        workloads += [
            AttachedWorkload(source.identity, render_ids[item.key], names, wave_of(source))
            for source in [item, *rollouts.get(item.key, ())]
        ]
    return tuple(workloads)


def _names(context: PlanContext, item: Item) -> tuple[RevisionRef, ...]:
    targets = [target for target in context.targets(item) if context.revision_of(target)]
    # Sorted: an auto-mount stands elsewhere in the output than in the input.
    return tuple(sorted({_argument(context, target) for target in targets}))


def _argument(context: PlanContext, item: Item) -> RevisionRef:
    return item.identity.kind.lower(), context.revision_of(item)
