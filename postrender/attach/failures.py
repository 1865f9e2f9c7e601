"""The failures of a run of attach, and their report in the log and as Events."""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Iterable, Iterator, Mapping, Sequence

from postrender.attach.client import PERMISSION_FIX, ApiError, Client
from postrender.attach.reconcile import ClusterState
from postrender.attach.request import AttachRequest, RevisionRef, WantedWorkload, title
from postrender.attach.wait import Arrival, finalizers_of
from postrender.attach.writes import record_event
from postrender.errors import UserError, sentences
from postrender.records import NamedTuple

# The current uid of each workload, "" if the workload does not exist or is being deleted.
Uids = Mapping[WantedWorkload, str]

_APPLY_AGAIN = "Apply the manifests again"
# A message has at most this many names, because an Event has only the start of a long message.
_MOST_NAMES = 10
_log = logging.getLogger(__name__)


class Failure(NamedTuple):
    """A failure of a run, which attach reports at the end of the run.

    fix: an imperative, "" for none.
    workloads: the affected workloads with their uids. The uid is "" if the workload does not
        exist, or if the uid is unknown.
    is_severe: whether the exit code is 1 even with `--on-failure report`. Severe failures are the
        loss of a revision that has a consumer, a foreign ConfigMap (module `content`), and a
        missing permission.
    """

    problem: str
    fix: str
    workloads: tuple[tuple[WantedWorkload, str], ...]
    is_severe: bool = False

    def __str__(self) -> str:
        return sentences(self.problem, self.fix)


def arrival_failures(arrival: Arrival, state: ClusterState, uids: Uids) -> Iterator[Failure]:
    """Return a failure for each workload that is not ready, and failures for missing revisions.

    Each missing revision whose deletion waits for a finalizer has its own failure. All other
    missing revisions share one failure.
    """
    for workload, pending in arrival.pending.items():
        yield Failure(
            problem=pending.reason, fix=pending.fix, workloads=((workload, uids[workload]),)
        )
    finalizers = finalizers_of(arrival.revisions)
    for ref, names in finalizers.items():
        if ref in arrival.missing:
            yield _missing_failure(
                [ref],
                f"{title(ref)} is being deleted, but waits for the finalizer {names}",
                f"Remove the finalizer from {title(ref)}, then apply the manifests again",
                state,
                uids,
            )
    absent = [ref for ref in arrival.missing if ref not in finalizers]
    if absent:
        clause = "does not exist" if len(absent) == 1 else "do not exist"
        yield _missing_failure(absent, f"{_titles(absent)} {clause}", _APPLY_AGAIN, state, uids)


def replacement_failures(arrival: Arrival, uids: Uids) -> Iterator[Failure]:
    """Return a failure for each workload that was deleted or re-created during the run."""
    for workload, consumer in arrival.consumers.items():
        if uids[workload] != consumer.uid:
            change = "re-created" if uids[workload] else "deleted"
            yield Failure(
                problem=f"somebody {change} {workload} during this run",
                fix=_APPLY_AGAIN,
                workloads=((workload, uids[workload]),),
            )


def lost_revision_failures(
    missing: Sequence[RevisionRef], arrival: Arrival, state: ClusterState, uids: Uids
) -> Iterator[Failure]:
    """Return one failure for all given revisions that were deleted after wait() returned.

    missing: the result of find_missing() at the end of the run.
    """
    lost = [ref for ref in missing if ref not in arrival.missing]
    if lost:
        # Kubernetes deletes a revision together with its last owner.
        problem = f"somebody or Kubernetes deleted {_titles(lost)} during this run"
        yield _missing_failure(lost, problem, _APPLY_AGAIN, state, uids)


def permission_failures(state: ClusterState, uids: Uids) -> Iterator[Failure]:
    """Return one failure for all kinds that the run has no permission to list."""
    if state.unreadable:
        kinds = _joined(sorted(resource.plural for resource in state.unreadable))
        yield Failure(
            problem=f"postrender cannot list {kinds} (HTTP status 403), so this run does not "
            "delete revisions",
            fix=PERMISSION_FIX,
            workloads=tuple(uids.items()),
            is_severe=True,
        )


def revision_failures(
    problems: Iterable[UserError], uids: Uids, *, are_severe: bool = False
) -> Iterator[Failure]:
    """Return a failure for each problem with a revision, such as a refused write.

    are_severe: whether all problems are severe. If False, only a missing permission is severe.
    """
    for error in problems:
        is_missing_permission = isinstance(error, ApiError) and error.is_missing_permission
        yield Failure(
            problem=error.problem,
            fix=error.fix,
            workloads=tuple(uids.items()),
            is_severe=are_severe or is_missing_permission,
        )


def _missing_failure(
    refs: Sequence[RevisionRef], problem: str, fix: str, state: ClusterState, uids: Uids
) -> Failure:
    """Return the failure for missing revisions.

    The failure is severe only if an object references a missing revision. If no object references
    a missing revision, a later apply may have replaced the references.
    """
    return Failure(
        problem=problem,
        fix=fix,
        workloads=tuple(
            (workload, uid)
            for workload, uid in uids.items()
            if set(refs) & set(workload.references)
        ),
        is_severe=any(
            not consumer.is_deleting and not consumer.references.isdisjoint(refs)
            for consumer in state.consumers.values()
        ),
    )


def _titles(refs: Sequence[RevisionRef]) -> str:
    """Return the names of revisions for a message."""
    names = list(map(title, refs[:_MOST_NAMES]))
    rest = len(refs) - len(names)
    return _joined([*names, f"{rest} more"] if rest else names)


def _joined(names: Sequence[str]) -> str:
    """Return names as a list with `and` before the last name."""
    return " and ".join(filter(None, [", ".join(names[:-1]), names[-1]]))


def report_failures(client: Client, failures: Sequence[Failure], *, fails: bool) -> int:
    """Return the exit code after reporting failures in the log and as Events.

    fails: whether every failure causes exit code 1. If False, a failure causes exit code 1 only if
    the failure is severe, or lacks an Event on an affected workload. A failure without workloads
    also causes exit code 1.
    """
    are_recorded = [_report(client, failure) for failure in failures]
    is_severe = any(failure.is_severe for failure in failures)
    return int(bool(failures) and (fails or is_severe or not all(are_recorded)))


def _report(client: Client, failure: Failure) -> bool:
    """Return whether each affected workload has an Event about a failure, after the report.

    False if the failure has no workloads.
    """
    _log.error(str(failure))
    try:
        _record(client, failure)
    except ApiError as error:
        _log.error(str(error))
        return False
    return bool(failure.workloads)


def _record(client: Client, failure: Failure) -> None:
    """Create an Event about a failure on each affected workload. Raises ApiError."""
    for workload, uid in failure.workloads:
        record_event(client, workload, uid, "Warning", "AttachFailed", str(failure))


def report_abort(client: Client, request: AttachRequest, error: ApiError) -> None:
    """Log an error that ended a run. If the API server answered, also try to create Events."""
    _log.error(str(error))
    if error.is_answer:
        failure = Failure(
            problem=error.problem,
            fix=error.fix,
            workloads=tuple((workload, "") for workload in request.workloads),
        )
        with contextlib.suppress(ApiError):
            _record(client, failure)
