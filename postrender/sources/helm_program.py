"""The helm program: its path, and the start of its processes."""

from __future__ import annotations

import os

from postrender.errors import UserError
from postrender.sources.programs import find_program

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from subprocess import Popen


def helm_program(needed_by: str) -> str:
    """Return the path of helm, or of the program in HELM_BIN.

    needed_by: the option or command that needs helm, for the message.
    Raises UserError if the program is not on PATH. The function does not check a path in HELM_BIN.
    """
    # If Helm starts postrender, HELM_BIN is the word with which the user started helm.
    program = os.environ.get("HELM_BIN") or "helm"
    path = program if os.path.dirname(program) else find_program(program)
    if path:
        return path
    if program != "helm":
        raise _unstartable(program, "the program is not on PATH")
    raise UserError(
        f"{needed_by} needs helm, which is not on PATH",
        "Install helm, or set the variable HELM_BIN to the path of helm",
    )


def start(command: Sequence[str]) -> Popen[bytes]:
    """Start a process with pipes for its output. Raises UserError if the process cannot start."""
    from subprocess import DEVNULL, PIPE, Popen

    try:
        return Popen(command, stdin=DEVNULL, stdout=PIPE, stderr=PIPE)
    except (OSError, ValueError) as error:  # ValueError: a NUL in an option
        reason = error.strerror if isinstance(error, OSError) else str(error)
        raise _unstartable(command[0], reason or "unknown error") from None


def _unstartable(program: str, reason: str) -> UserError:
    return UserError(f"{program} cannot be run: {reason}", "Check the variable HELM_BIN, or PATH")
