"""Read, decode, encode and write a stream, and nothing else: `python -m benchmarks.pipe`."""

from __future__ import annotations

import sys

if __name__ == "__main__":
    sys.stdout.buffer.write(sys.stdin.buffer.read().decode().encode())
