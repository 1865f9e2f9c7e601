"""Reading a namespace: the revisions of a set, and every object that may name one."""

from __future__ import annotations

from functools import partial

from postrender.attach.client import FORBIDDEN, ApiError, Client
from postrender.attach.live import Consumer, Revision, read_holder, read_revision
from postrender.attach.reconcile import ClusterState
from postrender.attach.request import AttachRequest
from postrender.attach.resources import CONFIG_MAPS, HOLDERS, REVISED, Resource
from postrender.kubernetes.annotations import GROUP_LABEL
from postrender.startup.records import NamedTuple


class Seen(NamedTuple):
    """The revisions a run is about, and the set they belong to ("" where none can be told)."""

    revisions: tuple[Revision, ...]
    group_name: str


def read_revisions(
    client: Client, request: AttachRequest, workloads: frozenset[str] = frozenset()
) -> Seen:
    """Return the revisions of the request's set, and those given that bear another label or none.

    Without a set, it is the one whose label the given revisions bear. workloads: uids; revisions of
    other sets are returned too where an earlier run made one of these an owner. An original that
    stays in the stream is returned as one that is not swept. Raises ApiError.
    """
    found: list[Revision] = []
    resources = [item for item in REVISED if item in (CONFIG_MAPS, *request.resources)]
    for resource in resources:
        found += _read(client, resource, request)
    given = set(request.given)
    labels = {item.group_name for item in found if item.key in given} - {""}
    group_name = request.group_name or (labels.pop() if len(labels) == 1 else "")
    ours = [
        item
        for item in found
        if item.key in given
        or item.group_name == group_name != ""
        or (group_name and item.group_name and item.owned_by_us & workloads)
    ]
    stays = {name for name in request.emitted if name not in given}
    return Seen(tuple(_kept(item) if item.key in stays else item for item in ours), group_name)


def _kept(revision: Revision) -> Revision:
    """Return one of the stream with an original as what must outlive every workload.

    `postrender adopt` may have labelled it, but now it belongs to the tool that applies it: with a
    Job for its only owner, the garbage collector would take it along when that Job is deleted.
    """
    return revision if revision.base_name else revision._replace(is_swept=False)


def _read(client: Client, resource: Resource, request: AttachRequest) -> list[Revision]:
    selector = GROUP_LABEL if request.group_name else ""
    found, _ = client.list_all(resource, partial(read_revision, resource), selector)
    kind = resource.kind.lower()
    wanted = {name for given_kind, name in request.given if given_kind == kind}
    if selector and not wanted <= {item.name for item in found}:
        # One that is given may have no label (another tool made it), or not be there at all.
        found, _ = client.list_all(resource, partial(read_revision, resource))
    return found


def read_live(client: Client, revisions: tuple[Revision, ...] = ()) -> ClusterState:
    """Return the revisions, which must have been read before, with every holder there is now.

    The order matters: an owner that a revision already had and that is not among the holders
    read after it is gone for good. Raises ApiError, but not for a kind that may not be read.
    """
    consumers: dict[str, Consumer] = {}
    unreadable = set()
    for resource in HOLDERS:
        found = _read_holders(client, resource)
        if found is None:
            unreadable.add(resource)
        else:
            consumers.update((consumer.uid, consumer) for consumer in found)
    return ClusterState(revisions, consumers, frozenset(unreadable))


def _read_holders(client: Client, resource: Resource) -> list[Consumer] | None:
    """Return the objects of a kind, or None where they may not be read."""
    try:
        return client.list_all(resource, partial(read_holder, resource))[0]
    except ApiError as error:
        if error.status == FORBIDDEN:
            return None
        raise
