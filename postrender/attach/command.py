"""`postrender attach` and `postrender adopt` from their options to an outcome."""

from __future__ import annotations

import gc
import os
import signal
import sys
from collections.abc import Sequence
from types import FrameType

from postrender import __version__
from postrender.attach.adoption import adopt, find_originals
from postrender.attach.client import ApiError, Client
from postrender.attach.connect import connect
from postrender.attach.failures import settle, tell_abort
from postrender.attach.live import FIELD_MANAGER
from postrender.attach.log import ALIASES, LEVELS, Log
from postrender.attach.request import (
    AttachRequest,
    WantedWorkload,
    merge_workloads,
    parse_group,
    parse_names,
    parse_seconds,
    parse_workload,
)
from postrender.attach.resources import ROLLOUTS
from postrender.attach.run import attach
from postrender.errors import UsageError, UserError
from postrender.inventory.build import Inventory

INTERRUPTED = 130
# The field manager of adopt: whoever looks at managedFields sees that a person did it.
ADOPTER = "postrender-adopt"


def run_attach(
    request: AttachRequest, namespace: str | None, *, fails: bool, arguments: Sequence[str]
) -> int:
    """Run attach against the cluster one is in, and return the exit code.

    namespace: None for the Pod's own, or that of the kubeconfig's context; fails: whether what
    could be recorded as an Event is a failure all the same. Every error is a line of the log.
    """
    # This run is longer than the others, and its HTTP client makes cycles.
    gc.enable()
    signal.signal(signal.SIGTERM, _interrupt)
    log = open_log()
    client = None
    try:
        connection = connect(is_in_cluster())
        client = Client(connection.session, namespace or connection.namespace, FIELD_MANAGER, log)
        log.info(_start_line(request, client.namespace))
        code = settle(client, attach(client, request, log, arguments), log, fails=fails)
        log.info(f"done: {client.requests} requests, {client.writes} of them writes, exit {code}")
    except UserError as error:
        if client and isinstance(error, ApiError):
            tell_abort(client, request, error, log)
        else:
            log.error(str(error))
        return 1
    except KeyboardInterrupt:
        log.error("ended before its time: what is attached stays so, the next run does the rest")
        return INTERRUPTED
    return code


def _interrupt(_signal: int, _frame: FrameType | None) -> None:
    raise KeyboardInterrupt


def _start_line(request: AttachRequest, namespace: str) -> str:
    about = ", ".join(map(str, request.workloads))
    named = [f"{name} {value}" for name in ("VERSION", "JOB_NAME") if (value := os.getenv(name))]
    start = ", ".join([f"postrender {__version__}", *named])
    count = len(request.given)
    revisions = "1 revision" if count == 1 else f"{count} revisions"
    return f"{start}: attaching {revisions} to {about} in namespace {namespace}"


def run_adopt(
    inventory: Inventory, namespace: str | None, context: str | None, *, is_dry: bool
) -> list[str]:
    """Adopt what the revisions of a rendered output replace; return a line about each.

    namespace: of objects that have none, None for that of the kubeconfig's context.
    Raises UserError.
    """
    originals = find_originals(inventory)
    log = Log("warning", is_json=False)
    connection = connect(is_in_cluster(), context)
    lines = []
    for own in dict.fromkeys(original.namespace for original in originals):
        here = own or namespace or connection.namespace
        client = Client(connection.session, here, ADOPTER, log)
        chosen = [original for original in originals if original.namespace == own]
        lines += [f"namespace {here}: {line}" for line in adopt(client, chosen, is_dry=is_dry)]
    return lines


def open_log() -> Log:
    """Return the log: text on a terminal, JSON lines elsewhere. Raises UsageError."""
    level = os.environ.get("LOG_LEVEL", "").strip().lower() or "info"
    if level not in (*LEVELS, *ALIASES):
        raise UsageError(f"LOG_LEVEL is {level!r}, which is none of {', '.join(LEVELS)}")
    is_terminal = sys.stderr is not None and sys.stderr.isatty()
    return Log(level, is_json=not is_terminal)


def is_in_cluster() -> bool | None:
    """Return what IS_IN_CLUSTER says, None where it says nothing. Raises UsageError."""
    text = os.environ.get("IS_IN_CLUSTER", "").lower()
    if text in ("", "1", "t", "true"):
        return True if text else None
    if text in ("0", "f", "false"):
        return False
    raise UsageError(f"IS_IN_CLUSTER is {text!r}, which is neither true nor false")


def read_request(
    group_name: str | None,
    workloads: Sequence[str],
    emitted: Sequence[str],
    rollout: str,
    config_maps: str,
    timeout: str,
    *,
    prunes: bool,
    deletes_finished_jobs: bool,
) -> AttachRequest:
    """Return the request that options make. Raises UsageError for what cannot be read."""
    if bool(rollout) != bool(config_maps):
        raise UsageError("-rollout and -configmaps go together")
    try:
        wanted = [parse_workload(text) for text in workloads]
        if rollout:
            names = tuple(
                ("configmap", name.strip()) for name in config_maps.split(",") if name.strip()
            )
            wanted.append(WantedWorkload(ROLLOUTS, rollout, "", names))
        others = frozenset(name for text in emitted for name in parse_names(text))
        seconds = parse_seconds(timeout)
        parse_group(group_name or "")
    except ValueError as error:
        raise UsageError(str(error)) from None
    if not wanted:
        raise UsageError("say what to attach to: -workload, or -rollout and -configmaps")
    return AttachRequest(
        merge_workloads(wanted),
        group_name or "",
        others,
        seconds,
        prunes,
        deletes_finished_jobs,
        is_tolerant=not group_name,
    )
