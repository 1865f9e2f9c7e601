"""Functions that print messages on stderr, write the log file, and report bugs."""

from __future__ import annotations

import os
import sys

from postrender import __version__
from postrender.errors import ERROR, NOTE, WARNING, Finding, Location, UserError, sentences

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import TextIO

# The exit codes. FAULT: a UserError. USAGE: a UsageError. BUG: an unexpected exception. CHANGES:
# changes, with `diff --exit-code`. INTERRUPTED: an interrupt, such as Ctrl-C.
DONE, FAULT, USAGE, BUG, CHANGES, INTERRUPTED = 0, 1, 2, 3, 4, 130

_COLOURS = {ERROR: "\x1b[31m", WARNING: "\x1b[33m", NOTE: "\x1b[36m"}
_END = "\x1b[0m"
# The maximum number of stack frames in the file about a bug. An endless recursion has thousands of
# frames.
_MOST_FRAMES = 50


class _Presentation:
    """The values of --quiet, --verbose, --color and --log-file for the whole process."""

    is_quiet = False
    is_verbose = False
    color = "auto"
    log_file = ""


def set_presentation(*, is_quiet: bool, is_verbose: bool, color: str) -> None:
    """Set the values of --quiet, --verbose and --color, and unset the log file."""
    _Presentation.is_quiet = is_quiet
    _Presentation.is_verbose = is_verbose
    _Presentation.color = color
    _Presentation.log_file = ""


def is_quiet() -> bool:
    """Return whether --quiet is set."""
    return _Presentation.is_quiet


def is_coloured(stream: TextIO | None) -> bool:
    """Return whether postrender writes colours to a stream.

    stream: None if the stream is closed. The result is then False.
    With --color=auto, NO_COLOR turns colours off. Without NO_COLOR, FORCE_COLOR turns colours on.
    Without both variables, only terminals show colours.
    """
    if _Presentation.color != "auto" or stream is None:
        return _Presentation.color == "always" and stream is not None
    if os.environ.get("NO_COLOR"):
        return False
    return bool(os.environ.get("FORCE_COLOR")) or stream.isatty()


def report_warning(problem: str, fix: str) -> None:
    """Print a warning without a code and a location, unless --quiet is set."""
    if not _Presentation.is_quiet:
        _print_message(WARNING, sentences(problem, fix))


def report_detail(text: str) -> None:
    """Print a note if --verbose is set."""
    if _Presentation.is_verbose:
        _print_message(NOTE, sentences(text, ""))


def report_unless_verbose(text: str) -> None:
    """Print a note, unless --quiet or --verbose is set.

    With --verbose, report_detail prints the note instead.
    """
    if not (_Presentation.is_verbose or _Presentation.is_quiet):
        _print_message(NOTE, sentences(text, ""))


def report_finding(finding: Finding, *, is_failure: bool = False) -> None:
    """Print a finding on stderr, and append the finding to the log file.

    is_failure: whether the finding makes the command fail. The function then prints the finding as
        an error, even if --quiet is set.
    """
    severity = ERROR if is_failure else finding.severity
    _log(severity, str(finding))
    if is_failure or not _Presentation.is_quiet:
        _print_message(severity, str(finding), finding.location, f"postrender: {finding.code}")


def report_error(error: UserError) -> None:
    """Print an error on stderr, even if --quiet is set, and append the error to the log file."""
    _log(ERROR, str(error))
    _print_message(ERROR, str(error), error.location)


def log_note(text: str) -> None:
    """Append a note to the log file."""
    _log(NOTE, sentences(text, ""))


def set_log_file(name: str) -> None:
    """Set the log file of the process, and create the file if the file does not exist.

    name: the path of the log file, "" for none.
    Raises UserError if postrender cannot write to the file. Also raises UserError if the name has
    the ending of a manifest, because messages would damage a manifest.
    """
    if not name:
        return
    from postrender.sources.paths import ENDINGS

    if name.lower().endswith(ENDINGS):
        raise UserError(
            f"the log file ends in {os.path.splitext(name)[1]} like a manifest, expected another "
            "ending",
            "Choose a name such as postrender.log",
            Location(name),
        )
    try:
        with open(name, "a", encoding="utf-8"):
            pass
    except OSError as error:
        raise UserError(
            f"postrender cannot write the log file ({error.strerror})",
            "Choose another file with --log-file",
            Location(name),
        ) from None
    _Presentation.log_file = name


def _log(severity: str, text: str) -> None:
    if _Presentation.log_file:
        # Ignore errors such as a full disk. set_log_file has already opened the file once.
        try:
            with open(
                _Presentation.log_file, "a", encoding="utf-8", errors="backslashreplace"
            ) as log:
                log.write(_visible(f"{severity}: {text}") + "\n")
        except OSError:
            pass


def _print_message(
    severity: str, text: str, location: Location | None = None, title: str = "postrender"
) -> None:
    """Print a message on stderr. In the log of a GitHub Actions job, print a workflow command.

    title: the title of the workflow command.
    """
    in_job = os.environ.get("GITHUB_ACTIONS") == "true"
    if in_job and sys.stderr is not None and not sys.stderr.isatty():
        # Import the module late, because few processes run in a GitHub Actions job.
        from postrender.cli.github import workflow_command

        _print(workflow_command(severity, title, text, location))
    else:
        _print(f"{severity}: {text}", _COLOURS[severity])


def _visible(line: str) -> str:
    """Return a line with escapes for control characters.

    Names in manifests can contain control characters.
    """
    if line.isascii() and line.isprintable():
        return line
    from postrender.text.escapes import visible

    return visible(line)


def _print(line: str, colour: str = "") -> None:
    if sys.stderr is None:
        return
    line = _visible(line)
    text = f"{colour}{line}{_END}" if colour and is_coloured(sys.stderr) else line
    try:
        print(text, file=sys.stderr, flush=True)
    except (OSError, ValueError):
        # stderr cannot be written. None prevents another attempt when the process ends.
        sys.stderr = None


def report_bug(error: BaseException) -> None:
    """Write the traceback of a bug to a temporary file, and print the path of the file on stderr.

    If the file cannot be written, print the file names and lines of the traceback instead.
    """
    # Import these modules late, because the import takes longer than the render of a small input.
    import platform
    import tempfile
    import traceback

    text = "".join(
        [
            f"postrender {__version__}, Python {platform.python_version()}, {sys.platform}\n",
            *traceback.format_exception(error, limit=-_MOST_FRAMES),
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
        fix = (
            f"Open an issue with the report {report.name}. Add an input without Secrets that "
            "causes the bug"
        )
    except (OSError, ValueError):
        # For example, the attacher's Pod has a read-only root file system.
        frames = traceback.extract_tb(error.__traceback__)
        locations = (f"{os.path.basename(frame.filename)}:{frame.lineno}" for frame in frames[::-1])
        trail = " < ".join(locations)
        fix = (
            f"Open an issue with the error {type(error).__name__} at these code locations: {trail}"
        )
    _print_message(ERROR, sentences("postrender has a bug, so this run failed", fix))
