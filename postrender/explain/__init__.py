"""The reports of `postrender explain` and `postrender try`."""

from __future__ import annotations

from postrender.diff.formats.mermaid import MermaidReporter
from postrender.explain.json import JsonReporter
from postrender.explain.text import TextReporter

TYPE_CHECKING = False
if TYPE_CHECKING:
    from postrender.diff.formats.reporter import Reporter

REPORTERS: dict[str, Reporter] = {
    "text": TextReporter(),
    "json": JsonReporter(),
    "mermaid": MermaidReporter(),
}
