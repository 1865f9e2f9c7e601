"""The patches for the owners and the mark of each revision, computed from the cluster state.

The rule: the owners of a revision are all of its consumers, and the workloads that those consumers
belong to. A revision without consumers is marked with the time. Sweep deletes the revision when the
mark is old enough.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import datetime, timedelta, timezone

from postrender.attach.live import Consumer, Object, Owner, Revision
from postrender.attach.request import RevisionRef
from postrender.attach.resources import BY_GROUP_KIND, CONTROLLER_MADE_KINDS, PODS, Resource
from postrender.kubernetes.annotations import UNUSED_ANNOTATION
from postrender.kubernetes.kinds import api_group
from postrender.startup.records import NamedTuple
from postrender.yaml.paths import Json

GRACE = timedelta(minutes=10)
_TIME_FORMAT = "%Y-%m-%dT%H:%M:%SZ"


class ClusterState(NamedTuple):
    """The revisions of a run, and all possible consumers in the namespace.

    consumers: by uid, read after the revisions;
    unreadable: the kinds that cannot be listed, so their objects are unknown.
    """

    revisions: tuple[Revision, ...]
    consumers: Mapping[str, Consumer]
    unreadable: frozenset[Resource] = frozenset()


class Scope(NamedTuple):
    """The objects of a run: the attach group ("" for none), and the uids of its workloads.

    The name of a group is derived from its first workload. After the name changes, a run recognises
    the revisions of the earlier group by their owners.
    """

    group_name: str
    workloads: frozenset[str] = frozenset()

    def covers(self, revision: Revision, state: ClusterState) -> bool:
        """Return whether the run may mark and delete a revision that is unused."""
        if not self.group_name or not revision.group_name:
            return False
        owners = {owner.uid for owner in revision.owners if owner.uid in state.consumers}
        is_left_behind = bool(owners) and owners <= (self.workloads & revision.our_owners)
        return revision.group_name == self.group_name or is_left_behind


class Patch(NamedTuple):
    """The changes to one revision.

    mark: the value of postrender/unused-since; "" removes the mark, None means no change.
    """

    revision: Revision
    added: tuple[Owner, ...] = ()
    dropped: tuple[Owner, ...] = ()
    mark: str | None = None

    @property
    def has_changes(self) -> bool:
        """Return whether the patch changes anything."""
        return bool(self.added or self.dropped or self.mark is not None)

    @property
    def body(self) -> Object:
        """The strategic merge patch; it merges owners by uid, so other owners stay unchanged."""
        references: list[Json] = [_owner_reference(owner) for owner in self.added]
        references += [{"$patch": "delete", "uid": owner.uid} for owner in self.dropped]
        metadata: Object = {}
        if references:
            metadata["ownerReferences"] = references
        if self.mark is not None:
            metadata["annotations"] = {UNUSED_ANNOTATION: self.mark or None}
        return {"metadata": metadata}


def _owner_reference(owner: Owner) -> Object:
    return {
        "apiVersion": owner.api_version,
        "kind": owner.kind,
        "name": owner.name,
        "uid": owner.uid,
        "controller": False,
        "blockOwnerDeletion": False,
    }


def pin(
    revisions: Iterable[Revision], workloads_of: Callable[[RevisionRef], Sequence[Consumer]]
) -> list[Patch]:
    """Return the patches that make each workload an owner of its given revisions.

    workloads_of: returns the live workloads that, by the request, reference a revision.
    """
    patches = []
    for revision in revisions:
        if not revision.is_sweepable:
            continue
        owners = [workload.owner for workload in workloads_of(revision.key)]
        mark = "" if owners and revision.unused_since is not None else None
        patches.append(Patch(revision=revision, added=_missing_owners(revision, owners), mark=mark))
    return [patch for patch in patches if patch.has_changes]


def reconcile(
    state: ClusterState, scope: Scope, in_stream: frozenset[RevisionRef], now: datetime
) -> list[Patch]:
    """Return the patches that give every revision the owners that the rule requires.

    Revisions of the applied stream come first.
    scope: the unused revisions to mark;
    in_stream: the revisions of the applied stream, which are never marked.
    """
    consumers_of = _consumers_by_revision(state)
    patches = []
    for revision in sorted(state.revisions, key=lambda item: item.key not in in_stream):
        consumers = consumers_of[revision.key]
        owners = _required_owners(state, consumers) if revision.is_sweepable else []
        is_used = bool(consumers) or revision.key in in_stream
        may_mark = scope.covers(revision, state)
        patch = Patch(
            revision=revision,
            added=_missing_owners(revision, owners),
            dropped=tuple(_stale_owners(state, revision, {owner.uid for owner in owners})),
            mark=_new_mark(state, revision, is_used, now if may_mark else None),
        )
        patches.append(patch)
    return [patch for patch in patches if patch.has_changes]


def find_unused(
    state: ClusterState, scope: Scope, in_stream: frozenset[RevisionRef], now: datetime
) -> list[tuple[Revision, str]]:
    """Return the marked revisions of a scope that have no consumer.

    The text is the reason to keep the revision, "" for a revision to delete.
    """
    consumers_of = _consumers_by_revision(state)
    return [
        (revision, _keep_reason(state, revision, in_stream, now))
        for revision in state.revisions
        if scope.covers(revision, state)
        and revision.unused_since is not None
        and not consumers_of[revision.key]
        and not revision.is_deleting
    ]


def _keep_reason(
    state: ClusterState, revision: Revision, in_stream: frozenset[RevisionRef], now: datetime
) -> str:
    since = parse_time(revision.unused_since or "")
    if revision.key in in_stream:
        return "the applied stream contains the revision"
    if not revision.is_sweepable:
        return "a field outside of pod templates references the revision"
    foreign = _foreign_owners(state, revision)
    if foreign:
        return f"postrender does not manage the owner {foreign[0]}"
    if state.unreadable:
        kinds = ", ".join(sorted(resource.plural for resource in state.unreadable))
        return f"cannot list {kinds}, and one of them might reference the revision"
    if since is None or now - since < GRACE:
        minutes = GRACE // timedelta(minutes=1)
        return f"{minutes} minutes have not passed since {revision.unused_since}"
    return ""


def _consumers_by_revision(state: ClusterState) -> defaultdict[RevisionRef, list[Consumer]]:
    consumers: defaultdict[RevisionRef, list[Consumer]] = defaultdict(list)
    for consumer in state.consumers.values():
        for ref in consumer.references:
            consumers[ref].append(consumer)
    return consumers


def _required_owners(state: ClusterState, consumers: Iterable[Consumer]) -> list[Owner]:
    """Return the owners by the rule: the consumers and their controllers, up to the workload.

    A consumer with a controller that cannot be read is not an owner. The consumer may be deleted
    while its controller exists, and the garbage collector would delete the revision.
    """
    owners: dict[str, Consumer] = {}
    for consumer in consumers:
        chain = _controller_chain(state, consumer)
        if chain[-1].resource in CONTROLLER_MADE_KINDS and chain[-1].controller:
            continue
        # A Pod with a controller is deleted together with the controller, and is not an owner.
        is_controlled_pod = consumer.resource == PODS and bool(consumer.controller)
        owners.update((owner.uid, owner) for owner in chain[is_controlled_pod:])
    return [owner.owner for owner in owners.values() if not owner.is_deleting]


def _controller_chain(state: ClusterState, consumer: Consumer) -> list[Consumer]:
    """Return an object and the chain of its controllers, up to the first unreadable one."""
    chain = {consumer.uid: consumer}
    while (controller := state.consumers.get(consumer.controller)) and controller.uid not in chain:
        chain[controller.uid] = consumer = controller
    return list(chain.values())


def _missing_owners(revision: Revision, owners: Iterable[Owner]) -> tuple[Owner, ...]:
    present = {owner.uid for owner in revision.owners}
    return tuple(owner for owner in owners if owner.uid not in present)


def _stale_owners(state: ClusterState, revision: Revision, required: set[str]) -> Iterator[Owner]:
    """Yield the stale owners, if an earlier run added them.

    An owner is stale if the object was deleted. An object that a controller made is also stale if
    the object no longer references the revision. A workload stays an owner: with its next change, a
    new ReplicaSet may reference the revision. A revision that is not swept has no owners, because
    it must outlive every workload.
    required: the uids of the owners by the rule.
    """
    for owner in revision.owners:
        if owner.uid in required or owner.uid not in revision.our_owners:
            continue
        consumer = state.consumers.get(owner.uid)
        if not revision.is_sweepable:
            yield owner
        elif consumer is None:
            if _is_readable(state, owner):
                yield owner
        elif (
            consumer.resource in CONTROLLER_MADE_KINDS
            and consumer.controller
            and not consumer.is_deleting
        ):
            yield owner


def _is_readable(state: ClusterState, owner: Owner) -> bool:
    resource = BY_GROUP_KIND.get((api_group(owner.api_version), owner.kind))
    return resource is not None and resource not in state.unreadable


def _foreign_owners(state: ClusterState, revision: Revision) -> list[Owner]:
    """Return the existing owners that another program set, and the owners that cannot be read."""
    return [
        owner
        for owner in revision.owners
        if not _is_readable(state, owner)
        or (owner.uid in state.consumers and owner.uid not in revision.our_owners)
    ]


def _new_mark(
    state: ClusterState, revision: Revision, is_used: bool, now: datetime | None
) -> str | None:
    """Return the mark to write: the time, "" to remove the mark, None for no change.

    now: None if the run may not mark the revision.
    """
    if is_used:
        return "" if revision.unused_since is not None else None
    if (
        now is None
        or state.unreadable
        or not revision.is_sweepable
        or _foreign_owners(state, revision)
    ):
        return None
    marked = parse_time(revision.unused_since or "")
    is_valid = marked is not None and marked <= now + GRACE
    return None if is_valid else now.strftime(_TIME_FORMAT)


def parse_time(text: str) -> datetime | None:
    """Return the time of a mark, or None for a text that is not a time."""
    try:
        return datetime.strptime(text, _TIME_FORMAT).replace(tzinfo=timezone.utc)
    except ValueError:
        return None
