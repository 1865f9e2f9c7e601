"""The entry point of every command: read the arguments, run the command, report every error."""

from __future__ import annotations

import gc
import os
import sys

from postrender.cli.pipes import end_process, reads_terminal, unwritable_error
from postrender.cli.registry import BUG, COMMANDS, FAULT, INTERRUPTED, invoke, load
from postrender.cli.reporting import report_bug, report_error
from postrender.errors import UsageError, UserError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

_GROUP_OPTIONS = frozenset({"-h", "--help", "--version"})
_COMPLETION_VARIABLE = "_POSTRENDER_COMPLETE"


def main() -> None:
    """Run the command line of the process, and end the process with the command's exit code."""
    end_process(run(sys.argv[1:]))


def run(arguments: Sequence[str]) -> int:
    """Run a command line and return its exit code.

    The command is `render` for an empty command line. The command is also `render` if the first
    argument is an option other than -h, --help and --version.
    """
    # Most commands end soon and do not create reference cycles. Garbage collection would take a
    # tenth of their time. `attach` can wait for minutes, so `attach` enables garbage collection.
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
        if is_completion and isinstance(error, OSError):  # click cannot write to stdout
            report_error(unwritable_error(error))
            return FAULT
        report_bug(error)
        return BUG


def _run_plain_call(arguments: Sequence[str]) -> int | None:
    """Run a command line that the module `arguments` can read, and return its exit code.

    Return None if click must read the command line, or must report a usage error. Also return None
    if the input is a terminal, because click then prints the help or a usage error.
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
