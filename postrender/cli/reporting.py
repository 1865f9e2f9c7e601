"""Findings and errors on stderr and in the log file, and the report of a bug."""

from __future__ import annotations

import os
import sys

from postrender import __version__
from postrender.cli import github
from postrender.errors import ERROR, NOTE, WARNING, Finding, Location, UserError, sentences

_COLOURS = {ERROR: "\x1b[31m", WARNING: "\x1b[33m", NOTE: "\x1b[36m"}
_END = "\x1b[0m"


def report_finding(finding: Finding, log_file: str, *, is_failure: bool) -> None:
    """Print one finding as a line on stderr, and append it to the log file if there is one.

    is_failure: whether the run fails because of it.
    """
    severity = ERROR if is_failure else finding.severity
    _log(f"{severity}: {finding}", log_file)
    _print_message(severity, f"postrender: {finding.code}", str(finding), finding.location)


def report_error(error: UserError) -> None:
    """Print one error as a line on stderr."""
    _print_message(ERROR, "postrender", str(error), error.location)


def log_error(error: UserError, log_file: str) -> None:
    """Append one error to the log file, if there is one."""
    _log(f"error: {error}", log_file)


def check_log_file(name: str) -> None:
    """Raise UserError if the log file cannot be written: before anything else is done."""
    if name:
        try:
            with open(name, "a", encoding="utf-8"):
                pass
        except OSError as error:
            raise UserError(
                f"cannot write the log file: {error.strerror}",
                "name another with --log-file",
                Location(name),
            ) from None


def _log(line: str, log_file: str) -> None:
    if log_file:
        # It was writable at the start; if it no longer is, the line still goes to stderr.
        try:
            with open(log_file, "a", encoding="utf-8", errors="backslashreplace") as log:
                log.write(line + "\n")
        except OSError:
            pass


def _print_message(severity: str, title: str, text: str, location: Location | None) -> None:
    if github.is_job():
        _print(github.workflow_command(severity, title, text, location))
    else:
        _print(f"{severity}: {text}", _COLOURS[severity])


def _print(line: str, colour: str = "") -> None:
    if sys.stderr is None:
        return
    if not line.isprintable():
        from postrender.text.escapes import visible

        line = visible(line)  # a file's or an object's name must not reach the terminal's controls
    is_coloured = colour and sys.stderr.isatty() and not os.environ.get("NO_COLOR")
    text = f"{colour}{line}{_END}" if is_coloured else line
    try:
        print(text, file=sys.stderr, flush=True)
    except (OSError, ValueError):
        # Nobody can read it; and it must not be tried again when the interpreter ends.
        sys.stderr = None


def report_bug(error: BaseException) -> None:
    """Write the traceback of a bug to a file and print where it is."""
    # Imported late: no other run needs them, and they take longer than a small render.
    import platform
    import tempfile
    import traceback

    text = "".join(
        [
            f"postrender {__version__}, Python {platform.python_version()}, {sys.platform}\n",
            *traceback.format_exception(error),
        ]
    )
    try:
        with tempfile.NamedTemporaryFile(
            "w",
            prefix="postrender-",
            suffix=".txt",
            delete=False,
            encoding="utf-8",
            errors="replace",
        ) as report:
            report.write(text)
        fix = f"The report is in {report.name}: please file it with the input"
    except (OSError, ValueError):
        # As in the attacher's Pod, which has a read-only root: say at least where it was.
        frames = traceback.extract_tb(error.__traceback__)
        trail = " < ".join(f"{os.path.basename(at.filename)}:{at.lineno}" for at in frames[::-1])
        fix = f"The report cannot be written: please file an issue with the input and {trail}"
    problem = f"a bug in postrender ({type(error).__name__})"
    _print_message(ERROR, "postrender", sentences(problem, fix), None)
