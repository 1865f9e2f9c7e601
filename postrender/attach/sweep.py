"""Deleting the revisions that nothing has named for a while."""

from __future__ import annotations

from datetime import datetime, timezone

from postrender.attach.client import Client
from postrender.attach.kinds import CONFIG_MAPS
from postrender.attach.live import Revision
from postrender.attach.log import Log
from postrender.attach.observe import read_live, read_revisions
from postrender.attach.reconcile import Live, unused
from postrender.attach.request import AttachRequest
from postrender.revision import fits_content


def sweep(client: Client, request: AttachRequest, live: Live, set_name: str, log: Log) -> None:
    """Delete what `live` shows to be unused for long enough. Raises ApiError."""
    if not set_name or not any(not why for _, why in _unused(live, request, set_name)):
        return
    # Everything is read again just before: what was written since the first look took its time.
    seen = read_revisions(client, request)
    live = read_live(client, seen)
    for revision, why in _unused(live, request, set_name):
        reason = why or _why_edited(client, revision)
        if reason:
            log.info(f"{revision} is unused, and kept: {reason}")
        elif _delete(client, revision):
            log.info(f"{revision} is deleted: nothing names it since {revision.unused_since}")
        else:
            log.info(f"{revision} is gone or has changed, and left alone")


def report_unused(live: Live, request: AttachRequest, set_name: str, log: Log) -> None:
    """Tell what a sweep would delete or keep."""
    for revision, why in _unused(live, request, set_name):
        log.info(f"{revision} is unused: {why or 'a run that prunes would delete it'}")


def _unused(live: Live, request: AttachRequest, set_name: str) -> list[tuple[Revision, str]]:
    return unused(live, set_name, request.in_stream, datetime.now(timezone.utc))


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


def _delete(client: Client, revision: Revision) -> bool:
    preconditions = {"uid": revision.uid, "resourceVersion": revision.resource_version}
    return client.delete(revision.resource, revision.name, preconditions)
