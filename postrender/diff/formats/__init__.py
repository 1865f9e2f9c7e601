"""The output formats of `postrender diff`."""

from __future__ import annotations

from postrender.diff.formats.html import HtmlReporter
from postrender.diff.formats.json import JsonReporter
from postrender.diff.formats.markdown import MarkdownReporter
from postrender.diff.formats.mermaid import MermaidReporter
from postrender.diff.formats.text import TextReporter

TYPE_CHECKING = False
if TYPE_CHECKING:
    from postrender.diff.formats.reporter import Reporter

REPORTERS: dict[str, Reporter] = {
    "html": HtmlReporter(),
    "json": JsonReporter(),
    "markdown": MarkdownReporter(),
    "mermaid": MermaidReporter(),
    "text": TextReporter(),
}
