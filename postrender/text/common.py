"""The common prefix of two texts, or of two lists of lines."""

from __future__ import annotations

from collections.abc import Sequence


def common_length(old: Sequence[str], new: Sequence[str]) -> int:
    """Return the length of the common prefix of two texts, or of two lists."""
    low, high = 0, min(len(old), len(new))
    while low < high:
        middle = (low + high + 1) // 2
        if old[low:middle] == new[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low
