"""Waiting until what was applied has arrived."""

from __future__ import annotations

import time
from collections.abc import Callable

from postrender.attach.arrival import Arrival, find_pending, look
from postrender.attach.client import Client
from postrender.attach.log import Log
from postrender.attach.observe import read_revisions
from postrender.attach.reconcile import pin
from postrender.attach.request import AttachRequest, WantedWorkload
from postrender.attach.resources import Resource
from postrender.attach.send import send
from postrender.attach.watched import Watched

# After so long everything is listed again: nothing hangs on one watch, and ConfigMaps, which are
# not watched, are looked for. Soon at first, then less and less often.
FIRST_SECONDS, LONGEST_SECONDS = 1.0, 10.0
# A watch that ends at once is broken, and must not be asked for again at once.
SHORTEST_SECONDS, PAUSE_SECONDS = 0.1, 1.0


def wait(client: Client, request: AttachRequest, deadline: float, log: Log) -> Arrival:
    """Wait until every workload and revision is there, or the deadline (monotonic) has passed.

    Until then what is there is pinned: its workload owns a revision before anything else is known.
    Raises ApiError.
    """
    seconds = FIRST_SECONDS
    while True:
        watched = Watched(client)
        arrival = look(request, watched, read_revisions(client, request).revisions)
        remaining = deadline - time.monotonic()
        if arrival.is_complete:
            return arrival
        # What is refused here is refused again, and told, at the end.
        send(client, pin(arrival.revisions, arrival.workloads_of), log)
        if remaining <= 0:
            return arrival
        if seconds == FIRST_SECONDS:
            for reason in arrival.reasons:
                log.info(f"waiting for at most {remaining:.0f} s: {reason}")
        _watch(watched, arrival, min(seconds, remaining))
        seconds = min(2 * seconds, LONGEST_SECONDS)


def _watch(watched: Watched, arrival: Arrival, seconds: float) -> None:
    """Watch one kind after another until all workloads have arrived, for some seconds at most.

    Where a revision is missing it takes the whole time.
    """
    started = time.monotonic()
    ends = started + seconds
    for wanted in arrival.pending:
        while (pending := find_pending(wanted, watched)) and time.monotonic() < ends:
            kind = pending.to_watch
            if not watched.follow(kind, ends - time.monotonic(), _has_come(wanted, kind, watched)):
                break  # it is over, or broken: all is listed again
    if arrival.missing:
        time.sleep(max(0.0, ends - time.monotonic()))
    elif time.monotonic() - started < SHORTEST_SECONDS:
        time.sleep(min(PAUSE_SECONDS, max(0.0, ends - time.monotonic())))


def _has_come(wanted: WantedWorkload, kind: Resource, watched: Watched) -> Callable[[], bool]:
    """Return what tells whether a workload no longer waits for an object of a kind."""

    def is_enough() -> bool:
        pending = find_pending(wanted, watched)
        return pending is None or pending.to_watch != kind

    return is_enough
