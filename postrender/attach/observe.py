"""The functions that read revisions and all possible consumers from a namespace."""

from __future__ import annotations

import logging
from functools import partial

from postrender.attach.client import FORBIDDEN, ApiError, Client
from postrender.attach.live import Consumer, Owner, Revision, read_consumer, read_revision
from postrender.attach.reconcile import ClusterState, Scope, find_related
from postrender.attach.request import (
    CONFIG_MAPS,
    CONSUMER_KINDS,
    REVISED_KINDS,
    AttachRequest,
    Resource,
    RevisionRef,
)
from postrender.kubernetes.annotations import GROUP_LABEL
from postrender.records import NamedTuple

_log = logging.getLogger(__name__)


class GroupRevisions(NamedTuple):
    """The live revisions that a run of attach reads.

    revisions: the given revisions (AttachRequest.given), and all revisions of the run's attach
        group.
    others: the revisions of other attach groups; () if the attach group of the run is unknown.
    group_name: the attach group of the run, "" if unknown.
    base_names: the kinds in lower case, and the base names, of the live revisions in
        AttachRequest.in_stream.
    """

    revisions: tuple[Revision, ...]
    others: tuple[Revision, ...]
    group_name: str
    base_names: frozenset[RevisionRef]


def read_revisions(client: Client, request: AttachRequest) -> GroupRevisions:
    """Return the live revisions that a run of attach reads. Raises ApiError.

    If the request has no attach group, the group is the label of the given revisions. If no given
    revision has a label, or if the labels differ, the group is unknown.

    An original that is in AttachRequest.emitted, but not in AttachRequest.given, becomes a
    protected record (see _protected).
    """
    candidates: list[Revision] = []
    in_stream = request.in_stream
    kinds = {kind for kind, _ in in_stream}
    for resource in REVISED_KINDS:
        if resource == CONFIG_MAPS or resource.kind.lower() in kinds:
            candidates += _read_kind(client, resource, request)
        else:
            candidates += _read_retired(client, resource, request)
    given = set(request.given)
    labels = {revision.group_name for revision in candidates if revision.key in given} - {""}
    group_name = request.group_name or (labels.pop() if len(labels) == 1 else "")
    only_emitted = request.emitted - given
    revisions, others = [], []
    for revision in candidates:
        if revision.key in given or revision.group_name == group_name != "":
            is_only_emitted = revision.key in only_emitted
            revisions.append(_protected(revision) if is_only_emitted else revision)
        elif group_name and revision.group_name:
            others.append(revision)
    return GroupRevisions(
        revisions=tuple(revisions),
        others=tuple(others),
        group_name=group_name,
        base_names=frozenset(
            (revision.resource.kind.lower(), revision.base_name)
            for revision in candidates
            if revision.key in in_stream and revision.base_name
        ),
    )


def _protected(revision: Revision) -> Revision:
    """Return an original as a protected record, and any other revision unchanged.

    A protected record has is_sweepable=False and is_original_in_stream=True. `postrender adopt` may
    have labelled the original, but a tool such as Helm manages the original. If a consumer were the
    only owner of the original, Kubernetes would delete the original with the consumer.
    revision: an object of the applied stream.
    """
    if revision.base_name:
        return revision
    return revision._replace(is_sweepable=False, is_original_in_stream=True)


def _read_kind(client: Client, resource: Resource, request: AttachRequest) -> list[Revision]:
    """Return the objects of a kind that have the label GROUP_LABEL, with any value.

    The result contains all objects of the kind in two cases:
    - The request has no attach group.
    - A given revision is not among the objects with the label.
    """
    selector = GROUP_LABEL if request.group_name else ""
    revisions, _ = client.list_all(resource, partial(read_revision, resource), selector)
    kind = resource.kind.lower()
    given = {name for given_kind, name in request.given if given_kind == kind}
    if selector and not given <= {revision.name for revision in revisions}:
        # A given revision does not exist, or another tool created the revision without a label.
        revisions, _ = client.list_all(resource, partial(read_revision, resource))
    return revisions


def _read_retired(client: Client, resource: Resource, request: AttachRequest) -> list[Revision]:
    """Return the live revisions of a kind that are in AttachRequest.retired.

    The applied stream has no revision of this kind. The attacher's Role therefore permits only
    requests with the name of a retired revision. If the Role forbids a request, attach logs a
    warning and keeps the revision.
    """
    kind = resource.kind.lower()
    names = sorted(name for retired_kind, name in request.retired if retired_kind == kind)
    return [revision for name in names for revision in _read_by_name(client, resource, name)]


def _read_by_name(client: Client, resource: Resource, name: str) -> list[Revision]:
    """Return a list with one revision, [] if absent or if the Role forbids the request."""
    try:
        return client.list_all(resource, partial(read_revision, resource), name=name)[0]
    except ApiError as error:
        if error.status != FORBIDDEN:
            raise
        _log.warning(f"attach keeps {resource.kind}/{name}, because {error}")
        return []


def read_state(
    client: Client, group: GroupRevisions, scope: Scope, release_owner: Owner | None
) -> ClusterState:
    """Return the revisions of a run together with every possible consumer. Raises ApiError.

    The result also contains the revisions of other attach groups that the run looks after (see
    find_related). If the Role forbids the list of a kind, the kind is in `unreadable`.
    group: the result of read_revisions. attach lists the consumers after the revisions. In the
    other order, an owner that was created between the lists would count as deleted.
    """
    consumers, unreadable = read_consumers(client)
    state = ClusterState(
        revisions=group.revisions,
        consumers=consumers,
        unreadable=unreadable,
        release_owner=release_owner,
    )
    related = find_related(state, scope, group.others)
    return state._replace(revisions=(*group.revisions, *related))


def read_consumers(client: Client) -> tuple[dict[str, Consumer], frozenset[Resource]]:
    """Return every possible consumer by uid, and the kinds that the run has no permission to list.

    Raises ApiError.
    """
    consumers: dict[str, Consumer] = {}
    unreadable = set()
    for resource in CONSUMER_KINDS:
        items = _read_consumers_of_kind(client, resource)
        if items is None:
            unreadable.add(resource)
        else:
            consumers.update((consumer.uid, consumer) for consumer in items)
    return consumers, frozenset(unreadable)


def _read_consumers_of_kind(client: Client, resource: Resource) -> list[Consumer] | None:
    """Return all possible consumers of a kind, or None if the Role forbids the list."""
    try:
        return client.list_all(resource, partial(read_consumer, resource))[0]
    except ApiError as error:
        if error.status == FORBIDDEN:
            return None
        raise
