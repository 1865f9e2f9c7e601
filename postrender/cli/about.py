"""`postrender schema` and `postrender version`."""

from __future__ import annotations

from postrender.cli.options import Argument, command
from postrender.cli.report import DONE, write
from postrender.cli.version import version_text
from postrender.packaged import packaged_text

# The JSON Schema of each command with JSON output.
_SCHEMAS = {
    "check": "cli/check.schema.json",
    "diff": "diff/diff.schema.json",
    "explain": "explain/explain.schema.json",
    "status": "status/status.schema.json",
}


@command(
    "schema",
    "Print the JSON Schema of a command.",
    details="The schema describes the output of the command with --output=json.",
    example="postrender schema diff > diff.schema.json",
    arguments=(Argument("command", "|".join(_SCHEMAS), choices=tuple(_SCHEMAS)),),
)
def schema(command: str) -> int:
    write([packaged_text(_SCHEMAS[command])])
    return DONE


@command("version", "Print the version and the commit.", example="postrender version")
def version() -> int:
    write([f"{version_text()}\n"])
    return DONE
