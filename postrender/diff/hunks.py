"""The lines of a hunk, as diff(1) prints them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from postrender.diff.model import Hunk, KeyChange, Line
from postrender.text import visible, with_visible_end

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
    return any(_differ_in_end(line, other) for line in changed if line.is_open for other in changed)


def _differ_in_end(line: Line, other: Line) -> bool:
    return not other.is_open and line.sign != other.sign and line.text == other.text
