"""One namespace for each test, and its annotations that control the simulated kubelet."""

from __future__ import annotations

import contextlib
import json
import re
import secrets
import sys
from collections.abc import Sequence

from tests.e2e.api import UNREACHABLE, Api, ApiError
from tests.e2e.attachers import COMMAND, HOLD, SERVER

# Runs attach with other arguments than the rendered ones; the minimum for render is a minute.
WITH_SHORT_TIMEOUT = """
import os, re, sys
render_id, *args = sys.argv[1:]
args = [re.sub("^[0-9]+s$", "3s", word) for word in args]
if render_id:
    args = [re.sub("@[0-9a-f]+=", f"@{render_id}=", word) for word in args]
os.execv(sys.executable, [sys.executable, "-m", "postrender", *args])
"""


def make_namespace(api: Api, title: str) -> str:
    """Create a namespace in which Pods can be created at once; return its name."""
    words = re.sub(r"[^a-z0-9]+", "-", title.lower().removeprefix("test_"))[:40].strip("-")
    name = f"{words}-{secrets.token_hex(3)}"
    api.create({"kind": "Namespace", "metadata": {"name": name}})
    # The controller manager creates the account; a Pod created earlier would be rejected.
    inside = api.within(name)
    inside.wait_for(
        lambda: inside.find("ServiceAccount", "default"), "the default ServiceAccount exists"
    )
    return name


# What controllers, collectors and the simulated kubelet would go on to work with, owners first.
_BUSY = (
    "Rollout Experiment AnalysisRun HorizontalPodAutoscaler CronJob Job Deployment StatefulSet "
    "DaemonSet ReplicaSet ReplicationController Pod ConfigMap Secret"
)


def leave_namespace(api: Api) -> None:
    """Delete what costs time in the namespace of a test that has ended.

    To delete the namespace itself, the controller manager sends two requests for each of about 70
    types. For a thousand tests, this was more than the work of all tests.
    """
    for kind in _BUSY.split():
        with contextlib.suppress(ApiError, *UNREACHABLE):
            api.request("DELETE", api.path(kind), {"propagationPolicy": "Background"})


def hold_attachers(api: Api) -> None:
    """Stop attachers of the namespace from starting."""
    _annotate(api, HOLD, "hold")


def release_attachers(api: Api) -> None:
    """Start the attachers that were held."""
    _annotate(api, HOLD, None)


def reach_server_by(api: Api, url: str) -> None:
    """Make the attachers of the namespace use another address of the API server, plain http."""
    _annotate(api, SERVER, url)


def replace_attachers(api: Api, command: Sequence[str]) -> None:
    """Run this command, followed by the attacher's arguments, instead of postrender."""
    _annotate(api, COMMAND, json.dumps(list(command)))


def hurry_attachers(api: Api, render_id: str = "") -> None:
    """Make the attachers wait for only three seconds, optionally for another render ID."""
    replace_attachers(api, [sys.executable, "-c", WITH_SHORT_TIMEOUT, render_id])


def restore_attachers(api: Api) -> None:
    """Run postrender again."""
    _annotate(api, COMMAND, None)


def _annotate(api: Api, name: str, value: str | None) -> None:
    api.patch("Namespace", api.namespace, {"metadata": {"annotations": {name: value}}})
