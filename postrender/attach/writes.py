"""The function that sends the patches of a run, one by one, and logs the changes.

Kubernetes Events on workloads. `kubectl describe` shows the Events of a workload.
"""

from __future__ import annotations

import logging
import uuid
from collections.abc import Iterable, Iterator

from postrender.attach.client import ApiError, Client
from postrender.attach.live import Object
from postrender.attach.reconcile import Patch
from postrender.attach.request import EVENTS, WantedWorkload
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


# The API server refuses an Event with a longer message.
_LONGEST_MESSAGE = 1024
# The maximum number of characters of a workload's name in the name of an Event. A dot and a random
# ID of 16 characters follow. Kubernetes permits 253 characters for the whole name.
_LONGEST_NAME = 200


def record_event(
    client: Client, workload: WantedWorkload, uid: str, event_type: str, reason: str, message: str
) -> None:
    """Create an Event on a workload. Raises ApiError.

    uid: the uid of the workload, "" if the workload does not exist or its uid is unknown.
    event_type: `Normal` or `Warning`.
    reason: a CamelCase word, such as `AttachFailed`.
    message: the text. The Event contains only the first 1,024 characters.
    """
    now = client.now().strftime("%Y-%m-%dT%H:%M:%SZ")
    target: Object = {
        "apiVersion": workload.resource.api_version,
        "kind": workload.resource.kind,
        "namespace": client.namespace,
        "name": workload.name,
    }
    if uid:
        target["uid"] = uid
    # If the API server generated the name (generateName), a retry could create a second Event.
    name = f"{workload.name[:_LONGEST_NAME]}.{uuid.uuid4().hex[:16]}"
    event: Object = {
        "apiVersion": EVENTS.api_version,
        "kind": EVENTS.kind,
        "metadata": {"name": name},
        "involvedObject": target,
        "type": event_type,
        "reason": reason,
        "message": message[:_LONGEST_MESSAGE],
        "source": {"component": "postrender"},
        "firstTimestamp": now,
        "lastTimestamp": now,
        "count": 1,
    }
    client.create(EVENTS, event)
