"""The least that reading can cost: libyaml's events of the relevant documents, and the I/O.

`python -m benchmarks.events < stream` makes no object of any event.
"""

from __future__ import annotations

import sys

from _ruamel_yaml import CParser

from benchmarks.compose import documents


def main() -> None:
    """Read a stream, scan what names a ConfigMap, and write the stream."""
    text = sys.stdin.buffer.read().decode()
    for part in documents(text):
        if "ConfigMap" in part or "configMap" in part:
            CParser(part).raw_parse()
    sys.stdout.buffer.write(text.encode())


if __name__ == "__main__":
    main()
