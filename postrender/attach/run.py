"""One run of attach: wait, reconcile, sweep, verify.

A run can be interrupted at any point. After every patch, a revision still has the owners that
protect it, among them its workload. The next run does the remaining work.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Sequence
from datetime import datetime, timezone

from postrender.attach.arrival import Arrival, find_missing
from postrender.attach.client import Client
from postrender.attach.events import record_event
from postrender.attach.failures import (
    Failure,
    Uids,
    arrival_failures,
    lost_revisions,
    replaced_workloads,
    revision_failures,
    unreadable_kinds,
)
from postrender.attach.jobs import delete_superseded
from postrender.attach.observe import read_revisions, read_state
from postrender.attach.reconcile import ClusterState, Scope, reconcile
from postrender.attach.request import AttachRequest
from postrender.attach.send import send
from postrender.attach.sweep import report_unused, sweep
from postrender.attach.wait import wait
from postrender.attach.watched import Watched
from postrender.errors import UserError

_log = logging.getLogger(__name__)


def attach(client: Client, request: AttachRequest, arguments: Sequence[str] = ()) -> list[Failure]:
    """Own, mark and sweep the revisions of an attach group; return the failures.

    arguments: the command line of this run, which identifies its own Job. Raises ApiError.
    """
    deadline = time.monotonic() + request.timeout
    while True:
        arrival = wait(client, request, deadline)
        scope, state, problems = _reconcile(client, request, arrival)
        if arrival.is_complete and not state.unreadable:
            if request.prunes:
                problems += sweep(client, request, state, scope)
            else:
                report_unused(state, request, scope)
        uids = _current_uids(client, request)
        if not _is_any_replaced(arrival, uids) or time.monotonic() > deadline:
            break
        _log.info("a workload was re-created during this run, so the run starts again")
    if request.deletes_finished_jobs and arrival.is_complete:
        delete_superseded(client, scope.group_name, arguments)
    _report_paused(client, arrival)
    return [
        *_find_failures(client, request, arrival, state, uids),
        *revision_failures(problems, uids),
    ]


def _reconcile(
    client: Client, request: AttachRequest, arrival: Arrival
) -> tuple[Scope, ClusterState, list[UserError]]:
    """Send the patches of the rule; return the scope of the run, the state and the refusals."""
    uids = frozenset(consumer.uid for consumer in arrival.consumers.values())
    group = read_revisions(client, request, uids)
    state = read_state(client, group.revisions)
    scope = Scope(group.group_name, uids)
    # While the arrival is not complete, another apply may be running. So nothing is marked.
    marked = scope if request.prunes and arrival.is_complete else Scope("")
    now = datetime.now(timezone.utc)
    return scope, state, send(client, reconcile(state, marked, request.in_stream, now))


def _current_uids(client: Client, request: AttachRequest) -> Uids:
    """Return the current uid of each workload, "" if the workload is deleted."""
    watched = Watched(client)
    consumers = {
        workload: watched.find(workload.resource, workload.name) for workload in request.workloads
    }
    return {
        workload: consumer.uid if consumer and not consumer.is_deleting else ""
        for workload, consumer in consumers.items()
    }


def _is_any_replaced(arrival: Arrival, uids: Uids) -> bool:
    return any(
        uids[workload] not in ("", consumer.uid) for workload, consumer in arrival.consumers.items()
    )


def _report_paused(client: Client, arrival: Arrival) -> None:
    for workload in arrival.paused:
        text = f"{workload} is paused. No ReplicaSet is created until the Deployment is resumed."
        _log.warning(text)
        uid = arrival.consumers[workload].uid
        record_event(client, workload, uid, "Normal", "AttachPaused", text)


def _find_failures(
    client: Client, request: AttachRequest, arrival: Arrival, state: ClusterState, uids: Uids
) -> list[Failure]:
    """Return the failures, after a last check that the revisions exist."""
    missing = find_missing(request, read_revisions(client, request).revisions)
    if any(ref not in arrival.missing for ref in missing):
        # The garbage collector deleted them with their workload, which may be re-created by now.
        uids = _current_uids(client, request)
    forbidden = list(unreadable_kinds(state, uids))
    if request.is_tolerant:
        for failure in forbidden:
            _log.warning(str(failure))
        forbidden = []
    return [
        *arrival_failures(arrival, uids),
        *replaced_workloads(arrival, uids),
        *lost_revisions(missing, arrival, uids),
        *forbidden,
    ]
