"""The entry point of the program: the start of a command, and the report of errors."""

from __future__ import annotations

import gc
import os
import sys

from postrender.cli.registry import COMMANDS, invoke, load
from postrender.cli.report import (
    BUG,
    FAULT,
    INTERRUPTED,
    end_process,
    reads_terminal,
    report_bug,
    report_error,
    unwritable_error,
)
from postrender.errors import UsageError, UserError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

_GROUP_OPTIONS = frozenset({"-h", "--help", "--version"})
_COMPLETION_VARIABLE = "_POSTRENDER_COMPLETE"


def main() -> None:
    """Run the command line of the process, and end the process with the exit code."""
    end_process(run(sys.argv[1:]))


def run(arguments: Sequence[str]) -> int:
    """Return the exit code after running a command line and reporting any error.

    If `arguments` is empty, the command is `render`. The command is also `render` if the first
    argument is an option other than -h, --help and --version.
    arguments: the words of the command line after `postrender`.
    """
    # Garbage collection would take a tenth of the time of most commands. These commands end soon,
    # and do not create reference cycles. `attach` can wait for minutes, so `attach` enables garbage
    # collection.
    gc.disable()
    is_completion = _COMPLETION_VARIABLE in os.environ
    if not is_completion and (
        not arguments or (arguments[0].startswith("-") and arguments[0] not in _GROUP_OPTIONS)
    ):
        arguments = ["render", *arguments]
    try:
        code = None if is_completion else _run_plain_call(arguments)
        if code is None:
            from postrender.cli.click_app import run_with_click

            code = run_with_click(arguments)
        return code
    except UserError as error:
        report_error(error)
        return FAULT
    except KeyboardInterrupt:
        return INTERRUPTED
    except Exception as error:
        if is_completion and isinstance(error, OSError):  # click cannot write the completions
            report_error(unwritable_error(error))
            return FAULT
        report_bug(error)
        return BUG


def _run_plain_call(arguments: Sequence[str]) -> int | None:
    """Return the exit code after running a command line without click.

    Return None if click must run the command line. Reasons are a group or unknown command,
    arguments that read_arguments cannot read, a usage error, and a terminal as input. For a
    terminal, click prints the help or a usage error.
    Raises UserError as the command does.
    """
    module = COMMANDS.get(arguments[0])
    if module is None:
        return None
    from postrender.cli.arguments import read_arguments
    from postrender.cli.options import with_two_dashes

    code = load(module)
    command = code.COMMAND
    values = read_arguments(command, with_two_dashes(command, [*arguments[1:]]), os.environ)
    if values is None:
        return None
    if any(reads_terminal(argument, values) for argument in command.arguments):
        return None
    try:
        return invoke(code, values)
    except UsageError:
        return None  # click runs the command again, and reports the error
