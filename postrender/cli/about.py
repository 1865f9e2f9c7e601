"""`postrender completion`, `schema` and `version`: what the program prints about itself."""

from __future__ import annotations

from click.shell_completion import get_completion_class

from postrender.cli.click_app import app
from postrender.cli.options import COMPLETION_VARIABLE, Argument, command
from postrender.cli.report import DONE, write
from postrender.cli.version import version_text
from postrender.config.validate import schema_text
from postrender.errors import UserError

_SHELLS = ("bash", "zsh", "fish")
# The JSON Schema of each command with JSON output.
_SCHEMAS = {
    "check": "cli/check.schema.json",
    "diff": "diff/diff.schema.json",
    "explain": "explain/explain.schema.json",
    "status": "status/status.schema.json",
}


@command(
    "completion",
    "Print a completion script for a shell.",
    details=(
        "Load the script in ~/.bashrc, ~/.zshrc or ~/.config/fish/config.fish. bash must be 4.4 or "
        "later."
    ),
    example='eval "$(postrender completion bash)"   # in ~/.bashrc',
    arguments=(Argument("shell", "|".join(_SHELLS), choices=_SHELLS),),
)
def completion(shell: str) -> int:
    found = get_completion_class(shell)
    if found is None:
        raise UserError(
            f"the installed Python package click does not support completion for {shell}",
            "Upgrade the Python package click to 8.1 or later",
        )
    write([found(app(), {}, "postrender", COMPLETION_VARIABLE).source()])
    return DONE


@command(
    "schema",
    "Print the JSON Schema of a command.",
    details="The schema describes the output of the command with --output=json.",
    example="postrender schema diff > diff.schema.json",
    arguments=(Argument("command", "|".join(_SCHEMAS), choices=tuple(_SCHEMAS)),),
)
def schema(command: str) -> int:
    write([schema_text(_SCHEMAS[command])])
    return DONE


@command("version", "Print the version and the commit.", example="postrender version")
def version() -> int:
    write([f"{version_text()}\n"])
    return DONE
