"""`postrender version`: the version of the program."""

from __future__ import annotations

from postrender import __version__
from postrender.cli.options import Command
from postrender.cli.report import DONE, write

COMMAND = Command("version", "Print the version.", example="postrender version")


def run() -> int:
    """Return DONE after printing the version."""
    write([f"postrender {__version__}\n"])
    return DONE
