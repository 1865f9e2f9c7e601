"""The wait until the workloads are ready and the revisions exist (see the module `arrival`)."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterable
from functools import partial

from postrender.attach.arrival import Arrival, check_arrival, find_pending
from postrender.attach.client import Client
from postrender.attach.observe import read_revisions
from postrender.attach.reconcile import Patch
from postrender.attach.request import AttachRequest, WantedWorkload
from postrender.attach.resources import Resource
from postrender.attach.watched import Watched
from postrender.attach.writes import send

# The first and the longest interval between two lists of all objects. The interval doubles each
# time. attach finds new ConfigMaps and Secrets only in the lists, because attach does not watch
# these kinds. The lists also contain changes that a broken watch did not report.
FIRST_SECONDS, LONGEST_SECONDS = 1.0, 10.0
# If all watches end within SHORTEST_SECONDS, attach treats the watches as broken, and waits for
# PAUSE_SECONDS before the next lists.
SHORTEST_SECONDS, PAUSE_SECONDS = 0.1, 1.0

_log = logging.getLogger(__name__)


def wait(
    client: Client,
    request: AttachRequest,
    deadline: float,
    pins: Callable[[Arrival], Iterable[Patch]],
) -> Arrival:
    """Wait until every workload is ready and every revision exists, or until the deadline.

    Until then, attach adds owners to the existing revisions (see reconcile.pin).
    deadline: the end of the wait on the clock of time.monotonic.
    pins: the function that returns the patches to add these owners.
    Raises ApiError.
    """
    seconds = FIRST_SECONDS
    while True:
        watched = Watched(client)
        arrival = check_arrival(request, watched, read_revisions(client, request).revisions)
        remaining = deadline - time.monotonic()
        if arrival.is_complete:
            return arrival
        # A later step of the run sends a refused patch again, and reports the refusal.
        send(client, pins(arrival))
        if remaining <= 0:
            return arrival
        if seconds == FIRST_SECONDS:
            for reason in arrival.reasons:
                _log.info(f"waiting for at most {remaining:.0f} s: {reason}")
        _watch(watched, arrival, min(seconds, remaining))
        seconds = min(2 * seconds, LONGEST_SECONDS)


def _watch(watched: Watched, arrival: Arrival, seconds: float) -> None:
    """Watch each workload in turn, until the workload is ready or the watch ends.

    seconds: the maximum duration. If a revision is missing, the function always takes this time.
    """
    started = time.monotonic()
    ends = started + seconds
    for workload in arrival.pending:
        while (pending := find_pending(workload, watched)) and time.monotonic() < ends:
            is_enough = partial(_is_enough, workload, pending.awaited, watched)
            if not watched.follow(pending.awaited, ends - time.monotonic(), is_enough):
                break  # the watch has ended or is broken, so the caller lists all objects again
    if arrival.missing:
        time.sleep(max(0.0, ends - time.monotonic()))
    elif time.monotonic() - started < SHORTEST_SECONDS:
        time.sleep(min(PAUSE_SECONDS, max(0.0, ends - time.monotonic())))


def _is_enough(workload: WantedWorkload, awaited: Resource, watched: Watched) -> bool:
    """Return whether a workload does not wait for an object of the kind `awaited` any more."""
    pending = find_pending(workload, watched)
    return pending is None or pending.awaited != awaited
