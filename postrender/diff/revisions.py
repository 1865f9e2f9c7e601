"""The status of each revision, and what happens to the revisions that old pods use."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet

from postrender.config.settings import Settings
from postrender.diff.model import (
    DELETED,
    DROPPED,
    IN_MANIFESTS,
    LEFT,
    NEW,
    RETAINED,
    REUSED,
    SUPERSEDED,
    UNTIL_PRUNED,
    ContentChange,
    Fate,
    RevisionChange,
)
from postrender.diff.pairs import (
    CURRENT,
    EARLIER,
    ComparedObject,
    Comparison,
    Pair,
    Side,
    sort_key,
)
from postrender.diff.redact import redact
from postrender.diff.usages import Target, UsageIndex
from postrender.inventory.build import take_inventory
from postrender.inventory.model import Item
from postrender.kubernetes.annotations import keeper_of
from postrender.kubernetes.kinds import Identity, ObjectKey
from postrender.plan.build import Plan, make_plan
from postrender.plan.findings import find_lost_owners, lasting_titles, planned_owners
from postrender.plan.history import NO_HISTORY, History, PreviousOwners, read_owners
from postrender.plan.namespaces import Resolver
from postrender.plan.strategy import is_known_revision
from postrender.yaml.stream import Stream

_RANKS = (NEW, REUSED, SUPERSEDED, RETAINED, DROPPED)


def find_revisions(
    both: Comparison,
    connected: AbstractSet[int],
    lost: Mapping[tuple[str, str], tuple[str, ...]],
) -> tuple[RevisionChange, ...]:
    """The status of the revisions of both sides, sorted by object and then by status.

    A revision whose role and base name are the same on both sides counts only if the graph shows
    its ConfigMap or Secret, or if the revision loses all owners.
    connected: the indexes of the pairs that the graph shows.
    lost: the deleted owners, by kind and name of each revision that loses all owners.
    """
    identities = {
        compared.identity: pair.identity
        for pair in both.pairs
        for compared in (pair.old, pair.new)
        if compared is not None and compared.is_content
    }
    connected_identities = {both.pairs[number].identity for number in connected}
    old_revisions, new_revisions = (
        _revisions_by_key(side, identities, both.resolver) for side in (both.old, both.new)
    )
    changes = []
    for key in {**new_revisions, **old_revisions}:
        pair = Pair(old_revisions.get(key), new_revisions.get(key))
        change = _status(pair)
        owners = lost.get((pair.identity.kind, key.name), ()) if change == REUSED else ()
        if _is_unchanged(pair) and pair.identity not in connected_identities and not owners:
            continue
        changes.append(
            RevisionChange(
                identity=pair.identity,
                name=key.name,
                change=change,
                is_retained=pair.new is not None and pair.new.role == EARLIER,
                lost_owners=owners,
            )
        )
    # Redact the names before the sort, because the order would otherwise show which hash of a
    # Secret's revision is smaller.
    shown = redact(changes, both.names.of_secrets, has_base_names=True)
    return tuple(sorted(shown, key=_sort_key))


def _revisions_by_key(
    side: Side, identities: Mapping[Identity, Identity], resolver: Resolver
) -> dict[ObjectKey, ComparedObject]:
    """The revisions of a side, each with the identity of its pair.

    identities: of each pair, by the identities of its objects on both sides.
    """
    revisions = {}
    for revision in side.revisions:
        identity = identities.get(revision.identity, revision.identity)
        key = resolver.key_of(identity, revision.name)
        revisions[key] = revision._replace(identity=identity)
    return revisions


def _is_unchanged(pair: Pair) -> bool:
    if pair.both is None:
        return False
    old, new = pair.both
    return (old.role, old.identity.name) == (new.role, new.identity.name)


def _status(pair: Pair) -> str:
    was_current = pair.old is not None and pair.old.role == CURRENT
    if pair.new is None:
        return SUPERSEDED if was_current else DROPPED
    if pair.old is None:
        return NEW  # also a retained revision that the older side does not have
    if pair.new.role == CURRENT:
        return REUSED
    return SUPERSEDED if was_current else RETAINED


def _sort_key(change: RevisionChange) -> tuple[object, ...]:
    return *sort_key(change.identity), _RANKS.index(change.change), change.name


# The kind and the name of a revision, such as `ConfigMap` and `web-config-4h2mbtbbt6`.
RevisionTitle = tuple[str, str]


def lost_owners(
    both: Comparison, settings: Settings, history: History
) -> Mapping[RevisionTitle, tuple[str, ...]]:
    """The deleted owners, by kind and name of each revision that loses all owners.

    The owners are in the arguments of the older side's attacher or, for an input, in its plan.
    history: the earlier outputs of postrender, for the plan of the newer side.
    """
    old, new = both.old, both.new
    owners = _owners(old, settings)
    if not owners.workloads:
        return {}
    plan = _plan(new.inventory.stream, settings, history)
    if plan.context is None:
        return {}
    if new.is_rendered:
        lasting = read_owners(_texts(new)).release_owners
        if not lasting and not old.is_rendered:
            # Only a plan decided the owners of the older side. Because the newer side is an output
            # without a release owner, the cluster probably does not have these owners.
            return {}
    else:
        lasting = lasting_titles(plan.context, plan.groups)
    return find_lost_owners(plan.context, lasting, owners)


def _owners(side: Side, settings: Settings) -> PreviousOwners:
    if side.is_rendered:
        return read_owners(_texts(side))
    plan = _plan(side.inventory.stream, settings)
    return planned_owners(plan.context, plan.groups) if plan.context else PreviousOwners()


def _plan(stream: Stream, settings: Settings, history: History = NO_HISTORY) -> Plan:
    return make_plan(take_inventory(stream, settings), settings, history)


def _texts(side: Side) -> Iterator[str]:
    return iter(side.inventory.stream.texts)


# ------------------------------------------------------------------- the fates of the old revisions

# The objects in which a controller keeps the old pod templates of a workload.
_HOLDERS = {
    "Deployment": "ReplicaSets",
    "Rollout": "ReplicaSets",
    "StatefulSet": "ControllerRevisions",
    "DaemonSet": "ControllerRevisions",
}
_DEFAULT_LIMIT = 10  # of revisionHistoryLimit, for all kinds in _HOLDERS


def with_fates(
    both: Comparison,
    contents: Iterable[tuple[Target, ContentChange, ComparedObject | None]],
    settings: Settings,
) -> list[ContentChange]:
    """The changes of ConfigMaps and Secrets, with the fate of each old revision.

    contents: with the targets of the references, and the objects of the older side.
    settings: for the newer side.
    """
    old, new, resolver, contents = both.old, both.new, both.resolver, list(contents)
    if not any(_is_moved(content) for _, content, _ in contents):
        return [content for _, content, _ in contents]
    is_attached = _has_attacher(new, settings)
    in_manifests = {resolver.key_of(revision.identity, revision.name) for revision in new.revisions}
    workloads, required = _workloads_with_old_pods(both.pairs, both.usages[0])

    def fate_of(
        target: Target, content: ContentChange, revision: ComparedObject | None
    ) -> Fate | None:
        users = workloads.get((target, content.old_revision))
        if not _is_moved(content) or not users or revision is None:
            return None
        if resolver.key_of(content.identity, revision.name) in in_manifests:
            return Fate(IN_MANIFESTS)
        is_marked = not old.is_rendered and _marks(old, revision, settings)
        if not is_marked and not keeper_of(old.written_data(revision)):
            is_optional = (target, content.old_revision) not in required
            return Fate(DELETED, is_optional=is_optional)
        return _until_pruned(users) if is_attached else Fate(LEFT)

    return [item[1]._replace(fate=fate_of(*item)) for item in contents]


def _marks(side: Side, revision: ComparedObject, settings: Settings) -> bool:
    """Whether a render of an input marks a revision so that no tool deletes it.

    It does not mark an object with a hashed name, as of kustomize, that opts out.
    """
    item = revision.item
    if item is None or item.is_revision or not is_known_revision(item):
        return True
    context = _plan(side.inventory.stream, settings).context
    return context is not None and context.decisions[item.key].is_adopted


def _is_moved(content: ContentChange) -> bool:
    return content.old_revision not in ("", content.identity.name, content.new_revision)


def _has_attacher(side: Side, settings: Settings) -> bool:
    if side.is_rendered:
        return any(item.is_attacher for item in side.inventory.items)
    if not settings.attacher.is_enabled:
        return False
    if side.context and side.context.names:
        return True
    plan = _plan(side.inventory.stream, settings)  # also of the documents that diff does not read
    return plan.context is not None and bool(plan.context.names)


def _workloads_with_old_pods(
    pairs: Sequence[Pair], usages: UsageIndex
) -> tuple[Mapping[tuple[Target, str], list[Item]], set[tuple[Target, str]]]:
    """The workloads whose old pods use a ConfigMap or Secret, by its target and its name.

    Also the targets and names in references without `optional: true`.

    The pods of a workload that the newer manifests lack end, and so do the pods of a hook.
    """
    ends = {
        pair.old.item.key
        for pair in pairs
        if pair.old and pair.old.item and (pair.new is None or pair.old.is_hook)
    }
    workloads: defaultdict[tuple[Target, str], list[Item]] = defaultdict(list)
    required = set()
    for pair in pairs:
        item = pair.old.item if pair.old else None
        for usage in usages.by_item.get(item.key, ()) if item else ():
            if item and usage.is_in_template:
                rollouts = (rollout.item for rollout in usages.rollouts.get(item.key, ()))
                users = [user for user in rollouts if user] or [item]
                key = usage.target, usage.name
                workloads[key] += [user for user in users if user.key not in ends]
                if not (pair.old and usage.is_optional_in(pair.old.data)):
                    required.add(key)
    return workloads, required


def _until_pruned(workloads: Iterable[Item]) -> Fate:
    holders: dict[str, None] = {}
    limits = set()
    for item in workloads:
        holder = _HOLDERS.get(item.identity.kind)
        if holder:
            holders[holder] = None
            limits.add(_DEFAULT_LIMIT if item.history_limit is None else item.history_limit)
    return Fate(UNTIL_PRUNED, tuple(holders), tuple(sorted(limits)))
