"""Functions for stdin and stdout, and for the end of the process."""

from __future__ import annotations

import os
import sys

from postrender.cli.report import DONE, FAULT, is_coloured, report_error
from postrender.errors import Location, UserError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from postrender.cli.options import Argument
    from postrender.diff.wording.terminal import Terminal


def reads_terminal(argument: Argument, values: Mapping[str, object]) -> bool:
    """Return whether the command would read the input of an argument from a terminal.

    values: the values of the arguments and of all options, by parameter.
    """
    # The file in --filename replaces the argument.
    given = values.get("filename") or values[argument.parameter] or argument.default
    names = given if isinstance(given, tuple) else (given,)
    return "-" in names and sys.stdin is not None and sys.stdin.isatty()


def stdout_terminal() -> Terminal:
    """Return the width of stdout, and whether to write colours to stdout."""
    from postrender.diff.wording.terminal import terminal_of

    return terminal_of(sys.stdout, is_coloured=is_coloured(sys.stdout))


def write_for_reader(text: str, form: str) -> None:
    """Write a result to stdout, for a person.

    If stdout can be the log of a GitHub Actions job, the function escapes text that looks like a
    workflow command.
    form: the output format of the result.
    Raises UserError if stdout cannot be written.
    """
    if os.environ.get("GITHUB_ACTIONS"):
        from postrender.cli.github import is_in_log, without_commands

        text = without_commands(text, form) if is_in_log() else text
    write([text], for_reader=True)


def write(parts: Iterable[str], *, for_reader: bool = False) -> None:
    """Write the result of a command to stdout.

    parts: the parts of the result, in order.
    for_reader: whether the result is for a person. A closed pipe is then not an error, because the
        person can quit the pager before the end of the result.
    Raises UserError if stdout cannot be written.
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


def unwritable_error(error: OSError) -> UserError:
    """Return the error for a stdout that cannot be written, and set sys.stdout to None."""
    # None prevents a second attempt to write the output when the process ends.
    sys.stdout = None
    problem = f"postrender cannot write the output ({error.strerror})"
    return UserError(
        problem, "Check the program or file that receives stdout", Location("<stdout>")
    )


def end_process(code: int) -> None:
    """Flush stderr and stdout, and end the process.

    The exit code is FAULT if stdout cannot be written, otherwise `code`. The function calls
    os._exit, because a normal exit of Python takes longer.
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
