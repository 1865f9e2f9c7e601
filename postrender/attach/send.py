"""The function that sends the patches of a run, one by one, and logs the changes.

The caller reports the refused patches at the end of the run.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable

from postrender.attach.client import ApiError, Client
from postrender.attach.reconcile import Patch
from postrender.errors import UserError

_log = logging.getLogger(__name__)


def send(client: Client, patches: Iterable[Patch]) -> list[UserError]:
    """Send patches, and return the refusals. After a refusal, `send` continues with the next patch.

    Raises ApiError if the API server does not answer.
    """
    return [refusal for patch in patches if (refusal := _send(client, patch))]


def _send(client: Client, patch: Patch) -> ApiError | None:
    """Send a patch, and return the refusal, None if the API server does not refuse the patch.

    Raises ApiError if the API server does not answer.
    """
    try:
        if client.patch(patch.revision.resource, patch.revision.name, patch.body):
            _log.info(f"{patch.revision}: {_description(patch)}")
        else:
            _log.warning(f"{patch.revision} was deleted during this run")
    except ApiError as error:
        if not error.is_answer:
            raise
        return error
    return None


def _description(patch: Patch) -> str:
    parts = []
    if patch.added:
        parts.append("added owners " + ", ".join(map(str, patch.added)))
    if patch.removed:
        parts.append("removed owners " + ", ".join(map(str, patch.removed)))
    if patch.mark:
        parts.append(
            "marked as unused (a later run deletes the revision unless an object uses the revision)"
        )
    elif patch.mark is not None:
        parts.append("used again, so the mark is removed")
    return "; ".join(parts)
