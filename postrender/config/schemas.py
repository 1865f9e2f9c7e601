"""Access to the JSON Schema files in the package `postrender`."""

from __future__ import annotations

import os

_PACKAGE = os.path.dirname(os.path.dirname(__file__))


def schema_text(path: str) -> str:
    """Return the text of a JSON Schema file.

    path: the path in the package `postrender`, such as `config/config.schema.json`.
    """
    try:
        with open(os.path.join(_PACKAGE, path), encoding="utf-8") as file:
            return file.read()
    except OSError:  # the package is in a zip file
        # Import the module late, because the import is slow.
        from importlib import resources

        return resources.files("postrender").joinpath(path).read_text("utf-8")
