"""Findings and errors on stderr and in the log file, and the report of a bug."""

from __future__ import annotations

import os
import sys

from postrender import __version__
from postrender.errors import ERROR, NOTE, WARNING, Finding, Location, UserError, sentences

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import TextIO

_COLOURS = {ERROR: "\x1b[31m", WARNING: "\x1b[33m", NOTE: "\x1b[36m"}
_END = "\x1b[0m"


class _Presentation:
    """How messages are printed: state of the process, as that of the logging module is."""

    is_quiet = False
    is_verbose = False
    color = "auto"


def set_presentation(*, is_quiet: bool, is_verbose: bool, color: str) -> None:
    """Choose which messages are printed, and whether in colours: auto, always or never."""
    _Presentation.is_quiet = is_quiet
    _Presentation.is_verbose = is_verbose
    _Presentation.color = color


def is_coloured(stream: TextIO | None) -> bool:
    """Return whether colours are written to a stream.

    With `auto`: to a terminal, or where FORCE_COLOR is set, as for a pager or the log of a CI job.
    NO_COLOR switches colours off.
    """
    if _Presentation.color != "auto" or stream is None:
        return _Presentation.color == "always" and stream is not None
    if os.environ.get("NO_COLOR"):
        return False
    return bool(os.environ.get("FORCE_COLOR")) or stream.isatty()


def report_warning(problem: str, fix: str) -> None:
    """Print a warning that is not about the input."""
    if not _Presentation.is_quiet:
        _print_message(WARNING, "postrender", sentences(problem, fix), None)


def report_detail(text: str) -> None:
    """Print a note that only --verbose asks for."""
    if _Presentation.is_verbose:
        _print_message(NOTE, "postrender", sentences(text, ""), None)


def report_finding(finding: Finding, log_file: str, *, is_failure: bool) -> None:
    """Print one finding as a line on stderr, and append it to the log file if there is one.

    is_failure: whether the run fails because of it.
    """
    severity = ERROR if is_failure else finding.severity
    _log(f"{severity}: {finding}", log_file)
    if is_failure or not _Presentation.is_quiet:
        title = f"postrender: {finding.code}"
        _print_message(severity, title, str(finding), finding.location)


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
                "Choose another file with --log-file",
                Location(name),
            ) from None


def _log(line: str, log_file: str) -> None:
    if log_file:
        # The file was writable at the start. If it no longer is, stderr still gets the line.
        try:
            with open(log_file, "a", encoding="utf-8", errors="backslashreplace") as log:
                log.write(line + "\n")
        except OSError:
            pass


def _print_message(severity: str, title: str, text: str, location: Location | None) -> None:
    # Imported late: most runs are not jobs of GitHub Actions.
    if os.environ.get("GITHUB_ACTIONS"):
        from postrender.cli import github

        if github.is_job():
            _print(github.workflow_command(severity, title, text, location))
            return
    _print(f"{severity}: {text}", _COLOURS[severity])


def _print(line: str, colour: str = "") -> None:
    if sys.stderr is None:
        return
    if not line.isprintable():
        from postrender.text.escapes import visible

        line = visible(line)  # a file's or an object's name must not reach the terminal's controls
    text = f"{colour}{line}{_END}" if colour and is_coloured(sys.stderr) else line
    try:
        print(text, file=sys.stderr, flush=True)
    except (OSError, ValueError):
        # Nobody can read the message. The interpreter must not try again when it ends.
        sys.stderr = None


def report_bug(error: BaseException) -> None:
    """Write the traceback of a bug to a file and print where it is."""
    # Imported late: these imports take longer than a small render.
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
        # The attacher's Pod has a read-only root: print at least the place in the code.
        frames = traceback.extract_tb(error.__traceback__)
        trail = " < ".join(f"{os.path.basename(at.filename)}:{at.lineno}" for at in frames[::-1])
        fix = f"The report cannot be written: please file an issue with the input and {trail}"
    problem = f"a bug in postrender ({type(error).__name__})"
    _print_message(ERROR, "postrender", sentences(problem, fix), None)
