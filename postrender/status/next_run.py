"""What the next run of attach would do with the revisions of each attach group.

The decisions are those of the package `attach`, for the objects in a Snapshot. The request is that
of the inventory or of the attacher's newest Job, or else that of an apply of the live workloads.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from datetime import datetime
from functools import partial

from postrender.attach.collect import Group, decide_group, keep_reason, without_foreign
from postrender.attach.content import EDITED, EXPECTED, Content, check_content
from postrender.attach.live import Owner, Revision
from postrender.attach.observe import select_revisions
from postrender.attach.overview import Inventory
from postrender.attach.reconcile import GRACE, find_unused, parse_time, pin
from postrender.attach.request import (
    CONTROLLER_MADE_KINDS,
    JOBS,
    RELEASE_OWNER_KINDS,
    ROLES,
    SERVICE_ACCOUNTS,
    AttachRequest,
    RevisionRef,
    WantedWorkload,
    merge_workloads,
    request_of_job,
)
from postrender.attach.run import decide, may_sweep
from postrender.attach.sweep import AttacherJob, conflict_of
from postrender.attach.wait import Arrival, check_arrival
from postrender.errors import UserError
from postrender.kubernetes.attach_groups import group_of_inventory
from postrender.kubernetes.hashing import without_hash
from postrender.records import NamedTuple
from postrender.status.snapshot import Snapshot

_NO_PRUNE = "attacher.prune is false"
UNPROVEN = "the file lacks managedFields: add --show-managed-fields to kubectl get"


class Outcome(NamedTuple):
    """What the next run does with one revision.

    is_unused: whether the run counts the revision as unused.
    keep_reason: why the run does not delete an unused revision, "" if it does, or marks it.
    deletable_from: the time from which a run deletes it, None if only more than time is missing.
    unknown: why all this is unknown, except `added` and `is_unused`; "" if it is known.
    job: the name of the Job of this run if it runs now, "" otherwise.
    """

    added: tuple[Owner, ...] = ()
    removed: tuple[Owner, ...] = ()
    mark: str | None = None
    is_unused: bool = False
    is_deleted: bool = False
    keep_reason: str = ""
    deletable_from: datetime | None = None
    unknown: str = ""
    job: str = ""

    @property
    def stays(self) -> bool:
        """Whether more than time must pass before a run deletes the unused revision."""
        return bool(self.is_unused and self.keep_reason) and self.deletable_from is None


def merged(one: Outcome, other: Outcome) -> Outcome:
    """What two runs do with a revision. The run that deletes, marks or keeps it decides."""
    first, second = sorted(
        (one, other), key=lambda item: (item.is_deleted, item.mark is not None, item.is_unused)
    )
    return second._replace(
        added=tuple(dict.fromkeys((*one.added, *other.added))),
        removed=tuple(dict.fromkeys((*one.removed, *other.removed))),
        unknown=second.unknown or first.unknown,
    )


class NextRun(NamedTuple):
    """The next run for one attach group.

    source: the attacher's Job, or the inventory, with the same request, as `Kind/name`; "" for the
        request of the live workloads.
    reason: why the request is that of the live workloads.
    running_job: the attacher's Job that runs now, "" for none.
    waits: what the run would wait for first.
    problems: about objects that have the name of a revision and other content.
    outcomes: by uid of the revision. A run leaves all other revisions alone.
    is_expected: whether a run will take place. A release can be without an attacher, and a group
        can have no workload any more, such as after the group got another name.
    """

    group_name: str
    request: AttachRequest
    source: str
    running_job: str
    waits: tuple[str, ...]
    problems: Mapping[RevisionRef, UserError]
    outcomes: Mapping[str, Outcome]
    is_expected: bool = True
    reason: str = ""


def next_run(snapshot: Snapshot, group_name: str) -> NextRun:
    """The next run of attach or, with an inventory, of collect, for a group with revisions."""
    jobs = sorted(snapshot.jobs.get(group_name, ()), key=lambda job: job.created, reverse=True)
    request, source, reason = _request(snapshot, group_name, jobs)
    inventory = snapshot.inventories.get(group_name)
    wanted = inventory.request if inventory else None
    if source and not (wanted and wanted.workloads and _is_current(snapshot, wanted)):
        inventory = None  # of an earlier release, or by somebody else
    elif inventory and wanted:
        return _next_pass(snapshot, inventory, wanted)
    overview = snapshot.overview
    owner = _release_owner(snapshot, group_name, request)
    candidates, consumers = overview.part_for(request, owner)
    group = select_revisions(candidates, request)
    arrival = _without_unread(snapshot, check_arrival(request, overview, group.revisions))
    revisions = (*group.revisions, *group.others)
    content = check_content(
        partial(_content, snapshot), request, revisions, arrival.consumers.values()
    )
    group = group.without(content.foreign)
    state, patches = decide(
        request, arrival, group, owner, consumers, overview.unreadable, snapshot.now
    )
    if not arrival.is_complete:  # a run already adds owners while it waits
        patches = [*pin(group.revisions, arrival.consumers_of, owner), *patches]
    running = [job for job in jobs if not job.is_finished]
    conflict = ""
    if running:
        conflict = conflict_of(jobs, running[0].arguments, request.timeout, snapshot.now)
    stop = ""
    if inventory:  # of a later version of postrender
        patches, source = [], str(inventory.owner)
        stop = f"collect cannot read {source}"
    elif not request.prunes:
        stop = _NO_PRUNE
    elif not may_sweep(arrival, state):
        stop = "; ".join(pending.reason for pending in arrival.pending.values())
    decided = Group(group_name, (), patches, request, state, arrival)
    has_owners = any(
        revision.our_owners or revision.uid in snapshot.unproven
        for revision in overview.groups[group_name]
    )
    # A Job that ran when an old file was written does not run now.
    job = running[0].name if running and source == f"Job/{running[0].name}" else ""
    job = "" if snapshot.is_old else job
    has_attacher = bool(jobs or owner or has_owners)
    return NextRun(
        group_name=group_name,
        request=request,
        source=source,
        running_job=running[0].name if running else "",
        waits=tuple(arrival.reasons),
        problems=content.problems,
        outcomes=_outcomes(snapshot, decided, lambda _: stop, conflict, job),
        is_expected=bool(source or (has_attacher and request.workloads)),
        reason=reason,
    )


def _next_pass(snapshot: Snapshot, inventory: Inventory, request: AttachRequest) -> NextRun:
    """The next run of collect."""
    live = snapshot.live
    request = _readable(snapshot, request)
    inventory = inventory._replace(request=request)
    group = decide_group(live, inventory, request, snapshot.now)
    content, patches = without_foreign(group, partial(_content, snapshot))
    group = group._replace(patches=patches)
    if group.arrival:
        group = group._replace(arrival=_without_unread(snapshot, group.arrival))
    waits = tuple(group.arrival.reasons) if group.arrival else ()
    stop = "; ".join(("an apply may be under way", *waits)) if waits else ""
    stop = stop if request.prunes else _NO_PRUNE

    def block(revision: Revision) -> str:
        return stop or keep_reason(revision, live, request)

    return NextRun(
        group_name=inventory.group_name,
        request=request,
        source=f"ConfigMap/{inventory.owner.name}",
        running_job="",
        waits=waits,
        problems=content.problems,
        outcomes=_outcomes(snapshot, group, block),
    )


def _outcomes(
    snapshot: Snapshot,
    group: Group,
    block: Callable[[Revision], str],
    conflict: str = "",
    job: str = "",
) -> dict[str, Outcome]:
    """The outcomes by uid; block: why a run does not delete a revision, whatever its mark."""
    request, state = group.request, group.state
    outcomes = {item.uid: Outcome() for item in state.revisions}
    for patch in group.patches:
        earlier = outcomes[patch.revision.uid]
        added = dict.fromkeys((*earlier.added, *patch.added))
        outcomes[patch.revision.uid] = Outcome(tuple(added), patch.removed, patch.mark)
    waits = "; ".join(group.arrival.reasons if group.arrival else ())
    find = partial(
        find_unused,
        state,
        includes_unmarked=True,
        unread_reason=snapshot.unread_reason,
    )
    unused, later = (dict(find(time)) for time in (snapshot.now, snapshot.now + GRACE))
    for revision, reason in unused.items():
        stop = block(revision)
        other = stop or (EDITED if revision.uid in snapshot.edited else "") or conflict
        since = None if other or later[revision] else parse_time(revision.unused_since or "")
        reason = stop or reason or other
        outcome = outcomes[revision.uid]
        is_marked = revision.unused_since is not None
        outcomes[revision.uid] = outcome._replace(
            is_unused=True,
            is_deleted=not reason and is_marked,
            keep_reason=reason or ("" if is_marked or outcome.mark else waits),
            deletable_from=since + GRACE if since else None,
            job=job,
        )
    for revision in state.revisions:
        outcome = outcomes[revision.uid]
        stays = block(revision) or revision.key in request.in_stream or revision.keep_reason
        is_known = stays and outcome.is_unused and outcome.mark is None
        if revision.uid in snapshot.unproven and not is_known:
            content = snapshot.contents.get(revision.uid, EXPECTED)
            outcomes[revision.uid] = Outcome(
                added=() if content.difference else outcome.added,
                is_unused=outcome.is_unused,
                unknown=UNPROVEN,
            )
    return outcomes


def _content(snapshot: Snapshot, revision: Revision) -> Content:
    if revision.uid in snapshot.unproven:
        return EXPECTED  # it is unknown whether the content is foreign
    return snapshot.contents.get(revision.uid, EXPECTED)


def _request(
    snapshot: Snapshot, group_name: str, jobs: list[AttacherJob]
) -> tuple[AttachRequest, str, str]:
    """The request, the Job that has it, and why no Job has it.

    jobs: the newest first. With sync waves, each wave has its Job.
    """
    requests = [(f"Job/{job.name}", request_of_job(job.arguments)) for job in jobs]
    known = [(name, _readable(snapshot, request)) for name, request in requests if request]
    current = [(name, request) for name, request in known if _is_current(snapshot, request)]
    if current:
        names, merged = zip(*current, strict=True)
        request: AttachRequest = merged[0]._replace(
            group_name=group_name,
            workloads=merge_workloads(item for one in merged for item in one.workloads),
            emitted=frozenset[RevisionRef]().union(*(one.emitted for one in merged)),
        )
        return request, str(names[0]), ""
    newest = known[0][1] if known else AttachRequest(())
    workloads = tuple(_live_workloads(snapshot, group_name))
    reason = "no Job of the attacher exists any more"
    if JOBS in snapshot.overview.unreadable:
        reason = "Jobs could not be read"
    elif known:
        reason = f"{known[0][0]} belongs to another release"
    request = newest._replace(group_name=group_name, workloads=workloads, emitted=frozenset())
    return _readable(snapshot, request), "", reason


def _readable(snapshot: Snapshot, request: AttachRequest) -> AttachRequest:
    """A request without Secrets if they could not be listed, so that none counts as missing."""
    if snapshot.has_secrets:
        return request
    workloads = tuple(
        item._replace(references=tuple(ref for ref in item.references if ref[0] != "secret"))
        for item in request.workloads
    )
    return request._replace(workloads=workloads)


def _without_unread(snapshot: Snapshot, arrival: Arrival) -> Arrival:
    """What a run waits for, without objects of the kinds that could not be listed."""
    pending = {
        workload: item
        for workload, item in arrival.pending.items()
        if item.awaited not in snapshot.overview.unreadable
    }
    return arrival._replace(pending=pending)


def _is_current(snapshot: Snapshot, request: AttachRequest) -> bool:
    """Whether the live workloads are those of a request."""
    overview = snapshot.overview
    for workload in request.workloads:
        if workload.target.resource in overview.unreadable:
            continue
        live = overview.find(workload.target)
        source = overview.source_of(live) if live else None
        if source is None or source.render_id != workload.render_id:
            return False
    return True


def _live_workloads(snapshot: Snapshot, group_name: str) -> Iterator[WantedWorkload]:
    overview = snapshot.overview
    bases = {revision.base for revision in overview.groups[group_name]}
    refs = [revision.key for revision in overview.groups[group_name]]
    users = {user.uid: user for ref in refs for user in overview.users.get(ref, ())}
    loose = [ref for base in bases for ref in overview.loose.get(base, ())]
    for user in (user for ref in loose for user in overview.users.get(ref, ())):
        # Two releases can have the same base name.
        if overview.group_of(overview.top_of(user)) in ("", group_name):
            users[user.uid] = user
    found = dict(users)
    for user in users.values():
        for rollout in overview.with_template_of(user):
            found[rollout.uid] = rollout
    for item in found.values():
        source = overview.source_of(item)
        if source is None or item.is_deleting or item.controller:
            continue
        if not source.render_id and item.resource in CONTROLLER_MADE_KINDS:
            continue
        yield WantedWorkload(
            target=item.named,
            render_id=source.render_id,
            references=tuple(
                ref
                for ref in sorted(source.references)
                if _is_of_group(snapshot, ref, group_name, bases, has_id=bool(source.render_id))
            ),
        )


def _is_of_group(
    snapshot: Snapshot,
    ref: RevisionRef,
    group_name: str,
    bases: set[RevisionRef],
    *,
    has_id: bool,
) -> bool:
    revision = snapshot.overview.revisions.get(ref)
    if revision and revision.group_name:
        return revision.group_name == group_name
    base_name = without_hash(ref[1])
    return bool(base_name) and ((ref[0], base_name) in bases or (has_id and not revision))


def _release_owner(snapshot: Snapshot, group_name: str, request: AttachRequest) -> Owner | None:
    """The release owner, which exists as far as status knows."""
    kinds = {resource.kind for resource in RELEASE_OWNER_KINDS}
    unknown = {resource.kind for resource in snapshot.unknown_owners}
    groups = (snapshot.overview.groups, snapshot.inventories, snapshot.jobs)

    def is_of_other_group(owner: Owner) -> bool:
        """Two releases can share a revision, which then has the release owners of both."""
        names = {owner.name, group_of_inventory(owner.name)} - {group_name}
        return any(name in known for name in names for known in groups)

    own = {
        (owner.kind, owner.name): owner
        for revision in snapshot.overview.groups[group_name]
        for owner in revision.owners
        if owner.uid in revision.our_owners and owner.kind in kinds
        if not is_of_other_group(owner)
    }
    wanted = request.release_owner
    titles = [(wanted.resource.kind, wanted.name)] if wanted else []
    if not wanted:
        default = [(resource.kind, group_name) for resource in (SERVICE_ACCOUNTS, ROLES)]
        titles = [*filter(own.get, default), *default, *sorted(own, reverse=True)]
    known = (
        own.get(title) if title[0] in unknown else snapshot.release_owners.get(title)
        for title in titles
    )
    return next(filter(None, known), None)
