"""The log on stderr, as text or as JSON lines.

The JSON keys are level, msg and time, as in the older tool configmap-attacher.
"""

from __future__ import annotations

import contextlib
import json
import logging
import sys
from datetime import datetime, timezone

from postrender.text import visible

LEVELS = ("debug", "info", "warning", "error")
# Other values of LOG_LEVEL, and their meaning. configmap-attacher accepts these levels of logrus.
ALIASES = {"trace": "debug", "warn": "warning", "fatal": "error", "panic": "error"}


def configure_log(level: str, *, is_json: bool) -> None:
    """Configure the log of the package `attach` on stderr.

    level: the lowest level to print, a value of LEVELS or a key of ALIASES.
    is_json: whether to print JSON lines, not text.
    """
    handler = _StderrHandler()
    handler.setFormatter(_JsonFormatter() if is_json else _TextFormatter())
    logger = logging.getLogger("postrender.attach")
    logger.handlers = [handler]
    logger.setLevel(ALIASES.get(level, level).upper())
    # Otherwise a handler of the root logger would print each line a second time.
    logger.propagate = False


class _StderrHandler(logging.Handler):
    """A handler that writes to the current sys.stderr, and ignores write errors.

    A closed stream or a full disk must not stop a run of attach.
    """

    def emit(self, record: logging.LogRecord) -> None:
        """Write one line."""
        if sys.stderr is not None:
            with contextlib.suppress(OSError, ValueError):
                sys.stderr.write(self.format(record) + "\n")
                sys.stderr.flush()


class _TextFormatter(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        """Return a record as `level: message`."""
        return f"{record.levelname.lower()}: {visible(record.getMessage())}"


class _JsonFormatter(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        """Return a record as a JSON object on one line."""
        now = datetime.fromtimestamp(record.created, timezone.utc)
        time = now.isoformat(timespec="milliseconds").replace("+00:00", "Z")
        return json.dumps(
            {"level": record.levelname.lower(), "msg": record.getMessage(), "time": time}
        )
