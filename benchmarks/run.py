"""Measure postrender beside other ways to do the same work: `python -m benchmarks.run`.

Ratios are ours divided by the other's, so that smaller is better. The clock never fails a run; a
process that fails or writes the wrong thing does.
"""

from __future__ import annotations

import argparse
import os
import platform
import shutil
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.chart import COMPONENTS, chart
from benchmarks.crds import CONFIG_MAPS, crds
from benchmarks.generate import Stream, write_stream
from benchmarks.kustomize import write_kustomization
from benchmarks.many import many
from benchmarks.measure import BenchmarkError, Command, in_turn, once

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

_POSTRENDER = (sys.executable, "-m", "postrender")
_ROOT = Path(__file__).resolve().parents[1]
_MEGA = 1_000_000
_HEADER = ("what", "ours", "other", "ratio", "target", "met")


@dataclass(frozen=True, slots=True)
class Bench:
    """Where streams are written, and how often each process is run."""

    folder: Path
    runs: int

    def stream(self, name: str, documents: Iterable[str]) -> Stream:
        """Write a stream into the folder."""
        return write_stream(documents, self.folder / f"{name}.yaml")

    def many(self, count: int, services: bool = True, changed: int = 0) -> Stream:
        """Write N ConfigMaps with what is beside them."""
        name = f"many-{count}-{services}-{changed}"
        return self.stream(name, many(count, services, changed))


@dataclass(frozen=True, slots=True)
class Row:
    """One line of the table; target is the largest ratio that is good enough."""

    what: str
    ours: str = ""
    other: str = ""
    ratio: float | None = None
    target: float | None = None
    note: str = ""

    def cells(self) -> tuple[str, ...]:
        """Return the line's texts, in the order of the header."""
        if self.ratio is None:
            return (self.what, "", "", "", "", self.note)
        target = "" if self.target is None else f"<= {self.target:g}"
        met = "" if self.target is None else "yes" if self.ratio <= self.target else "**no**"
        return (self.what, self.ours, self.other, f"{self.ratio:.3g}", target, met)


def main() -> int:
    """Print the table; return 1 when a process failed."""
    options = _parser().parse_args()
    rows: list[Row] = []
    with tempfile.TemporaryDirectory(prefix="benchmark-") as folder:
        bench = Bench(Path(folder), options.runs)
        done = [_measure(name, bench, rows) for name in options.only or ROWS]
    print(f"Python {platform.python_version()}, {options.runs} runs each, medians\n")
    print("\n".join(_table(rows, options.output)))
    return int(not all(done))


def _measure(name: str, bench: Bench, rows: list[Row]) -> bool:
    """Add the rows of one name; return False when a process failed."""
    try:
        rows.extend(ROWS[name](bench))
    except BenchmarkError as error:
        print(f"{name}: {error}", file=sys.stderr)
        return False
    return True


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.run", description=__doc__)
    parser.add_argument("--runs", type=_positive, default=5, metavar="N", help="default: 5")
    parser.add_argument("--only", action="append", choices=ROWS, help="may be repeated")
    parser.add_argument("--output", choices=("markdown", "text"), default="markdown")
    return parser


def _positive(text: str) -> int:
    if (number := int(text)) < 1:
        raise argparse.ArgumentTypeError("at least 1")
    return number


def _render(stream: Stream, revisions: int) -> Command:
    return Command(_POSTRENDER, stream.path, revisions)


def _compose(stream: Stream) -> Command:
    return Command((sys.executable, "-m", "benchmarks.compose"), stream.path)


def _timed(
    bench: Bench, what: str, ours: Command, other: Command, target: float | None = None
) -> Row:
    mine, theirs = in_turn(ours, other, bench.runs, bench.folder)
    ratio = mine.seconds / theirs.seconds
    return Row(what, f"{mine.seconds:.3f} s", f"{theirs.seconds:.3f} s", ratio, target)


def _start_up(bench: Bench) -> Iterator[Row]:
    ours = Command((*_POSTRENDER, "--version"))
    other = Command((sys.executable, "-c", "import click"))
    # So short that only many runs tell.
    often = Bench(bench.folder, bench.runs * 4)
    yield _timed(often, "start-up / `import click`", ours, other, 2)


def _composing(bench: Bench) -> Iterator[Row]:
    stream = bench.many(1000)
    what = "render 1,000 / compose its relevant documents"
    yield _timed(bench, what, _render(stream, 1000), _compose(stream), 1.6)


def _kustomize(bench: Bench) -> Iterator[Row]:
    kubectl = shutil.which("kubectl")
    for count, target, limit in ((30, 1.0, 0), (1000, 1 / 20, 2)):
        what = f"render {count:,} / `kubectl kustomize`"
        if not kubectl:
            yield Row(what, note="skipped: no kubectl on PATH")
            continue
        folder = bench.folder / f"kustomize-{count}"
        write_kustomization(count, folder)
        other = Command((kubectl, "kustomize", str(folder)), None, count, limit)
        ours = _render(bench.many(count, services=False), count)
        yield _timed(bench, what, ours, other, target)


def _growth(bench: Bench) -> Iterator[Row]:
    small, middle, large = (_render(bench.many(count), count) for count in (100, 1000, 10_000))
    yield _timed(bench, "render 1,000 / render 100", middle, small)
    yield _timed(bench, "render 10,000 / render 1,000", large, middle, 11)


def _crds(bench: Bench) -> Iterator[Row]:
    ours = _render(bench.stream("crds", crds()), CONFIG_MAPS)
    tiny = _render(bench.many(1), 1)
    yield _timed(bench, "render 2 MB of CRDs / render one ConfigMap", ours, tiny, 1.5)


def _memory(bench: Bench) -> Iterator[Row]:
    streams = {f"many of {count:,}": (bench.many(count), count) for count in (1000, 10_000)}
    streams["CRDs"] = (bench.stream("crds", crds()), CONFIG_MAPS)
    for name, (stream, count) in streams.items():
        peak = once(_render(stream, count), bench.folder).peak
        bound = 40 * _MEGA + 8 * stream.size + 50 * stream.largest
        ours, other = (f"{size / _MEGA:.1f} MB" for size in (peak, bound))
        yield Row(f"peak memory, {name} / its bound", ours, other, peak / bound, 1)


def _chart(bench: Bench) -> Iterator[Row]:
    stream = bench.stream("chart", chart())
    what = "render a chart of 150 objects / compose"
    yield _timed(bench, what, _render(stream, len(COMPONENTS)), _compose(stream))


def _preview(bench: Bench) -> Iterator[Row]:
    dyff = _dyff()
    for what, changed, target in (("a tenth", 10, 1), ("all", 1, 2)):
        label = f"diff, {what} of 1,000 changed / `dyff between`"
        if not dyff:
            yield Row(label, note="skipped: no dyff on PATH or in .cache/e2e")
            continue
        other = _changed(bench, (dyff, "between", "--omit-header"), 1000, changed)
        yield _timed(bench, label, _diff(bench, 1000, changed), other, target)
    for what, changed in (("a tenth", 10), ("all", 1)):
        label = f"diff 10,000 / diff 1,000, {what} changed"
        small, large = (_diff(bench, count, changed) for count in (1000, 10_000))
        yield _timed(bench, label, large, small, 11)


def _diff(bench: Bench, count: int, changed: int) -> Command:
    return _changed(bench, (*_POSTRENDER, "diff"), count, changed)


def _changed(bench: Bench, program: tuple[str, ...], count: int, changed: int) -> Command:
    """Return a command that compares N of each kind with the same, every so many changed."""
    sides = [str(bench.many(count, changed=each).path) for each in (0, changed)]
    return Command((*program, *sides), objects=3 * count // changed)


def _dyff() -> str | None:
    """Return the dyff on PATH, or the one that the end-to-end tests have built."""
    built = os.environ.get("POSTRENDER_E2E") or str(_ROOT / ".cache" / "e2e")
    return shutil.which("dyff") or shutil.which("dyff", path=str(Path(built, "bin").resolve()))


ROWS: dict[str, Callable[[Bench], Iterator[Row]]] = {
    "start-up": _start_up,
    "compose": _composing,
    "kustomize": _kustomize,
    "growth": _growth,
    "crds": _crds,
    "memory": _memory,
    "chart": _chart,
    "preview": _preview,
}


def _table(rows: list[Row], output: str) -> Iterator[str]:
    lines = [_HEADER, *(row.cells() for row in rows)]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    for number, line in enumerate(lines):
        cells = [cell.ljust(width) for cell, width in zip(line, widths, strict=True)]
        yield "  ".join(cells).rstrip() if output == "text" else f"| {' | '.join(cells)} |"
        if number == 0 and output == "markdown":
            yield f"| {' | '.join('-' * width for width in widths)} |"


if __name__ == "__main__":
    sys.exit(main())
