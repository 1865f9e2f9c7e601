"""The entry points of `postrender attach` and `postrender adopt`, and the checks of their input."""

from __future__ import annotations

import gc
import logging
import os
import signal
import sys
from collections.abc import Sequence
from types import FrameType

from postrender import __version__
from postrender.attach.adopt import adopt, find_originals
from postrender.attach.client import ApiError, Client
from postrender.attach.connect import connect
from postrender.attach.failures import report_abort, report_failures
from postrender.attach.live import FIELD_MANAGER
from postrender.attach.log import ALIASES, LEVELS, configure_log
from postrender.attach.request import (
    ROLLOUTS,
    AttachRequest,
    RevisionRef,
    WantedWorkload,
    check_group,
    merge_workloads,
    parse_release_owner,
    parse_revision_refs,
    parse_seconds,
    parse_workload,
)
from postrender.attach.run import attach
from postrender.errors import UsageError, UserError
from postrender.inventory.build import Inventory
from postrender.text import shown

INTERRUPTED = 130
# The field manager of the writes of adopt. attach writes with FIELD_MANAGER.
ADOPT_FIELD_MANAGER = "postrender-adopt"

_log = logging.getLogger(__name__)


def run_attach(
    request: AttachRequest,
    namespace: str | None,
    context: str | None,
    kubeconfig: str | None,
    *,
    fails: bool,
    is_quiet: bool,
    arguments: Sequence[str],
) -> int:
    """Return the exit code 0, 1 or INTERRUPTED after running attach and logging the errors.

    namespace: the namespace of the run. None means the namespace of the Pod or of the kubeconfig's
        context.
    context, kubeconfig: as in connect().
    fails: whether every failure causes exit code 1, as in report_failures().
    is_quiet: whether to log only errors, and to ignore LOG_LEVEL.
    arguments: the command line of this run.
    Raises UsageError if LOG_LEVEL or IS_IN_CLUSTER is invalid.
    """
    # cli/main.py disables Python's garbage collector, but the HTTP client creates reference cycles.
    gc.enable()
    signal.signal(signal.SIGTERM, _interrupt)
    is_terminal = sys.stderr is not None and sys.stderr.isatty()
    configure_log("error" if is_quiet else log_level(), is_json=not is_terminal)
    client = None
    try:
        connection = connect(is_in_cluster(), context, kubeconfig)
        client = Client(connection.session, namespace or connection.namespace, FIELD_MANAGER)
        _log.info(_start_line(request, client.namespace))
        failures = attach(client, request, arguments, connection.account)
        code = report_failures(client, failures, fails=fails)
        _log.info(
            f"the run ends with exit code {code}, after {client.requests} requests "
            f"({client.writes} of these requests are writes)"
        )
    except UserError as error:
        if client and isinstance(error, ApiError):
            report_abort(client, request, error)
        else:
            _log.error(str(error))
        return 1
    except KeyboardInterrupt:
        _log.error(
            "SIGTERM or Ctrl-C ended this run early. The next run does only the remaining work."
        )
        return INTERRUPTED
    return code


def _interrupt(_signal: int, _frame: FrameType | None) -> None:
    raise KeyboardInterrupt


def _start_line(request: AttachRequest, namespace: str) -> str:
    workloads = ", ".join(map(str, request.workloads))
    target = f" for {workloads}" if workloads else ""
    settings = [f"{name} {value}" for name in ("VERSION", "JOB_NAME") if (value := os.getenv(name))]
    start = ", ".join([f"postrender {__version__}", *settings])
    count = len(request.given)
    revisions = "1 revision" if count == 1 else f"{count} revisions"
    return f"{start}: adding owners to {revisions}{target} in namespace {namespace}"


def run_adopt(
    inventory: Inventory,
    namespace: str | None,
    context: str | None,
    kubeconfig: str | None,
    *,
    in_cluster: bool | None,
    is_dry: bool,
    is_quiet: bool,
) -> list[str]:
    """Return the lines of the report after adopting the originals of the revisions in an inventory.

    inventory: the objects in an output of postrender.
    namespace: the namespace of originals without a namespace in the output. None means the
        namespace of the Pod or of the kubeconfig's context.
    context, kubeconfig: as in connect().
    in_cluster: the result of is_in_cluster().
    is_dry: whether to report the changes without changing the cluster.
    is_quiet: whether to log only errors, not warnings.
    Raises UserError.
    """
    originals = find_originals(inventory)
    configure_log("error" if is_quiet else "warning", is_json=False)
    connection = connect(in_cluster, context, kubeconfig)
    lines = []
    for written_namespace in dict.fromkeys(original.namespace for original in originals):
        actual = written_namespace or namespace or connection.namespace
        client = Client(connection.session, actual, ADOPT_FIELD_MANAGER)
        group = [original for original in originals if original.namespace == written_namespace]
        lines += [f"namespace {actual}: {line}" for line in adopt(client, group, is_dry=is_dry)]
    return lines


def log_level() -> str:
    """Return LOG_LEVEL in lower case, `info` if unset or blank. Raises UsageError if unknown."""
    level = os.environ.get("LOG_LEVEL", "").strip().lower() or "info"
    if level not in (*LEVELS, *ALIASES):
        raise UsageError(
            f"the variable LOG_LEVEL is {shown(level)}, expected one of {', '.join(LEVELS)}",
            "Set LOG_LEVEL to one of these levels, or unset LOG_LEVEL",
        )
    return level


def is_in_cluster() -> bool | None:
    """Return the variable IS_IN_CLUSTER as a boolean, None if IS_IN_CLUSTER is unset or empty.

    Raises UsageError for a value that is not a boolean.
    """
    value = os.environ.get("IS_IN_CLUSTER", "")
    text = value.lower()
    if text in ("", "1", "t", "true"):
        return True if text else None
    if text in ("0", "f", "false"):
        return False
    raise UsageError(
        f"the variable IS_IN_CLUSTER is {shown(value)}, expected true or false",
        "Set IS_IN_CLUSTER to true in a Pod, or unset IS_IN_CLUSTER",
    )


def _revision_refs(option: str, texts: Sequence[str]) -> frozenset[RevisionRef]:
    """Return the revisions in all values of an option. Raises ValueError with the problem."""
    return frozenset(ref for text in texts for ref in parse_revision_refs(text, option))


def read_request(
    group_name: str,
    workloads: Sequence[str],
    emitted: Sequence[str],
    rollout: str,
    config_maps: str,
    timeout: str,
    *,
    release_owner: str = "",
    retired: Sequence[str] = (),
    prunes: bool,
    deletes_finished_jobs: bool,
) -> AttachRequest:
    """Return the request that the options describe. Raises UsageError for an invalid option.

    rollout: the name of a Rollout, "" for none.
    config_maps: the names of ConfigMaps, separated by commas, "" for none.
    the other texts: options in the forms that the parsers in the module `request` read.
    """
    if bool(rollout) != bool(config_maps):
        given, missing = ("rollout", "configmaps") if rollout else ("configmaps", "rollout")
        raise UsageError(f"--{given} is set without --{missing}", f"Pass --{missing} too")
    try:
        requested = [parse_workload(text) for text in workloads]
        if rollout:
            names = (name.strip() for name in config_maps.split(","))
            references = tuple(("configmap", name) for name in names if name)
            requested.append(
                WantedWorkload(resource=ROLLOUTS, name=rollout, render_id="", references=references)
            )
        emitted_refs = _revision_refs("--emitted", emitted)
        retired_refs = _revision_refs("--retired", retired)
        seconds = parse_seconds(timeout)
        check_group(group_name)
        owner = parse_release_owner(release_owner)
    except ValueError as error:
        raise UsageError(str(error), "Fix this option") from None
    if not requested and not (group_name and emitted_refs):
        raise UsageError(
            "the options do not set a workload",
            "Pass --workload. Or pass --rollout and --configmaps, or --group and --emitted",
        )
    return AttachRequest(
        workloads=merge_workloads(requested),
        group_name=group_name,
        emitted=emitted_refs,
        timeout=seconds,
        prunes=prunes,
        deletes_finished_jobs=deletes_finished_jobs,
        release_owner=owner,
        retired=retired_refs - emitted_refs,
    )
