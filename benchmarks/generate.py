"""Write a stream for a benchmark: `python -m benchmarks.generate many --count 1000 > many.yaml`.

The same arguments always give the same bytes.
"""

from __future__ import annotations

import argparse
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.chart import chart
from benchmarks.crds import crds
from benchmarks.kustomize import write_kustomization
from benchmarks.many import many

if TYPE_CHECKING:
    from collections.abc import Iterable

_CRD = "\nkind: CustomResourceDefinition\n"


@dataclass(frozen=True, slots=True)
class Stream:
    """A generated stream, with sizes in bytes.

    size: the size of the stream
    largest: the size of the largest document that a renderer must read; CRDs do not count
    """

    path: Path
    size: int
    largest: int


def write_stream(documents: Iterable[str], path: Path) -> Stream:
    """Write documents to a file one at a time, to keep the memory of this process small."""
    size = largest = 0
    with path.open("wb") as file:
        for document in documents:
            length = file.write(document.encode())
            size += length
            largest = largest if _CRD in document else max(largest, length)
    return Stream(path, size, largest)


def main() -> None:
    """Print a stream, or write a kustomization to a folder."""
    options = _parser().parse_args()
    if options.stream == "kustomize":
        write_kustomization(options.count, options.folder)
        return
    streams = {
        "many": lambda: many(options.count, changed=options.changed),
        "crds": crds,
        "chart": chart,
    }
    for document in streams[options.stream]():
        sys.stdout.buffer.write(document.encode())


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.generate", description=__doc__)
    commands = parser.add_subparsers(dest="stream", required=True)
    commands.add_parser("chart", help="a chart of 150 objects")
    commands.add_parser("crds", help="2 MB of CRDs, three ConfigMaps, a Rollout")
    fleet = commands.add_parser("many", help="N ConfigMaps, N Services, N Rollouts")
    folder = commands.add_parser("kustomize", help="the same ConfigMaps and Rollouts as a folder")
    folder.add_argument("folder", type=Path, help="the folder to create")
    fleet.add_argument(
        "--changed", type=int, default=0, metavar="N", help="change every Nth application"
    )
    for command in (fleet, folder):
        command.add_argument("--count", type=int, default=1000, metavar="N")
    return parser


if __name__ == "__main__":
    main()
