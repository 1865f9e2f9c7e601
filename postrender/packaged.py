"""The files of the package that are not modules, such as the JSON Schemas."""

from __future__ import annotations

import os

CONFIG_SCHEMA = "config/config.schema.json"
_PACKAGE = os.path.dirname(__file__)


def packaged_text(path: str) -> str:
    """The text of a file; path: in the package `postrender`."""
    try:
        with open(os.path.join(_PACKAGE, path), encoding="utf-8") as file:
            return file.read()
    except OSError:  # the package is in a zip file
        from importlib import resources  # takes long to import

        return resources.files("postrender").joinpath(path).read_text("utf-8")
