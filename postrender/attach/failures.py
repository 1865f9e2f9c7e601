"""The failures of a run, and their report in the log and as Events on the workloads."""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Iterable, Iterator, Mapping, Sequence

from postrender.attach.client import PERMISSION_FIX, ApiError, Client
from postrender.attach.events import Uids, record_event, titles
from postrender.attach.live import text_at
from postrender.attach.reconcile import ClusterState
from postrender.attach.request import (
    AttachRequest,
    RevisionRef,
    WantedWorkload,
    cannot_list,
    title,
)
from postrender.attach.wait import Arrival, finalizers_of
from postrender.errors import UserError, sentences
from postrender.records import NamedTuple

_APPLY_AGAIN = "Apply the manifests again"

_log = logging.getLogger(__name__)


class Failure(NamedTuple):
    """A failure, which a run reports at its end.

    fix: an imperative, "" for none.
    workloads: the affected workloads with their uids, "" if absent or unknown.
    is_severe: whether the exit code is 1 even with `--on-failure report`. Only two failures are
        severe, because pods cannot start, or start with wrong content: a given revision that has a
        consumer is missing, or is foreign (see observe.ContentCheck).
    """

    problem: str
    fix: str
    workloads: tuple[tuple[WantedWorkload, str], ...]
    is_severe: bool = False

    def __str__(self) -> str:
        return sentences(self.problem, self.fix)


def find_failures(
    arrival: Arrival, missing: Sequence[RevisionRef], state: ClusterState, uids: Uids
) -> Iterator[Failure]:
    """The failures of a run, except those of revision_failures().

    missing: the result of find_missing() at the end of the run.
    """
    for workload, pending in arrival.pending.items():
        yield Failure(pending.reason, pending.fix, ((workload, uids[workload]),))
    finalizers = finalizers_of(arrival.revisions)
    for ref, names in finalizers.items():
        if ref in arrival.missing:
            problem = f"{title(ref)} is being deleted, but waits for the finalizer {names}"
            fix = f"Remove the finalizer from {title(ref)}, then apply the manifests again"
            yield _missing_failure([ref], problem, fix, state, uids)
    absent = [ref for ref in arrival.missing if ref not in finalizers]
    if absent:
        clause = "does not exist" if len(absent) == 1 else "do not exist"
        yield _missing_failure(absent, f"{titles(absent)} {clause}", _APPLY_AGAIN, state, uids)
    for workload, consumer in arrival.consumers.items():
        if uids[workload] != consumer.uid:
            change = "re-created" if uids[workload] else "deleted"
            problem = f"somebody {change} {workload} during this run"
            yield Failure(problem, _APPLY_AGAIN, ((workload, uids[workload]),))
    lost = [ref for ref in missing if ref not in arrival.missing]
    if lost:
        # Kubernetes deletes a revision together with its last owner.
        problem = f"somebody or Kubernetes deleted {titles(lost)} during this run"
        yield _missing_failure(lost, problem, _APPLY_AGAIN, state, uids)


def unknown_group(group_name: str, namespace: str) -> UserError:
    """The error of a run that found nothing of its attach group, such as after a misspelling."""
    return UserError(
        f"the attach group {group_name} has no ConfigMap or Secret in the namespace {namespace}",
        "Check --group and --namespace",
    )


def forbidden_kinds(state: ClusterState) -> Iterator[UserError]:
    """One error for all kinds that the run has no permission to list."""
    if state.unreadable:
        yield UserError(
            f"{cannot_list(state.unreadable)}, so this run does not delete revisions",
            PERMISSION_FIX,
        )


def revision_failures(
    problems: Iterable[UserError], uids: Uids, *, are_severe: bool = False
) -> Iterator[Failure]:
    """A failure for each problem that concerns all workloads, such as a refused write."""
    for error in problems:
        yield Failure(error.problem, error.fix, tuple(uids.items()), are_severe)


def _missing_failure(
    refs: Sequence[RevisionRef], problem: str, fix: str, state: ClusterState, uids: Uids
) -> Failure:
    """The failure, which is severe only if an object references a missing revision.

    If no object references it, a later apply may have replaced the references.
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


def report_failures(client: Client, failures: Sequence[Failure], *, fails: bool) -> int:
    """Report failures in the log and as Events, and return the exit code.

    fails: whether every failure causes exit code 1, and not only a severe one.
    """
    for failure in failures:
        _log.error(str(failure))
        try:
            _record(client, failure)
        except ApiError as error:
            _log.error(str(error))
    return int(any(fails or failure.is_severe for failure in failures))


def report_changes(client: Client, changes: Mapping[RevisionRef, UserError], uids: Uids) -> None:
    """Warn about each changed ConfigMap (see observe.ContentCheck), also in Events."""
    for ref, change in changes.items():
        _log.warning(str(change))
        for workload, uid in uids.items():
            if ref in workload.references:
                with contextlib.suppress(UserError):
                    record_event(client, workload, uid, "Warning", "AttachChanged", str(change))


def record_abort(client: Client, request: AttachRequest, error: UserError) -> None:
    """Try to create Events about an error that ended a run."""
    failure = Failure(
        problem=error.problem,
        fix=error.fix,
        workloads=tuple((workload, _find_uid(client, workload)) for workload in request.workloads),
    )
    with contextlib.suppress(UserError):
        _record(client, failure)


def _find_uid(client: Client, workload: WantedWorkload) -> str:
    """The uid of a live workload, "" if it cannot be read.

    `kubectl describe` shows only Events with the uid.
    """
    with contextlib.suppress(UserError):
        uids, _ = client.list_all(
            workload.resource, lambda data: text_at(data, "metadata", "uid"), name=workload.name
        )
        return next(iter(uids), "")
    return ""


def _record(client: Client, failure: Failure) -> None:
    for workload, uid in failure.workloads:
        record_event(client, workload, uid, "Warning", "AttachFailed", str(failure))
