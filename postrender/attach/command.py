"""The process that runs `attach`: its environment, its log, and its exit code."""

from __future__ import annotations

import contextlib
import gc
import json
import logging
import os
import signal
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from datetime import datetime, timezone
from types import FrameType

from postrender import __version__
from postrender.attach.client import PERMISSION_FIX, ApiError, Client
from postrender.attach.connect import connect, is_in_cluster
from postrender.attach.live import FIELD_MANAGER
from postrender.attach.report import record_abort, report_failures
from postrender.attach.request import AttachRequest
from postrender.attach.run import attach
from postrender.errors import UsageError, UserError
from postrender.text import JSON_ESCAPES, shown, visible_line, without_runner_commands

INTERRUPTED = 130
# The time for a run of adopt, and for a run of attach in addition to --timeout. Together with the
# default of --timeout, it is below five minutes, the default time for which Helm waits for a hook.
RUN_SECONDS = 180.0
# The time after which a signal ends a run that has not ended at its deadline.
_SIGNAL_DELAY = 15.0

LEVELS = ("debug", "info", "warning", "error")
# configmap-attacher also accepts these levels of logrus.
ALIASES = {"trace": "debug", "warn": "warning", "fatal": "error", "panic": "error"}

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
    """Run attach, log its errors, and return the exit code 0, 1 or INTERRUPTED.

    namespace: None for the namespace of the Pod or of the kubeconfig's context.
    fails: whether every failure causes exit code 1, as in report_failures(). If False, an error
        that ends the run early does not cause exit code 1 either.
    is_quiet: whether to log only errors, and to ignore LOG_LEVEL.
    arguments: the command line of this run.
    """
    # cli/main.py disables Python's garbage collector, but the HTTP client creates reference cycles.
    gc.enable()
    signal.signal(signal.SIGTERM, _interrupt)
    is_terminal = sys.stderr is not None and sys.stderr.isatty()
    configure_log("error" if is_quiet else log_level(), is_json=not is_terminal)
    in_cluster = is_in_cluster()
    client = None
    try:
        with time_limit(request.timeout + RUN_SECONDS) as deadline:
            connection = connect(in_cluster, context, kubeconfig)
            actual = namespace or connection.namespace
            client = Client(connection.session, actual, FIELD_MANAGER, deadline)
            _log.info(_start_line(request, actual))
            failures = attach(client, request, arguments, connection.account)
            code = report_failures(client, failures, fails=fails)
        _log.info(
            f"the run ends with exit code {code}, after {client.requests} requests "
            f"({client.writes} of these requests are writes)"
        )
    except UserError as error:
        _log.error(str(error))
        if client and isinstance(error, ApiError) and error.is_answer:
            record_abort(client, request, error)
        return int(fails)
    except KeyboardInterrupt:
        _log.error(
            "SIGTERM or Ctrl-C ended this run early. The next run does only the remaining work."
        )
        return INTERRUPTED
    except Exception as error:
        bug = UserError(
            f"a bug in postrender ended this run ({type(error).__name__})",
            "Report the bug with the log of this run",
        )
        _log.error(str(bug))
        if client:
            record_abort(client, request, bug)
        raise
    return code


def _interrupt(_signal: int, _frame: FrameType | None) -> None:
    raise KeyboardInterrupt


@contextlib.contextmanager
def time_limit(seconds: float) -> Iterator[float]:
    """Yield the deadline of a run, on the clock of time.monotonic, and end a run that exceeds it.

    The client compares the deadline with the clock between the parts of an answer. It cannot do so
    while a server sends a header byte by byte, or while a login program does not end. Except on
    Windows, a signal then ends the run. It comes again if a retry catches the first error.
    """
    has_timer = hasattr(signal, "setitimer")
    if has_timer:
        signal.signal(signal.SIGALRM, _expire)
        signal.setitimer(signal.ITIMER_REAL, seconds + _SIGNAL_DELAY, _SIGNAL_DELAY)
    try:
        yield time.monotonic() + seconds
    finally:
        if has_timer:
            signal.setitimer(signal.ITIMER_REAL, 0)


@contextlib.contextmanager
def open_clients(
    context: str | None,
    kubeconfig: str | None,
    *,
    is_quiet: bool,
    manager: str = FIELD_MANAGER,
    seconds: float = RUN_SECONDS,
    is_patient: bool = True,
    permission_fix: str = PERMISSION_FIX,
) -> Iterator[Callable[[str | None], Client]]:
    """Yield what returns the client for a namespace, for the time of one run of a person's command.

    The namespace is None for that of the Pod or of the kubeconfig's context, "" for all namespaces.

    is_quiet: whether to log only errors, not warnings.
    is_patient, permission_fix: as for Client. On a terminal, a person always waits.
    """
    # cli/main.py disables Python's garbage collector, but the HTTP client creates reference cycles.
    gc.enable()
    configure_log("error" if is_quiet else "warning", is_json=False)
    is_terminal = sys.stderr is not None and sys.stderr.isatty()
    with time_limit(seconds) as deadline:
        connection = connect(is_in_cluster(), context, kubeconfig)
        yield lambda namespace: Client(
            connection.session,
            connection.namespace if namespace is None else namespace,
            manager,
            deadline,
            is_patient=is_patient and not is_terminal,
            permission_fix=permission_fix,
        )


def _expire(_signal: int, _frame: FrameType | None) -> None:
    raise UserError(
        "this run has taken too much time",
        "Check the network, and check that the API server answers",
    )


def _start_line(request: AttachRequest, namespace: str) -> str:
    workloads = ", ".join(map(str, request.workloads))
    target = f" for {workloads}" if workloads else ""
    settings = [f"{name} {value}" for name in ("VERSION", "JOB_NAME") if (value := os.getenv(name))]
    start = ", ".join([f"postrender {__version__}", *settings])
    count = len(request.given)
    revisions = "1 revision" if count == 1 else f"{count} revisions"
    return f"{start}: adding owners to {revisions}{target} in namespace {namespace}"


def log_level() -> str:
    """LOG_LEVEL in lower case, `info` if unset or blank; UsageError if unknown."""
    level = os.environ.get("LOG_LEVEL", "").strip().lower() or "info"
    if level not in (*LEVELS, *ALIASES):
        raise UsageError(
            f"the variable LOG_LEVEL is {shown(level)}, expected one of {', '.join(LEVELS)}",
            "Set LOG_LEVEL to one of these levels, or unset LOG_LEVEL",
        )
    return level


def configure_log(level: str, *, is_json: bool) -> None:
    """Write the log of the package `attach` to stderr, as text or as JSON lines.

    level: the lowest level to print, a value of LEVELS or a key of ALIASES.
    """
    logger = logging.getLogger("postrender.attach")
    logger.handlers = [_StderrHandler(is_json)]
    logger.setLevel(ALIASES.get(level, level).upper())


class _StderrHandler(logging.Handler):
    """Writes to the current sys.stderr. A closed stream or a full disk must not stop a run."""

    def __init__(self, is_json: bool) -> None:
        super().__init__()
        self._is_json = is_json

    def format(self, record: logging.LogRecord) -> str:
        level, text = record.levelname.lower(), record.getMessage()
        if not self._is_json:
            return f"{level}: {visible_line(text)}"
        now = datetime.fromtimestamp(record.created, timezone.utc)
        time = now.isoformat(timespec="milliseconds").replace("+00:00", "Z")
        line = json.dumps({"level": level, "msg": text, "time": time})  # as configmap-attacher
        return without_runner_commands(line, JSON_ESCAPES)

    def emit(self, record: logging.LogRecord) -> None:
        if sys.stderr is not None:
            with contextlib.suppress(OSError, ValueError):
                sys.stderr.write(self.format(record) + "\n")
                sys.stderr.flush()
