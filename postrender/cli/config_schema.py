"""`postrender config schema`: the JSON Schema of postrender.yaml."""

from __future__ import annotations

from postrender.cli.options import Command
from postrender.cli.report import DONE, write
from postrender.config.load import schema_text

COMMAND = Command(
    "config schema",
    "Print the JSON Schema of postrender.yaml.",
    example="postrender config schema > postrender.schema.json",
)


def run() -> int:
    """Return DONE after printing the JSON Schema."""
    write([schema_text()])
    return DONE
