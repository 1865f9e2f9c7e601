"""Waiting until what was applied has arrived: the live template and its revision object.

Only the render id tells: right after an apply, phase, observedGeneration and currentPodHash still
speak of the template before, and a revision object may be an old one that is used again.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import NamedTuple

from postrender.attach.client import Client
from postrender.attach.kinds import DEPLOYMENTS, REVISION_KINDS, Resource
from postrender.attach.live import Holder, Revision, read_holder
from postrender.attach.log import Log
from postrender.attach.observe import read_revisions
from postrender.attach.reconcile import pin
from postrender.attach.request import AttachRequest, Name, WantedWorkload
from postrender.attach.send import send

# After this long everything is listed again, so that nothing hangs on one watch.
WATCH_SECONDS = 10.0
POLL_SECONDS = 1.0
# A watch that ends at once is broken, and must not be asked for again at once.
SHORTEST_PAUSE_SECONDS = 0.1


class Pending(NamedTuple):
    """Why a workload is not ready to be attached to, and which kind of object to watch for it."""

    reason: str
    watched: Resource


class Kinds:
    """The live objects of some kinds, kept current by watches."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._objects: dict[Resource, dict[str, Holder]] = {}
        self._versions: dict[Resource, str] = {}

    def objects(self, resource: Resource) -> Iterable[Holder]:
        """Return the objects of a kind, which is listed when it is first asked for."""
        if resource not in self._objects:
            found, version = self._client.list_all(resource, partial(read_holder, resource))
            self._objects[resource] = {holder.uid: holder for holder in found}
            self._versions[resource] = version
        return self._objects[resource].values()

    def find(self, resource: Resource, name: str) -> Holder | None:
        """Return an object by its name."""
        return next((item for item in self.objects(resource) if item.name == name), None)

    def follow(self, resource: Resource, seconds: float, is_enough: Callable[[], bool]) -> bool:
        """Watch a kind until its objects are as one wants them, for some seconds at most.

        Return whether they are.
        """
        self.objects(resource)
        version = self._versions[resource]
        ends = time.monotonic() + seconds
        if not version:  # the cluster has no such kind, yet
            return False
        for kind, data in self._client.watch(resource, version, seconds):
            holder = read_holder(resource, data)
            if kind == "DELETED":
                self._objects[resource].pop(holder.uid, None)
            elif kind in ("ADDED", "MODIFIED"):
                self._objects[resource][holder.uid] = holder
            metadata = data.get("metadata")
            if isinstance(metadata, dict):
                self._versions[resource] = str(metadata.get("resourceVersion", version))
            if is_enough():
                return True
            if time.monotonic() > ends:
                break
        return False


def find_pending(wanted: WantedWorkload, kinds: Kinds) -> Pending | None:
    """Return what is still to come for a workload, or None when it can be attached to."""
    workload = kinds.find(wanted.resource, wanted.name)
    if workload is None or workload.is_deleting:
        state = "is being deleted" if workload else "does not exist"
        return Pending(f"{wanted} {state}", wanted.resource)
    source = _template_source(workload, kinds)
    if source is None:
        resource, name = workload.template_from or (wanted.resource, wanted.name)
        reason = f"{resource.kind}/{name}, which {wanted} takes its template from, does not exist"
        return Pending(reason, resource)
    if not _carries(source, wanted):
        return Pending(_not_arrived(source, wanted), source.resource)
    made = REVISION_KINDS.get(wanted.resource)
    if made is None or _is_paused(workload) or _has_revision(workload, wanted, kinds, made):
        return None
    return Pending(_not_made(workload, made), made)


def _is_paused(workload: Holder) -> bool:
    """Tell whether a workload makes no revision objects for now (only a Deployment does that)."""
    return workload.resource == DEPLOYMENTS and workload.is_paused


def _template_source(workload: Holder, kinds: Kinds) -> Holder | None:
    """Return the object whose pod template a workload runs: itself, but for a workloadRef."""
    return kinds.find(*workload.template_from) if workload.template_from else workload


def _carries(holder: Holder, wanted: WantedWorkload) -> bool:
    if wanted.render_id:
        return wanted.render_id in holder.render_ids
    return holder.names.issuperset(wanted.names)


def _has_revision(workload: Holder, wanted: WantedWorkload, kinds: Kinds, made: Resource) -> bool:
    """Tell whether the workload has made its revision object.

    It must be its own: a workloadRef's Deployment makes some with the same template.
    """
    return any(
        item.controller == workload.uid and not item.is_deleting and _carries(item, wanted)
        for item in kinds.objects(made)
    )


def _not_arrived(source: Holder, wanted: WantedWorkload) -> str:
    if not wanted.render_id:
        missing = ", ".join(name for name in _names(wanted) if name not in _live_names(source))
        return f"the pod template of {source} does not name {missing}"
    there = ", ".join(sorted(source.render_ids)) or "nothing"
    return (
        f"the pod template of {source} carries {there} as postrender/revision instead of "
        f"{wanted.render_id}: the apply has not reached it, or another one came after it"
    )


def _names(wanted: WantedWorkload) -> list[str]:
    return [f"{kind}/{name}" for kind, name in wanted.names]


def _live_names(holder: Holder) -> set[str]:
    return {f"{kind}/{name}" for kind, name in holder.names}


def _not_made(workload: Holder, made: Resource) -> str:
    reason = f"{workload} has made no {made.kind} of its new pod template"
    return f"{reason} ({workload.trouble})" if workload.trouble else reason


def find_missing(request: AttachRequest, revisions: Iterable[Revision]) -> list[Name]:
    """Return the given revisions that are not there or are being deleted."""
    there = {revision.key for revision in revisions if not revision.is_deleting}
    return [name for name in request.given if name not in there]


class Arrival(NamedTuple):
    """How far an apply has come: the live workloads, and what is still to come.

    wanted: all workloads of the request; revisions: those that are there; missing: given ones
    that are not.
    """

    wanted: Sequence[WantedWorkload]
    workloads: Mapping[WantedWorkload, Holder]
    pending: Mapping[WantedWorkload, Pending]
    missing: Sequence[Name]
    revisions: Sequence[Revision]

    @property
    def is_complete(self) -> bool:
        """Whether everything has arrived."""
        return not self.pending and not self.missing

    @property
    def reasons(self) -> list[str]:
        """What is still to come, as text."""
        return [
            *(f"{kind}/{name} does not exist" for kind, name in self.missing),
            *(pending.reason for pending in self.pending.values()),
        ]

    @property
    def paused(self) -> list[WantedWorkload]:
        """The workloads that make no revision object until they are resumed."""
        return [wanted for wanted, holder in self.workloads.items() if _is_paused(holder)]

    def workloads_of(self, name: Name) -> list[Holder]:
        """Return the live workloads that a revision was given with."""
        return [holder for wanted, holder in self.workloads.items() if name in wanted.names]


def wait(client: Client, request: AttachRequest, deadline: float, log: Log) -> Arrival:
    """Wait until every workload and revision is there, or the deadline (monotonic) has passed.

    Until then what is there is pinned: its workload owns a revision before anything else is known.
    Raises ApiError.
    """
    is_told = False
    while True:
        kinds = Kinds(client)
        arrival = _look(client, request, kinds)
        remaining = deadline - time.monotonic()
        if arrival.is_complete:
            return arrival
        send(client, pin(arrival.revisions, arrival.workloads_of), log)
        if remaining <= 0:
            return arrival
        if not is_told:
            for reason in arrival.reasons:
                log.info(f"waiting for at most {remaining:.0f} s: {reason}")
            is_told = True
        _watch(kinds, arrival, min(WATCH_SECONDS, remaining))


def _look(client: Client, request: AttachRequest, kinds: Kinds) -> Arrival:
    pending = {wanted: find_pending(wanted, kinds) for wanted in request.workloads}
    found = {wanted: kinds.find(wanted.resource, wanted.name) for wanted in request.workloads}
    revisions = read_revisions(client, request).revisions
    return Arrival(
        request.workloads,
        {wanted: item for wanted, item in found.items() if item and not item.is_deleting},
        {wanted: item for wanted, item in pending.items() if item},
        find_missing(request, revisions),
        revisions,
    )


def _watch(kinds: Kinds, arrival: Arrival, seconds: float) -> None:
    """Watch one kind after another until all workloads have arrived, for some seconds at most."""
    started = time.monotonic()
    ends = started + seconds
    for wanted in arrival.pending:
        while (pending := find_pending(wanted, kinds)) and time.monotonic() < ends:
            watched = pending.watched

            def is_enough(wanted: WantedWorkload = wanted, watched: Resource = watched) -> bool:
                now = find_pending(wanted, kinds)
                return now is None or now.watched != watched

            if not kinds.follow(watched, ends - time.monotonic(), is_enough):
                break  # it is over, or broken: all is listed again
    if arrival.missing or time.monotonic() - started < SHORTEST_PAUSE_SECONDS:
        time.sleep(min(POLL_SECONDS, max(0.0, ends - time.monotonic())))
