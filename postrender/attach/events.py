"""Kubernetes Events on workloads. `kubectl describe` shows the Events of a workload."""

from __future__ import annotations

import uuid

from postrender.attach.client import Client
from postrender.attach.live import Object
from postrender.attach.request import WantedWorkload
from postrender.attach.resources import EVENTS

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
