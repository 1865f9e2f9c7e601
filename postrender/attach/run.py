"""One run of attach: pin, wait, reconcile, sweep, verify.

Nothing is lost when a run ends half-way: every patch leaves a revision with at least the owners
that keep it alive, workloads among them, and the next run does what is left.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from datetime import datetime, timezone

from postrender.attach.arrival import Arrival, find_missing
from postrender.attach.client import Client
from postrender.attach.events import record
from postrender.attach.failures import (
    Failure,
    Uids,
    gone,
    gone_wrong,
    made_anew,
    not_arrived,
    unreadable,
)
from postrender.attach.jobs import delete_superseded
from postrender.attach.log import Log
from postrender.attach.observe import read_live, read_revisions
from postrender.attach.reconcile import ClusterState, Scope, reconcile
from postrender.attach.request import AttachRequest
from postrender.attach.send import send
from postrender.attach.sweep import report_unused, sweep
from postrender.attach.wait import wait
from postrender.attach.watched import Watched
from postrender.errors import UserError


def attach(
    client: Client, request: AttachRequest, log: Log, arguments: Sequence[str] = ()
) -> list[Failure]:
    """Own, mark and sweep the revisions of a set; return what failed.

    arguments: the command line of this run, by which it knows its own Job. Raises ApiError.
    """
    deadline = time.monotonic() + request.timeout
    while True:
        arrival = wait(client, request, deadline, log)
        scope, live, problems = _reconcile(client, request, arrival, log)
        if arrival.is_complete and not live.unreadable:
            if request.prunes:
                problems += sweep(client, request, live, scope, log)
            else:
                report_unused(live, request, scope, log)
        uids = _look_again(client, request)
        if not _was_replaced(arrival, uids) or time.monotonic() > deadline:
            break
        log.info("a workload was made anew meanwhile: once more")
    if request.deletes_finished_jobs and arrival.is_complete:
        delete_superseded(client, scope.group_name, arguments, log)
    _tell_paused(client, arrival, log)
    return [*_failures(client, request, arrival, live, uids, log), *gone_wrong(problems, uids)]


def _reconcile(
    client: Client, request: AttachRequest, arrival: Arrival, log: Log
) -> tuple[Scope, ClusterState, list[UserError]]:
    """Send what the rule asks for; return what is looked after, what was seen, what went wrong."""
    uids = frozenset(consumer.uid for consumer in arrival.workloads.values())
    seen = read_revisions(client, request, uids)
    live = read_live(client, seen.revisions)
    scope = Scope(seen.group_name, uids)
    # Where something is still to come, another apply may be under way: nothing is marked.
    marked = scope if request.prunes and arrival.is_complete else Scope("")
    now = datetime.now(timezone.utc)
    return scope, live, send(client, reconcile(live, marked, request.in_stream, now), log)


def _look_again(client: Client, request: AttachRequest) -> Uids:
    """Return the uid that each workload bears now, "" where it is gone."""
    watched = Watched(client)
    found = {wanted: watched.find(wanted.resource, wanted.name) for wanted in request.workloads}
    return {
        wanted: consumer.uid if consumer and not consumer.is_deleting else ""
        for wanted, consumer in found.items()
    }


def _was_replaced(arrival: Arrival, uids: Uids) -> bool:
    return any(
        uids[wanted] not in ("", consumer.uid) for wanted, consumer in arrival.workloads.items()
    )


def _tell_paused(client: Client, arrival: Arrival, log: Log) -> None:
    for wanted in arrival.paused:
        text = f"{wanted} is paused: it makes no ReplicaSet until it is resumed"
        log.warning(text)
        record(client, wanted, arrival.workloads[wanted].uid, "Normal", "AttachPaused", text)


def _failures(
    client: Client,
    request: AttachRequest,
    arrival: Arrival,
    live: ClusterState,
    uids: Uids,
    log: Log,
) -> list[Failure]:
    """Return what is not as it should be, after a last look at the revisions."""
    missing = find_missing(request, read_revisions(client, request).revisions)
    if any(name not in arrival.missing for name in missing):
        uids = _look_again(client, request)  # the workload that took them along is another by now
    forbidden = list(unreadable(live, uids))
    if request.is_tolerant:
        for failure in forbidden:
            log.warning(failure.reason)
        forbidden = []
    return [
        *not_arrived(arrival, uids),
        *made_anew(arrival, uids),
        *gone(missing, arrival, uids),
        *forbidden,
    ]
