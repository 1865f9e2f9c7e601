"""Findings and errors on stderr and in the log file, and the report of a bug."""

from __future__ import annotations

import os
import sys

from postrender import __version__
from postrender.cli import github
from postrender.errors import Finding, Place, UserError

_YELLOW, _RED, _END = "\x1b[33m", "\x1b[31m", "\x1b[0m"


def report_finding(finding: Finding, log_file: str, *, is_failure: bool) -> None:
    """Print one finding as a line on stderr, and append it to the log file if there is one.

    is_failure: whether the run fails because of it.
    """
    text = str(finding)
    _log(text, log_file)
    if github.is_job():
        title, level = f"postrender: {finding.code}", "error" if is_failure else "warning"
        _print(github.workflow_command(level, title, text, finding.place))
    else:
        _print(text, _RED if finding.strict else _YELLOW)


def report_error(error: UserError) -> None:
    """Print one error as a line on stderr."""
    _print_error(str(error), error.place)


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
                Place(name),
            ) from None


def _log(line: str, log_file: str) -> None:
    if log_file:
        # It was writable at the start; if it no longer is, the line still goes to stderr.
        try:
            with open(log_file, "a", encoding="utf-8", errors="backslashreplace") as log:
                log.write(line + "\n")
        except OSError:
            pass


def _print_error(text: str, place: Place | None = None) -> None:
    if github.is_job():
        _print(github.workflow_command("error", "postrender", text, place))
    else:
        _print(f"error: {text}", _RED)


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
        where = f"the report is in {report.name}; please file it with the input"
    except (OSError, ValueError):
        # As in the attacher's Pod, which has a read-only root: say at least where it was.
        frames = traceback.extract_tb(error.__traceback__)
        trail = " < ".join(f"{os.path.basename(at.filename)}:{at.lineno}" for at in frames[::-1])
        where = f"the report could not be written; please file an issue with the input and {trail}"
    _print_error(f"a bug in postrender ({type(error).__name__}): {where}")
