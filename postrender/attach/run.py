"""One run of attach: pin, wait, reconcile, sweep, verify.

Nothing is lost when a run ends half-way: every patch leaves a revision with at least the owners
that keep it alive, workloads among them, and the next run does what is left.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime, timezone
from typing import NamedTuple

from postrender.attach.client import ApiError, Client
from postrender.attach.events import record
from postrender.attach.jobs import read_job, superseded
from postrender.attach.kinds import JOBS
from postrender.attach.log import Log
from postrender.attach.observe import read_live, read_revisions
from postrender.attach.reconcile import Live, reconcile
from postrender.attach.request import AttachRequest, Name, WantedWorkload
from postrender.attach.send import send
from postrender.attach.sweep import report_unused, sweep
from postrender.attach.wait import Arrival, Kinds, find_missing, wait
from postrender.items import MANAGED_LABEL


class Failure(NamedTuple):
    """Something that is not as it should be at the end.

    workloads: those it is about, each with its uid, "" where it does not exist;
    is_forbidden: whether a permission is missing.
    """

    reason: str
    workloads: tuple[tuple[WantedWorkload, str], ...] = ()
    is_forbidden: bool = False


def attach(
    client: Client, request: AttachRequest, log: Log, arguments: Sequence[str] = ()
) -> list[Failure]:
    """Own, mark and sweep the revisions of a set; return what failed.

    arguments: the command line of this run, by which it knows its own Job. Raises ApiError.
    """
    deadline = time.monotonic() + request.timeout
    while True:
        arrival = wait(client, request, deadline, log)
        set_name, live = _reconcile(client, request, arrival, log)
        if arrival.is_complete and not live.unreadable:
            if request.prunes:
                sweep(client, request, live, set_name, log)
            else:
                report_unused(live, request, set_name, log)
        now = _look_again(client, arrival)
        if not _was_replaced(arrival, now) or time.monotonic() > deadline:
            break
        log.info("a workload was made anew meanwhile: once more")
    if request.deletes_finished_jobs and arrival.is_complete:
        _delete_finished_jobs(client, set_name, arguments, log)
    _tell_paused(client, arrival, log)
    return [
        *_not_arrived(arrival),
        *_gone(client, request, arrival, now),
        *_unreadable(live, request, log),
    ]


def settle(client: Client, failures: Sequence[Failure], log: Log, *, fails: bool) -> int:
    """Tell of failures, in the log and as Events; return the exit code.

    fails: whether a failure that could be recorded is one of the process, too.
    """
    are_recorded = [_tell(client, failure, log) for failure in failures]
    is_forbidden = any(failure.is_forbidden for failure in failures)
    return int(bool(failures) and (fails or is_forbidden or not all(are_recorded)))


def _tell(client: Client, failure: Failure, log: Log) -> bool:
    """Tell of a failure, and return whether it could be recorded as an Event."""
    log.error(failure.reason)
    try:
        for wanted, uid in failure.workloads:
            record(client, wanted, uid, "Warning", "AttachFailed", failure.reason)
    except ApiError as error:
        log.error(str(error))
        return False
    return True


def _reconcile(
    client: Client, request: AttachRequest, arrival: Arrival, log: Log
) -> tuple[str, Live]:
    seen = read_revisions(client, request)
    live = read_live(client, seen)
    # Where something is still to come, another apply may be under way: nothing is marked.
    marked_set = seen.set_name if request.prunes and arrival.is_complete else ""
    now = datetime.now(timezone.utc)
    send(client, reconcile(live, marked_set, request.in_stream, now), log)
    return seen.set_name, live


def _tell_paused(client: Client, arrival: Arrival, log: Log) -> None:
    for wanted in arrival.paused:
        text = f"{wanted} is paused: it makes no ReplicaSet until it is resumed"
        log.warning(text)
        record(client, *_with_uid(wanted, arrival), "Normal", "AttachPaused", text)


Look = Mapping[WantedWorkload, str]


def _look_again(client: Client, arrival: Arrival) -> Look:
    """Return the uid that each workload which was there bears now, "" where it is gone."""
    kinds = Kinds(client)
    found = {wanted: kinds.find(wanted.resource, wanted.name) for wanted in arrival.workloads}
    return {
        wanted: holder.uid if holder and not holder.is_deleting else ""
        for wanted, holder in found.items()
    }


def _was_replaced(arrival: Arrival, now: Look) -> bool:
    return any(now[wanted] not in ("", holder.uid) for wanted, holder in arrival.workloads.items())


def _not_arrived(arrival: Arrival) -> Iterator[Failure]:
    for wanted, pending in arrival.pending.items():
        yield Failure(f"{pending.reason}", (_with_uid(wanted, arrival),))
    yield from _missing(arrival.missing, arrival, "does not exist: apply again")


def _gone(client: Client, request: AttachRequest, arrival: Arrival, now: Look) -> Iterator[Failure]:
    """Yield what was there and has gone: a workload, or a revision with one made anew."""
    for wanted, uid in now.items():
        if uid != arrival.workloads[wanted].uid:
            state = "was made anew" if uid else "is gone"
            yield Failure(f"{wanted} {state} meanwhile: apply again", ((wanted, uid),))
    there = read_revisions(client, request).revisions
    gone = [name for name in find_missing(request, there) if name not in arrival.missing]
    yield from _missing(gone, arrival, "is gone: apply again")


def _missing(names: Sequence[Name], arrival: Arrival, what: str) -> Iterator[Failure]:
    if names:
        listed = ", ".join(f"{kind}/{name}" for kind, name in names)
        about = [wanted for wanted in arrival.wanted if set(names) & set(wanted.names)]
        yield Failure(f"{listed} {what}", tuple(_with_uid(item, arrival) for item in about))


def _with_uid(wanted: WantedWorkload, arrival: Arrival) -> tuple[WantedWorkload, str]:
    holder = arrival.workloads.get(wanted)
    return wanted, holder.uid if holder else ""


def _unreadable(live: Live, request: AttachRequest, log: Log) -> Iterator[Failure]:
    if live.unreadable:
        kinds = ", ".join(sorted(resource.plural for resource in live.unreadable))
        reason = f"{kinds} may not be listed: nothing is marked or deleted; check the Role"
        if request.is_tolerant:
            log.warning(reason)
        else:
            yield Failure(reason, is_forbidden=True)


def _delete_finished_jobs(
    client: Client, set_name: str, arguments: Sequence[str], log: Log
) -> None:
    found, _ = client.list_all(JOBS, read_job, f"{MANAGED_LABEL}={set_name}")
    for job in superseded(found, arguments):
        if client.delete(JOBS, job.name, {"uid": job.uid}):
            log.info(f"Job/{job.name} is deleted: it has ended and a newer one ran")
