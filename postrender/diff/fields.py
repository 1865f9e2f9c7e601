"""The hunks of a unified diff of two texts.

difflib compares only short texts, because difflib's time grows with the square of the number of
lines. Like `git diff --patience`, this module splits long texts at lines that occur exactly once in
each text. If a long part does not have a line to split at, all lines of the part count as replaced.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from io import StringIO

from postrender.diff.model import Hunk, Line
from postrender.records import NamedTuple
from postrender.text.common import common_length

# difflib compares texts if the count of old lines times the count of new lines is at most this
# number. For any content, difflib then needs at most about a tenth of a second.
_MAX_PAIRS = 40_000


class _Change(NamedTuple):
    """A slice of the old lines, and the slice of the new lines that replaces the old lines."""

    start: int
    end: int
    new_start: int
    new_end: int


def find_hunks(old: str, new: str, context: int) -> tuple[Hunk, ...]:
    """Return the hunks of a unified diff, with `context` unchanged lines around each change."""
    old_lines, new_lines = _lines(old), _lines(new)
    groups = _groups(_changed_blocks(old_lines, new_lines), context)
    return tuple(_hunk(old_lines, new_lines, group, context) for group in groups)


def _lines(text: str) -> list[str]:
    """Return the lines with their line feeds; no other character ends a line."""
    return list(StringIO(text))


def _changed_blocks(old: list[str], new: list[str]) -> Iterator[_Change]:
    """Return the changes, in order. All other lines are equal."""
    start = common_length(old, new)
    end = common_length(old[start:][::-1], new[start:][::-1])
    yield from _changes_between(old, new, start, len(old) - end, start, len(new) - end)


def _changes_between(
    old: Sequence[str], new: Sequence[str], start: int, end: int, new_start: int, new_end: int
) -> Iterator[_Change]:
    count, new_count = end - start, new_end - new_start
    if not count and not new_count:
        return
    if count * new_count <= 1:  # a side does not have lines, or each side has one line that differs
        yield _Change(start=start, end=end, new_start=new_start, new_end=new_end)
    elif count * new_count <= _MAX_PAIRS:
        from difflib import SequenceMatcher

        matcher = SequenceMatcher(None, old[start:end], new[new_start:new_end], autojunk=False)
        for tag, i1, i2, j1, j2 in matcher.get_opcodes():
            if tag != "equal":
                yield _Change(
                    start=start + i1,
                    end=start + i2,
                    new_start=new_start + j1,
                    new_end=new_start + j2,
                )
    else:
        yield from _changes_by_anchors(old, new, start, end, new_start, new_end)


def _changes_by_anchors(
    old: Sequence[str], new: Sequence[str], start: int, end: int, new_start: int, new_end: int
) -> Iterator[_Change]:
    anchors = _anchors(old, new, range(start, end), range(new_start, new_end))
    if not anchors:
        yield _Change(start=start, end=end, new_start=new_start, new_end=new_end)
        return
    for anchor, new_anchor in anchors:
        if anchor < start:
            continue  # the equal lines after the previous anchor include this anchor
        yield from _changes_between(old, new, start, anchor, new_start, new_anchor)
        start, new_start = anchor, new_anchor
        while start < end and new_start < new_end and old[start] == new[new_start]:
            start, new_start = start + 1, new_start + 1
    yield from _changes_between(old, new, start, end, new_start, new_end)


def _anchors(
    old: Sequence[str], new: Sequence[str], inside: range, new_inside: range
) -> list[tuple[int, int]]:
    """Return (old index, new index) for lines that occur exactly once in each of two ranges.

    The result is the longest list of these pairs in which both indexes increase.
    inside, new_inside: the ranges of the old and of the new lines.
    """
    counts = Counter(old[number] for number in inside)
    new_counts = Counter(new[number] for number in new_inside)
    numbers = {new[number]: number for number in new_inside if new_counts[new[number]] == 1}
    pairs = [
        (number, numbers[old[number]])
        for number in inside
        if counts[old[number]] == 1 and old[number] in numbers
    ]
    return _longest_increasing(pairs)


def _longest_increasing(pairs: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """Return the longest subsequence in which the second index increases (patience sorting)."""
    from bisect import bisect_left

    tops: list[int] = []
    ends: list[int] = []
    previous: list[int] = []
    for number, (_, new_number) in enumerate(pairs):
        pile = bisect_left(tops, new_number)
        tops[pile : pile + 1] = [new_number]
        ends[pile : pile + 1] = [number]
        previous.append(ends[pile - 1] if pile else -1)
    subsequence = []
    number = ends[-1] if ends else -1
    while number >= 0:
        subsequence.append(pairs[number])
        number = previous[number]
    return subsequence[::-1]


def _groups(changes: Iterable[_Change], context: int) -> Iterator[list[_Change]]:
    """Return the changes of each hunk. Adjacent changes are at most `2 * context` lines apart."""
    group: list[_Change] = []
    for change in changes:
        if group and change.start - group[-1].end > 2 * context:
            yield group
            group = []
        group.append(change)
    if group:
        yield group


def _hunk(old: Sequence[str], new: Sequence[str], changes: Sequence[_Change], context: int) -> Hunk:
    first, last = changes[0], changes[-1]
    before = min(context, first.start)
    start, new_start = first.start - before, first.new_start - before
    end, new_end = min(last.end + context, len(old)), min(last.new_end + context, len(new))
    lines: list[Line] = []
    index = start
    for change in (*changes, _Change(start=end, end=end, new_start=new_end, new_end=new_end)):
        shift = change.new_start - change.start
        lines += [
            _line(" ", number + 1, number + shift + 1, old[number])
            for number in range(index, change.start)
        ]
        lines += [
            _line("-", number + 1, 0, old[number]) for number in range(change.start, change.end)
        ]
        lines += [
            _line("+", 0, number + 1, new[number])
            for number in range(change.new_start, change.new_end)
        ]
        index = change.end
    count, new_count = end - start, new_end - new_start
    # As in diff(1), a side without lines has the number of the line before the hunk.
    return Hunk(
        old=start + (1 if count else 0),
        old_count=count,
        new=new_start + (1 if new_count else 0),
        new_count=new_count,
        lines=tuple(lines),
    )


def _line(sign: str, old: int, new: int, text: str) -> Line:
    is_open = not text.endswith("\n")
    return Line(sign=sign, old=old, new=new, text=text if is_open else text[:-1], is_open=is_open)
