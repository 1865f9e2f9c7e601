"""The commands with the module of each command, and the exit codes."""

from __future__ import annotations

import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

DONE, FAULT, USAGE, BUG, CHANGES, INTERRUPTED = 0, 1, 2, 3, 4, 130

# A module is imported when its command runs. A command of two words belongs to a group.
COMMANDS = {
    "render": "postrender.cli.render",
    "explain": "postrender.cli.explain",
    "diff": "postrender.cli.diff",
    "check": "postrender.cli.check",
    "attach": "postrender.cli.attach",
    "adopt": "postrender.cli.adopt",
    "schema": "postrender.cli.schema",
    "config init": "postrender.cli.config_init",
    "config schema": "postrender.cli.config_schema",
    "config show": "postrender.cli.config_show",
    "config validate": "postrender.cli.config_validate",
    "completion": "postrender.cli.completion",
    "version": "postrender.cli.version",
}
GROUPS = {"config": "Create, check and show the configuration."}


def load(reference: str) -> Any:
    """Return a module, or with `module:name` something in it, imported now.

    importlib does the same, but its own import takes half a millisecond.
    """
    module, _, name = reference.partition(":")
    __import__(module)
    return getattr(sys.modules[module], name) if name else sys.modules[module]
