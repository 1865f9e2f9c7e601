"""The wait until the workloads are ready, and the given revisions exist.

A run of attach belongs to one output of postrender, the applied stream. The request (AttachRequest)
lists workloads of the applied stream. The given revisions are those that these workloads reference.
The new pod template of a workload is the template in the applied stream.

A workload is ready if two conditions are true, regardless of the state of its Pods:

- The live workload, or the target of its workloadRef, has the new pod template.
- The workload controls a ReplicaSet or ControllerRevision with the new pod template. This condition
  applies only to the kinds in HISTORY_KINDS, and not to a paused Deployment.

A workload with the render ID of the request has the new template, and so has its ReplicaSet with
the render ID: the controllers copy the annotations of a Deployment or Rollout to the newest
ReplicaSet, also after a change that does not roll the workload. They copy the annotations of a
StatefulSet or DaemonSet only to a new ControllerRevision, and a Rollout with a workloadRef has no
render ID. There, an object with the references of the live template has the new template. If the
request has no render ID, the references decide everywhere.

The status fields phase, observedGeneration and currentPodHash are not reliable, because they still
describe the earlier template right after an apply. The age of a ReplicaSet is not reliable either,
because a controller can reuse an old ReplicaSet.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Union

from postrender.attach.client import Client
from postrender.attach.content import find_stuck
from postrender.attach.live import Consumer, Revision, read_consumer, text_at
from postrender.attach.observe import read_revisions
from postrender.attach.overview import Overview
from postrender.attach.request import (
    DEPLOYMENTS,
    HISTORY_KINDS,
    REPLICA_SETS,
    AttachRequest,
    NamedObject,
    Resource,
    RevisionRef,
    WantedWorkload,
    title,
)
from postrender.records import NamedTuple

# The first and the longest interval between two lists of all objects. The interval doubles each
# time. New ConfigMaps and Secrets appear only in the lists, because attach does not watch these
# kinds. The lists also contain changes that a broken watch did not report.
FIRST_SECONDS, LONGEST_SECONDS = 1.0, 10.0
# If all watches end within SHORTEST_SECONDS, attach treats the watches as broken, and waits for
# PAUSE_SECONDS before the next lists.
SHORTEST_SECONDS, PAUSE_SECONDS = 0.1, 1.0

_log = logging.getLogger(__name__)

LiveObjects = Union["Watched", Overview]


class Pending(NamedTuple):
    """The reason why a workload is not ready.

    awaited: the kind of the object that attach waits for.
    fix: an imperative, for the case that attach does not wait any longer.
    """

    reason: str
    awaited: Resource
    fix: str


class Arrival(NamedTuple):
    """The progress of an apply.

    consumers: the live object of each workload that exists and is not being deleted.
    pending: of each workload that is not ready.
    missing: the given revisions that do not exist or are being deleted.
    revisions: the live revisions of the attach group, and the live given revisions.
    """

    consumers: Mapping[WantedWorkload, Consumer]
    pending: Mapping[WantedWorkload, Pending]
    missing: Sequence[RevisionRef]
    revisions: Sequence[Revision]

    @property
    def is_complete(self) -> bool:
        return not self.pending and not self.missing

    @property
    def reasons(self) -> list[str]:
        """The reason for each missing revision, and for each workload that is not ready."""
        stuck = find_stuck(self.revisions)
        missing = (stuck.get(ref, f"{title(ref)} does not exist") for ref in self.missing)
        return [*missing, *(pending.reason for pending in self.pending.values())]

    def consumers_of(self, ref: RevisionRef) -> list[Consumer]:
        """The live workloads that reference a revision according to the request."""
        return [
            consumer for workload, consumer in self.consumers.items() if ref in workload.references
        ]


def find_missing(request: AttachRequest, revisions: Iterable[Revision]) -> list[RevisionRef]:
    """The given revisions that do not exist or are being deleted."""
    existing = {revision.key for revision in revisions if not revision.is_deleting}
    return [ref for ref in request.given if ref not in existing]


def wait(
    client: Client,
    request: AttachRequest,
    deadline: float,
    add_owners: Callable[[Arrival], object],
) -> Arrival:
    """Wait until every workload is ready and every revision exists, or until the deadline.

    add_owners: called in the meantime, to protect the revisions that exist already.
    """
    seconds = FIRST_SECONDS
    while True:
        watched = Watched(client)
        arrival = check_arrival(request, watched, read_revisions(client, request).revisions)
        remaining = deadline - time.monotonic()
        if arrival.is_complete:
            return arrival
        add_owners(arrival)
        if remaining <= 0:
            return arrival
        if seconds == FIRST_SECONDS:
            for reason in arrival.reasons:
                _log.info(f"waiting for at most {remaining:.0f} s: {reason}")
        _watch(watched, arrival, min(seconds, remaining))
        seconds = min(2 * seconds, LONGEST_SECONDS)


def _watch(watched: Watched, arrival: Arrival, seconds: float) -> None:
    """Watch each workload in turn, until it is ready or the watch ends.

    seconds: the maximum duration, and the exact one if a revision is missing.
    """
    started = time.monotonic()
    ends = started + seconds
    for workload in arrival.pending:
        while (pending := _find_pending(workload, watched)) and time.monotonic() < ends:
            is_enough = partial(_is_enough, workload, pending.awaited, watched)
            if not watched.follow(pending.awaited, ends - time.monotonic(), is_enough):
                break  # the watch has ended or is broken, so the caller lists all objects again
    if arrival.missing:
        time.sleep(max(0.0, ends - time.monotonic()))
    elif time.monotonic() - started < SHORTEST_SECONDS:
        time.sleep(min(PAUSE_SECONDS, max(0.0, ends - time.monotonic())))


def _is_enough(workload: WantedWorkload, awaited: Resource, watched: Watched) -> bool:
    """Whether a workload does not wait for an object of the kind `awaited` any more."""
    pending = _find_pending(workload, watched)
    return pending is None or pending.awaited != awaited


def check_arrival(
    request: AttachRequest, watched: LiveObjects, revisions: Sequence[Revision]
) -> Arrival:
    """The progress of an apply, according to the objects that exist now."""
    consumers: dict[WantedWorkload, Consumer] = {}
    all_pending: dict[WantedWorkload, Pending] = {}
    for workload in request.workloads:
        consumer = watched.find(workload.target)
        if consumer and not consumer.is_deleting:
            consumers[workload] = consumer
        pending = _find_pending(workload, watched)
        if pending:
            all_pending[workload] = pending
    return Arrival(
        consumers=consumers,
        pending=all_pending,
        missing=find_missing(request, revisions),
        revisions=revisions,
    )


def _find_pending(workload: WantedWorkload, watched: LiveObjects) -> Pending | None:
    consumer = watched.find(workload.target)
    if consumer is None or consumer.is_deleting:
        state = "is being deleted" if consumer else "does not exist"
        fix = f"Check that the manifests contain {workload}, then apply the manifests again"
        return Pending(f"{workload} {state}", workload.target.resource, fix)
    # The object with the pod template: the target of workloadRef, or the workload itself.
    source = consumer
    if consumer.template_from:
        target = watched.find(consumer.template_from)
        if target is None:
            reference = f"spec.workloadRef of {workload} references {consumer.template_from}"
            return Pending(
                reason=f"{consumer.template_from} does not exist, but {reference}",
                awaited=consumer.template_from.resource,
                fix=f"Create {consumer.template_from}, or fix spec.workloadRef of {workload}",
            )
        source = target
    if not _has_wanted_template(source, workload):
        fix = f"If no later apply has changed {source}, apply the manifests again"
        return Pending(_describe_other_template(source, workload), source.resource, fix)
    history_kind = HISTORY_KINDS.get(workload.target.resource)
    if (
        history_kind is None
        or is_paused(consumer)
        or _has_history_object(consumer, source, workload, watched.under(consumer, history_kind))
    ):
        return None
    fix = f"Find the cause in the status of {consumer}, and fix the cause"
    return Pending(_describe_no_history_object(consumer, history_kind), history_kind, fix)


def is_paused(consumer: Consumer) -> bool:
    """Whether a workload is a paused Deployment.

    The controller of a paused Deployment does not create a ReplicaSet. Controllers of other kinds
    create their ReplicaSets or ControllerRevisions even during a pause.
    """
    return consumer.resource == DEPLOYMENTS and consumer.is_paused


def _has_wanted_template(consumer: Consumer, workload: WantedWorkload) -> bool:
    if workload.render_id:
        return consumer.render_id == workload.render_id
    return consumer.references.issuperset(workload.references)


def _has_history_object(
    consumer: Consumer,
    source: Consumer,
    workload: WantedWorkload,
    history: Iterable[Consumer],
) -> bool:
    """Whether a workload controls a ReplicaSet or ControllerRevision with the new template.

    source: the workload or the target of its workloadRef, which also creates ReplicaSets with the
        new template.
    """
    has_copied_id = source is consumer and HISTORY_KINDS[consumer.resource] == REPLICA_SETS
    return any(
        not item.is_deleting
        and (
            item.references == source.references
            if workload.render_id and not has_copied_id
            else _has_wanted_template(item, workload)
        )
        for item in history
    )


def _describe_other_template(source: Consumer, workload: WantedWorkload) -> str:
    if not workload.render_id:
        missing = [title(ref) for ref in workload.references if ref not in source.references]
        return f"the pod template of {source} does not reference {', '.join(missing)}"
    actual = f"the render ID {source.render_id}" if source.render_id else "no render ID"
    return f"{source} has {actual}, expected {workload.render_id}"


def _describe_no_history_object(consumer: Consumer, history_kind: Resource) -> str:
    reason = f"{consumer} has not created a {history_kind.kind} for the new pod template"
    return f"{reason} ({consumer.status_problems})" if consumer.status_problems else reason


class Watched:
    """The live objects of a namespace. Each kind is listed once, and updated by a watch."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._objects: dict[Resource, dict[str, Consumer]] = {}
        self._versions: dict[Resource, str] = {}

    def objects(self, resource: Resource) -> Iterable[Consumer]:
        """The objects of a kind. The first call for a kind sends the list request."""
        if resource not in self._objects:
            consumers, version = self._client.list_all(resource, partial(read_consumer, resource))
            self._objects[resource] = {consumer.uid: consumer for consumer in consumers}
            self._versions[resource] = version
        return self._objects[resource].values()

    def under(self, controller: Consumer, resource: Resource) -> Iterable[Consumer]:
        return (item for item in self.objects(resource) if item.controller == controller.uid)

    def find(self, target: NamedObject) -> Consumer | None:
        objects = self.objects(target.resource)
        return next((item for item in objects if item.name == target.name), None)

    def follow(self, resource: Resource, seconds: float, is_enough: Callable[[], bool]) -> bool:
        """Watch a kind that was listed until `is_enough` returns True; return whether it did."""
        version = self._versions[resource]
        ends = time.monotonic() + seconds
        if not version:  # the cluster does not have the kind yet
            return False
        for event_type, data in self._client.watch(resource, version, seconds):
            consumer = read_consumer(resource, data)
            if event_type == "DELETED":
                self._objects[resource].pop(consumer.uid, None)
            elif event_type in ("ADDED", "MODIFIED"):
                self._objects[resource][consumer.uid] = consumer
            self._versions[resource] = text_at(data, "metadata", "resourceVersion") or version
            if is_enough():
                return True
            if time.monotonic() > ends:
                break
        return False
