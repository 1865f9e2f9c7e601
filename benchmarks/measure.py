"""Run whole processes in turn, measure time and peak memory, and check their output."""

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

from postrender.kubernetes.hashing import HASH_SUFFIX

_REVISION = re.compile(rf'\bname: "?([a-z0-9-]+-config{HASH_SUFFIX})\b')
_OBJECT = re.compile(r"\b((?:ConfigMap|Service|Rollout)/app-\d+(?:-config)?)\b")
_INSTRUCTIONS = re.compile(r"I\s+refs:\s+([0-9,]+)")


class BenchmarkError(Exception):
    """A process failed, or its output is incomplete."""


@dataclass(frozen=True, slots=True)
class Command:
    """A process to measure.

    revisions: the number of revision names to expect in the output, each at least twice; not
    checked if 0
    objects: the number of objects to expect in the output; not checked if 0
    limit: the largest number of runs of a slow command, which then has no warm-up; no limit if 0
    variables: environment variables as (name, value)
    """

    args: tuple[str, ...]
    stdin: Path | None = None
    revisions: int = 0
    limit: int = 0
    objects: int = 0
    variables: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class Cost:
    """The time of a process in seconds, its peak memory in bytes, and its CPU time in seconds.

    The CPU time includes the processes that the process has started and waited for.
    """

    seconds: float
    peak: int
    cpu: float


class Comparison(NamedTuple):
    """The medians of two commands, and the medians of the ratios pair by pair.

    The ratio of a pair does not change when the machine gets slower or faster between pairs.
    """

    ours: Cost
    other: Cost
    ratio: float
    cpu_ratio: float


def in_turn(ours: Command, other: Command, runs: int, folder: Path) -> Comparison:
    """Run two commands in turn (A B A B ...), and return their comparison."""
    costs: dict[Command, list[Cost]] = {ours: [], other: []}
    names = {command: _warm_up(command, folder) for command in costs if not command.limit}
    for turn in range(runs):
        for command, runs_of_command in costs.items():
            if not command.limit or turn < command.limit:
                runs_of_command.append(_run(command, folder))
            if command not in names:
                names[command] = _names(command, folder)
    if _expected(ours) == _expected(other) and names[ours] != names[other]:
        raise BenchmarkError(
            "both commands do the same work, but their outputs contain different names"
        )
    pairs = list(zip(costs[ours], costs[other], strict=False))
    return Comparison(
        _median(costs[ours]),
        _median(costs[other]),
        ratio=median(mine.seconds / theirs.seconds for mine, theirs in pairs),
        cpu_ratio=median(mine.cpu / theirs.cpu for mine, theirs in pairs),
    )


def once(command: Command, folder: Path) -> Cost:
    """Run a command once and check what it writes."""
    cost = _run(command, folder)
    _names(command, folder)
    return cost


def _run(command: Command, folder: Path) -> Cost:
    """Run a command and leave its output in the folder.

    Raises BenchmarkError if the command fails.
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
        raise BenchmarkError(f"`{shown}` exited with {process.returncode}: {message}")
    peak = usage.ru_maxrss * (1 if sys.platform == "darwin" else 1024)
    return Cost(seconds, peak, usage.ru_utime + usage.ru_stime)


def instructions(command: Command, folder: Path) -> int:
    """Return how many instructions a command executes, a number that other load does not change.

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
    # The command must start with the interpreter: valgrind does not follow a script to Python.
    _run(replace(command, args=args), folder)
    match = _INSTRUCTIONS.search(report.read_text())
    if not match:
        raise BenchmarkError("valgrind reported no instructions")
    return int(match[1].replace(",", ""))


def _warm_up(command: Command, folder: Path) -> frozenset[str]:
    """Run a command to warm up, and return the names that it writes."""
    _run(command, folder)
    return _names(command, folder)


def _names(command: Command, folder: Path) -> frozenset[str]:
    """Return the revision names or objects in the output.

    Raises BenchmarkError if the output lacks names or references, or has too many names.
    """
    if command.objects:
        objects = _count_matches(_OBJECT, folder)
        if len(objects) != command.objects:
            raise BenchmarkError(f"expected {command.objects} objects, found {len(objects)}")
        return frozenset(objects)
    if not command.revisions:
        return frozenset()
    revisions = _count_matches(_REVISION, folder)
    if len(revisions) != command.revisions or min(revisions.values()) < 2:
        expected = f"{command.revisions} revision names, each on an object and in a reference"
        raise BenchmarkError(f"expected {expected}, found {len(revisions)} names")
    return frozenset(revisions)


def _expected(command: Command) -> tuple[int, int]:
    return command.revisions, command.objects


def _count_matches(pattern: re.Pattern[str], folder: Path) -> Counter[str]:
    """Count the matches of a pattern in the output, line by line.

    Reading lines keeps the memory of this process small. Linux counts that memory in the peak of
    every process that this process starts.
    """
    with _output(folder).open(encoding="utf-8") as lines:
        return Counter(name for line in lines for name in pattern.findall(line))


def _output(folder: Path) -> Path:
    return folder / "stdout"


def _environment() -> dict[str, str]:
    """Return the environment with only the variable that a render needs: the attacher's image.

    Python writes byte code, as an installation does.
    """
    image = {"POSTRENDER_ATTACHER_IMAGE": "registry.example.com/postrender:1"}
    return image | {
        key: text
        for key, text in os.environ.items()
        if not key.startswith("POSTRENDER_") and key != "PYTHONDONTWRITEBYTECODE"
    }


def _median(costs: list[Cost]) -> Cost:
    return Cost(
        median(cost.seconds for cost in costs),
        round(median(cost.peak for cost in costs)),
        median(cost.cpu for cost in costs),
    )
