"""The formats of a preview, by what each is called on the command line."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from typing import TextIO

from postrender.preview.json import to_json
from postrender.preview.model import Preview
from postrender.preview.view import View

# A new format is one new module and one entry here.
FORMATS: dict[str, Callable[[Preview, View], str]] = {"json": to_json}


def view_of(output: TextIO | None) -> View:
    """Return how to print to an output: as wide and as colourful as it is, if it is a terminal."""
    if output is None or not output.isatty():
        return View()
    return View(shutil.get_terminal_size().columns, not os.environ.get("NO_COLOR"))
