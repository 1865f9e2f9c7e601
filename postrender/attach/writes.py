"""The function that sends the patches of a run, one by one, and logs the changes."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator

from postrender.attach.client import ApiError, Client
from postrender.attach.reconcile import Patch
from postrender.errors import UserError

_log = logging.getLogger(__name__)


def send(client: Client, patches: Iterable[Patch]) -> list[UserError]:
    """Return the refusals after sending patches. A refusal does not stop the function.

    Raises ApiError if the API server does not answer.
    """
    return [refusal for patch in patches if (refusal := _send(client, patch))]


def _send(client: Client, patch: Patch) -> ApiError | None:
    """Return the refusal after sending a patch, None if the API server accepts the patch.

    Raises ApiError if the API server does not answer.
    """
    try:
        if client.patch(patch.revision.resource, patch.revision.name, patch.body):
            for line in _lines(patch):
                _log.info(line)
        else:
            _log.warning(
                f"somebody or Kubernetes deleted {patch.revision} during this run. If pods use "
                f"{patch.revision}, apply the manifests again."
            )
    except ApiError as error:
        if not error.is_answer:
            raise
        return error
    return None


def _lines(patch: Patch) -> Iterator[str]:
    """Return the log lines about a patch that the API server has accepted."""
    if patch.added:
        yield f"attach added owners to {patch.revision}: {', '.join(map(str, patch.added))}"
    if patch.removed:
        yield f"attach removed owners from {patch.revision}: {', '.join(map(str, patch.removed))}"
    if patch.mark:
        yield (
            f"attach marked the unused {patch.revision}. If {patch.revision} stays unused, a later "
            "run deletes the revision."
        )
    elif patch.mark is not None:
        yield f"attach removed the mark from {patch.revision}, because an object uses the revision"
