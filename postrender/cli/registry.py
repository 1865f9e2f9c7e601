"""The commands, each with the module that is imported when it runs, and the exit codes."""

from __future__ import annotations

# In the order of the help. A command of two words belongs to a group.
COMMANDS = {
    "render": "postrender.cli.render",
    "explain": "postrender.cli.explain",
    "diff": "postrender.cli.diff",
    "check": "postrender.cli.check",
    "attach": "postrender.cli.attach",
    "adopt": "postrender.cli.adopt",
    "schema": "postrender.cli.schema",
    "config schema": "postrender.cli.config_schema",
    "config show": "postrender.cli.config_show",
}

DONE, FAULT, USAGE, BUG, CHANGES, INTERRUPTED = 0, 1, 2, 3, 4, 130
