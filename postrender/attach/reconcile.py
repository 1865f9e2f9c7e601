"""The decisions of a run: the owners and the mark of each revision, and what is unused.

The rule: the owners of a revision are the release owner, the consumers, and the controllers of the
consumers. Without a consumer, the workloads that use a revision with the same base name take their
place: an apply can use the revision again, and delete the release owner because the release gets an
inventory instead of the Job, or a Job instead of the inventory. For a revision that other objects
can need, the workloads of the whole attach group do. The rule has four exceptions:

- A Pod is not an owner. A Job without a controller is not an owner.
- A consumer is not an owner if the run cannot read the controller of the consumer.
- The release owner does not own an original. A rollback can apply the original again and delete the
  release owner. Kubernetes would then also delete the original.
- Consumers own a revision with is_sweepable=False only together with the release owner. Other
  objects can need this revision after all workloads are deleted.

The release owner is an object that exists until somebody uninstalls the application. By default, it
is the ServiceAccount that `postrender render` adds for an attach group, or the Role if render does
not add a ServiceAccount. An uninstall with a tool such as Helm deletes it. Without a release owner,
Kubernetes would delete a revision with its old workload if the workload gets another name or kind.

A revision is unused if it has no consumer. A run marks an unused revision that is not in the
applied stream, which is the output of postrender for which attach runs. The mark is the annotation
postrender/unused-since with the current time. The module `sweep` deletes the revision once the mark
is old enough.

An apply of a live revision changes nothing, so nobody can see that the tool has begun to use the
revision again. The mark therefore removes the annotation postrender/applied, and a later apply adds
the annotation again. A run then renews the mark.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from datetime import datetime, timedelta, timezone

from postrender.attach.live import Consumer, Object, Owner, Revision
from postrender.attach.request import (
    BY_GROUP_KIND,
    CONTROLLER_MADE_KINDS,
    JOBS,
    PODS,
    RELEASE_OWNER_KINDS,
    Resource,
    RevisionRef,
    plurals,
)
from postrender.kubernetes.annotations import APPLIED_ANNOTATION, UNUSED_ANNOTATION
from postrender.records import NamedTuple
from postrender.text import shown
from postrender.yaml.paths import Json

# A run deletes a revision only if the mark is at least this old. Until then, an apply that uses the
# revision again may be under way.
GRACE = timedelta(minutes=10)
TIME_FORMAT = "%Y-%m-%dT%H:%M:%SZ"
MAY_BE_USED = "an object of these kinds might reference the revision"
PAST = {"add": "added", "remove": "removed", "mark": "marked", "delete": "deleted"}
_RELEASE_OWNERS = frozenset(resource.group_kind for resource in RELEASE_OWNER_KINDS)
# People create and delete objects of these kinds by hand, such as a copy of a Pod for debugging.
# Without a controller, an object of these kinds is therefore not an owner.
_SHORT_LIVED = frozenset({PODS, JOBS})
_LONGEST_CHAIN = 20


class RunState(NamedTuple):
    """The revisions of a run, all possible consumers in the namespace, and the run's own part.

    The name of an attach group can change between two applies. A run recognises the revisions of
    the group with the earlier name by their consumers, owners and base names.

    revisions: the given revisions (AttachRequest.given), those of the run's attach group, and, with
        the consumers, the related ones of `others`.
    consumers: by uid, read after the revisions.
    unreadable: the kinds that the run has no permission to list.
    in_stream: the revisions of the applied stream, which are never marked or deleted.
    group_name: "" if unknown.
    workloads: the uids of the run's workloads.
    base_names: of the live revisions in the applied stream, with the kinds.
    others: before the consumers are read, the revisions of other attach groups, if the attach group
        of the run is known, and what has a name of AttachRequest.revised without a label. For a
        request without a group, also the ConfigMaps without a label to which attach added owners.
    is_by_owner: whether the run also covers ConfigMaps without the label of a group to which
        attach has added a workload of the run as an owner. The command line of configmap-attacher
        has no groups.
    """

    revisions: tuple[Revision, ...]
    consumers: Mapping[str, Consumer]
    unreadable: frozenset[Resource] = frozenset()
    release_owner: Owner | None = None
    in_stream: frozenset[RevisionRef] = frozenset()
    group_name: str = ""
    workloads: frozenset[str] = frozenset()
    base_names: frozenset[RevisionRef] = frozenset()
    others: tuple[Revision, ...] = ()
    is_by_owner: bool = False

    def without(self, foreign: Container[Revision]) -> RunState:
        return self._replace(
            revisions=tuple(item for item in self.revisions if item not in foreign),
            others=tuple(item for item in self.others if item not in foreign),
        )

    def covers(self, revision: Revision) -> bool:
        """Whether the run may mark and delete the revision if it is unused."""
        if self.is_by_owner and not revision.group_name:
            return bool(revision.proven_owners & self.workloads)
        if not self.group_name or not revision.group_name:
            return False
        if revision.group_name == self.group_name:
            return True
        owners = {owner.uid for owner in revision.owners if owner.uid in self.consumers}
        is_left_behind = bool(owners) and owners <= (self.workloads & revision.our_owners)
        is_ours = revision.base in self.base_names and not _is_of_other_release(self, revision)
        return is_left_behind or is_ours


class Patch(NamedTuple):
    """The changes to one revision.

    mark: the value of postrender/unused-since; "" removes the mark, None means no change.
    """

    revision: Revision
    added: tuple[Owner, ...] = ()
    removed: tuple[Owner, ...] = ()
    mark: str | None = None

    @property
    def has_changes(self) -> bool:
        return bool(self.added or self.removed or self.mark is not None)

    def adds_only(self, release_owner: Owner | None) -> bool:
        """Whether the release owner would be the only owner, with which the revision then goes."""
        return self.added == (release_owner,) and not self.revision.owners

    @property
    def body(self) -> Object:
        """The strategic merge patch. The API server keeps the owners that are not in it.

        With the uid, the API server refuses the patch of an object that somebody has re-created.
        With the resourceVersion, it refuses to mark what somebody has applied in the meantime.
        """
        references: list[Json] = [_owner_reference(owner) for owner in self.added]
        references += [{"$patch": "delete", "uid": owner.uid} for owner in self.removed]
        metadata: Object = {"uid": self.revision.uid}
        if references:
            metadata["ownerReferences"] = references
        if self.mark is not None:
            applied = {APPLIED_ANNOTATION: None} if self.mark and self.revision.is_applied else {}
            metadata["annotations"] = {UNUSED_ANNOTATION: self.mark or None, **applied}
        if self.mark:
            metadata["resourceVersion"] = self.revision.resource_version
        return {"metadata": metadata}

    def changes(self) -> Iterator[tuple[str, str]]:
        """A key of PAST and the rest of a line for each change."""
        if self.added:
            yield "add", f"owners to {self.revision}: {', '.join(map(str, self.added))}"
        if self.removed:
            yield "remove", f"owners from {self.revision}: {', '.join(map(str, self.removed))}"
        if self.mark:
            yield "mark", f"the unused {self.revision}"
        elif self.mark is not None:
            yield "remove", f"the mark from {self.revision}, because an object uses the revision"


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
    revisions: Iterable[Revision],
    workloads_of: Callable[[RevisionRef], Sequence[Consumer]],
    release_owner: Owner | None = None,
) -> list[Patch]:
    """Patches that add the release owner and the workloads as owners of revisions.

    A patch also removes the mark of a revision that a workload references.
    """
    patches = []
    for revision in revisions:
        if revision.is_deleting or revision.is_original_in_stream:
            continue
        may_own = _may_consumers_own(revision, release_owner)
        workloads = workloads_of(revision.key) if may_own else ()
        owners = [workload.owner for workload in workloads if workload.resource not in _SHORT_LIVED]
        mark = "" if owners and revision.unused_since is not None else None
        owners += [release_owner] if release_owner and not revision.is_original else []
        patches.append(Patch(revision=revision, added=_missing_owners(revision, owners), mark=mark))
    # The workload can exist by the time the release owner goes, and no other run has seen it.
    return [patch for patch in patches if patch.has_changes and not patch.adds_only(release_owner)]


def reconcile(state: RunState, now: datetime | None) -> list[Patch]:
    """The patches that give each revision the owners and the mark that the rule requires.

    The patches of the revisions in the applied stream come first.

    now: None if the run must not mark revisions.
    """
    consumers_of = consumers_by_revision(state.consumers)
    users = {item.key: _required_owners(state, consumers_of[item.key]) for item in state.revisions}
    workloads = _workloads_by_base(state, users) if state.release_owner else defaultdict(dict)
    patches = []
    for revision in sorted(state.revisions, key=lambda item: item.key not in state.in_stream):
        if revision.is_deleting:
            continue
        consumers = consumers_of[revision.key]
        may_own = _may_consumers_own(revision, state.release_owner)
        substitutes = workloads[_base_of(revision)]
        if not (substitutes or revision.is_sweepable):
            substitutes = workloads[revision.group_name,]
        owners = list(users[revision.key] or substitutes) if may_own else []
        if state.release_owner and not revision.is_original:
            owners.append(state.release_owner)
        removable = revision.our_owners - {owner.uid for owner in owners}
        is_used = bool(consumers) or revision.key in state.in_stream
        patch = Patch(
            revision=revision,
            added=_missing_owners(revision, owners),
            removed=tuple(
                owner
                for owner in revision.owners
                if owner.uid in removable and _is_stale(state, revision, owner)
            ),
            mark=_new_mark(state, revision, is_used, now),
        )
        patches.append(patch)
    return [patch for patch in patches if patch.has_changes]


def find_unused(
    state: RunState,
    now: datetime,
    *,
    includes_unmarked: bool = False,
    unread_reason: str = "",
) -> list[tuple[Revision, str]]:
    """The unused revisions that the run covers, each with the reason to keep it.

    The reason is "" for a revision to delete. Revisions that are being deleted are not in the
    result, and those without a mark only with includes_unmarked.

    unread_reason: the reason if kinds could not be listed, "" for the missing permission.
    """
    consumers_of = consumers_by_revision(state.consumers)
    if not unread_reason:
        unread = ", ".join(plurals(state.unreadable))
        unread_reason = f"postrender cannot list {unread}, and {MAY_BE_USED}"
    return [
        (revision, _keep_reason(state, revision, now, unread_reason))
        for revision in state.revisions
        if state.covers(revision)
        and (includes_unmarked or revision.unused_since is not None)
        and not consumers_of[revision.key]
        and not revision.is_deleting
    ]


def find_related(state: RunState, others: Iterable[Revision]) -> tuple[Revision, ...]:
    """The revisions of other attach groups, or of no group, that a run also looks after.

    These are the revisions
    - to which attach has added a workload of the run as an owner;
    - of which a workload of the run is a consumer, or controls a consumer;
    - which the run covers, and which have no consumer, unless another release looks after their
      group.
    """
    others = tuple(others)
    consumers_of = consumers_by_revision(state.consumers)
    tied = {
        revision.key
        for revision in others
        if revision.our_owners & state.workloads
        or any(
            member.uid in state.workloads
            for consumer in consumers_of[revision.key]
            for member in controller_chain(state.consumers, consumer)
        )
    }
    # Another release, with equal base names, looks after these attach groups.
    alive = {
        revision.group_name
        for revision in others
        if (consumers_of[revision.key] and revision.key not in tied)
        or _is_of_other_release(state, revision)
    } - {""}
    return tuple(
        revision
        for revision in others
        if revision.key in tied
        or (
            state.covers(revision)
            and not consumers_of[revision.key]
            and revision.group_name not in alive
        )
    )


def _is_of_other_release(state: RunState, revision: Revision) -> bool:
    return bool(
        release_owners_of(revision) - ({state.release_owner.uid} if state.release_owner else set())
    )


def release_owners_of(revision: Revision) -> frozenset[str]:
    """The uids of the release owners among the owners of a revision, of any release."""
    return frozenset(owner.uid for owner in revision.owners if owner.group_kind in _RELEASE_OWNERS)


def _keep_reason(state: RunState, revision: Revision, now: datetime, unread_reason: str) -> str:
    since = parse_time(revision.unused_since or "")
    if revision.key in state.in_stream:
        return "the applied manifests contain the revision"
    if revision.keep_reason:
        return revision.keep_reason
    if state.unreadable:  # before the owners, because the owners of these kinds are unknown
        return unread_reason
    foreign = _foreign_owners(state, revision)
    if foreign:
        return f"postrender does not manage the owner {foreign[0]}"
    if revision.unused_since is not None and since is None:
        return (
            f"the mark {UNUSED_ANNOTATION} is {shown(revision.unused_since)}, which is not a time"
        )
    if since is not None and revision.is_applied:
        return f"somebody has applied the revision again since {revision.unused_since}"
    if since is not None and now - since < GRACE:
        minutes = GRACE // timedelta(minutes=1)
        since_text = f"since {revision.unused_since}"
        return f"the revision has been unused for less than {minutes} minutes ({since_text})"
    return ""


def consumers_by_revision(
    consumers: Mapping[str, Consumer],
) -> defaultdict[RevisionRef, list[Consumer]]:
    """The consumers of each revision; consumers: by uid."""
    found: defaultdict[RevisionRef, list[Consumer]] = defaultdict(list)
    for consumer in consumers.values():
        for ref in consumer.references:
            found[ref].append(consumer)
    return found


def _may_consumers_own(revision: Revision, release_owner: Owner | None) -> bool:
    if revision.is_sweepable:
        return True
    is_owned = any(_is_our_release_owner(revision, owner) for owner in revision.owners)
    return not revision.is_original and (is_owned or release_owner is not None)


def _required_owners(state: RunState, consumers: Iterable[Consumer]) -> list[Owner]:
    """The owners that the rule requires, except the release owner.

    They are each consumer, its controller, and so on, up to the workload. If the run cannot read
    the controller, the consumer is no owner: the garbage collector could delete the revision with
    the consumer, although the controller still uses the revision. A bare Pod or Job is no owner
    either, because another object may need the revision later.
    """
    owners: dict[str, Consumer] = {}
    for consumer in consumers:
        chain = controller_chain(state.consumers, consumer)
        if _is_controller_made(chain[-1]) or _is_bare(chain[-1]):
            continue
        if consumer.resource == PODS:
            chain = chain[1:]  # a Pod is never an owner, but its controllers are owners
        owners.update((member.uid, member) for member in chain)
    return [member.owner for member in owners.values() if not member.is_deleting]


def _workloads_by_base(
    state: RunState, users: Mapping[RevisionRef, Sequence[Owner]]
) -> defaultdict[tuple[str, ...], dict[Owner, None]]:
    """The workloads that use a revision of each attach group, and of each kind and base name."""
    found: defaultdict[tuple[str, ...], dict[Owner, None]] = defaultdict(dict)
    for revision in state.revisions:
        if revision.group_name and revision.base_name:
            for owner in users[revision.key]:
                if not _is_controller_made(state.consumers[owner.uid]):
                    found[_base_of(revision)][owner] = None
                    found[revision.group_name,][owner] = None
    return found


def _base_of(revision: Revision) -> tuple[str, ...]:
    return revision.group_name, revision.resource.kind, revision.base_name


def controller_chain(consumers: Mapping[str, Consumer], consumer: Consumer) -> list[Consumer]:
    """A consumer, its controller, and so on, as far as `consumers` (by uid) has them.

    A tenant can name any object as a controller, so a chain ends at a number of objects that no
    controller of Kubernetes or Argo needs.
    """
    chain = {consumer.uid: consumer}
    while (controller := consumers.get(consumer.controller)) and controller.uid not in chain:
        chain[controller.uid] = consumer = controller
        if len(chain) == _LONGEST_CHAIN:
            break
    return list(chain.values())


def _missing_owners(revision: Revision, owners: Iterable[Owner]) -> tuple[Owner, ...]:
    present = {owner.uid for owner in revision.owners}
    return tuple(owner for owner in owners if owner.uid not in present)


def _is_stale(state: RunState, revision: Revision, owner: Owner) -> bool:
    """Whether a run removes an owner that attach added and the rule does not require.

    The run removes
    - a release owner of an original, or a release owner that somebody re-created with another uid;
    - any other owner, if consumers may not own the revision, and nothing else owns it;
    - an owner that was deleted;
    - a bare Pod or Job;
    - an owner that a controller created, unless the owner is being deleted.

    A workload remains an owner, because its next ReplicaSet may reference the revision again. If a
    release owner was deleted and not re-created, the garbage collector removes the owner reference.
    """
    if owner.group_kind in _RELEASE_OWNERS:
        return revision.is_original or _is_replaced(owner, state.release_owner)
    if not _may_consumers_own(revision, state.release_owner):
        # Without an owner, a revision stays. With only an owner of somebody else, it would go.
        return all(item.uid in revision.our_owners for item in revision.owners)
    consumer = state.consumers.get(owner.uid)
    if consumer is None:
        return _is_readable(state, owner)
    return _is_bare(consumer) or (_is_controller_made(consumer) and not consumer.is_deleting)


def _is_replaced(owner: Owner, release_owner: Owner | None) -> bool:
    """Whether somebody re-created the owner, with another uid, as the release owner."""
    return release_owner is not None and owner._replace(uid=release_owner.uid) == release_owner


def _is_controller_made(consumer: Consumer) -> bool:
    return consumer.resource in CONTROLLER_MADE_KINDS and bool(consumer.controller)


def _is_bare(consumer: Consumer) -> bool:
    return consumer.resource in _SHORT_LIVED and not consumer.controller


def _is_readable(state: RunState, owner: Owner) -> bool:
    resource = BY_GROUP_KIND.get(owner.group_kind)
    return resource is not None and resource not in state.unreadable


def _foreign_owners(state: RunState, revision: Revision) -> list[Owner]:
    """The owners because of which a run must not delete a revision.

    These are the existing owners that attach did not add, and all owners of kinds that the run did
    not list. A release owner that attach added is not among them, even one of another release.
    """
    return [
        owner
        for owner in revision.owners
        if not _is_our_release_owner(revision, owner)
        and (
            not _is_readable(state, owner)
            or (owner.uid in state.consumers and owner.uid not in revision.our_owners)
        )
    ]


def _is_our_release_owner(revision: Revision, owner: Owner) -> bool:
    return owner.group_kind in _RELEASE_OWNERS and owner.uid in revision.our_owners


def _new_mark(
    state: RunState, revision: Revision, is_used: bool, now: datetime | None
) -> str | None:
    """The mark to write: the current time, "" to remove the mark, None for no change.

    A mark is replaced if it is not a time or is more than GRACE in the future, or if somebody has
    applied the revision since.

    now: None if the run must not mark the revision.
    """
    if is_used:
        return "" if revision.unused_since is not None else None
    if now is None or state.unreadable or not state.covers(revision):
        return None
    if revision.keep_reason or _foreign_owners(state, revision):
        return None
    marked = parse_time(revision.unused_since or "")
    is_valid = marked is not None and marked <= now + GRACE and not revision.is_applied
    return None if is_valid else now.strftime(TIME_FORMAT)


def parse_time(text: str) -> datetime | None:
    """The time of a mark or of a creationTimestamp, None for a text that is not a time."""
    try:
        return datetime.strptime(text, TIME_FORMAT).replace(tzinfo=timezone.utc)
    except ValueError:
        return None
