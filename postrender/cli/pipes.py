"""stdin and stdout of the process, and the end of the process."""

from __future__ import annotations

import os
import sys

from postrender.cli.registry import DONE, FAULT
from postrender.cli.reporting import is_coloured, report_error
from postrender.errors import Location, UserError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from postrender.cli.options import Argument
    from postrender.diff.wording.terminal import Terminal


def reads_terminal(argument: Argument, values: Mapping[str, object]) -> bool:
    """Return whether a command would read the input of an argument from a terminal.

    values: the values of the arguments and of all options, by parameter.
    """
    if values.get("filename"):  # the file replaces the argument
        return False
    name = values[argument.parameter] or argument.default
    return name == "-" and sys.stdin is not None and sys.stdin.isatty()


def stdout_terminal() -> Terminal:
    """Return the properties of stdout, for a result that a person reads."""
    from postrender.diff.wording.terminal import terminal_of

    return terminal_of(sys.stdout, is_coloured=is_coloured(sys.stdout))


def write_for_reader(text: str, form: str) -> None:
    """Write a result to stdout for a person. In a GitHub Actions job, escape workflow commands.

    form: the output format of the result.
    Raises UserError if stdout cannot be written.
    """
    if os.environ.get("GITHUB_ACTIONS"):
        from postrender.cli.github import is_in_log, without_commands

        text = without_commands(text, form) if is_in_log() else text
    write([text], for_reader=True)


def write(parts: Iterable[str], *, for_reader: bool = False) -> None:
    """Write the result of a command to stdout.

    for_reader: whether a person reads the result. If True, a closed pipe is not an error, because
    the person can quit the pager before the end of the result.
    Raises UserError if stdout cannot be written.
    """
    try:
        if sys.stdout is None:
            raise OSError(0, "stdout is closed")
        # If PYTHONUNBUFFERED is set, sys.stdout is not buffered, so `write` opens stdout again.
        with open(sys.stdout.fileno(), "wb", closefd=False) as output:
            output.writelines(part.encode() for part in parts)
    except OSError as error:
        unwritable = unwritable_error(error)
        if not (for_reader and isinstance(error, BrokenPipeError)):
            raise unwritable from None


def unwritable_error(error: OSError) -> UserError:
    """Return the error for a stdout that cannot be written, and set sys.stdout to None."""
    # The interpreter must not write the rest of the output when the process ends.
    sys.stdout = None
    problem = f"the result cannot be written: {error.strerror}"
    return UserError(
        problem, "Check the command or file that receives stdout", Location("<stdout>")
    )


def end_process(code: int) -> None:
    """Flush stderr and stdout, and end the process at once, because a normal exit takes longer.

    The exit code is FAULT if stdout cannot be written, else `code`.
    """
    os._exit(_flush() or code)


def _flush() -> int:
    """Flush stderr and stdout. Return DONE, or FAULT if stdout cannot be written."""
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
