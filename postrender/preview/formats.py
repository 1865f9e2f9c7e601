"""The formats of a preview, by what each is called on the command line."""

from __future__ import annotations

import os
import shutil
from typing import TextIO

from postrender.preview import graph
from postrender.preview.model import Preview
from postrender.preview.view import View


def to_mermaid(preview: Preview, view: View) -> str:
    """Return who names what as a Mermaid flowchart."""
    return graph.to_mermaid(preview.graph, view)


def to_dot(preview: Preview, view: View) -> str:
    """Return who names what in the language of Graphviz."""
    return graph.to_dot(preview.graph, view)


def view_of(output: TextIO | None) -> View:
    """Return how to print to an output: as wide and as colourful as it is, if it is a terminal."""
    if output is None or not output.isatty():
        return View()
    return View(shutil.get_terminal_size().columns, not os.environ.get("NO_COLOR"))
