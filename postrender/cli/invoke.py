"""Calling a command with the values that a reader of the command line returned."""

from __future__ import annotations

from postrender.cli.options import with_filename
from postrender.cli.reporting import set_presentation

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any


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
