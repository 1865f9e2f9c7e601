"""Deleting revisions that have been unused for a while."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from datetime import datetime, timezone

from postrender.attach.client import ApiError, Client
from postrender.attach.live import Revision
from postrender.attach.observe import read_revisions, read_state
from postrender.attach.reconcile import ClusterState, Scope, find_unused
from postrender.attach.request import AttachRequest
from postrender.attach.resources import CONFIG_MAPS
from postrender.errors import UserError
from postrender.kubernetes.hashing import fits_content

_log = logging.getLogger(__name__)


def sweep(
    client: Client, request: AttachRequest, state: ClusterState, scope: Scope
) -> list[UserError]:
    """Delete the revisions that were unused for long enough; return the problems.

    Raises ApiError if the API server does not answer.
    """
    to_delete = set()
    for revision, keep_reason in _unused(state, request, scope):
        reason = keep_reason or _edit_reason(client, revision)
        if reason:
            _log.info(f"{revision} is unused but kept: {reason}")
        else:
            to_delete.add(revision.key)
    if not to_delete:
        return []
    # The writes of this run took time, so everything is read again just before the deletion.
    state = read_state(client, read_revisions(client, request, scope.workloads).revisions)
    still_unused = [
        revision
        for revision, keep_reason in _unused(state, request, scope)
        if revision.key in to_delete and not keep_reason
    ]
    refusals: list[UserError] = []
    deleted = [revision for revision in still_unused if _delete(client, revision, refusals)]
    return [*refusals, *_deleted_in_use(client, deleted)]


def _deleted_in_use(client: Client, deleted: Sequence[Revision]) -> Iterator[UserError]:
    """Yield the deleted revisions that got a consumer at the moment of the deletion.

    An apply that does not change a ConfigMap does not change its resourceVersion either. The
    precondition of the delete request is then still true.
    """
    if deleted:
        consumers = read_state(client).consumers.values()
        for revision in deleted:
            consumer = next((item for item in consumers if revision.key in item.references), None)
            if consumer:
                yield UserError(
                    f"{revision} was deleted, but {consumer} now references {revision}",
                    "Apply the manifests again",
                )


def report_unused(state: ClusterState, request: AttachRequest, scope: Scope) -> None:
    """Log the revisions that a sweep would delete or keep."""
    for revision, keep_reason in _unused(state, request, scope):
        if keep_reason:
            _log.info(f"{revision} is unused but kept: {keep_reason}")
        else:
            _log.info(f"{revision} is unused; a run without --no-prune would delete {revision}")


def _unused(
    state: ClusterState, request: AttachRequest, scope: Scope
) -> list[tuple[Revision, str]]:
    return find_unused(state, scope, request.in_stream, datetime.now(timezone.utc))


def _edit_reason(client: Client, revision: Revision) -> str:
    """Return why an edited ConfigMap is kept, "" if nobody has edited the ConfigMap.

    The content of a Secret is never read. An adopted original has no hash to compare with.
    """
    if revision.resource != CONFIG_MAPS or not revision.base_name:
        return ""
    data = client.read(revision.resource, revision.name)
    kind = revision.resource.group_kind
    if data is None or fits_content(revision.name, revision.base_name, kind, data):
        return ""
    # The API server stores base64 without the line breaks that the hash includes. Nobody can edit
    # an immutable object, so a mismatch does not show an edit.
    if data.get("immutable") is True and data.get("binaryData"):
        return ""
    return "the content no longer matches the name, so somebody edited the ConfigMap"


def _delete(client: Client, revision: Revision, refusals: list[UserError]) -> bool:
    """Delete a revision; return whether the revision was deleted.

    refusals: gets the error if the API server refuses; the other deletions continue.
    """
    preconditions = {"uid": revision.uid, "resourceVersion": revision.resource_version}
    try:
        is_deleted = client.delete(revision.resource, revision.name, preconditions)
    except ApiError as error:
        if not error.is_answer:
            raise
        refusals.append(error)
        return False
    if is_deleted:
        _log.info(f"{revision}: deleted, unused since {revision.unused_since}")
    else:
        _log.info(f"{revision}: not deleted, because somebody changed the object during this run")
    return is_deleted
