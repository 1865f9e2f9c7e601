"""The output formats of `postrender diff`; every module in this folder is a format.

A format has `render(preview, terminal) -> str`, which returns the whole output, and FILE_SUFFIX,
the suffix of a file with that output. A new format needs no registration: the command line,
the tests and the documentation list this folder.
"""

from __future__ import annotations

import os


def format_names() -> tuple[str, ...]:
    """Return the names of the formats, sorted. No format is imported."""
    try:
        entries = os.listdir(os.path.dirname(__file__))
    except OSError:  # in a zip file; pkgutil takes longer to import than a small render
        import pkgutil

        entries = [module.name for module in pkgutil.iter_modules(__path__)]
    names = {entry.removesuffix(".py") for entry in entries if not entry.startswith(("_", "."))}
    return tuple(sorted(names))


def format_module(name: str) -> str:
    """Return the full name of the module of a format."""
    return f"{__name__}.{name}"
