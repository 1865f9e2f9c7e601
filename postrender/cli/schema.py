"""`postrender schema`: the JSON Schema for the JSON output of `diff` or `explain`."""

from __future__ import annotations

from postrender.cli.options import Argument, Command
from postrender.cli.report import DONE, write
from postrender.config.validate import schema_text

# The path of the JSON Schema for each command with JSON output.
JSON_SCHEMAS = {"diff": "diff/diff.schema.json", "explain": "explain/explain.schema.json"}

COMMAND = Command(
    "schema",
    "Print the JSON Schema of diff or explain.",
    details="The schema describes the output of the command with --output=json.",
    example="postrender schema diff > diff.schema.json",
    arguments=(Argument("command", "|".join(JSON_SCHEMAS), choices=tuple(JSON_SCHEMAS)),),
)


def run(command: str) -> int:
    """Return DONE after printing the JSON Schema for a command."""
    write([schema_text(JSON_SCHEMAS[command])])
    return DONE
