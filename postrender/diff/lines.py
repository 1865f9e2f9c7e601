"""The lines, words and items that differ between two texts or lists, and the hunks of a diff.

difflib compares only short texts, because its time grows with the square of the number of lines, or
with the third power if many lines are equal. Like `git diff --patience`, `changed_blocks` splits
other texts at lines that occur exactly once in each. A long part without such a line counts as
replaced.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache
from io import StringIO
from itertools import accumulate

from postrender.diff.model import Hunk, KeyChange, Line
from postrender.records import NamedTuple
from postrender.text import common_length, visible, with_visible_end

TYPE_CHECKING = False
if TYPE_CHECKING:
    from difflib import Match, SequenceMatcher

# difflib compares texts if the count of old lines times the count of new lines is at most this
# number, and lists up to this length.
_MAX_PAIRS = 40_000
_MAX_SEQUENCE = 1000
# The work of difflib for each line or item, in pairs of equal lines. In 700 comparisons of public
# charts, the work was at most 3.
_MAX_WORK = 100
# How often a part of a text is split at anchors.
_MAX_SPLITS = 16


class Block(NamedTuple):
    """A slice of the old items, such as lines, and the slice of the new items that replaces it."""

    start: int
    end: int
    new_start: int
    new_end: int


def find_hunks(old: str, new: str, context: int) -> tuple[Hunk, ...]:
    """The hunks of a unified diff, with `context` unchanged lines around each change."""
    old_lines, new_lines = _lines(old), _lines(new)
    groups = _groups(changed_blocks(old_lines, new_lines), context)
    return tuple(_hunk(old_lines, new_lines, group, context) for group in groups)


def _lines(text: str) -> list[str]:
    """The lines with their line feeds; no other character ends a line."""
    return list(StringIO(text))


def changed_items(old: list[str], new: list[str]) -> Iterable[Block]:
    """The blocks of list items that differ, in order; for short lists, the fewest items."""
    is_short = max(len(old), len(new)) <= _MAX_SEQUENCE
    blocks = _changes_by_difflib(old, new) if is_short else None
    return changed_blocks(old, new) if blocks is None else blocks


def changed_blocks(old: list[str], new: list[str]) -> Iterator[Block]:
    """The blocks of items, such as lines, that differ, in order."""
    start = common_length(old, new)
    end = common_length(old[start:][::-1], new[start:][::-1])
    yield from _changes_between(old, new, start, len(old) - end, start, len(new) - end)


def _changes_between(
    old: Sequence[str],
    new: Sequence[str],
    start: int,
    end: int,
    new_start: int,
    new_end: int,
    splits: int = 0,
) -> Iterator[Block]:
    if (end - start) * (new_end - new_start) > _MAX_PAIRS:
        while end > start and new_end > new_start and old[end - 1] == new[new_end - 1]:
            end, new_end = end - 1, new_end - 1
    count, new_count = end - start, new_end - new_start
    if not count and not new_count:
        return
    whole = Block(start=start, end=end, new_start=new_start, new_end=new_end)
    if count * new_count <= 1:  # a side does not have lines, or each side has one line that differs
        yield whole
        return
    if count * new_count <= _MAX_PAIRS:
        changes = _changes_by_difflib(old[start:end], new[new_start:new_end])
        if changes is not None:
            for change in changes:
                yield Block(
                    start=start + change.start,
                    end=start + change.end,
                    new_start=new_start + change.new_start,
                    new_end=new_start + change.new_end,
                )
            return
    if splits == _MAX_SPLITS:
        yield whole
    else:
        yield from _changes_by_anchors(old, new, whole, splits + 1)


def _changes_by_difflib(old: Sequence[str], new: Sequence[str]) -> list[Block] | None:
    """The changes that difflib finds, None if this would be too much work."""
    matcher = _matcher_class()(old, new)
    try:
        return [
            Block(start=start, end=end, new_start=new_start, new_end=new_end)
            for tag, start, end, new_start, new_end in matcher.get_opcodes()
            if tag != "equal"
        ]
    except _TooMuchWork:
        return None


class _TooMuchWork(Exception):  # noqa: N818
    """The work of difflib exceeds the limit."""


@cache
def _matcher_class() -> Callable[[Sequence[str], Sequence[str]], SequenceMatcher[str]]:
    from difflib import SequenceMatcher

    class Matcher(SequenceMatcher[str]):
        """A SequenceMatcher that stops after too much work.

        The work of a search for the longest match is the number of pairs of equal lines.
        """

        def __init__(self, old: Sequence[str], new: Sequence[str]) -> None:
            super().__init__(None, old, new, autojunk=False)
            counts = Counter(new)
            self.pairs = [0, *accumulate(counts[line] for line in old)]
            self.rest = _MAX_WORK * (len(old) + len(new))

        def find_longest_match(
            self, alo: int = 0, ahi: int | None = None, blo: int = 0, bhi: int | None = None
        ) -> Match:
            self.rest -= self.pairs[len(self.pairs) - 1 if ahi is None else ahi] - self.pairs[alo]
            if self.rest < 0:
                raise _TooMuchWork
            return super().find_longest_match(alo, ahi, blo, bhi)

    return Matcher


def _changes_by_anchors(
    old: Sequence[str], new: Sequence[str], whole: Block, splits: int
) -> Iterator[Block]:
    start, end, new_start, new_end = whole
    anchors = _anchors(old, new, range(start, end), range(new_start, new_end))
    if not anchors:
        yield whole
        return
    for anchor, new_anchor in anchors:
        if anchor < start:
            continue  # the equal lines after the previous anchor include this anchor
        yield from _changes_between(old, new, start, anchor, new_start, new_anchor, splits)
        start, new_start = anchor, new_anchor
        while start < end and new_start < new_end and old[start] == new[new_start]:
            start, new_start = start + 1, new_start + 1
    yield from _changes_between(old, new, start, end, new_start, new_end, splits)


def _anchors(
    old: Sequence[str], new: Sequence[str], inside: range, new_inside: range
) -> list[tuple[int, int]]:
    """(old index, new index) for lines that occur exactly once in each of two ranges.

    The result is the longest list of these pairs in which both indexes increase.
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
    """The longest subsequence in which the second index increases (patience sorting)."""
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


def _groups(changes: Iterable[Block], context: int) -> Iterator[list[Block]]:
    group: list[Block] = []
    for change in changes:
        if group and change.start - group[-1].end > 2 * context:
            yield group
            group = []
        group.append(change)
    if group:
        yield group


def _hunk(old: Sequence[str], new: Sequence[str], changes: Sequence[Block], context: int) -> Hunk:
    first, last = changes[0], changes[-1]
    before = min(context, first.start)
    start, new_start = first.start - before, first.new_start - before
    end, new_end = min(last.end + context, len(old)), min(last.new_end + context, len(new))
    lines: list[Line] = []
    index = start
    for change in (*changes, Block(start=end, end=end, new_start=new_end, new_end=new_end)):
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


# ---------------------------------------------------------------- hunks as diff(1) prints them

# The notice after an open line, which does not end in a line feed.
NO_NEWLINE = r"\ No newline at end of file"


def diff_lines(key: KeyChange) -> list[str]:
    """The unified diff of a key, with escapes for control characters other than tabs."""
    return list(hunk_lines(shown_hunks(key), has_headers=True))


def hunk_lines(hunks: Iterable[Hunk], *, has_headers: bool = False) -> Iterator[str]:
    """The lines with their signs; has_headers: whether with the lines that only a diff has."""
    for hunk in hunks:
        if has_headers:
            yield hunk_header(hunk)
        for line, text in seen_lines(hunk):
            yield line.sign + visible(text, keep="\t")
            if has_headers and line.is_open:
                yield NO_NEWLINE


def seen_lines(hunk: Hunk) -> Iterator[tuple[Line, str]]:
    """The lines, in which changed white space is visible: `·` at the end, and `→` for a tab."""
    old, new = (
        {" ".join(line.text.split()) for line in hunk.lines if line.sign == sign} for sign in "-+"
    )
    differs_in_space = old & new
    for line in hunk.lines:
        text = line.text
        if line.sign != " ":
            if " ".join(text.split()) in differs_in_space:
                text = text.replace("\t", "→")
            text = with_visible_end(text)
        yield line, text


def hunk_header(hunk: Hunk) -> str:
    """As in diff(1), the first line of a hunk does not contain a count of 1."""
    old, new = _range(hunk.old, hunk.old_count), _range(hunk.new, hunk.new_count)
    return f"@@ -{old} +{new} @@"


def _range(start: int, count: int) -> str:
    return str(start) if count == 1 else f"{start},{count}"


def shown_hunks(key: KeyChange) -> tuple[Hunk, ...]:
    """The hunks of a key; no line is open if the notice NO_NEWLINE would not be useful."""
    if _is_notice_useful(key):
        return key.hunks
    return tuple(
        hunk._replace(lines=tuple(line._replace(is_open=False) for line in hunk.lines))
        for hunk in key.hunks
    )


def _is_notice_useful(key: KeyChange) -> bool:
    """Whether only one side has an open line, or two lines differ only in the line feed at the end.

    If a side does not have lines, the notice is not useful.
    """
    lines = [line for hunk in key.hunks for line in hunk.lines]
    old = [line for line in lines if line.sign != "+"]
    new = [line for line in lines if line.sign != "-"]
    if not (old and new):
        return False
    if any(line.is_open for line in old) != any(line.is_open for line in new):
        return True

    changed = [line for line in lines if line.sign != " "]
    return any(
        not other.is_open and line.sign != other.sign and line.text == other.text
        for line in changed
        if line.is_open
        for other in changed
    )
