"""The commands with their modules, the exit codes, and the call of a command."""

from __future__ import annotations

import sys

from postrender.cli.options import check_encoding, with_filename
from postrender.cli.report import set_presentation

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

# The module of each command. The first word of a name with two words is the group. If the module
# `arguments` reads the command line, postrender imports only one of these modules. click needs all
# modules.
COMMANDS = {
    "try": "postrender.cli.try_chart",
    "render": "postrender.cli.render",
    "fn": "postrender.cli.fn",
    "explain": "postrender.cli.explain",
    "diff": "postrender.cli.diff",
    "check": "postrender.cli.check",
    "attach": "postrender.cli.attach",
    "adopt": "postrender.cli.adopt",
    "schema": "postrender.cli.schema",
    "config admission-policy": "postrender.cli.config_admission_policy",
    "config init": "postrender.cli.config_init",
    "config rbac": "postrender.cli.config_rbac",
    "config schema": "postrender.cli.config_schema",
    "config show": "postrender.cli.config_show",
    "config validate": "postrender.cli.config_validate",
    "completion": "postrender.cli.completion",
    "version": "postrender.cli.version",
}
GROUPS = {"config": "Create, check and show the configuration.\n\nExample: postrender config show"}


def load(module: str) -> Any:
    """Return a module after importing its full name, such as `postrender.cli.render`."""
    __import__(module)  # the import of importlib takes half a millisecond
    return sys.modules[module]


def invoke(module: Any, values: Mapping[str, object]) -> int:
    """Return the exit code after running the command in a module.

    values: the values of the arguments and of all options, by parameter.
    Raises UserError and UsageError as the command does. Also raises UserError for a value that is
    not UTF-8, and UsageError as with_filename does.
    """
    check_encoding(module.COMMAND, values)
    rest = with_filename(values)
    set_presentation(
        is_quiet=rest.pop("quiet"), is_verbose=rest.pop("verbose"), color=rest.pop("color")
    )
    return int(module.run(**rest))
