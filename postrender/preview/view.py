"""How a preview is to be shown, as far as that depends on where it is printed."""

from __future__ import annotations

import os

from postrender.startup.records import NamedTuple

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import TextIO


class View(NamedTuple):
    """width: of the terminal, in columns; is_coloured: whether it understands colours."""

    width: int = 80
    is_coloured: bool = False


def view_of(output: TextIO | None) -> View:
    """Return how to print to an output: as wide and as colourful as it is, if it is a terminal.

    FORCE_COLOR is for what shows colours without being one, as a pager or the log of a job.
    """
    wants_none, wants_some = (os.environ.get(name) for name in ("NO_COLOR", "FORCE_COLOR"))
    if output is None or not output.isatty():
        return View(is_coloured=bool(wants_some) and not wants_none)
    import shutil

    return View(shutil.get_terminal_size().columns, not wants_none)
