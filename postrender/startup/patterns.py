"""Regular expressions that are compiled on first use.

postrender has about seventy patterns, and needs about ten of these patterns for a small chart.
Compiling a pattern takes up to a millisecond. For type checkers, `pattern` is `re.compile`.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from re import compile as pattern
else:
    import re

    class pattern:  # noqa: N801
        """A stand-in for `re.compile` that compiles the pattern on first use."""

        def __init__(self, text, flags=0):
            self._arguments = text, flags

        def __getattr__(self, name):
            # Python calls __getattr__ only if an attribute is missing. Before the first use, the
            # methods are missing.
            compiled = re.compile(*self._arguments)
            for method in ("match", "search", "sub", "findall", "finditer", "fullmatch", "split"):
                setattr(self, method, getattr(compiled, method))
            return getattr(compiled, name)


__all__ = ["pattern"]
