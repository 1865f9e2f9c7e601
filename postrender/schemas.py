"""The JSON Schemas that come with the program."""

from __future__ import annotations


def schema_text(path: str) -> str:
    """Return a schema as text; path: within this package."""
    from importlib import resources

    return resources.files("postrender").joinpath(path).read_text("utf-8")
