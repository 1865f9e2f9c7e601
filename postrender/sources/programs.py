"""The search for the programs git and helm on PATH, and the start of helm."""

from __future__ import annotations

import os

from postrender.errors import UserError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from subprocess import Popen

# The endings of programs on Windows. The list does not contain the endings of batch files, because
# a shell would interpret the arguments of a batch file.
_WINDOWS_ENDINGS = (".exe", ".com")
_IS_WINDOWS = os.name == "nt"


def find_program(name: str) -> str | None:
    """The absolute path of a program on PATH.

    The working directory can be a stranger's repository. Therefore, relative folders of PATH do not
    count, nor, on Windows and unlike in shutil.which, the working directory.
    """
    endings = _WINDOWS_ENDINGS if _IS_WINDOWS else ()
    has_ending = not endings or name.lower().endswith(endings)
    files = [name] if has_ending else [name + ending for ending in endings]
    for folder in os.get_exec_path():
        if not os.path.isabs(folder):
            continue
        for file in files:
            path = os.path.join(folder, file)
            if os.path.isfile(path) and os.access(path, os.X_OK):
                return path
    return None


def helm_program(needed_by: str) -> str:
    """The path of helm, or of the program in HELM_BIN, which may be a path.

    needed_by: the option or command that needs helm, for the message.
    """
    # When Helm starts postrender, Helm sets HELM_BIN to the word with which the user started helm.
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
    """Start a program with an empty stdin, and with pipes for stdout and stderr."""
    from subprocess import DEVNULL, PIPE, Popen

    try:
        return Popen(command, stdin=DEVNULL, stdout=PIPE, stderr=PIPE)
    except (OSError, ValueError) as error:  # ValueError: a NUL in an option
        reason = error.strerror if isinstance(error, OSError) else str(error)
        raise _unstartable(command[0], reason or "unknown error") from None


def _unstartable(program: str, reason: str) -> UserError:
    return UserError(
        f"postrender cannot start {program} ({reason})",
        "Set the variable HELM_BIN to the path of helm",
    )
