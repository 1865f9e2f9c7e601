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
    AttachSet,
    is_workload_attachable,
    set_name_for,
    wave_of,
)
from postrender.plan.model import Carried, Choices
from postrender.startup.records import NamedTuple

Name = tuple[str, str]


class Sets(NamedTuple):
    """The sets of a stream; for each object that is renamed, and each of choices.carried, its set.

    A carried revision whose namespace has no set keeps the one that it had.
    """

    sets: tuple[AttachSet, ...]
    set_names: Mapping[ItemKey, str]
    carried_names: Sequence[str]


def find_sets(choices: Choices, render_ids: Mapping[ItemKey, str]) -> Sets:
    """Return the sets of a stream; render_ids: of the workloads that name revisions."""
    members = [item for item in choices.inventory.items if item.key in render_ids]
    attachable = [item for item in members if is_workload_attachable(item)]
    defaults = _defaults(choices, attachable)
    set_of = {item.key: _set_of(choices, item, defaults) for item in attachable}
    set_names = _set_names(choices, attachable, set_of, defaults)
    groups: dict[tuple[str | None, str], list[Item]] = {}
    place_of: dict[ItemKey, tuple[str | None, str]] = {}
    for item in attachable:
        namespace = choices.resolver.group_of(item.identity.namespace)
        place_of[item.key] = namespace, set_of[item.key]
        groups.setdefault(place_of[item.key], []).append(item)
    carried_names = [_carried_set(choices, each, set_names, defaults) for each in choices.carried]
    emitted = _emitted(choices, attachable, place_of, set_names)
    for each, name in zip(choices.carried, carried_names, strict=True):
        if each.is_emitted:
            identity = each.past.identity
            namespace = choices.resolver.group_of(identity.namespace)
            emitted[namespace, name].add((identity.kind.lower(), identity.name))
    rollouts = choices.rollouts
    sets = tuple(
        AttachSet(
            place[1],
            items[0].identity.namespace,
            _workloads(choices, items, render_ids, rollouts),
            tuple(sorted(emitted[place])),
        )
        for place, items in groups.items()
    )
    return Sets(sets, set_names, carried_names)


def _carried_set(
    choices: Choices,
    carried: Carried,
    set_names: Mapping[ItemKey, str],
    defaults: Mapping[str | None, str],
) -> str:
    if carried.current is not None and carried.current in set_names:
        return set_names[carried.current]
    past = carried.past
    own = strings_at(dict(past.content), "labels").get(GROUP_LABEL, "")
    return defaults.get(choices.resolver.group_of(past.identity.namespace), own)


def _emitted(
    choices: Choices,
    workloads: list[Item],
    place_of: Mapping[ItemKey, tuple[str | None, str]],
    set_names: Mapping[ItemKey, str],
) -> dict[tuple[str | None, str], set[Name]]:
    """Return, by namespace and name of a set, every revision of it in the stream.

    Kept originals are among them: `postrender adopt` may have labelled the live ones.
    """
    emitted: dict[tuple[str | None, str], set[Name]] = defaultdict(set)
    originals = _originals(choices)
    for key, name in set_names.items():
        item = choices.decisions[key].item
        if choices.revision_of(item):
            namespace = choices.resolver.group_of(item.identity.namespace)
            kind, revision = _argument(choices, item)
            base_name = item.base_name
            emitted[namespace, name].add((kind, revision))
            if (kind, namespace, base_name) in originals:
                emitted[namespace, name].add((kind, base_name))
    for workload in workloads:
        # A revision may write its namespace where the workload that names it does not.
        emitted[place_of[workload.key]].update(_names(choices, workload))
    return emitted


def _originals(choices: Choices) -> set[tuple[str, str | None, str]]:
    """Return kind, namespace and name of the objects that keep their names in the output."""
    return {
        (
            decision.item.identity.kind.lower(),
            choices.resolver.group_of(decision.item.identity.namespace),
            decision.item.identity.name,
        )
        for key, decision in choices.decisions.items()
        if key not in choices.names or decision.keep_reason
    }


def _defaults(choices: Choices, workloads: list[Item]) -> dict[str | None, str]:
    """Return the name of each namespace's set: after the first workload, unless it has one."""
    defaults: dict[str | None, str] = {}
    for item in workloads:
        namespace = choices.resolver.group_of(item.identity.namespace)
        if namespace not in defaults:
            defaults[namespace] = _labelled(choices, item) or set_name_for(item.identity)
    return defaults


def _labelled(choices: Choices, item: Item) -> str:
    """Return the set of the first revision from an earlier run that a workload names."""
    for target in choices.targets(item):
        if target.key not in choices.names and choices.revision_of(target):
            return target.labels[GROUP_LABEL]
    return ""


def _set_of(choices: Choices, item: Item, defaults: Mapping[str | None, str]) -> str:
    namespace = choices.resolver.group_of(item.identity.namespace)
    return _labelled(choices, item) or defaults[namespace]


def _set_names(
    choices: Choices,
    workloads: list[Item],
    set_of: Mapping[ItemKey, str],
    defaults: Mapping[str | None, str],
) -> dict[ItemKey, str]:
    """Return the set of each object: that of the first workload that names it."""
    names: dict[ItemKey, str] = {}
    for item in workloads:
        for target in choices.targets(item):
            names.setdefault(target.key, set_of[item.key])
    for key in choices.names:
        item = choices.decisions[key].item
        namespace = choices.resolver.group_of(item.identity.namespace)
        if key not in names:
            # Only objects that the attacher does not see name it: the set it would be in, if any.
            names[key] = defaults.get(namespace) or set_name_for(_first_source(choices, item))
    for key, decision in choices.decisions.items():
        if decision.is_revision and GROUP_LABEL in decision.item.labels:
            names[key] = decision.item.labels[GROUP_LABEL]
    return names


def _first_source(choices: Choices, item: Item) -> Identity:
    for links in choices.links.values():
        for link in links:
            if link.target.key == item.key and link.can_follow:
                return link.source.identity
    return item.identity


def _workloads(
    choices: Choices,
    items: list[Item],
    render_ids: Mapping[ItemKey, str],
    rollouts: Mapping[ItemKey, Sequence[Item]],
) -> tuple[AttachedWorkload, ...]:
    workloads = []
    for item in items:
        names = _names(choices, item)
        workloads += [
            AttachedWorkload(source.identity, render_ids[item.key], names, wave_of(source))
            for source in [item, *rollouts.get(item.key, ())]
        ]
    return tuple(workloads)


def _names(choices: Choices, item: Item) -> tuple[Name, ...]:
    targets = [target for target in choices.targets(item) if choices.revision_of(target)]
    # Sorted: an auto-mount stands elsewhere in the output than in the input.
    return tuple(sorted({_argument(choices, target) for target in targets}))


def _argument(choices: Choices, item: Item) -> Name:
    return item.identity.kind.lower(), choices.revision_of(item)
