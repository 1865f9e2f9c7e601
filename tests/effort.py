"""How many random inputs a test draws: few in each run of the tests, and many in `make fuzz`."""

from __future__ import annotations

import os

# `make fuzz` sets this variable.
IS_FUZZ = bool(os.environ.get("POSTRENDER_FUZZ"))
SHARE = 8


def examples(count: int) -> int:
    """Return the count in `make fuzz`, and an eighth otherwise."""
    return count if IS_FUZZ else count // SHARE
