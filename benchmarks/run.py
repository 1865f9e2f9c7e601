"""Measure postrender against other ways to do the same work: `python -m benchmarks.run`.

A ratio is our time divided by the time of the other program: smaller is better. A missed target
does not fail a run. A run fails if a process fails or writes incomplete output.
"""

from __future__ import annotations

import argparse
import platform
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.measure import BenchmarkError
from benchmarks.rows import MEGA, ROWS, Bench, Row

if TYPE_CHECKING:
    from collections.abc import Iterator

_HEADER = ("comparison", "ours", "other", "ratio", "target", "met", "instructions")


def main() -> int:
    """Print the table and return the exit status: 1 if a process failed, else 0."""
    options = _parser().parse_args()
    rows: list[Row] = []
    start = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="benchmark-") as folder:
        bench = Bench(Path(folder), options.runs)
        is_done = [_measure(name, bench, rows) for name in options.only or ROWS]
    seconds = time.monotonic() - start
    print(f"Python {platform.python_version()}, medians of {options.runs} runs, {seconds:.0f} s\n")
    print("\n".join(_table(rows, options.output)))
    return int(not all(is_done))


def _measure(name: str, bench: Bench, rows: list[Row]) -> bool:
    """Add the rows of one `--only` name, and return whether all processes succeeded."""
    try:
        rows.extend(ROWS[name](bench))
    except BenchmarkError as error:
        print(f"{name}: {error}", file=sys.stderr)
        return False
    return True


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.run", description=__doc__)
    parser.add_argument(
        "--runs",
        type=_positive,
        default=7,
        metavar="N",
        help="run each process N times [default: 7]",
    )
    parser.add_argument(
        "--only", action="append", choices=ROWS, help="measure only these rows (repeatable)"
    )
    parser.add_argument("--output", choices=("markdown", "text"), default="markdown")
    return parser


def _positive(text: str) -> int:
    if (number := int(text)) < 1:
        raise argparse.ArgumentTypeError("at least 1")
    return number


def _cells(row: Row) -> tuple[str, ...]:
    """Return the texts of a row, in the order of the header."""
    ratio = "" if row.ratio is None else f"{row.ratio:.3g}"
    target = "" if row.target is None else f"<= {row.target:g}"
    met = row.note if row.target is None else "**no**" if row.is_missed else "yes"
    count = "" if row.instructions is None else f"{row.instructions / MEGA:.0f} million"
    return (row.what, row.ours, row.other, ratio, target, met, count)


def _table(rows: list[Row], output: str) -> Iterator[str]:
    lines = [_HEADER, *map(_cells, rows)]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    for number, line in enumerate(lines):
        cells = [cell.ljust(width) for cell, width in zip(line, widths, strict=True)]
        yield "  ".join(cells).rstrip() if output == "text" else f"| {' | '.join(cells)} |"
        if number == 0 and output == "markdown":
            yield f"| {' | '.join('-' * width for width in widths)} |"


if __name__ == "__main__":
    sys.exit(main())
