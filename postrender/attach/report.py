"""What a run reports: its failures with the exit code, and Events.

The Events show what attach has done after the Job and its log are deleted.
"""

from __future__ import annotations

import contextlib
import logging
import os
import uuid
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence

from postrender.attach.client import PERMISSION_FIX, ApiError, Client
from postrender.attach.content import stuck_fix
from postrender.attach.live import Object, Revision, text_at
from postrender.attach.reconcile import TIME_FORMAT, RunState
from postrender.attach.request import (
    EVENTS,
    RELEASE_OWNER_KINDS,
    AttachRequest,
    NamedObject,
    RevisionRef,
    WantedWorkload,
    cannot_list,
    plurals,
    title,
)
from postrender.attach.wait import Arrival
from postrender.errors import UserError, sentences
from postrender.records import NamedTuple
from postrender.text import conjoined

# A message has at most this many names, because an Event has only the start of a long message.
_MOST_NAMES = 10
# The API server refuses an Event with a longer message.
_LONGEST_MESSAGE = 1024
# The longest reportingInstance that the API server accepts in each version of Events.
_LONGEST_INSTANCE = 128
# The maximum number of characters of a workload's name in the name of an Event. A dot and a random
# ID of 16 characters follow. Kubernetes permits 253 characters for the whole name.
_LONGEST_NAME = 200

# The current uid of each workload, "" if the workload does not exist or is being deleted.
Uids = Mapping[WantedWorkload, str]

_log = logging.getLogger(__name__)


def titles(refs: Sequence[RevisionRef]) -> str:
    """The first names for a message, and the number of the rest."""
    return conjoined(list(map(title, refs)), _MOST_NAMES)


def report_marked(client: Client, marked: Sequence[Revision], state: RunState, uids: Uids) -> None:
    """Create the Events of the revisions that a run marked."""
    for target, uid, revisions in _by_target(marked, state, uids):
        names = titles([revision.key for revision in revisions])
        message = f"attach marked {names} as unused. A later run deletes what stays unused."
        try_to_record(client, target, uid, "RevisionUnused", message)


def report_deleted(
    client: Client, deleted: Sequence[Revision], state: RunState, uids: Uids
) -> None:
    """Create the Events of the revisions that a run deleted."""
    for target, uid, revisions in _by_target(deleted, state, uids):
        times = sorted({revision.unused_since or "" for revision in revisions})
        later = " or later" if times[1:] else ""
        names = titles([revision.key for revision in revisions])
        message = f"attach deleted {names}, unused since {times[0]}{later}."
        try_to_record(client, target, uid, "RevisionDeleted", message)


def _by_target(
    revisions: Iterable[Revision], state: RunState, uids: Uids
) -> Iterator[tuple[NamedObject, str, list[Revision]]]:
    """The objects whose Events name the revisions: the object, its uid, and its revisions.

    They are the workloads that now reference a revision with the same base name, else the release
    owner, else all workloads of the run.
    """
    base_names = {revision.key: revision.base_name for revision in state.revisions}
    users: dict[tuple[str, str], list[WantedWorkload]] = defaultdict(list)
    for workload in uids:
        for kind, name in workload.references:
            users[kind, base_names.get((kind, name), "")].append(workload)
    grouped: dict[tuple[NamedObject, str], list[Revision]] = defaultdict(list)
    for revision in revisions:
        workloads = users.get((revision.key[0], revision.base_name), [])
        targets = {(item.target, uids[item]) for item in workloads}
        for pair in sorted(targets or _fallback(state, uids), key=str):
            grouped[pair].append(revision)
    for (target, uid), members in grouped.items():
        yield target, uid, members


def _fallback(state: RunState, uids: Uids) -> set[tuple[NamedObject, str]]:
    owner = state.release_owner
    for resource in RELEASE_OWNER_KINDS:
        if owner and resource.kind == owner.kind:
            return {(NamedObject(resource, owner.name), owner.uid)}
    return {(item.target, uid) for item, uid in uids.items()}


def try_to_record(client: Client, target: NamedObject, uid: str, reason: str, message: str) -> None:
    """Without the Event, the log still has what the run did."""
    try:
        record_event(client, target, uid, "Normal", reason, message)
    except ApiError as error:
        _log.warning(f"attach cannot create an Event: {error}")


def record_event(
    client: Client,
    target: NamedObject,
    uid: str,
    event_type: str,
    reason: str,
    message: str,
) -> None:
    """Create an Event, which `kubectl describe` shows with the target, if the uid is known."""
    now = client.now().strftime(TIME_FORMAT)
    involved: Object = {
        "apiVersion": target.resource.api_version,
        "kind": target.resource.kind,
        "namespace": client.namespace,
        "name": target.name,
    }
    if uid:
        involved["uid"] = uid
    # The name of the attacher's Pod begins with that of its Job. Nothing names the Job itself.
    is_pod = "KUBERNETES_SERVICE_HOST" in os.environ
    pod = os.environ.get("HOSTNAME", "")[:_LONGEST_INSTANCE] if is_pod else ""
    # If the API server generated the name (generateName), a retry could create a second Event.
    name = f"{target.name[:_LONGEST_NAME]}.{uuid.uuid4().hex[:16]}"
    event: Object = {
        "apiVersion": EVENTS.api_version,
        "kind": EVENTS.kind,
        "metadata": {"name": name},
        "involvedObject": involved,
        "type": event_type,
        "reason": reason,
        "message": message[:_LONGEST_MESSAGE],
        "source": {"component": "postrender"},
        **({"reportingComponent": "postrender", "reportingInstance": pod} if pod else {}),
        "firstTimestamp": now,
        "lastTimestamp": now,
        "count": 1,
    }
    client.create(EVENTS, event)


_APPLY_AGAIN = "Apply the manifests again"


class Failure(NamedTuple):
    """A failure, which a run reports at its end.

    fix: an imperative, "" for none.
    workloads: the affected workloads with their uids, "" if absent or unknown.
    is_severe: whether the exit code is 1 even with `--on-failure report`. Only two failures are
        severe, because pods cannot start, or start with wrong content: a given revision that has a
        consumer is missing, or is foreign (see the module `content`).
    """

    problem: str
    fix: str
    workloads: tuple[tuple[WantedWorkload, str], ...]
    is_severe: bool = False

    def __str__(self) -> str:
        return sentences(self.problem, self.fix)


def find_failures(
    arrival: Arrival,
    missing: Sequence[RevisionRef],
    stuck: Mapping[RevisionRef, str],
    state: RunState,
    uids: Uids,
) -> Iterator[Failure]:
    """The failures of a run, except those of revision_failures().

    missing, stuck: the results of find_missing() and find_stuck() at the end of the run.
    """
    for workload, pending in arrival.pending.items():
        yield Failure(pending.reason, pending.fix, ((workload, uids[workload]),))
    for ref, problem in stuck.items():
        yield _missing_failure([ref], problem, stuck_fix(ref), state, uids)
    absent = [ref for ref in arrival.missing if ref not in stuck]
    if absent:
        clause = "does not exist" if len(absent) == 1 else "do not exist"
        yield _missing_failure(absent, f"{titles(absent)} {clause}", _APPLY_AGAIN, state, uids)
    for workload, consumer in arrival.consumers.items():
        if uids[workload] != consumer.uid:
            change = "re-created" if uids[workload] else "deleted"
            problem = f"somebody {change} {workload} during this run"
            yield Failure(problem, _APPLY_AGAIN, ((workload, uids[workload]),))
    lost = [ref for ref in missing if ref not in arrival.missing and ref not in stuck]
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


def forbidden_kinds(state: RunState) -> Iterator[UserError]:
    """One error for all kinds that the run has no permission to list."""
    if state.unreadable:
        yield UserError(
            f"{cannot_list(plurals(state.unreadable))}, so this run does not delete revisions",
            PERMISSION_FIX,
        )


def revision_failures(
    problems: Iterable[UserError], uids: Uids, *, are_severe: bool = False
) -> Iterator[Failure]:
    """A failure for each problem that concerns all workloads, such as a refused write."""
    for error in problems:
        yield Failure(error.problem, error.fix, tuple(uids.items()), are_severe)


def _missing_failure(
    refs: Sequence[RevisionRef], problem: str, fix: str, state: RunState, uids: Uids
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
    """Warn about each changed ConfigMap (see the module `content`), also in Events."""
    for ref, change in changes.items():
        _log.warning(str(change))
        users = [workload for workload in uids if ref in workload.references]
        for workload in users or uids:
            with contextlib.suppress(UserError):
                record_event(
                    client, workload.target, uids[workload], "Warning", "AttachChanged", str(change)
                )


def record_abort(client: Client, request: AttachRequest, error: UserError) -> None:
    """Try to create Events about an error that ended a run."""
    failure = Failure(
        problem=error.problem,
        fix=error.fix,
        workloads=tuple(
            (workload, _find_uid(client, workload.target)) for workload in request.workloads
        ),
    )
    with contextlib.suppress(UserError):
        _record(client, failure)


def _find_uid(client: Client, target: NamedObject) -> str:
    """The uid of a live workload, "" if it cannot be read.

    `kubectl describe` shows only Events with the uid.
    """
    with contextlib.suppress(UserError):
        uids, _ = client.list_all(
            target.resource, lambda data: text_at(data, "metadata", "uid"), name=target.name
        )
        return next(iter(uids), "")
    return ""


def _record(client: Client, failure: Failure) -> None:
    for workload, uid in failure.workloads:
        record_event(client, workload.target, uid, "Warning", "AttachFailed", str(failure))
