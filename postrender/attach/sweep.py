"""Deleting the revisions that nothing has named for a while."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime, timezone

from postrender.attach.client import ApiError, Client
from postrender.attach.live import Revision
from postrender.attach.log import Log
from postrender.attach.observe import read_live, read_revisions
from postrender.attach.reconcile import ClusterState, Scope, unused
from postrender.attach.request import AttachRequest
from postrender.attach.resources import CONFIG_MAPS
from postrender.errors import UserError
from postrender.kubernetes.hashing import fits_content


def sweep(
    client: Client, request: AttachRequest, live: ClusterState, scope: Scope, log: Log
) -> list[UserError]:
    """Delete what `live` shows to be unused for long enough; return what went wrong.

    Raises ApiError where the API server does not answer.
    """
    doomed = set()
    for revision, why in _unused(live, request, scope):
        reason = why or _why_edited(client, revision)
        if reason:
            log.info(f"{revision} is unused, and kept: {reason}")
        else:
            doomed.add(revision.key)
    if not doomed:
        return []
    # Everything is read again just before: what was written since the first look took its time.
    live = read_live(client, read_revisions(client, request, scope.workloads).revisions)
    chosen = [
        revision
        for revision, why in _unused(live, request, scope)
        if revision.key in doomed and not why
    ]
    refusals: list[UserError] = []
    deleted = [revision for revision in chosen if _delete(client, revision, refusals, log)]
    return [*refusals, *_named_after_all(client, deleted)]


def _named_after_all(client: Client, deleted: Sequence[Revision]) -> Iterator[UserError]:
    """Yield what was deleted in the very moment in which something came to name it.

    An apply that finds a ConfigMap as it is changes nothing on it, and so nothing stops the delete.
    """
    if deleted:
        users = read_live(client).consumers.values()
        for revision in deleted:
            user = next((one for one in users if revision.key in one.names), None)
            if user:
                yield UserError(f"{revision} was deleted, and {user} names it now", "apply again")


def report_unused(live: ClusterState, request: AttachRequest, scope: Scope, log: Log) -> None:
    """Tell what a sweep would delete or keep."""
    for revision, why in _unused(live, request, scope):
        state = f"and kept: {why}" if why else "a run that prunes would delete it"
        log.info(f"{revision} is unused, {state}")


def _unused(live: ClusterState, request: AttachRequest, scope: Scope) -> list[tuple[Revision, str]]:
    return unused(live, scope, request.in_stream, datetime.now(timezone.utc))


def _why_edited(client: Client, revision: Revision) -> str:
    """Return why a ConfigMap that someone has edited is kept, "" for one that nobody has.

    A Secret's content is never read; an original that was adopted has no hash to compare; and
    base64 is stored without the line breaks that it was written and hashed with, but an immutable
    object cannot have been edited.
    """
    if revision.resource != CONFIG_MAPS or not revision.base_name:
        return ""
    data = client.read(revision.resource, revision.name)
    kind = revision.resource.group_kind
    if data is None or fits_content(revision.name, revision.base_name, kind, data):
        return ""
    if data.get("immutable") is True and data.get("binaryData"):
        return ""
    return "its content no longer fits its name, so someone has edited it"


def _delete(client: Client, revision: Revision, refusals: list[UserError], log: Log) -> bool:
    """Delete a revision, and return whether it was; a refusal, which stops no other, is added."""
    preconditions = {"uid": revision.uid, "resourceVersion": revision.resource_version}
    try:
        is_deleted = client.delete(revision.resource, revision.name, preconditions)
    except ApiError as error:
        if not error.is_answer:
            raise
        refusals.append(error)
        return False
    if is_deleted:
        log.info(f"{revision} is deleted: nothing has named it since {revision.unused_since}")
    else:
        log.info(f"{revision} has changed, and is left alone")
    return is_deleted
