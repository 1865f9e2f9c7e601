"""Messages as workflow commands, which GitHub shows beside the code of a pull request.

GitHub's runner reads them from a step's stderr as from its stdout, and undoes the escapes that are
made here (actions/runner, Handlers/ScriptHandler.cs and ActionCommand.cs).
"""

from __future__ import annotations

import os
import sys

from postrender.errors import ERROR, NOTE, WARNING, Location

_LEVELS = {ERROR: "error", WARNING: "warning", NOTE: "notice"}


def is_job() -> bool:
    """Tell whether stderr goes to the log of a job of GitHub Actions."""
    in_job = os.environ.get("GITHUB_ACTIONS") == "true"
    return in_job and sys.stderr is not None and not sys.stderr.isatty()


def workflow_command(severity: str, title: str, text: str, location: Location | None) -> str:
    """Return a message as a command: `::warning file=…,line=…,title=…::…`."""
    file, line = _file_of(location) if location else ("", 0)
    properties = {"file": file, "line": str(line or ""), "title": title}
    given = ",".join(
        f"{name}={_escaped(value).replace(':', '%3A').replace(',', '%2C')}"
        for name, value in properties.items()
        if value
    )
    return f"::{_LEVELS[severity]} {given}::{_escaped(text)}"


def _escaped(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _file_of(location: Location) -> tuple[str, int]:
    """Return the file of a place as seen from the repository's root, and the line; "" for none.

    A stream on stdin has no file. The chart's template that Helm names is one where the chart's
    folder bears the chart's name and stands in the working directory; its lines are others.
    """
    file, line = location.source, location.line
    if file.startswith("<"):
        file, line = location.template, 0
    if not os.path.isfile(file):
        return "", 0
    try:
        relative = os.path.relpath(file, os.environ.get("GITHUB_WORKSPACE") or None)
    except ValueError:  # another drive
        return "", 0
    return ("", 0) if relative.startswith("..") else (relative.replace(os.sep, "/"), line)
