"""A preview as one HTML page, which contains its style and its script."""

from __future__ import annotations

from postrender.diff.formats.reporter import Reporter

TYPE_CHECKING = False
if TYPE_CHECKING:
    from postrender.diff.model import Preview
    from postrender.diff.values import Terminal


class HtmlReporter(Reporter):
    """The page for a browser."""

    file_suffix = "html"
    escapes = ("&#58;", "&#35;")

    def render(self, preview: Preview, terminal: Terminal) -> str:
        """Return a preview as a page."""
        # Import the page only for this format, because the import of `html` takes long.
        from postrender.diff.formats.html.page import page

        return page(preview)
