"""What a process writes: messages on stderr and in the log file, a result on stdout, bug reports.

In a job of GitHub Actions, a message is a *workflow command* such as `::warning file=…::TEXT`, and
GitHub shows it next to the code of a pull request. The runners of CI systems read commands from
stderr and stdout (actions/runner, Handlers/ScriptHandler.cs). Messages and results contain text
from manifests, so text that looks like a command is escaped there.
"""

from __future__ import annotations

import errno
import os
import stat
import sys

from postrender.errors import ERROR, NOTE, WARNING, Finding, Location, UserError, sentences
from postrender.sources.paths import ENDINGS
from postrender.terminal import BLUE, END, MAGENTA, RED, columns_on, wrap
from postrender.text import visible_line, without_runner_commands

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import TextIO

    from postrender.diff.values import Terminal


# The exit codes of all commands. FOUND: what the command looks for, such as a finding, as in grep
# and ruff. FAULT: an error. BUG: an unexpected exception. CHANGES: a change or a risk that `diff`
# was asked to fail on. kubectl diff has 1 for changes, and helm-diff 2. INTERRUPTED: an interrupt.
DONE, FOUND, FAULT, BUG, CHANGES, INTERRUPTED = 0, 1, 2, 3, 4, 130

_COLOURS = {ERROR: RED, WARNING: MAGENTA, NOTE: BLUE}
_LEVELS = {ERROR: "error", WARNING: "warning", NOTE: "notice"}  # of workflow commands
# One of these is set in a job of GitHub, Azure Pipelines or TeamCity.
_RUNNERS = ("GITHUB_ACTIONS", "TF_BUILD", "TEAMCITY_VERSION")
_SHORTAGES = {errno.EMFILE, errno.ENFILE, errno.ENOMEM, errno.EAGAIN, errno.ENOSPC, errno.EDQUOT}
# The maximum number of stack frames in a bug report. An endless recursion has thousands of frames.
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
    """Whether --quiet is set."""
    return _Presentation.is_quiet


def is_coloured(stream: TextIO | None) -> bool:
    """Whether to write colours to a stream, which is None if it is closed.

    With --color=auto, NO_COLOR turns colours off, or else FORCE_COLOR turns colours on. Without
    both variables, only terminals show colours, and not those with TERM=dumb.
    """
    if _Presentation.color != "auto" or stream is None:
        return _Presentation.color == "always" and stream is not None
    if os.environ.get("NO_COLOR"):
        return False
    is_dumb = os.environ.get("TERM") == "dumb"
    return bool(os.environ.get("FORCE_COLOR")) or (stream.isatty() and not is_dumb)


def report_warning(problem: str, fix: str) -> None:
    """Print a warning without a code and a location, unless --quiet is set."""
    if not _Presentation.is_quiet:
        _print_message(WARNING, sentences(problem, fix))


def report_detail(text: str) -> None:
    """Print a note if --verbose is set."""
    if _Presentation.is_verbose:
        _print_message(NOTE, sentences(text))


def report_unless_verbose(text: str) -> None:
    """Print a note that report_detail prints with --verbose, unless --quiet is set."""
    if not (_Presentation.is_verbose or _Presentation.is_quiet):
        _print_message(NOTE, sentences(text))


def report_finding(finding: Finding, *, is_failure: bool = False, is_printed: bool = True) -> None:
    """Print a finding, and append it to the log file.

    is_failure: whether the command fails because of it. The finding is then an error, which is
        printed with --quiet too.
    is_printed: whether to print the finding at all.
    """
    severity = ERROR if is_failure else finding.severity
    _log(severity, str(finding))
    if is_printed and (is_failure or not _Presentation.is_quiet):
        _print_message(severity, str(finding), finding.location, f"postrender: {finding.code}")


def report_error(error: UserError) -> None:
    """Print an error, with --quiet too, and append it to the log file."""
    for one in (error, *error.others):
        _log(ERROR, str(one))
        _print_message(ERROR, str(one), one.location)


def log_note(text: str) -> None:
    """Append a note to the log file."""
    _log(NOTE, sentences(text))


def set_log_file(name: str) -> None:
    """Set the log file of the process, and create the file. name: the path, "" for none.

    A name with the ending of a manifest is an error, because messages would damage a manifest.
    """
    if not name:
        return
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
                log.write(visible_line(f"{severity}: {text}") + "\n")
        except OSError:
            pass


def _print_message(
    severity: str, text: str, location: Location | None = None, title: str = "postrender"
) -> None:
    """Print a message. title: the title of the workflow command in a job of GitHub Actions."""
    in_job = os.environ.get("GITHUB_ACTIONS") == "true"
    if in_job and sys.stderr is not None and not sys.stderr.isatty():
        _print(workflow_command(severity, title, text, location))
    else:
        _print(f"{severity}: {text}", _COLOURS[severity])


def _print(line: str, colour: str = "") -> None:
    if sys.stderr is None:
        return
    line = visible_line(line)
    text = "\n".join(wrap(line, columns_on(sys.stderr), "", "  "))
    text = f"{colour}{text}{END}" if colour and is_coloured(sys.stderr) else text
    try:
        print(text, file=sys.stderr, flush=True)
    except (OSError, ValueError):
        # stderr cannot be written. None prevents another attempt when the process ends.
        sys.stderr = None


def too_large_error() -> UserError:
    """The error for an input that needs more memory than the process may use."""
    return UserError(
        "the input is too large for the memory that postrender may use",
        "Raise the memory limit of the container or process, or split the input",
    )


def shortage_error(error: Exception) -> UserError | None:
    """The error for a limit of the process or the machine, such as on open files or processes."""
    if not (isinstance(error, OSError) and error.errno in _SHORTAGES):
        return None
    return UserError(
        f"a limit of this process or machine is reached ({error.strerror})",
        "Raise the limit (ulimit -a), or end other programs",
    )


def report_bug(error: BaseException) -> None:
    """Write the traceback of a bug to a temporary file, and print the path of the file.

    If the file cannot be written, print the file names and lines of the traceback instead.
    """
    # Importing these modules takes longer than the render of a small input.
    import platform
    import tempfile
    import traceback

    from postrender.cli.version import version_text

    text = "".join(
        [
            f"{version_text()}, Python {platform.python_version()}, {sys.platform}\n",
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


def stdout_terminal() -> Terminal:
    """The width of stdout, and whether to write colours to stdout."""
    from postrender.diff.values import terminal_of

    return terminal_of(sys.stdout, is_coloured=is_coloured(sys.stdout))


def write_for_reader(text: str, escapes: tuple[str, str]) -> None:
    """Write a result for a person to stdout, without workflow commands.

    escapes: the escapes of the output format (Reporter.escapes).
    """
    if any(map(os.environ.get, _RUNNERS)) and _is_in_log():
        text = without_commands(text, escapes)
    write([text], for_reader=True)


def write(parts: Iterable[str], *, for_reader: bool = False) -> None:
    """Write the result of a command, in parts, to stdout.

    for_reader: whether the result is for a person, who can quit the pager before the end. A closed
        pipe is then not an error.
    """
    try:
        if sys.stdout is None:
            raise OSError(0, "stdout is closed")
        # If PYTHONUNBUFFERED is set, sys.stdout does not have a buffer. Therefore, open stdout
        # again.
        with open(sys.stdout.fileno(), "wb", closefd=False) as output:
            output.writelines(part.encode() for part in parts)
    except OSError as error:
        unwritable = unwritable_error(error)
        if not (for_reader and isinstance(error, BrokenPipeError)):
            raise unwritable from None


def write_changes(command: str, lines: Iterable[str], *, needs_yes: bool) -> None:
    """Write the report of a command that changes the cluster, or with --yes would change it."""
    lines = list(lines)
    if needs_yes and any(f": {command} would " in line for line in lines):
        lines.append(f"{command} has changed nothing. To make these changes, pass --yes.")
    write([f"{visible_line(line)}\n" for line in lines])


def unwritable_error(error: OSError) -> UserError:
    """Return the error for a stdout that cannot be written, and set sys.stdout to None."""
    # None prevents a second attempt to write the output when the process ends.
    sys.stdout = None
    problem = f"postrender cannot write the output ({error.strerror})"
    return UserError(
        problem, "Check the program or file that receives stdout", Location("<stdout>")
    )


def end_process(code: int) -> None:
    """End the process, with the exit code FAULT if stdout cannot be flushed."""
    # A normal exit of Python takes longer.
    os._exit(_flush() or code)


def _flush() -> int:
    try:
        if sys.stderr is not None:
            sys.stderr.flush()
    except OSError:
        sys.stderr = None
    try:
        if sys.stdout is not None:
            sys.stdout.flush()
    except OSError as error:
        report_error(unwritable_error(error))
        return FAULT
    return DONE


def _is_in_log() -> bool:
    """Whether stdout can be the log of a job. A file or a terminal cannot."""
    try:
        mode = os.fstat(sys.stdout.fileno()).st_mode
    except (AttributeError, OSError, ValueError):
        return False
    return not (stat.S_ISREG(mode) or sys.stdout.isatty())


def without_commands(text: str, escapes: tuple[str, str]) -> str:
    """Escape one character of commands such as `##[`, and of `::` that begins a line.

    There, the runner would find a workflow command (actions/runner, ActionCommand.cs), also after
    white space.
    escapes: the escapes of the output format (Reporter.escapes).
    """
    colon, _ = escapes
    text = without_runner_commands(text, escapes)
    return "".join(
        f"{line[: -len(rest)]}{colon}{rest[1:]}" if rest.startswith("::") else line
        for line in text.splitlines(keepends=True)
        for rest in [line.lstrip()]
    )


def workflow_command(severity: str, title: str, text: str, location: Location | None) -> str:
    """A message as a workflow command: `::warning file=…,line=…,title=…::…`.

    The command has a file only if the repository contains the file.
    title: the title that GitHub shows above the message.
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
    """The file of a location, relative to the repository's root, and the line.

    The file is "" if it is not in the repository. The line is 0 if it is unknown: for stdin, the
    file is the chart template, but the location has the line in stdin.
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
