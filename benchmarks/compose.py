"""The floor under rendering: compose the relevant documents of a stream, and do nothing else.

`python -m benchmarks.compose < stream` uses the same C parser as postrender, with no resolving of
scalars and no constructing.
"""

from __future__ import annotations

import re
import sys
from itertools import pairwise
from typing import Any

from _ruamel_yaml import CParser
from ruamel.yaml.resolver import BaseResolver

_MARKER = re.compile(r"^---(?=\s|\Z)", re.M)


class Composer(CParser, BaseResolver):  # type: ignore[misc]
    """The parser with the one resolver that leaves every scalar a string."""

    def __init__(self, text: str) -> None:
        CParser.__init__(self, text)
        BaseResolver.__init__(self)


def documents(text: str) -> list[str]:
    """Cut a stream into documents."""
    starts = [0, *(match.start() for match in _MARKER.finditer(text)), len(text)]
    return [text[start:end] for start, end in pairwise(starts)]


def compose(text: str) -> Any:
    """Return the root node of one document."""
    return Composer(text).get_single_node()


def main() -> None:
    """Compose what names a ConfigMap and say how many documents that were."""
    text = sys.stdin.buffer.read().decode()
    relevant = [part for part in documents(text) if "ConfigMap" in part or "configMap" in part]
    for part in relevant:
        compose(part)
    sys.stdout.write(f"{len(relevant)}\n")


if __name__ == "__main__":
    main()
