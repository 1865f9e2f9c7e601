"""What is not as it should be at the end of a run, told in the log and as an Event."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping, Sequence

from postrender.attach.arrival import Arrival
from postrender.attach.client import ApiError, Client
from postrender.attach.events import record
from postrender.attach.log import Log
from postrender.attach.reconcile import ClusterState
from postrender.attach.request import AttachRequest, RevisionRef, WantedWorkload, title
from postrender.errors import UserError
from postrender.startup.records import NamedTuple

# The uid that each workload bears now, "" where it does not exist.
Uids = Mapping[WantedWorkload, str]


class Failure(NamedTuple):
    """Something that is not as it should be at the end.

    workloads: those it is about, each with its uid, "" where it does not exist;
    is_forbidden: whether a permission is missing.
    """

    reason: str
    workloads: tuple[tuple[WantedWorkload, str], ...] = ()
    is_forbidden: bool = False


def not_arrived(arrival: Arrival, uids: Uids) -> Iterator[Failure]:
    """Yield what had not come by the deadline."""
    for wanted, pending in arrival.pending.items():
        yield Failure(pending.reason, ((wanted, uids[wanted]),))
    yield from _missing(arrival.missing, arrival, uids, "does not exist: apply again")


def made_anew(arrival: Arrival, uids: Uids) -> Iterator[Failure]:
    """Yield the workloads that went while the run looked after them."""
    for wanted, consumer in arrival.workloads.items():
        if uids[wanted] != consumer.uid:
            state = "was made anew" if uids[wanted] else "is gone"
            reason = f"{wanted} {state} meanwhile: apply again"
            yield Failure(reason, ((wanted, uids[wanted]),))


def gone(missing: Sequence[RevisionRef], arrival: Arrival, uids: Uids) -> Iterator[Failure]:
    """Yield the revisions that went with a workload which was deleted and made anew."""
    names = [name for name in missing if name not in arrival.missing]
    yield from _missing(names, arrival, uids, "is gone: apply again")


def unreadable(live: ClusterState, uids: Uids) -> Iterator[Failure]:
    """Yield the kinds that may not be read."""
    if live.unreadable:
        kinds = ", ".join(sorted(resource.plural for resource in live.unreadable))
        reason = f"{kinds} may not be listed: nothing is marked or deleted; check the Role"
        yield Failure(reason, tuple(uids.items()), is_forbidden=True)


def gone_wrong(problems: Sequence[UserError], uids: Uids) -> Iterator[Failure]:
    """Yield what went wrong with single revisions: most often a write that was refused."""
    for problem in problems:
        is_forbidden = isinstance(problem, ApiError) and problem.is_missing_permission
        yield Failure(str(problem), tuple(uids.items()), is_forbidden=is_forbidden)


def _missing(
    names: Sequence[RevisionRef], arrival: Arrival, uids: Uids, what: str
) -> Iterator[Failure]:
    if names:
        listed = ", ".join(map(title, names))
        about = [wanted for wanted in arrival.wanted if set(names) & set(wanted.names)]
        yield Failure(f"{listed} {what}", tuple((wanted, uids[wanted]) for wanted in about))


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
        _record(client, failure)
    except ApiError as error:
        log.error(str(error))
        return False
    return True


def _record(client: Client, failure: Failure) -> None:
    for wanted, uid in failure.workloads:
        record(client, wanted, uid, "Warning", "AttachFailed", failure.reason)


def tell_abort(client: Client, request: AttachRequest, error: ApiError, log: Log) -> None:
    """Tell of an error that ended a run, as Events too where the API server still answers."""
    log.error(str(error))
    if error.is_answer:
        failure = Failure(str(error), tuple((wanted, "") for wanted in request.workloads))
        with contextlib.suppress(ApiError):
            _record(client, failure)
