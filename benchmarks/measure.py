"""Run whole processes in turn; take their time, their peak memory and what they wrote."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time
from collections import Counter
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import median
from typing import NamedTuple

_REVISION = re.compile(r'\bname: "?([a-z0-9-]+-config-[2456789bcdfghkmt]{10})\b')
_OBJECT = re.compile(r"\b((?:ConfigMap|Service|Rollout)/app-\d+(?:-config)?)\b")


_INSTRUCTIONS = re.compile(r"I\s+refs:\s+([0-9,]+)")


class BenchmarkError(Exception):
    """A process failed, or wrote something other than what it was to write."""


@dataclass(frozen=True, slots=True)
class Command:
    """A process to measure.

    revisions: how many revision names it has to write, each at least twice, none if 0;
    objects: how many objects it has to speak of, any number if 0;
    limit: how often it is run at most, without a warm-up, for what is slow;
    variables: of the environment, as name and text.
    """

    args: tuple[str, ...]
    stdin: Path | None = None
    revisions: int = 0
    limit: int = 0
    objects: int = 0
    variables: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class Cost:
    """What a process took: seconds and bytes at the peak."""

    seconds: float
    peak: int


class Comparison(NamedTuple):
    """The medians of two commands, and the median of the ratios pair by pair.

    The ratio of a pair holds where the machine gets slower or faster between the pairs.
    """

    ours: Cost
    other: Cost
    ratio: float


def in_turn(ours: Command, other: Command, runs: int, folder: Path) -> Comparison:
    """Run two commands A B A B ... and compare them."""
    costs: dict[Command, list[Cost]] = {ours: [], other: []}
    names = {command: _warm_up(command, folder) for command in costs if not command.limit}
    for turn in range(runs):
        for command, done in costs.items():
            if not command.limit or turn < command.limit:
                done.append(_run(command, folder))
            if command not in names:
                names[command] = _names(command, folder)
    if _expected(ours) == _expected(other) and names[ours] != names[other]:
        raise BenchmarkError("both do the same work, but do not name the same")
    pairs = zip(costs[ours], costs[other], strict=False)
    ratio = median(mine.seconds / theirs.seconds for mine, theirs in pairs)
    return Comparison(_median(costs[ours]), _median(costs[other]), ratio)


def once(command: Command, folder: Path) -> Cost:
    """Run a command once and check what it writes."""
    cost = _run(command, folder)
    _names(command, folder)
    return cost


def _run(command: Command, folder: Path) -> Cost:
    """Run a command; its output is left in the folder.

    Raises BenchmarkError when it fails.
    """
    source = command.stdin or Path(os.devnull)
    errors = folder / "stderr"
    with source.open("rb") as stdin, _output(folder).open("wb") as stdout, errors.open("wb") as err:
        start = time.perf_counter()
        process = subprocess.Popen(
            command.args,
            stdin=stdin,
            stdout=stdout,
            stderr=err,
            env={**_environment(), **dict(command.variables)},
        )
        _, status, usage = os.wait4(process.pid, 0)
        seconds = time.perf_counter() - start
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        message = errors.read_text(errors="replace").strip()[-2000:]
        shown = " ".join(command.args[1:])
        raise BenchmarkError(f"`{shown}` ended with {process.returncode}: {message}")
    return Cost(seconds, usage.ru_maxrss * (1 if sys.platform == "darwin" else 1024))


def instructions(command: Command, folder: Path) -> int:
    """Return how many instructions a command executes, which no other load changes.

    Needs valgrind, under which a command takes fifty times as long.
    """
    report = folder / "instructions"
    valgrind = (
        "valgrind",
        "--tool=cachegrind",
        "--cache-sim=no",
        "--cachegrind-out-file=/dev/null",
    )
    args = (*valgrind, f"--log-file={report}", *command.args)
    # A script is run by its interpreter: valgrind follows no other program.
    _run(replace(command, args=args), folder)
    found = _INSTRUCTIONS.search(report.read_text())
    if not found:
        raise BenchmarkError("valgrind reported no instructions")
    return int(found[1].replace(",", ""))


def _warm_up(command: Command, folder: Path) -> frozenset[str]:
    """Run a command to warm up, and return the names that it writes."""
    _run(command, folder)
    return _names(command, folder)


def _names(command: Command, folder: Path) -> frozenset[str]:
    """Return the names in the output that it is about, and raise BenchmarkError for too few."""
    if command.objects:
        found = _found(_OBJECT, folder)
        if len(found) != command.objects:
            raise BenchmarkError(f"expected {command.objects} objects, found {len(found)}")
        return frozenset(found)
    if not command.revisions:
        return frozenset()
    found = _found(_REVISION, folder)
    if len(found) != command.revisions or min(found.values()) < 2:
        wanted = f"{command.revisions} revision names, each on an object and in a reference"
        raise BenchmarkError(f"expected {wanted}, found {len(found)} names")
    return frozenset(found)


def _expected(command: Command) -> tuple[int, int]:
    return command.revisions, command.objects


def _found(pattern: re.Pattern[str], folder: Path) -> Counter[str]:
    """Count what a pattern finds in the output, line by line: the harness must stay small.

    Linux counts what this process takes when it starts another as that one's peak.
    """
    with _output(folder).open(encoding="utf-8") as lines:
        return Counter(name for line in lines for name in pattern.findall(line))


def _output(folder: Path) -> Path:
    return folder / "stdout"


def _environment() -> dict[str, str]:
    """Return the environment without what would change the program's defaults.

    Byte code is written, as it is by an installation.
    """
    return {
        key: text
        for key, text in os.environ.items()
        if not key.startswith("POSTRENDER_") and key != "PYTHONDONTWRITEBYTECODE"
    }


def _median(costs: list[Cost]) -> Cost:
    return Cost(median(c.seconds for c in costs), round(median(c.peak for c in costs)))
