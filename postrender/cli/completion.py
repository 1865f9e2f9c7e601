"""`postrender completion`: the completion script for a shell."""

from __future__ import annotations

from postrender.cli.options import Argument, Command
from postrender.cli.report import DONE, write
from postrender.errors import UserError

SHELLS = ("bash", "zsh", "fish")
VARIABLE = "_POSTRENDER_COMPLETE"

COMMAND = Command(
    "completion",
    "Print a completion script for a shell.",
    details=(
        "Load the script in ~/.bashrc, ~/.zshrc or ~/.config/fish/config.fish. bash must be 4.4 or "
        "later."
    ),
    example='eval "$(postrender completion bash)"   # in ~/.bashrc',
    arguments=(Argument("shell", "|".join(SHELLS), choices=SHELLS),),
)


def run(shell: str) -> int:
    """Return DONE after printing the completion script.

    Raises UserError if click does not support the shell.
    """
    from click.shell_completion import get_completion_class

    from postrender.cli.click_app import app

    completion = get_completion_class(shell)
    if completion is None:
        raise UserError(
            f"the installed Python package click does not support completion for {shell}",
            "Upgrade the Python package click to 8.1 or later",
        )
    write([completion(app(), {}, "postrender", VARIABLE).source()])
    return DONE
