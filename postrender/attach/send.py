"""Sending patches: each revision's outcome is a line in the log."""

from __future__ import annotations

from collections.abc import Iterable

from postrender.attach.client import ApiError, Client
from postrender.attach.log import Log
from postrender.attach.reconcile import Patch
from postrender.errors import UserError


def send(client: Client, patches: Iterable[Patch], log: Log) -> list[UserError]:
    """Send patches, one a revision; return the refusals, which stop none of the others.

    Raises ApiError where the API server does not answer.
    """
    refusals: list[UserError] = []
    for patch in patches:
        refusal = _send(client, patch, log)
        if refusal:
            refusals.append(refusal)
    return refusals


def _send(client: Client, patch: Patch, log: Log) -> ApiError | None:
    try:
        if client.patch(patch.revision.resource, patch.revision.name, patch.body):
            log.info(f"{patch.revision}: {_what(patch)}")
        else:
            log.warning(f"{patch.revision} is gone")
    except ApiError as error:
        if not error.is_answer:
            raise
        return error
    return None


def _what(patch: Patch) -> str:
    parts = []
    if patch.added:
        parts.append("owners added: " + ", ".join(map(str, patch.added)))
    if patch.dropped:
        parts.append("owners removed: " + ", ".join(map(str, patch.dropped)))
    if patch.mark:
        parts.append("nothing names it any more; it is deleted when that has been so for a while")
    elif patch.mark is not None:
        parts.append("in use again")
    return "; ".join(parts)
