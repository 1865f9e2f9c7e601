"""A preview as one HTML page, with its style and script inside."""

from postrender.diff.formats.html.page import FILE_SUFFIX, render

__all__ = ["FILE_SUFFIX", "render"]
