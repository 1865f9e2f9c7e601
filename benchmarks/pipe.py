"""`python -m benchmarks.pipe`: read, decode, encode and write a stream, and nothing else."""

from __future__ import annotations

import sys

if __name__ == "__main__":
    sys.stdout.buffer.write(sys.stdin.buffer.read().decode().encode())
