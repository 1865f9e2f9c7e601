"""The terminal that a preview is printed on: its width and its colours."""

from __future__ import annotations

import os

from postrender.startup.records import NamedTuple

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import TextIO


class Terminal(NamedTuple):
    """An output for a person to read.

    width: in columns; is_coloured: whether the output shows colours.
    """

    width: int = 80
    is_coloured: bool = False


def terminal_of(output: TextIO | None) -> Terminal:
    """Return how to print to an output: as wide and as colourful as it is, if it is a terminal.

    FORCE_COLOR is for what shows colours without being one, as a pager or the log of a job.
    """
    wants_none, wants_some = (os.environ.get(name) for name in ("NO_COLOR", "FORCE_COLOR"))
    if output is None or not output.isatty():
        return Terminal(is_coloured=bool(wants_some) and not wants_none)
    import shutil

    return Terminal(shutil.get_terminal_size().columns, not wants_none)
