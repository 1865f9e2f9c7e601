"""A lower bound for rendering: compose the relevant documents of a stream, and nothing else.

`python -m benchmarks.compose < stream` uses the same C parser as postrender. The program neither
resolves scalars nor constructs objects.
"""

from __future__ import annotations

import re
import sys
from itertools import pairwise
from typing import Any

from yaml.cyaml import CParser
from yaml.resolver import BaseResolver

_MARKER = re.compile(r"^---(?=\s|\Z)", re.M)


class Composer(CParser, BaseResolver):  # type: ignore[misc]
    """The C parser with the resolver that reads every scalar as a string."""

    def __init__(self, text: str) -> None:
        CParser.__init__(self, text)
        BaseResolver.__init__(self)


def documents(text: str) -> list[str]:
    """Split a stream into documents."""
    starts = [0, *(match.start() for match in _MARKER.finditer(text)), len(text)]
    return [text[start:end] for start, end in pairwise(starts)]


def is_relevant(document: str) -> bool:
    """Return whether a document mentions a ConfigMap."""
    return "ConfigMap" in document or "configMap" in document


def compose(text: str) -> Any:
    """Return the root node of one document."""
    return Composer(text).get_single_node()


def main() -> None:
    """Compose the documents that mention a ConfigMap, and print their number."""
    text = sys.stdin.buffer.read().decode()
    relevant = [document for document in documents(text) if is_relevant(document)]
    for document in relevant:
        compose(document)
    sys.stdout.write(f"{len(relevant)}\n")


if __name__ == "__main__":
    main()
