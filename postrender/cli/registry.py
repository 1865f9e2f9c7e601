"""The commands with the module of each command, how a command is run, and the exit codes."""

from __future__ import annotations

import sys

from postrender.cli.options import with_filename
from postrender.cli.reporting import set_presentation

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
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


def invoke(module: Any, values: Mapping[str, object]) -> int:
    """Run the command of a module and return its exit code.

    values: by parameter of the command's options, and of the options of every command.
    Raises UsageError, UserError.
    """
    rest = dict(values)
    set_presentation(
        is_quiet=bool(rest.pop("quiet", False)),
        is_verbose=bool(rest.pop("verbose", False)),
        color=str(rest.pop("color", "auto")),
    )
    return int(module.run(**with_filename(rest)))
