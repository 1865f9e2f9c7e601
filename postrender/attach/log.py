"""Log lines: text on a terminal, JSON objects in a Pod.

The keys are those of the original attacher: level, msg, time.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from datetime import datetime, timezone

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import TextIO

LEVELS = ("debug", "info", "warning", "error")
# What the original attacher's LOG_LEVEL accepted besides (logrus).
ALIASES = {"trace": "debug", "warn": "warning", "fatal": "error", "panic": "error"}


class Log:
    """Where a run tells what it does, one line a fact, on stderr."""

    def __init__(self, level: str, *, is_json: bool, stream: TextIO | None = None) -> None:
        self._least = LEVELS.index(ALIASES.get(level, level))
        self._format: Callable[[str, str], str] = _as_json if is_json else _as_text
        self._stream = stream

    def debug(self, message: str) -> None:
        """Tell what only someone who looks for a fault wants to know."""
        self._write("debug", message)

    def info(self, message: str) -> None:
        """Tell what was done."""
        self._write("info", message)

    def warning(self, message: str) -> None:
        """Tell what someone may want to mend."""
        self._write("warning", message)

    def error(self, message: str) -> None:
        """Tell what failed."""
        self._write("error", message)

    def _write(self, level: str, message: str) -> None:
        stream = self._stream or sys.stderr
        if LEVELS.index(level) < self._least or stream is None:
            return
        try:
            stream.write(self._format(level, message) + "\n")
            stream.flush()
        except (OSError, ValueError):
            # Nobody can read it; the work itself matters more.
            return


def _as_json(level: str, message: str) -> str:
    now = datetime.now(timezone.utc).isoformat(timespec="milliseconds")
    return json.dumps({"level": level, "msg": message, "time": now.replace("+00:00", "Z")})


def _as_text(level: str, message: str) -> str:
    return f"{level}: {message}"
