"""The output formats of `postrender diff`. Each module or package in this folder is a format.

A format has `render(preview, terminal) -> str`, which returns the whole output, and FILE_SUFFIX,
the suffix of a file for the output. The command line, the tests and the documentation list this
folder, so a new format does not need a registration.
"""

from __future__ import annotations

import os


def format_names() -> tuple[str, ...]:
    """Return the names of the formats, sorted. The function does not import the formats."""
    try:
        entries = os.listdir(os.path.dirname(__file__))
    except OSError:  # the package is in a zip file
        import pkgutil  # a late import, because this import is slow

        entries = [module.name for module in pkgutil.iter_modules(__path__)]
    names = {entry.removesuffix(".py") for entry in entries if not entry.startswith(("_", "."))}
    return tuple(sorted(names))


def format_module(name: str) -> str:
    """Return the full name of the module of a format."""
    return f"{__name__}.{name}"
