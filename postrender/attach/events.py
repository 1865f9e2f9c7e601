"""What happened to a workload as an Event on it, so that `kubectl describe` shows it."""

from __future__ import annotations

import uuid
from datetime import datetime, timezone

from postrender.attach.client import Client
from postrender.attach.live import Object
from postrender.attach.request import WantedWorkload
from postrender.attach.resources import EVENTS

# The API server refuses longer ones.
_LONGEST_MESSAGE = 1024
_LONGEST_NAME = 200


def record(
    client: Client, wanted: WantedWorkload, uid: str, kind: str, reason: str, message: str
) -> None:
    """Create an Event about a workload; uid is "" where it does not exist. Raises ApiError.

    kind: `Normal` or `Warning`; reason: a CamelCase word. It is named here, not by the API server,
    so that a try whose answer was lost makes no second.
    """
    now = datetime.now(timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
    about: Object = {
        "apiVersion": wanted.resource.api_version,
        "kind": wanted.resource.kind,
        "namespace": client.namespace,
        "name": wanted.name,
    }
    if uid:
        about["uid"] = uid
    event: Object = {
        "apiVersion": EVENTS.api_version,
        "kind": EVENTS.kind,
        "metadata": {"name": f"{wanted.name[:_LONGEST_NAME]}.{uuid.uuid4().hex[:16]}"},
        "involvedObject": about,
        "type": kind,
        "reason": reason,
        "message": message[:_LONGEST_MESSAGE],
        "source": {"component": "postrender"},
        "firstTimestamp": now,
        "lastTimestamp": now,
        "count": 1,
    }
    client.create(EVENTS, event)
