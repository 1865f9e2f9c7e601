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
# The maximum number of stack frames in the report of a bug. A recursion can have thousands.
_MOST_FRAMES = 50


class _Presentation:
    """The values of --quiet, --verbose and --color: global state, as in the module `logging`."""

    is_quiet = False
    is_verbose = False
    color = "auto"


def set_presentation(*, is_quiet: bool, is_verbose: bool, color: str) -> None:
    """Set the values of --quiet, --verbose and --color."""
    _Presentation.is_quiet = is_quiet
    _Presentation.is_verbose = is_verbose
    _Presentation.color = color


def is_quiet() -> bool:
    """Return whether --quiet is set."""
    return _Presentation.is_quiet


def is_coloured(stream: TextIO | None) -> bool:
    """Return whether postrender writes colours to a stream; stream: None for a closed stream.

    With --color=auto, postrender writes colours to a terminal, or to every stream if FORCE_COLOR is
    set. If NO_COLOR is set, `auto` never writes colours.
    """
    if _Presentation.color != "auto" or stream is None:
        return _Presentation.color == "always" and stream is not None
    if os.environ.get("NO_COLOR"):
        return False
    return bool(os.environ.get("FORCE_COLOR")) or stream.isatty()


def report_warning(problem: str, fix: str) -> None:
    """Print a warning that does not have a code or a location, unless --quiet is set."""
    if not _Presentation.is_quiet:
        _print_message(WARNING, sentences(problem, fix))


def report_detail(text: str) -> None:
    """Print a note if --verbose is set."""
    if _Presentation.is_verbose:
        _print_message(NOTE, sentences(text, ""))


def report_unless_verbose(text: str) -> None:
    """Print a note if neither --quiet nor --verbose is set.

    If --verbose is set, report_detail has printed the note.
    """
    if not (_Presentation.is_verbose or _Presentation.is_quiet):
        _print_message(NOTE, sentences(text, ""))


def report_finding(finding: Finding, log_file: str, *, is_failure: bool) -> None:
    """Print a finding on stderr, and append the finding to the log file if `log_file` is set.

    is_failure: whether the command fails because of the finding. If False, the function does not
    print the finding with --quiet.
    """
    severity = ERROR if is_failure else finding.severity
    _log(f"{severity}: {finding}", log_file)
    if is_failure or not _Presentation.is_quiet:
        _print_message(severity, str(finding), finding.location, f"postrender: {finding.code}")


def report_error(error: UserError) -> None:
    """Print an error as a line on stderr."""
    _print_message(ERROR, str(error), error.location)


def log_error(error: UserError, log_file: str) -> None:
    """Append an error to the log file if `log_file` is set."""
    _log(f"error: {error}", log_file)


def log_note(text: str, log_file: str) -> None:
    """Append a note to the log file if `log_file` is set."""
    _log(f"{NOTE}: {sentences(text, '')}", log_file)


def check_log_file(name: str) -> None:
    """Create a missing log file.

    Raises UserError if the log file cannot be written, or has the ending of a manifest. postrender
    would append messages to a manifest.
    """
    if not name:
        return
    from postrender.sources.input_paths import ENDINGS

    if name.lower().endswith(ENDINGS):
        raise UserError(
            "the log file has the ending of a manifest",
            "Choose another name, such as postrender.log",
            Location(name),
        )
    try:
        with open(name, "a", encoding="utf-8"):
            pass
    except OSError as error:
        raise UserError(
            f"the log file cannot be written: {error.strerror}",
            "Choose another file with --log-file",
            Location(name),
        ) from None


def _log(line: str, log_file: str) -> None:
    if log_file:
        # Ignore a full disk and similar errors; check_log_file has checked that the file opens.
        try:
            with open(log_file, "a", encoding="utf-8", errors="backslashreplace") as log:
                log.write(_visible(line) + "\n")
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
        # Import the module late, because most processes do not run in a GitHub Actions job.
        from postrender.cli.github import workflow_command

        _print(workflow_command(severity, title, text, location))
    else:
        _print(f"{severity}: {text}", _COLOURS[severity])


def _visible(line: str) -> str:
    """Return a line with escapes for control characters, which names in manifests can contain."""
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
        # stderr cannot be written. The interpreter must not try again when the process ends.
        sys.stderr = None


def report_bug(error: BaseException) -> None:
    """Write the traceback of a bug to a file and print the path of the file.

    If the file cannot be written, print the locations of the stack frames instead.
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
        fix = f"Open an issue, and attach the report {report.name} and the input"
    except (OSError, ValueError):
        # The attacher's Pod has a read-only root file system, so the file cannot be written there.
        frames = traceback.extract_tb(error.__traceback__)
        locations = (f"{os.path.basename(frame.filename)}:{frame.lineno}" for frame in frames[::-1])
        trail = " < ".join(locations)
        fix = f"Open an issue with the input and this trace of the code: {trail}"
    problem = f"the run failed because of a bug in postrender ({type(error).__name__})"
    _print_message(ERROR, sentences(problem, fix))
