"""`postrender config validate`: check a configuration file."""

from __future__ import annotations

from postrender.cli.options import Argument, Command
from postrender.cli.pipes import write
from postrender.cli.registry import DONE
from postrender.cli.values import nearest_config
from postrender.errors import UserError

COMMAND = Command(
    "config validate",
    "Check a configuration file.",
    details="Without a FILE, the file that render would read is checked.",
    example="postrender config validate chart/postrender.yaml",
    arguments=(Argument("file", "[FILE]", default=""),),
)


def run(file: str) -> int:
    """Run the command and return its exit code."""
    from postrender.config.load import load_config, settings_from

    path = file or nearest_config()
    if not path:
        raise UserError(
            "no postrender.yaml is in this folder or above it",
            "Pass a file, or create one with: postrender config init",
        )
    settings_from(load_config(path), path)
    write([f"{path} is valid\n"])
    return DONE
