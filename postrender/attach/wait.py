"""Waiting until the applied objects are in the cluster."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable

from postrender.attach.arrival import Arrival, check_arrival, find_pending
from postrender.attach.client import Client
from postrender.attach.observe import read_revisions
from postrender.attach.reconcile import pin
from postrender.attach.request import AttachRequest, WantedWorkload
from postrender.attach.resources import Resource
from postrender.attach.send import send
from postrender.attach.watched import Watched

# The interval after which everything is listed again, doubled each time. So no result depends on a
# single watch, and missing ConfigMaps, which are not watched, are found.
FIRST_SECONDS, LONGEST_SECONDS = 1.0, 10.0
# A watch that ends at once is broken, and must not be repeated at once.
SHORTEST_SECONDS, PAUSE_SECONDS = 0.1, 1.0

_log = logging.getLogger(__name__)


def wait(client: Client, request: AttachRequest, deadline: float) -> Arrival:
    """Wait until every workload and revision is there, or until the deadline. Raises ApiError.

    While waiting, each present workload becomes an owner of its present revisions.
    deadline: on the clock of time.monotonic.
    """
    seconds = FIRST_SECONDS
    while True:
        watched = Watched(client)
        arrival = check_arrival(request, watched, read_revisions(client, request).revisions)
        remaining = deadline - time.monotonic()
        if arrival.is_complete:
            return arrival
        # The last step of the run sends a refused patch again, and reports the refusal.
        send(client, pin(arrival.revisions, arrival.consumers_of))
        if remaining <= 0:
            return arrival
        if seconds == FIRST_SECONDS:
            for reason in arrival.reasons:
                _log.info(f"waiting for at most {remaining:.0f} s: {reason}")
        _watch(watched, arrival, min(seconds, remaining))
        seconds = min(2 * seconds, LONGEST_SECONDS)


def _watch(watched: Watched, arrival: Arrival, seconds: float) -> None:
    """Watch one kind after another until all workloads are ready.

    seconds: the maximum duration; if a revision is missing, the exact duration.
    """
    started = time.monotonic()
    ends = started + seconds
    for workload in arrival.pending:
        while (pending := find_pending(workload, watched)) and time.monotonic() < ends:
            is_over = _arrival_test(workload, pending.awaited, watched)
            if not watched.follow(pending.awaited, ends - time.monotonic(), is_over):
                break  # the watch has ended or is broken, so the caller lists everything again
    if arrival.missing:
        time.sleep(max(0.0, ends - time.monotonic()))
    elif time.monotonic() - started < SHORTEST_SECONDS:
        time.sleep(min(PAUSE_SECONDS, max(0.0, ends - time.monotonic())))


def _arrival_test(
    workload: WantedWorkload, resource: Resource, watched: Watched
) -> Callable[[], bool]:
    """Return a function that checks whether a workload no longer waits for a kind of object."""

    def is_enough() -> bool:
        pending = find_pending(workload, watched)
        return pending is None or pending.awaited != resource

    return is_enough
