"""The Events of a run, which show what attach has done after the Job and its log are deleted."""

from __future__ import annotations

import logging
import uuid
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence

from postrender.attach.client import ApiError, Client
from postrender.attach.live import Object, Revision
from postrender.attach.reconcile import TIME_FORMAT, ClusterState
from postrender.attach.request import (
    EVENTS,
    RELEASE_OWNER_KINDS,
    NamedObject,
    RevisionRef,
    WantedWorkload,
    title,
)
from postrender.text import conjoined

# A message has at most this many names, because an Event has only the start of a long message.
_MOST_NAMES = 10
# The API server refuses an Event with a longer message.
_LONGEST_MESSAGE = 1024
# The maximum number of characters of a workload's name in the name of an Event. A dot and a random
# ID of 16 characters follow. Kubernetes permits 253 characters for the whole name.
_LONGEST_NAME = 200

# The current uid of each workload, "" if the workload does not exist or is being deleted.
Uids = Mapping[WantedWorkload, str]

_log = logging.getLogger(__name__)


def titles(refs: Sequence[RevisionRef]) -> str:
    """The first names for a message, and the number of the rest."""
    names = list(map(title, refs[:_MOST_NAMES]))
    rest = len(refs) - len(names)
    return conjoined([*names, f"{rest} more"] if rest else names)


def report_marked(
    client: Client, marked: Sequence[Revision], state: ClusterState, uids: Uids
) -> None:
    """Create the Events of the revisions that a run marked."""
    for target, uid, revisions in _by_target(marked, state, uids):
        names = titles([revision.key for revision in revisions])
        message = f"attach marked {names} as unused. A later run deletes what stays unused."
        _try_to_record(client, target, uid, "RevisionUnused", message)


def report_deleted(
    client: Client, deleted: Sequence[Revision], state: ClusterState, uids: Uids
) -> None:
    """Create the Events of the revisions that a run deleted."""
    for target, uid, revisions in _by_target(deleted, state, uids):
        times = sorted({revision.unused_since or "" for revision in revisions})
        later = " or later" if times[1:] else ""
        names = titles([revision.key for revision in revisions])
        message = f"attach deleted {names}, unused since {times[0]}{later}."
        _try_to_record(client, target, uid, "RevisionDeleted", message)


def _by_target(
    revisions: Iterable[Revision], state: ClusterState, uids: Uids
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
        targets = {(NamedObject(item.resource, item.name), uids[item]) for item in workloads}
        for pair in sorted(targets or _fallback(state, uids), key=str):
            grouped[pair].append(revision)
    for (target, uid), members in grouped.items():
        yield target, uid, members


def _fallback(state: ClusterState, uids: Uids) -> set[tuple[NamedObject, str]]:
    owner = state.release_owner
    for resource in RELEASE_OWNER_KINDS:
        if owner and resource.kind == owner.kind:
            return {(NamedObject(resource, owner.name), owner.uid)}
    return {(NamedObject(item.resource, item.name), uid) for item, uid in uids.items()}


def _try_to_record(
    client: Client, target: NamedObject, uid: str, reason: str, message: str
) -> None:
    """Without the Event, the log still has what the run did."""
    try:
        record_event(client, target, uid, "Normal", reason, message)
    except ApiError as error:
        _log.warning(f"attach cannot create an Event: {error}")


def record_event(
    client: Client,
    target: WantedWorkload | NamedObject,
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
        "firstTimestamp": now,
        "lastTimestamp": now,
        "count": 1,
    }
    client.create(EVENTS, event)
