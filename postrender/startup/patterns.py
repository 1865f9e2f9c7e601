"""Regular expressions that are compiled when they are first used.

The package has about seventy patterns, of which a small render uses ten. Compiling one takes up
to a millisecond. Type checkers see `re.compile`.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from re import compile as pattern
else:
    import re

    class pattern:  # noqa: N801
        """What `re.compile` returns, compiled on first use."""

        def __init__(self, text, flags=0):
            self._arguments = text, flags

        def __getattr__(self, name):
            # Called only for what the instance does not have yet: everything, the first time.
            compiled = re.compile(*self._arguments)
            for method in ("match", "search", "sub", "findall", "finditer", "fullmatch", "split"):
                setattr(self, method, getattr(compiled, method))
            return getattr(compiled, name)


__all__ = ["pattern"]
