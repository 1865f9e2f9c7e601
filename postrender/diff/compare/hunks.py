"""The lines in which two texts differ, as hunks with some context.

difflib finds what stays. It takes the square of the time, so that long texts are first cut at the
lines that stand in both of them exactly once (as `git diff --patience` does), and what is left and
still too long counts as replaced.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from postrender.diff.model import Hunk, Line
from postrender.startup.records import NamedTuple

# So many pairs of lines are compared at most: about a tenth of a second, whatever they hold.
_MOST_PAIRS = 40_000


class Run(NamedTuple):
    """Lines that stay, or that are replaced by others: from and to as for slices."""

    is_same: bool
    start: int
    end: int
    new_start: int
    new_end: int


def find_hunks(old: str, new: str, context: int) -> tuple[Hunk, ...]:
    """Return the hunks of a unified diff; context: how many lines stand around each change."""
    before, after = _lines(old), _lines(new)
    groups = _groups(list(find_runs(before, after)), context)
    return tuple(_hunk(before, after, group) for group in groups)


def _lines(text: str) -> list[str]:
    """Return the lines with their ends; only a line feed ends one."""
    lines = [line + "\n" for line in text.split("\n")]
    lines[-1] = lines[-1][:-1]
    return lines if lines[-1] else lines[:-1]


def find_runs(old: Sequence[str], new: Sequence[str]) -> Iterator[Run]:
    """Yield what stays and what does not, in order, all of both sides."""
    start = _common(old, new)
    end = _common(old[start:][::-1], new[start:][::-1])
    if start:
        yield Run(True, 0, start, 0, start)
    yield from _middle(old, new, start, len(old) - end, start, len(new) - end)
    if end:
        yield Run(True, len(old) - end, len(old), len(new) - end, len(new))


def _common(old: Sequence[str], new: Sequence[str]) -> int:
    """Return how many lines are the same from the start."""
    pairs = enumerate(zip(old, new, strict=False))
    return next((at for at, (one, other) in pairs if one != other), min(len(old), len(new)))


def _middle(
    old: Sequence[str], new: Sequence[str], start: int, end: int, new_start: int, new_end: int
) -> Iterator[Run]:
    if start == end or new_start == new_end:
        if (start, new_start) != (end, new_end):
            yield Run(False, start, end, new_start, new_end)
        return
    if end - start == new_end - new_start == 1:
        yield Run(old[start] == new[new_start], start, end, new_start, new_end)
        return
    if (end - start) * (new_end - new_start) <= _MOST_PAIRS:
        from difflib import SequenceMatcher

        matcher = SequenceMatcher(None, old[start:end], new[new_start:new_end], autojunk=False)
        for tag, a, b, c, d in matcher.get_opcodes():
            yield Run(tag == "equal", start + a, start + b, new_start + c, new_start + d)
        return
    anchors = _anchors(old, new, range(start, end), range(new_start, new_end))
    if not anchors:
        yield Run(False, start, end, new_start, new_end)
        return
    for at, new_at in anchors:
        if at < start:
            continue  # the run before went on over it
        yield from _middle(old, new, start, at, new_start, new_at)
        start, new_start = at, new_at
        while start < end and new_start < new_end and old[start] == new[new_start]:
            start, new_start = start + 1, new_start + 1
        yield Run(True, at, start, new_at, new_start)
    yield from _middle(old, new, start, end, new_start, new_end)


def _anchors(
    old: Sequence[str], new: Sequence[str], inside: range, new_inside: range
) -> list[tuple[int, int]]:
    """Return lines that both sides have once, in the longest row that keeps their order."""
    counts, new_counts = Counter(old[at] for at in inside), Counter(new[at] for at in new_inside)
    location = {new[at]: at for at in new_inside if new_counts[new[at]] == 1}
    pairs = [
        (at, location[old[at]]) for at in inside if counts[old[at]] == 1 and old[at] in location
    ]
    return _longest_row(pairs)


def _longest_row(pairs: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """Return the longest increasing subsequence by the second number (patience sorting)."""
    from bisect import bisect_left

    tops: list[int] = []
    ends: list[int] = []
    before: list[int] = []
    for number, (_, new_at) in enumerate(pairs):
        pile = bisect_left(tops, new_at)
        tops[pile : pile + 1] = [new_at]
        ends[pile : pile + 1] = [number]
        before.append(ends[pile - 1] if pile else -1)
    row = []
    number = ends[-1] if ends else -1
    while number >= 0:
        row.append(pairs[number])
        number = before[number]
    return row[::-1]


def _groups(runs: Sequence[Run], context: int) -> Iterator[list[Run]]:
    """Yield the runs of each hunk, with what stays cut to the context."""
    group: list[Run] = []
    last = len(runs) - 1
    for number, run in enumerate(runs):
        if not run.is_same:
            group.append(run)
            continue
        length = run.end - run.start
        head = min(length, context) if number else 0
        tail = min(length, context) if number < last else 0
        if number and number < last and length <= 2 * context:
            group.append(run)
            continue
        if group and head:
            group.append(run._replace(end=run.start + head, new_end=run.new_start + head))
        if group:
            yield group
        group = []
        if tail:
            group = [run._replace(start=run.end - tail, new_start=run.new_end - tail)]
    if any(not run.is_same for run in group):
        yield group


def _hunk(old: Sequence[str], new: Sequence[str], runs: Sequence[Run]) -> Hunk:
    lines: list[Line] = []
    for run in runs:
        if run.is_same:
            pairs = zip(range(run.start, run.end), range(run.new_start, run.new_end), strict=True)
            lines += [_line(" ", at + 1, new_at + 1, old[at]) for at, new_at in pairs]
        else:
            lines += [_line("-", at + 1, 0, old[at]) for at in range(run.start, run.end)]
            lines += [_line("+", 0, at + 1, new[at]) for at in range(run.new_start, run.new_end)]
    count, new_count = runs[-1].end - runs[0].start, runs[-1].new_end - runs[0].new_start
    # As diff(1): a side without lines has the number of the line before.
    first = runs[0].start + (1 if count else 0)
    new_first = runs[0].new_start + (1 if new_count else 0)
    return Hunk(first, count, new_first, new_count, tuple(lines))


def _line(sign: str, old: int, new: int, text: str) -> Line:
    is_open = not text.endswith("\n")
    return Line(sign, old, new, text if is_open else text[:-1], is_open)
