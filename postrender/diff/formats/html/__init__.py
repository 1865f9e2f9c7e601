"""A preview as one HTML page, which contains its style and its script."""

from postrender.diff.formats.html.page import FILE_SUFFIX, render

__all__ = ["FILE_SUFFIX", "render"]
