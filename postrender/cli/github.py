"""Messages as workflow commands, which GitHub shows next to the code of a pull request.

GitHub's runner reads workflow commands from stderr as from stdout, and undoes the escapes that
this module makes (actions/runner, Handlers/ScriptHandler.cs and ActionCommand.cs).
"""

from __future__ import annotations

import os
import sys

from postrender.errors import ERROR, NOTE, WARNING, Location

_LEVELS = {ERROR: "error", WARNING: "warning", NOTE: "notice"}


def is_job() -> bool:
    """Return whether stderr goes to the log of a GitHub Actions job."""
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
    """Return the file of a location, relative to the repository's root, and the line.

    The file is "" if there is none. For input on stdin it is the chart's template, if the chart's
    folder is in the working directory. The lines of a template are not those of its output.
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
