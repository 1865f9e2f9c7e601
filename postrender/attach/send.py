"""Sending patches: each revision's outcome is a line in the log."""

from __future__ import annotations

from collections.abc import Iterable

from postrender.attach.client import Client
from postrender.attach.log import Log
from postrender.attach.reconcile import Patch


def send(client: Client, patches: Iterable[Patch], log: Log) -> None:
    """Send patches, one a revision. One that is gone meanwhile is told of. Raises ApiError."""
    for patch in patches:
        if client.patch(patch.revision.resource, patch.revision.name, patch.body):
            log.info(f"{patch.revision}: {_what(patch)}")
        else:
            log.warning(f"{patch.revision} is gone")


def _what(patch: Patch) -> str:
    parts = []
    if patch.added:
        parts.append("owned by " + ", ".join(map(str, patch.added)))
    if patch.dropped:
        parts.append("owned no longer by " + ", ".join(map(str, patch.dropped)))
    if patch.mark:
        parts.append("nothing names it any more; it is deleted when that has been so for a while")
    elif patch.mark is not None:
        parts.append("in use again")
    return "; ".join(parts)
