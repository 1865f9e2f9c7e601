"""What a run reads from its namespace: revisions, consumers and the release owner."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from functools import partial

from postrender.attach.client import FORBIDDEN, ApiError, Client
from postrender.attach.connect import Account
from postrender.attach.live import (
    Consumer,
    Object,
    Owner,
    Revision,
    read_consumer,
    read_revision,
    text_at,
)
from postrender.attach.reconcile import RunState, find_related
from postrender.attach.request import (
    CONFIG_MAPS,
    CONSUMER_KINDS,
    REVISED_KINDS,
    SERVICE_ACCOUNTS,
    AttachRequest,
    NamedObject,
    Resource,
)
from postrender.kubernetes.annotations import (
    GROUP_LABEL,
    SWEEP_ANNOTATION,
)
from postrender.kubernetes.attach_groups import group_name_for_release

_log = logging.getLogger(__name__)


def read_revisions(client: Client, request: AttachRequest) -> RunState:
    """The live revisions of a run, without the consumers.

    If the request has no attach group, the group is the label of the given revisions. If no given
    revision has a label, or if the labels differ, the group is unknown. The attach group of a
    request is a label, or a name as in `render --group`.
    """
    candidates: list[Revision] = []
    for resource in REVISED_KINDS:
        if reads_kind(resource, request):
            candidates += _read_kind(client, resource, request)
        else:
            candidates += _read_retired(client, resource, request)
    return select_revisions(candidates, request)


def reads_kind(resource: Resource, request: AttachRequest) -> bool:
    """Whether a run lists all objects of a kind, and not only those in AttachRequest.retired."""
    kinds = {kind for kind, _ in request.in_stream}
    return resource == CONFIG_MAPS or resource.kind.lower() in kinds


def select_revisions(candidates: Sequence[Revision], request: AttachRequest) -> RunState:
    """The revisions of a run among live ConfigMaps and Secrets, as in read_revisions."""
    given, in_stream = set(request.given), request.in_stream
    labels = {revision.group_name for revision in candidates if revision.key in given} - {""}
    group_name = labels.pop() if len(labels) == 1 else ""
    if request.group_name:
        existing = {revision.group_name for revision in candidates}
        derived = group_name_for_release(request.group_name)
        group_name = derived if request.group_name not in existing else request.group_name
    only_emitted = request.emitted - given
    revised = request.revised if request.group_name else ()
    revisions, others = [], []
    for revision in candidates:
        if revision.key in given or revision.group_name == group_name != "":
            is_only_emitted = revision.key in only_emitted
            revisions.append(_protected(revision) if is_only_emitted else revision)
        elif (
            (group_name and revision.group_name)
            or revision.key in revised
            or (not (request.group_name or revision.group_name) and revision.proven_owners)
        ):
            others.append(revision)
    return RunState(
        revisions=tuple(revisions),
        consumers={},
        in_stream=in_stream,
        others=tuple(others),
        group_name=group_name,
        base_names=frozenset(
            revision.base
            for revision in candidates
            if revision.key in in_stream and revision.base_name
        ),
        is_by_owner=not request.group_name,
    )


def _protected(revision: Revision) -> Revision:
    """Protect an original of the applied stream that the request does not give as a revision.

    `postrender adopt` may have labelled the original, but a tool such as Helm manages it. If a
    consumer were its only owner, Kubernetes would delete the original with the consumer.
    """
    if revision.base_name:
        return revision
    return revision._replace(keep_annotations=(SWEEP_ANNOTATION,), is_original_in_stream=True)


def _read_kind(client: Client, resource: Resource, request: AttachRequest) -> list[Revision]:
    """The objects of a kind with the label of any attach group.

    The result has all objects of the kind if the request has no attach group, or if a revision of
    the applied stream is not among the objects with a label.
    """
    selector = GROUP_LABEL if request.group_name else ""
    revisions, _ = client.list_all(resource, partial(read_revision, resource), selector)
    kind = resource.kind.lower()
    wanted = {name for ref_kind, name in {*request.given, *request.revised} if ref_kind == kind}
    if selector and not wanted <= {revision.name for revision in revisions}:
        # A revision does not exist, or somebody created an object without a label under its name.
        revisions, _ = client.list_all(resource, partial(read_revision, resource))
    return revisions


def _read_retired(client: Client, resource: Resource, request: AttachRequest) -> list[Revision]:
    """The live revisions in AttachRequest.retired of a kind.

    The applied stream has no revision of this kind. The attacher's Role therefore permits only
    requests with the name of a retired revision. If the Role forbids even such a request, attach
    keeps the revision.
    """
    revisions: list[Revision] = []
    for kind, name in sorted(request.retired):
        if kind == resource.kind.lower():
            try:
                found, _ = client.list_all(resource, partial(read_revision, resource), name=name)
                revisions += found
            except ApiError as error:
                if error.status != FORBIDDEN:
                    raise
                _log.warning(f"attach keeps {resource.kind}/{name}, because {error}")
    return revisions


def with_consumers(
    state: RunState, consumers: Mapping[str, Consumer], unreadable: frozenset[Resource]
) -> RunState:
    """What a run knows after it has listed the consumers, with the related ones of `others`.

    consumers, unreadable: from read_consumers, listed after the revisions. In the other order, an
        owner that was created between the lists would count as deleted.
    """
    state = state._replace(consumers=consumers, unreadable=unreadable)
    related = find_related(state, state.others)
    return state._replace(revisions=(*state.revisions, *related), others=())


def read_consumers(
    client: Client, read: Callable[[Resource, Object], Consumer] = read_consumer
) -> tuple[dict[str, Consumer], frozenset[Resource]]:
    """Every possible consumer by uid, and the kinds that the Role forbids to list."""
    consumers: dict[str, Consumer] = {}
    unreadable = set()
    for resource in CONSUMER_KINDS:
        items = client.list_allowed(resource, partial(read, resource))
        if items is None:
            unreadable.add(resource)
        consumers.update((consumer.uid, consumer) for consumer in items or ())
    return consumers, frozenset(unreadable)


def find_release_owner(
    client: Client, wanted: NamedObject | None, account: Account | None
) -> Owner | None:
    """The release owner of a run, None (with a warning) if it does not exist."""
    if wanted is None:
        return None
    reason = f"{wanted} does not exist"
    fix = f"Apply the manifests that contain {wanted}"
    namespace, name, uid = account or ("", "", "")
    if (wanted.resource, client.namespace, wanted.name) != (SERVICE_ACCOUNTS, namespace, name):
        try:
            data = client.read(wanted.resource, wanted.name)
        except ApiError as error:
            if not error.is_answer:
                raise
            data, reason, fix = None, error.problem, error.fix
        uid = text_at(data, "metadata", "uid")
    if not uid:
        _log.warning(
            f"attach cannot make {wanted} an owner of the revisions, because {reason}. If a "
            "workload gets another name or kind, Kubernetes deletes the revisions of the workload. "
            f"{fix}."
        )
        return None
    return Owner(
        api_version=wanted.resource.api_version,
        kind=wanted.resource.kind,
        name=wanted.name,
        uid=uid,
    )
