"""How far an apply has come: each workload's live template, and its revision object.

Only the render id tells: right after an apply, phase, observedGeneration and currentPodHash still
speak of the template before, and a revision object may be an old one that is used again.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from postrender.attach.live import Consumer, Revision
from postrender.attach.request import AttachRequest, RevisionRef, WantedWorkload, title
from postrender.attach.resources import DEPLOYMENTS, REVISION_KINDS, Resource
from postrender.attach.watched import Watched
from postrender.startup.records import NamedTuple


class Pending(NamedTuple):
    """Why a workload is not ready to be attached to, and which kind of object to watch for it."""

    reason: str
    to_watch: Resource


def find_missing(request: AttachRequest, revisions: Iterable[Revision]) -> list[RevisionRef]:
    """Return the given revisions that are not there or are being deleted."""
    there = {revision.key for revision in revisions if not revision.is_deleting}
    return [name for name in request.given if name not in there]


class Arrival(NamedTuple):
    """How far an apply has come: the live workloads, and what is still to come.

    wanted: all workloads of the request; revisions: those that are there; missing: given ones
    that are not.
    """

    wanted: Sequence[WantedWorkload]
    workloads: Mapping[WantedWorkload, Consumer]
    pending: Mapping[WantedWorkload, Pending]
    missing: Sequence[RevisionRef]
    revisions: Sequence[Revision]

    @property
    def is_complete(self) -> bool:
        """Whether everything has arrived."""
        return not self.pending and not self.missing

    @property
    def reasons(self) -> list[str]:
        """What is still to come, as text."""
        return [
            *(f"{title(name)} does not exist" for name in self.missing),
            *(pending.reason for pending in self.pending.values()),
        ]

    @property
    def paused(self) -> list[WantedWorkload]:
        """The workloads that make no revision object until they are resumed."""
        return [wanted for wanted, consumer in self.workloads.items() if _is_paused(consumer)]

    def workloads_of(self, name: RevisionRef) -> list[Consumer]:
        """Return the live workloads that a revision was given with."""
        return [consumer for wanted, consumer in self.workloads.items() if name in wanted.names]


def look(request: AttachRequest, watched: Watched, revisions: Sequence[Revision]) -> Arrival:
    """Return how far an apply has come."""
    pending = {wanted: find_pending(wanted, watched) for wanted in request.workloads}
    found = {wanted: watched.find(wanted.resource, wanted.name) for wanted in request.workloads}
    return Arrival(
        request.workloads,
        {wanted: item for wanted, item in found.items() if item and not item.is_deleting},
        {wanted: item for wanted, item in pending.items() if item},
        find_missing(request, revisions),
        revisions,
    )


def find_pending(wanted: WantedWorkload, watched: Watched) -> Pending | None:
    """Return what is still to come for a workload, or None when it can be attached to."""
    workload = watched.find(wanted.resource, wanted.name)
    if workload is None or workload.is_deleting:
        state = "is being deleted" if workload else "does not exist"
        return Pending(f"{wanted} {state}", wanted.resource)
    source = _template_source(workload, watched)
    if source is None:
        resource, name = workload.template_from or (wanted.resource, wanted.name)
        reason = f"{resource.kind}/{name}, which {wanted} takes its template from, does not exist"
        return Pending(reason, resource)
    if not _carries(source, wanted):
        return Pending(_not_arrived(source, wanted), source.resource)
    made = REVISION_KINDS.get(wanted.resource)
    if made is None or _is_paused(workload) or _has_revision(workload, wanted, watched, made):
        return None
    return Pending(_not_made(workload, made), made)


def _is_paused(workload: Consumer) -> bool:
    """Tell whether a workload makes no revision objects for now (only a Deployment does that)."""
    return workload.resource == DEPLOYMENTS and workload.is_paused


def _template_source(workload: Consumer, watched: Watched) -> Consumer | None:
    """Return the object whose pod template a workload runs: itself, but for a workloadRef."""
    return watched.find(*workload.template_from) if workload.template_from else workload


def _carries(consumer: Consumer, wanted: WantedWorkload) -> bool:
    if wanted.render_id:
        return wanted.render_id in consumer.render_ids
    return consumer.names.issuperset(wanted.names)


def _has_revision(
    workload: Consumer, wanted: WantedWorkload, watched: Watched, made: Resource
) -> bool:
    """Tell whether the workload has made its revision object.

    It must be its own: a workloadRef's Deployment makes some with the same template.
    """
    return any(
        item.controller == workload.uid and not item.is_deleting and _carries(item, wanted)
        for item in watched.objects(made)
    )


def _not_arrived(source: Consumer, wanted: WantedWorkload) -> str:
    if not wanted.render_id:
        missing = ", ".join(title(name) for name in wanted.names if name not in source.names)
        return f"the pod template of {source} does not name {missing}"
    there = ", ".join(sorted(source.render_ids)) or "nothing"
    return (
        f"the pod template of {source} carries {there} as postrender/render-id instead of "
        f"{wanted.render_id}: the apply has not reached it, or another one came after it"
    )


def _not_made(workload: Consumer, made: Resource) -> str:
    reason = f"{workload} has made no {made.kind} of its new pod template"
    return f"{reason} ({workload.trouble})" if workload.trouble else reason
