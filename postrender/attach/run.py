"""One run of attach: wait, reconcile, sweep, and then check the result.

If somebody interrupts a run at any point, the next run does the remaining work. A patch does not
remove an owner that a revision still needs.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime

from postrender.attach.client import CONFLICT, ApiError, Client
from postrender.attach.connect import Account
from postrender.attach.content import CheckedContent, ContentReader, check_content, find_stuck
from postrender.attach.live import Consumer, Owner, Revision
from postrender.attach.observe import (
    find_release_owner,
    read_consumers,
    read_revisions,
    with_consumers,
)
from postrender.attach.reconcile import PAST, Patch, RunState, pin, reconcile
from postrender.attach.report import (
    Failure,
    Uids,
    find_failures,
    forbidden_kinds,
    report_changes,
    report_deleted,
    report_marked,
    revision_failures,
    try_to_record,
    unknown_group,
)
from postrender.attach.request import AttachRequest, Resource, RevisionRef, WantedWorkload
from postrender.attach.sweep import delete_superseded, report_unused, sweep
from postrender.attach.wait import (
    Arrival,
    Watched,
    find_missing,
    is_paused,
    wait,
)
from postrender.errors import UserError

_log = logging.getLogger(__name__)


def attach(
    client: Client,
    request: AttachRequest,
    arguments: Sequence[str] = (),
    account: Account | None = None,
) -> list[Failure]:
    """Add owners to revisions, delete unused revisions, and return the failures.

    arguments: the command line of this run, by which the run finds its own Job.
    """
    deadline = time.monotonic() + request.timeout
    release_owner = find_release_owner(client, request.release_owner, account)
    content_of = ContentReader(client)
    changes: dict[RevisionRef, UserError] = {}

    def checked(arrival: Arrival, revisions: Iterable[Revision]) -> CheckedContent:
        found = check_content(content_of, request, revisions, arrival.consumers.values())
        changes.update(found.changes)
        return found

    def add_owners(arrival: Arrival) -> None:
        # The patches of `decide` contain a refused patch again, and the run reports the refusal.
        foreign = checked(arrival, arrival.revisions).foreign
        revisions = (item for item in arrival.revisions if item not in foreign)
        send(client, pin(revisions, arrival.consumers_of, release_owner))

    deleted_in_use: list[UserError] = []
    while True:
        arrival = wait(client, request, deadline, add_owners)
        read = read_revisions(client, request)
        content = checked(arrival, (*read.revisions, *read.others))
        read = read.without(content.foreign)
        state, patches = decide(
            request, arrival, read, release_owner, *read_consumers(client), client.now()
        )
        patched, problems = send(client, patches)
        deleted: list[Revision] = []
        if may_sweep(arrival, state):
            if request.prunes:
                deleted, refusals, now_in_use = sweep(client, request, state, arguments)
                problems += refusals
                deleted_in_use += now_in_use
            else:
                report_unused(client, state)
        uids = _current_uids(client, request)
        report_marked(client, [patch.revision for patch in patched if patch.mark], state, uids)
        report_deleted(client, deleted, state, uids)
        replaced = _replaced(arrival, uids)
        if not replaced or time.monotonic() > deadline:
            break
        names = ", ".join(map(str, replaced))
        _log.info(f"somebody re-created {names} during this run, so the run starts again")
    if request.deletes_finished_jobs and arrival.is_complete:
        problems += delete_superseded(client, state.group_name, arguments)
    _report_paused(client, arrival)
    report_changes(client, changes, uids)
    failures = [
        *_final_failures(client, request, arrival, state, uids),
        *revision_failures(content.problems.values(), uids, are_severe=bool(request.workloads)),
        *revision_failures([*deleted_in_use, *problems], uids),
    ]
    if request.group_name and not state.revisions and not failures:
        return [*revision_failures([unknown_group(state.group_name, client.namespace)], {})]
    return failures


def may_sweep(arrival: Arrival, state: RunState) -> bool:
    """Whether a run may delete unused revisions.

    A revision can be missing because the quota of ConfigMaps is full. The run sweeps even then,
    because the deletion of old revisions makes room.
    """
    return not arrival.pending and not state.unreadable


def decide(
    request: AttachRequest,
    arrival: Arrival,
    state: RunState,
    release_owner: Owner | None,
    consumers: Mapping[str, Consumer],
    unreadable: frozenset[Resource],
    now: datetime,
) -> tuple[RunState, list[Patch]]:
    """The patches of `reconcile`, and what they are based on.

    state: as read_revisions() returns it, without foreign objects (see the module `content`).
    """
    workloads = frozenset(consumer.uid for consumer in arrival.consumers.values())
    state = state._replace(workloads=workloads, release_owner=release_owner)
    state = with_consumers(state, consumers, unreadable)
    # Until the arrival is complete, the run does not mark revisions, because another apply may be
    # under way.
    patches = reconcile(state, now if request.prunes and arrival.is_complete else None)
    # A revision without an owner stays. With only the release owner, it can go before a run has
    # seen its user: while an apply is under way, also one that this run cannot know. Its revisions
    # are not in the applied stream of this run.
    patches = [
        patch._replace(added=())
        if patch.adds_only(release_owner)
        and (arrival.pending or patch.revision.key not in state.in_stream)
        else patch
        for patch in patches
    ]
    return state, patches


def send(client: Client, patches: Iterable[Patch]) -> tuple[list[Patch], list[UserError]]:
    """Send patches one by one, log the changes, and return what was patched, and the refusals."""
    patched: list[Patch] = []
    refusals: list[UserError] = []
    for patch in patches:
        try:
            exists = client.patch(patch.revision.resource, patch.revision.name, patch.body)
        except ApiError as error:
            if not error.is_answer:
                raise
            if error.status == CONFLICT:
                _log.info(f"attach did not change {patch.revision}, which changed during this run")
            else:
                refusals.append(error)
            continue
        if exists:
            patched.append(patch)
            for verb, text in patch.changes():
                later = f". If {patch.revision} stays unused, a later run deletes the revision."
                _log.info(f"attach {PAST[verb]} {text}{later if verb == 'mark' else ''}")
        else:
            _log.warning(
                f"somebody or Kubernetes deleted {patch.revision} during this run. If pods use "
                f"{patch.revision}, apply the manifests again."
            )
    return patched, refusals


def _current_uids(client: Client, request: AttachRequest) -> Uids:
    watched = Watched(client)
    uids = {}
    for workload in request.workloads:
        consumer = watched.find(workload.target)
        uids[workload] = consumer.uid if consumer and not consumer.is_deleting else ""
    return uids


def _replaced(arrival: Arrival, uids: Uids) -> list[WantedWorkload]:
    """The workloads that were re-created since the wait."""
    return [
        workload
        for workload, consumer in arrival.consumers.items()
        if uids[workload] not in ("", consumer.uid)
    ]


def _report_paused(client: Client, arrival: Arrival) -> None:
    for workload, consumer in arrival.consumers.items():
        if is_paused(consumer):
            text = (
                f"{workload} is paused, so Kubernetes does not create the new ReplicaSet. "
                f"To create the ReplicaSet, resume {workload}."
            )
            _log.warning(text)
            try_to_record(client, workload.target, consumer.uid, "AttachPaused", text)


def _final_failures(
    client: Client, request: AttachRequest, arrival: Arrival, state: RunState, uids: Uids
) -> list[Failure]:
    """Check again that the revisions exist, and return all failures but those of writes."""
    group = read_revisions(client, request)
    missing = find_missing(request, group.revisions)
    stuck = find_stuck(
        item for item in (*group.revisions, *group.others) if item.key in request.in_stream
    )
    if any(ref not in arrival.missing for ref in missing):
        # The garbage collector may have deleted the revisions together with their workload. After
        # the last check of the uids, somebody may have re-created the workload.
        uids = _current_uids(client, request)
    forbidden = list(forbidden_kinds(state))
    if not request.group_name:  # the command line of configmap-attacher, which has no groups
        for error in forbidden:
            _log.warning(str(error))
        forbidden = []
    failures = find_failures(arrival, missing, stuck, state, uids)
    return [*failures, *revision_failures(forbidden, uids)]
