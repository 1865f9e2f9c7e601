"""The output of commands in a GitHub Actions job.

A *workflow command* is a line such as `::warning file=…,line=…::MESSAGE`. GitHub shows the message
next to the code of a pull request. GitHub's runner reads workflow commands from stderr and stdout
(actions/runner, Handlers/ScriptHandler.cs). postrender writes messages as workflow commands to
stderr. A result on stdout contains text from manifests, so `without_commands` escapes text that
looks like a workflow command.
"""

from __future__ import annotations

import os
import sys

from postrender.errors import ERROR, NOTE, WARNING, Location

# The escapes of `:` and `#` in an output format. For all other formats, the escapes are `\x3a` and
# `\x23`. JSON does not need an escape of `:`.
_ESCAPES = {"json": ("", "\\u0023"), "html": ("&#58;", "&#35;")}
_LEVELS = {ERROR: "error", WARNING: "warning", NOTE: "notice"}


def is_in_log() -> bool:
    """Return whether stdout can be the log of a GitHub Actions job.

    A closed stdout, a file and a terminal cannot be the log.
    """
    import stat

    try:
        mode = os.fstat(sys.stdout.fileno()).st_mode
    except (AttributeError, OSError, ValueError):
        return False
    return not (stat.S_ISREG(mode) or sys.stdout.isatty())


def without_commands(text: str, form: str) -> str:
    """Return a result with escapes for text that looks like a workflow command.

    form: the output format of the result.

    The runner finds a command at each `##[`. The runner also finds a command at `::` if only white
    space precedes `::` in the line (actions/runner, ActionCommand.cs). This function escapes one
    character of `##[` and of `::`. In JSON, the function escapes only `##[`, because no line of the
    JSON begins with text from the input.
    """
    colon, hash_sign = _ESCAPES.get(form, ("\\x3a", "\\x23"))
    text = text.replace("##[", f"#{hash_sign}[")
    if form == "json":
        return text
    return "".join(
        f"{line[: -len(rest)]}{colon}{rest[1:]}" if rest.startswith("::") else line
        for line in text.splitlines(keepends=True)
        for rest in [line.lstrip()]
    )


def workflow_command(severity: str, title: str, text: str, location: Location | None) -> str:
    """Return a message as a workflow command: `::warning file=…,line=…,title=…::…`.

    severity: ERROR, WARNING or NOTE.
    title: the title that GitHub shows above the message.
    location: the location of the message, None if unknown. The command has a file only if the
        repository contains the file.
    """
    file, line = _file_of(location) if location else ("", 0)
    properties = {"file": file, "line": str(line or ""), "title": title}
    given = ",".join(
        f"{name}={_escaped(value).replace(':', '%3A').replace(',', '%2C')}"
        for name, value in properties.items()
        if value
    )
    return f"::{_LEVELS[severity]} {given}::{_escaped(text)}"


def _escaped(text: str) -> str:
    # The runner decodes these escapes (actions/runner, ActionCommand.cs).
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _file_of(location: Location) -> tuple[str, int]:
    """Return the file of a location, relative to the repository's root, and the line.

    If the location is in stdin, the file is the chart template. The line is then 0, because the
    location has the line in stdin and not the line in the template. The result is `("", 0)` if the
    file does not exist or is not in the repository.
    """
    file, line = location.source, location.line
    if file.startswith("<"):
        file, line = location.template, 0
    if not os.path.isfile(file):
        return "", 0
    try:
        relative = os.path.relpath(file, os.environ.get("GITHUB_WORKSPACE") or None)
    except ValueError:  # the file is on another drive of Windows
        return "", 0
    return ("", 0) if relative.startswith("..") else (relative.replace(os.sep, "/"), line)
