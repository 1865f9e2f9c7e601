"""Reading a namespace: the revisions of an attach group, and all possible consumers."""

from __future__ import annotations

from functools import partial

from postrender.attach.client import FORBIDDEN, ApiError, Client
from postrender.attach.live import Consumer, Revision, read_consumer, read_revision
from postrender.attach.reconcile import ClusterState
from postrender.attach.request import AttachRequest
from postrender.attach.resources import CONFIG_MAPS, CONSUMER_KINDS, REVISED_KINDS, Resource
from postrender.kubernetes.annotations import GROUP_LABEL
from postrender.startup.records import NamedTuple


class GroupRevisions(NamedTuple):
    """The revisions of a run, and their attach group ("" if unknown)."""

    revisions: tuple[Revision, ...]
    group_name: str


def read_revisions(
    client: Client, request: AttachRequest, workloads: frozenset[str] = frozenset()
) -> GroupRevisions:
    """Return the revisions of the request's attach group, and all given revisions.

    A request without a group gets the group in the label of the given revisions. An original in the
    applied stream is returned as a revision that is not swept. Raises ApiError.
    workloads: uids; revisions of other groups are included if a run of attach made one of these
    workloads an owner.
    """
    candidates: list[Revision] = []
    for resource in REVISED_KINDS:
        if resource in (CONFIG_MAPS, *request.resources):
            candidates += _read_kind(client, resource, request)
    given = set(request.given)
    labels = {revision.group_name for revision in candidates if revision.key in given} - {""}
    group_name = request.group_name or (labels.pop() if len(labels) == 1 else "")
    others_in_stream = {ref for ref in request.emitted if ref not in given}
    revisions = (
        _protected(revision) if revision.key in others_in_stream else revision
        for revision in candidates
        if revision.key in given
        or revision.group_name == group_name != ""
        or (group_name and revision.group_name and revision.our_owners & workloads)
    )
    return GroupRevisions(tuple(revisions), group_name)


def _protected(revision: Revision) -> Revision:
    """Return a revision of the applied stream; an original must outlive every workload.

    `postrender adopt` may have labelled the original, but the tool that applies manages it. A Job
    may be its only owner, and the garbage collector would delete the original with that Job.
    """
    return revision if revision.base_name else revision._replace(is_sweepable=False)


def _read_kind(client: Client, resource: Resource, request: AttachRequest) -> list[Revision]:
    selector = GROUP_LABEL if request.group_name else ""
    revisions, _ = client.list_all(resource, partial(read_revision, resource), selector)
    kind = resource.kind.lower()
    given = {name for given_kind, name in request.given if given_kind == kind}
    if selector and not given <= {revision.name for revision in revisions}:
        # A given revision does not exist, or has no label because another tool created it.
        revisions, _ = client.list_all(resource, partial(read_revision, resource))
    return revisions


def read_state(client: Client, revisions: tuple[Revision, ...] = ()) -> ClusterState:
    """Return the revisions together with every possible consumer. Raises ApiError.

    The revisions must have been read before. Then an owner of a revision that is missing in the
    later lists of consumers was deleted. A kind that cannot be listed is not an error.
    """
    consumers: dict[str, Consumer] = {}
    unreadable = set()
    for resource in CONSUMER_KINDS:
        items = _read_consumers(client, resource)
        if items is None:
            unreadable.add(resource)
        else:
            consumers.update((consumer.uid, consumer) for consumer in items)
    return ClusterState(revisions, consumers, frozenset(unreadable))


def _read_consumers(client: Client, resource: Resource) -> list[Consumer] | None:
    """Return the objects of a kind, or None if listing the kind is forbidden."""
    try:
        return client.list_all(resource, partial(read_consumer, resource))[0]
    except ApiError as error:
        if error.status == FORBIDDEN:
            return None
        raise
