"""Attach groups. Each attacher looks after the revisions of one attach group.

A workload is *attached* if it references revisions and the attacher can read it.

A revision that already has a group label keeps its group, and a namespace gets at most one new
group. The groups therefore do not change if the input is one or several outputs of postrender.

The objects of the attacher have the name of the group, and one of them is the release owner of
the revisions. If the name changes, the tool that applies the manifests replaces the release
owner, and Kubernetes can delete revisions. The name therefore comes from the release name, or if
that is unknown, from a workload, which a finding reports.
"""

from __future__ import annotations

import sys
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence

from postrender.config.settings import AttacherSettings
from postrender.errors import Finding, Location
from postrender.inventory.model import Item, ItemKey
from postrender.kubernetes.annotations import GROUP_LABEL
from postrender.kubernetes.attach_groups import group_name_for_release, group_name_for_workload
from postrender.kubernetes.kinds import Identity, is_namespaced_workload
from postrender.plan.attacher_job import AttachedWorkload, AttachGroup, wave_of
from postrender.plan.links import item_order
from postrender.plan.model import PlanContext, RetentionDecision
from postrender.records import NamedTuple, grouped

TYPE_CHECKING = False
if TYPE_CHECKING:
    from postrender.attach.request import RevisionRef

_INSTANCE_LABEL = "app.kubernetes.io/instance"
# The namespace and the name of a group.
_GroupKey = tuple[str | None, str]


class AttachGroups(NamedTuple):
    """The attach groups of a stream.

    group_names: the group name of each object to rename or adopt, each that an attached workload
        references, and each revision with a group label.
    retained_group_names: the group name for each item of PlanContext.retained, in the same order.
    derived_names: each group name that postrender derives from a workload, and the workload.
    """

    groups: tuple[AttachGroup, ...]
    group_names: Mapping[ItemKey, str]
    retained_group_names: Sequence[str]
    derived_names: Sequence[tuple[str, Item]]


def find_groups(context: PlanContext, render_ids: Mapping[ItemKey, str]) -> AttachGroups:
    """The groups of a stream.

    render_ids: the render ID of each rewritable workload that references a revision.
    """
    workloads = sorted(
        (
            item
            for item in context.inventory.items
            if item.key in render_ids and is_namespaced_workload(item.identity.group_kind)
        ),
        key=item_order,
    )
    defaults, derived_names = _default_names(context, workloads)
    group_keys = {item.key: _group_key(context, item, defaults) for item in workloads}
    group_names = _group_names(context, workloads, group_keys, defaults)
    retained_group_names = [
        _retained_group_name(context, retained, group_names, defaults)
        for retained in context.retained
    ]
    emitted: dict[_GroupKey, set[RevisionRef]] = defaultdict(set)
    for group_key, ref in (
        *_revisions(context, group_names, workloads, group_keys),
        *_retained_revisions(context, retained_group_names),
    ):
        emitted[group_key].add(ref)
    members = grouped(workloads, lambda item: group_keys[item.key])
    rollouts, first_wave = context.rollouts, _first_wave(context)
    groups = tuple(
        AttachGroup(
            name=group_key[1],
            namespace=items[0].identity.namespace,
            workloads=tuple(_attached_workloads(context, items, render_ids, rollouts)),
            emitted=tuple(sorted(emitted[group_key])),
            first_wave=first_wave,
        )
        for group_key, items in members.items()
    )
    if not groups:
        groups = tuple(_group_without_workloads(context, group_names, emitted))
    return AttachGroups(
        groups=groups,
        group_names=group_names,
        retained_group_names=retained_group_names,
        derived_names=derived_names,
    )


def _first_wave(context: PlanContext) -> int:
    """The lowest sync wave. Objects in documents that postrender does not parse have the wave 0."""
    items = [item for item in context.inventory.items if not (item.is_hook or item.is_attacher)]
    items += [retained.revision.item for retained in context.retained if retained.is_emitted]
    return min([0, *map(wave_of, items)])


def _group_without_workloads(
    context: PlanContext,
    group_names: Mapping[ItemKey, str],
    emitted: Mapping[_GroupKey, set[RevisionRef]],
) -> Iterator[AttachGroup]:
    """At most one group for a stream without attached workloads.

    The attacher of this group adds only the release owner to the revisions. Revisions with several
    namespaces or group names do not get a group. An absent and an explicit namespace can be the
    same in the cluster, so several groups could define the objects of one attacher twice.
    """
    items = [context.decisions[key].item for key in group_names]
    group_keys = {
        (_namespace(context, item.identity), group_names[item.key]): item
        for item in items
        if context.revision_of(item)
    }
    if len(group_keys) == 1:
        [(group_key, item)] = group_keys.items()
        yield AttachGroup(
            name=group_key[1],
            namespace=item.identity.namespace,
            workloads=(),
            emitted=tuple(sorted(emitted[group_key])),
            first_wave=_first_wave(context),
        )


def _namespace(context: PlanContext, identity: Identity) -> str | None:
    return context.certain_namespace(identity.namespace)


def _default_names(
    context: PlanContext, workloads: Sequence[Item]
) -> tuple[dict[str | None, str], list[tuple[str, Item]]]:
    """The default group name, by namespace, and the value of AttachGroups.derived_names.

    The default is the group label of a revision that the first workload of the namespace uses, else
    a name from the release name, else a name from the first workload.
    """
    members = grouped(workloads, lambda item: _namespace(context, item.identity))
    defaults: dict[str | None, str] = {}
    derived_names: list[tuple[str, Item]] = []
    for namespace, items in members.items():
        release = release_name(context.settings.attacher, items)
        name = _labelled_group(context, items[0])
        if not name and release:
            name = group_name_for_release(release)
        elif not name:
            name = group_name_for_workload(items[0].identity)
            derived_names.append((name, items[0]))
        defaults[namespace] = name
    return defaults, derived_names


def _labelled_group(context: PlanContext, item: Item) -> str:
    """The group label of the first revision in the stream that a workload uses, else ""."""
    for target in context.targets(item):
        if target.key not in context.revision_names and context.revision_of(target):
            return target.labels[GROUP_LABEL]
    return ""


def _group_key(
    context: PlanContext, workload: Item, defaults: Mapping[str | None, str]
) -> _GroupKey:
    namespace = _namespace(context, workload.identity)
    return namespace, _labelled_group(context, workload) or defaults[namespace]


def _group_names(
    context: PlanContext,
    workloads: Sequence[Item],
    group_keys: Mapping[ItemKey, _GroupKey],
    defaults: Mapping[str | None, str],
) -> dict[ItemKey, str]:
    """The value of AttachGroups.group_names.

    A revision that already has a group label keeps its group. Any other object gets the group of
    the first attached workload that references it, else the default group of its namespace, else
    the result of _name_without_workloads.
    """
    names: dict[ItemKey, str] = {}
    for item in workloads:
        for target in context.targets(item):
            names.setdefault(target.key, group_keys[item.key][1])
    sources: dict[ItemKey, list[Item]] = defaultdict(list)
    for link in (link for links in context.links.values() for link in links):
        if link.triggers_rename:
            sources[link.target.key].append(link.source)
    for key in context.revision_names:
        item = context.decisions[key].item
        if key not in names:
            default = defaults.get(_namespace(context, item.identity))
            names[key] = default or _name_without_workloads(context, item, sources[key])
    for key, decision in context.decisions.items():
        if decision.is_revision and decision.item.labels.get(GROUP_LABEL):
            names[key] = decision.item.labels[GROUP_LABEL]
    return names


def _name_without_workloads(context: PlanContext, item: Item, sources: Sequence[Item]) -> str:
    release = release_name(context.settings.attacher, sources)
    if release:
        return group_name_for_release(release)
    return group_name_for_workload(min(sources, key=item_order, default=item).identity)


def _retained_group_name(
    context: PlanContext,
    retained: RetentionDecision,
    group_names: Mapping[ItemKey, str],
    defaults: Mapping[str | None, str],
) -> str:
    if retained.current is not None and retained.current in group_names:
        return group_names[retained.current]
    item = retained.revision.item
    return defaults.get(_namespace(context, item.identity), item.labels.get(GROUP_LABEL, ""))


def _revisions(
    context: PlanContext,
    group_names: Mapping[ItemKey, str],
    workloads: Sequence[Item],
    group_keys: Mapping[ItemKey, _GroupKey],
) -> Iterator[tuple[_GroupKey, RevisionRef]]:
    """The revisions of the groups, and the originals that stay in the output.

    A group includes originals, because `postrender adopt` adds the group label to live originals.
    """
    items = [(context.decisions[key].item, name) for key, name in group_names.items()]
    pairs = [((_namespace(context, item.identity), name), item) for item, name in items]
    # If a revision sets a namespace, but the workload does not, the group keys can differ.
    pairs += [
        (group_keys[workload.key], target)
        for workload in workloads
        for target in context.targets(workload)
    ]
    kept = context.kept_keys(context.base_name_of(item) for _, item in pairs)
    for group_key, item in pairs:
        if context.revision_of(item):
            yield group_key, _ref(context, item)
            base_name = context.base_name_of(item)
            if kept and context.certain_key_of(item.identity, base_name) in kept:
                yield group_key, (item.identity.kind.lower(), base_name)


def _retained_revisions(
    context: PlanContext, group_names: Sequence[str]
) -> Iterator[tuple[_GroupKey, RevisionRef]]:
    for retained, group_name in zip(context.retained, group_names, strict=True):
        if retained.is_emitted:
            identity = retained.revision.identity
            group_key = _namespace(context, identity), group_name
            yield group_key, (identity.kind.lower(), identity.name)


def _attached_workloads(
    context: PlanContext,
    items: Sequence[Item],
    render_ids: Mapping[ItemKey, str],
    rollouts: Mapping[ItemKey, Sequence[Item]],
) -> Iterator[AttachedWorkload]:
    """Each workload of a group, followed by the Rollouts that use its pod templates."""
    for item in items:
        refs = _refs(context, item)
        for workload in (item, *sorted(rollouts.get(item.key, ()), key=item_order)):
            yield AttachedWorkload(
                identity=workload.identity,
                render_id=render_ids[item.key],
                names=refs,
                wave=wave_of(workload),
            )


def _refs(context: PlanContext, item: Item) -> tuple[RevisionRef, ...]:
    targets = [target for target in context.targets(item) if context.revision_of(target)]
    # If the input is an output of postrender, auto-mounts are ordinary references, and the order of
    # the targets differs. The sorted result does not differ.
    return tuple(sorted({_ref(context, target) for target in targets}))


def _ref(context: PlanContext, item: Item) -> RevisionRef:
    # lower() makes a text for each call, which takes more memory than a short document.
    return sys.intern(item.identity.kind.lower()), context.revision_of(item)


def release_name(settings: AttacherSettings, workloads: Iterable[Item]) -> str:
    """The group or release in the settings, else the release in a label, else "".

    The label `app.kubernetes.io/instance` counts only if all workloads have the same value.
    workloads: the objects of one namespace that reference revisions.
    """
    if settings.group or settings.release:
        return settings.group or settings.release
    instances = {item.labels.get(_INSTANCE_LABEL, "") for item in workloads}
    return instances.pop() if len(instances) == 1 else ""


def group_name_findings(
    derived_names: Sequence[tuple[str, Item]], location: Location
) -> list[Finding]:
    """A finding for each group name that postrender derives from a workload."""
    return [
        Finding(
            code="group-name",
            problem=f"postrender derives the name of the attach group ({name}) from "
            f"{item.identity}. If you rename {item.identity}, Kubernetes can delete revisions that "
            "pods use",
            fix="Pass --group with the name of the release, or set attacher.group in "
            "postrender.yaml",
            location=location,
        )
        for name, item in derived_names
    ]
