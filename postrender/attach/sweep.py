"""Deleting the revisions that nothing has named for a while."""

from __future__ import annotations

from datetime import datetime, timezone

from postrender.attach.client import ApiError, Client
from postrender.attach.kinds import CONFIG_MAPS
from postrender.attach.live import Revision
from postrender.attach.log import Log
from postrender.attach.observe import read_live, read_revisions
from postrender.attach.reconcile import Live, Scope, unused
from postrender.attach.request import AttachRequest
from postrender.revision import fits_content


def sweep(
    client: Client, request: AttachRequest, live: Live, scope: Scope, log: Log
) -> list[ApiError]:
    """Delete what `live` shows to be unused for long enough; return the refusals.

    Raises ApiError where the API server does not answer.
    """
    doomed = set()
    for revision, why in _unused(live, request, scope):
        if why:
            log.info(f"{revision} is unused, and kept: {why}")
        else:
            doomed.add(revision.key)
    if not doomed:
        return []
    # Everything is read again just before: what was written since the first look took its time.
    live = read_live(client, read_revisions(client, request, scope.workloads))
    refusals = []
    for revision, why in _unused(live, request, scope):
        if revision.key in doomed:
            try:
                log.info(f"{revision} {_delete(client, revision, why)}")
            except ApiError as error:
                if not error.is_answer:
                    raise
                refusals.append(error)
    return refusals


def report_unused(live: Live, request: AttachRequest, scope: Scope, log: Log) -> None:
    """Tell what a sweep would delete or keep."""
    for revision, why in _unused(live, request, scope):
        state = f"and kept: {why}" if why else "a run that prunes would delete it"
        log.info(f"{revision} is unused, {state}")


def _unused(live: Live, request: AttachRequest, scope: Scope) -> list[tuple[Revision, str]]:
    return unused(live, scope, request.in_stream, datetime.now(timezone.utc))


def _why_edited(client: Client, revision: Revision) -> str:
    """Return why a ConfigMap that someone has edited is kept, "" for one that nobody has.

    A Secret's content is never read; an original that was adopted has no hash to compare.
    """
    if revision.resource != CONFIG_MAPS or not revision.base_name:
        return ""
    data = client.read(revision.resource, revision.name)
    kind = revision.resource.group_kind
    if data is None or fits_content(revision.name, revision.base_name, kind, data):
        return ""
    return "its content no longer fits its name, so someone has edited it"


def _delete(client: Client, revision: Revision, why_kept: str) -> str:
    """Delete a revision unless there is a reason to keep it; return what became of it."""
    reason = why_kept or _why_edited(client, revision)
    if reason:
        return f"is unused, and kept: {reason}"
    preconditions = {"uid": revision.uid, "resourceVersion": revision.resource_version}
    if client.delete(revision.resource, revision.name, preconditions):
        return f"is deleted: nothing has named it since {revision.unused_since}"
    return "is gone or has changed, and left alone"
