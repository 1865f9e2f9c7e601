"""From live state to patches, as a pure function: who is to own each revision, what is marked.

The rule: a revision is owned by every live object whose pod template names it, and by the
workloads that those objects belong to. One that nothing names is marked with the time; sweep
deletes it when the mark has grown old.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import datetime, timedelta, timezone

from postrender.attach.live import Consumer, Object, Owner, Revision
from postrender.attach.request import RevisionRef
from postrender.attach.resources import BY_GROUP_KIND, MADE_BY_OTHERS, PODS, Resource
from postrender.kubernetes.annotations import UNUSED_ANNOTATION
from postrender.kubernetes.kinds import api_group
from postrender.startup.records import NamedTuple
from postrender.yaml.paths import Json

GRACE = timedelta(minutes=10)


class ClusterState(NamedTuple):
    """What was read of a namespace: revisions first, then holders by uid.

    unreadable: kinds that may not be read, so that nothing can be said of their objects.
    """

    revisions: tuple[Revision, ...]
    consumers: Mapping[str, Consumer]
    unreadable: frozenset[Resource] = frozenset()


class Scope(NamedTuple):
    """What a run looks after: the revisions of a set ("" for none), and the uids of its workloads.

    A set is named after its first workload. Where that changes, revisions under the old name are
    known by their owners: they belong to a run if all that live are its workloads.
    """

    group_name: str
    workloads: frozenset[str] = frozenset()

    def covers(self, revision: Revision, live: ClusterState) -> bool:
        """Tell whether a run may mark and delete a revision when nothing names it."""
        if not self.group_name or not revision.group_name:
            return False
        owners = {owner.uid for owner in revision.owners if owner.uid in live.consumers}
        is_left_behind = bool(owners) and owners <= (self.workloads & revision.owned_by_us)
        return revision.group_name == self.group_name or is_left_behind


class Patch(NamedTuple):
    """What is to change on one revision.

    mark: the value of postrender/unused-since, "" takes it away, None leaves it as it is.
    """

    revision: Revision
    added: tuple[Owner, ...] = ()
    dropped: tuple[Owner, ...] = ()
    mark: str | None = None

    @property
    def changes_something(self) -> bool:
        """Whether there is anything to send."""
        return bool(self.added or self.dropped or self.mark is not None)

    @property
    def body(self) -> Object:
        """The strategic merge patch: owner references merge by uid, so nobody else's is touched."""
        references: list[Json] = [_reference(owner) for owner in self.added]
        references += [{"$patch": "delete", "uid": owner.uid} for owner in self.dropped]
        metadata: Object = {}
        if references:
            metadata["ownerReferences"] = references
        if self.mark is not None:
            metadata["annotations"] = {UNUSED_ANNOTATION: self.mark or None}
        return {"metadata": metadata}


def _reference(owner: Owner) -> Object:
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
    """Return the patches that make each workload an owner of the revisions given with it.

    workloads_of: the live workloads that a revision was given with.
    """
    patches = []
    for revision in revisions:
        if not revision.is_swept:
            continue
        wanted = [consumer.owner for consumer in workloads_of(revision.key)]
        mark = "" if wanted and revision.unused_since is not None else None
        patches.append(Patch(revision, _missing(revision, wanted), mark=mark))
    return [patch for patch in patches if patch.changes_something]


def reconcile(
    live: ClusterState, scope: Scope, in_stream: frozenset[RevisionRef], now: datetime
) -> list[Patch]:
    """Return what is to change so that every revision has the owners of the rule.

    Those of the applied stream come first. scope: whose unused revisions are marked;
    in_stream: what the applied stream holds, which is never marked.
    """
    users = _users(live)
    patches = []
    for revision in sorted(live.revisions, key=lambda one: one.key not in in_stream):
        wanted = _wanted_owners(live, users[revision.key]) if revision.is_swept else []
        is_used = bool(users[revision.key]) or revision.key in in_stream
        may_mark = scope.covers(revision, live)
        patch = Patch(
            revision,
            _missing(revision, wanted),
            tuple(_stale(live, revision, {owner.uid for owner in wanted})),
            _mark(live, revision, is_used, now if may_mark else None),
        )
        patches.append(patch)
    return [patch for patch in patches if patch.changes_something]


def unused(
    live: ClusterState, scope: Scope, in_stream: frozenset[RevisionRef], now: datetime
) -> list[tuple[Revision, str]]:
    """Return the marked revisions of a scope that nothing names, with why each is kept, or ""."""
    users = _users(live)
    return [
        (revision, _why_kept(live, revision, in_stream, now))
        for revision in live.revisions
        if scope.covers(revision, live)
        and revision.unused_since is not None
        and not users[revision.key]
        and not revision.is_deleting
    ]


def _why_kept(
    live: ClusterState, revision: Revision, in_stream: frozenset[RevisionRef], now: datetime
) -> str:
    since = parse_time(revision.unused_since or "")
    if revision.key in in_stream:
        return "it is in the applied stream"
    if not revision.is_swept:
        return "something outside of pod templates names it"
    foreign = _foreign_owners(live, revision)
    if foreign:
        return f"it is owned by {foreign[0]}, which is not ours"
    if live.unreadable:
        kinds = ", ".join(sorted(resource.plural for resource in live.unreadable))
        return f"{kinds} may not be read, and one might name it"
    if since is None or now - since < GRACE:
        return f"it is unused since {revision.unused_since}, not long enough"
    return ""


def _users(live: ClusterState) -> defaultdict[RevisionRef, list[Consumer]]:
    users: defaultdict[RevisionRef, list[Consumer]] = defaultdict(list)
    for consumer in live.consumers.values():
        for name in consumer.names:
            users[name].append(consumer)
    return users


def _wanted_owners(live: ClusterState, users: Iterable[Consumer]) -> list[Owner]:
    """Return the owners by the rule: those that name it, and what they belong to, upward.

    What something that cannot be read has made is no owner: it may go while its maker stays, and
    would take along what was its own alone.
    """
    wanted: dict[str, Consumer] = {}
    for user in users:
        chain = _chain(live, user)
        if chain[-1].resource in MADE_BY_OTHERS and chain[-1].controller:
            continue
        # A Pod that something controls comes and goes with it, and is no owner itself.
        is_controlled_pod = user.resource == PODS and bool(user.controller)
        wanted.update((consumer.uid, consumer) for consumer in chain[is_controlled_pod:])
    return [consumer.owner for consumer in wanted.values() if not consumer.is_deleting]


def _chain(live: ClusterState, consumer: Consumer) -> list[Consumer]:
    """Return an object and what controls it, as far up as that can be read."""
    chain = {consumer.uid: consumer}
    while (maker := live.consumers.get(consumer.controller)) and maker.uid not in chain:
        chain[maker.uid] = consumer = maker
    return list(chain.values())


def _missing(revision: Revision, wanted: Iterable[Owner]) -> tuple[Owner, ...]:
    there = {owner.uid for owner in revision.owners}
    return tuple(owner for owner in wanted if owner.uid not in there)


def _stale(live: ClusterState, revision: Revision, wanted: set[str]) -> Iterator[Owner]:
    """Yield our owner references to what is gone, or is a revision object that names it no more.

    A workload stays as long as it lives: the next change may make one of its objects name it.
    What is named outside of pod templates has no owners at all: it must outlive every workload.
    """
    for owner in revision.owners:
        if owner.uid in wanted or owner.uid not in revision.owned_by_us:
            continue
        consumer = live.consumers.get(owner.uid)
        if not revision.is_swept:
            yield owner
        elif consumer is None:
            if _is_readable(live, owner):
                yield owner
        elif (
            consumer.resource in MADE_BY_OTHERS and consumer.controller and not consumer.is_deleting
        ):
            yield owner


def _is_readable(live: ClusterState, owner: Owner) -> bool:
    resource = BY_GROUP_KIND.get((api_group(owner.api_version), owner.kind))
    return resource is not None and resource not in live.unreadable


def _foreign_owners(live: ClusterState, revision: Revision) -> list[Owner]:
    """Return the owners that another program set and that live, as far as one can tell."""
    return [
        owner
        for owner in revision.owners
        if not _is_readable(live, owner)
        or (owner.uid in live.consumers and owner.uid not in revision.owned_by_us)
    ]


def _mark(
    live: ClusterState, revision: Revision, is_used: bool, now: datetime | None
) -> str | None:
    """Return the mark to write: the time, "" to take it away, None for no change."""
    if is_used:
        return "" if revision.unused_since is not None else None
    if now is None or live.unreadable or not revision.is_swept or _foreign_owners(live, revision):
        return None
    written = parse_time(revision.unused_since or "")
    is_sound = written is not None and written <= now + GRACE
    return None if is_sound else now.strftime(_TIME_FORMAT)


_TIME_FORMAT = "%Y-%m-%dT%H:%M:%SZ"


def parse_time(text: str) -> datetime | None:
    """Return the time of a mark, or None for what is none."""
    try:
        return datetime.strptime(text, _TIME_FORMAT).replace(tzinfo=timezone.utc)
    except ValueError:
        return None
