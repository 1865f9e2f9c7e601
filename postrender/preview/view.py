"""How a preview is to be shown, as far as that depends on where it is printed."""

from __future__ import annotations

import os
import shutil
from typing import NamedTuple, TextIO


class View(NamedTuple):
    """width: of the terminal, in columns; is_coloured: whether it understands colours."""

    width: int = 80
    is_coloured: bool = False


def view_of(output: TextIO | None) -> View:
    """Return how to print to an output: as wide and as colourful as it is, if it is a terminal."""
    if output is None or not output.isatty():
        return View()
    return View(shutil.get_terminal_size().columns, not os.environ.get("NO_COLOR"))
