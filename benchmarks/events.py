"""The least that reading can cost: libyaml's events of the relevant documents, and the I/O.

`python -m benchmarks.events < stream` creates no Python object for an event.
"""

from __future__ import annotations

import sys

from yaml.cyaml import CParser

from benchmarks.compose import documents, is_relevant


def main() -> None:
    """Read a stream, scan the documents that mention a ConfigMap, and write the stream."""
    text = sys.stdin.buffer.read().decode()
    for document in filter(is_relevant, documents(text)):
        CParser(document).raw_parse()
    sys.stdout.buffer.write(text.encode())


if __name__ == "__main__":
    main()
