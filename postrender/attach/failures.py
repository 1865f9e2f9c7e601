"""The failures of a run, reported in the log and as Events."""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Iterator, Mapping, Sequence

from postrender.attach.arrival import Arrival
from postrender.attach.client import ApiError, Client
from postrender.attach.events import record_event
from postrender.attach.reconcile import ClusterState
from postrender.attach.request import AttachRequest, RevisionRef, WantedWorkload, title
from postrender.errors import UserError, sentences
from postrender.startup.records import NamedTuple

# The current uid of each workload, "" if the workload does not exist.
Uids = Mapping[WantedWorkload, str]

_APPLY_AGAIN = "Apply the manifests again"
_log = logging.getLogger(__name__)


class Failure(NamedTuple):
    """A failure of the run, which is reported at its end.

    workloads: the affected workloads, with their uids ("" if a workload does not exist);
    is_forbidden: whether a permission is missing.
    """

    problem: str
    fix: str
    workloads: tuple[tuple[WantedWorkload, str], ...]
    is_forbidden: bool = False

    def __str__(self) -> str:
        return sentences(self.problem, self.fix)


def arrival_failures(arrival: Arrival, uids: Uids) -> Iterator[Failure]:
    """Yield the workloads that were not ready, and the missing revisions."""
    for workload, pending in arrival.pending.items():
        yield Failure(problem=pending.reason, fix="", workloads=((workload, uids[workload]),))
    state = "does not exist" if len(arrival.missing) == 1 else "do not exist"
    yield from _missing_revisions(arrival.missing, arrival, uids, state)


def replaced_workloads(arrival: Arrival, uids: Uids) -> Iterator[Failure]:
    """Yield the workloads that were deleted during the run, whether re-created or not."""
    for workload, consumer in arrival.consumers.items():
        if uids[workload] != consumer.uid:
            state = "re-created" if uids[workload] else "deleted"
            yield Failure(
                problem=f"{workload} was {state} during this run",
                fix=_APPLY_AGAIN,
                workloads=((workload, uids[workload]),),
            )


def lost_revisions(
    missing: Sequence[RevisionRef], arrival: Arrival, uids: Uids
) -> Iterator[Failure]:
    """Yield the revisions that were deleted together with a re-created workload."""
    lost = [ref for ref in missing if ref not in arrival.missing]
    state = "was deleted during this run" if len(lost) == 1 else "were deleted during this run"
    yield from _missing_revisions(lost, arrival, uids, state)


def unreadable_kinds(state: ClusterState, uids: Uids) -> Iterator[Failure]:
    """Yield the kinds that the run has no permission to list."""
    if state.unreadable:
        kinds = ", ".join(sorted(resource.plural for resource in state.unreadable))
        yield Failure(
            problem=f"cannot list {kinds}: 403 Forbidden, so nothing is marked or deleted",
            fix="Check the Role",
            workloads=tuple(uids.items()),
            is_forbidden=True,
        )


def revision_failures(problems: Sequence[UserError], uids: Uids) -> Iterator[Failure]:
    """Yield the failures of single revisions, most often a refused write."""
    for error in problems:
        yield Failure(
            problem=error.problem,
            fix=error.fix,
            workloads=tuple(uids.items()),
            is_forbidden=isinstance(error, ApiError) and error.is_missing_permission,
        )


def _missing_revisions(
    refs: Sequence[RevisionRef], arrival: Arrival, uids: Uids, state: str
) -> Iterator[Failure]:
    if refs:
        affected = [work for work in arrival.requested if set(refs) & set(work.references)]
        yield Failure(
            problem=f"{', '.join(map(title, refs))} {state}",
            fix=_APPLY_AGAIN,
            workloads=tuple((workload, uids[workload]) for workload in affected),
        )


def report_failures(client: Client, failures: Sequence[Failure], *, fails: bool) -> int:
    """Report failures in the log and as Events; return the exit code.

    fails: whether a failure counts in the exit code even if an Event records the failure.
    """
    are_recorded = [_report(client, failure) for failure in failures]
    is_forbidden = any(failure.is_forbidden for failure in failures)
    return int(bool(failures) and (fails or is_forbidden or not all(are_recorded)))


def _report(client: Client, failure: Failure) -> bool:
    """Report a failure; return whether an Event records the failure."""
    _log.error(str(failure))
    try:
        _record(client, failure)
    except ApiError as error:
        _log.error(str(error))
        return False
    return True


def _record(client: Client, failure: Failure) -> None:
    for workload, uid in failure.workloads:
        record_event(client, workload, uid, "Warning", "AttachFailed", str(failure))


def report_abort(client: Client, request: AttachRequest, error: ApiError) -> None:
    """Report an error that ended the run; also as Events if the API server still answers."""
    _log.error(str(error))
    if error.is_answer:
        failure = Failure(
            problem=error.problem,
            fix=error.fix,
            workloads=tuple((workload, "") for workload in request.workloads),
        )
        with contextlib.suppress(ApiError):
            _record(client, failure)
