"""The entry point of the program: it runs a command line, and reports the errors."""

from __future__ import annotations

import gc
import os
import sys

from postrender.cli.arguments import (
    call,
    read_quickly,
    terminal_argument,
    with_command_first,
)
from postrender.cli.options import COMPLETION_VARIABLE, load
from postrender.cli.report import (
    BUG,
    FAULT,
    FOUND,
    INTERRUPTED,
    end_process,
    report_bug,
    report_error,
    shortage_error,
    too_large_error,
)
from postrender.errors import StrictError, UsageError, UserError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence


def main() -> None:
    """Run the command line of the process, and end the process with the exit code."""
    end_process(run(sys.argv[1:]))


def run(arguments: Sequence[str]) -> int:
    """Run a command line, report any error, and return the exit code.

    Without a command, or with an option other than -h, --help and --version first, the command is
    `render`. On a terminal, `postrender` alone prints the commands.
    arguments: the words after `postrender`.
    """
    # Garbage collection would take a tenth of the time of most commands. These commands end soon,
    # and do not create reference cycles. `attach` can wait for minutes, so `attach` enables garbage
    # collection.
    gc.disable()
    words = list(arguments)
    try:
        if COMPLETION_VARIABLE in os.environ:
            from postrender.cli.about import complete

            return complete(os.environ[COMPLETION_VARIABLE])
        if not words and sys.stdin is not None and sys.stdin.isatty():
            words = ["--help"]
        else:
            words = with_command_first(words)
        code = _run_without_click(words)
        if code is None:
            from postrender.cli.click_app import run_with_click

            code = run_with_click(words)
        return code
    except UserError as error:
        report_error(error)
        return FOUND if isinstance(error, StrictError) else FAULT
    except KeyboardInterrupt:
        return INTERRUPTED
    except MemoryError:
        fault = too_large_error()  # reported below, where Python has freed the memory of the run
    except Exception as error:
        shortage = shortage_error(error)
        if shortage is None:
            report_bug(error)
            return BUG
        fault = shortage
    report_error(fault)
    return FAULT


def _run_without_click(words: Sequence[str]) -> int | None:
    """Run a usual command line of a frequent command, and return the exit code.

    The result is None if click must read the line. Nothing has then been read or run.
    """
    command = load(words[0]) if words[0] in ("render", "fn", "diff") else None
    values = read_quickly(command, words[1:], os.environ) if command else None
    # For input from a terminal, click prints the help.
    if command is None or values is None or terminal_argument(command, values):
        return None
    try:
        return call(command, values)
    except UsageError as error:
        from postrender.cli.click_app import show_usage_error

        return show_usage_error(error, command)
