"""The diff of one key of a ConfigMap, as diff(1) prints it."""

from __future__ import annotations

from postrender.diff.model import CHANGED, Hunk, KeyChange, Line
from postrender.diff.wording.plurals import counted
from postrender.diff.wording.style import Style
from postrender.text.escapes import visible

# The notice after an open line, which does not end in a line feed.
NO_NEWLINE = r"\ No newline at end of file"


def describe_key(key: KeyChange, style: Style) -> str:
    """Return the size of a change: `+2 -1`, `binary, 2,048 bytes, sha256 … -> text, +3`."""
    signs = [line.sign for hunk in key.hunks for line in hunk.lines]
    counts = [(sign, signs.count(sign)) for sign in "+-"]
    lines = " ".join(f"{sign}{count}" for sign, count in counts if count) or "empty"
    if not key.old_blob and not key.new_blob:
        return lines
    sides = [
        f"binary, {counted(blob.size, 'byte')}, sha256 {blob.digest[:12]}" if blob else ""
        for blob in (key.old_blob, key.new_blob)
    ]
    if key.change == CHANGED:
        return f" {style.arrow} ".join(side or f"text, {lines}" for side in sides)
    return sides[0] or sides[1]


def diff_lines(key: KeyChange) -> list[str]:
    """Return the unified diff of a key, with escapes for control characters other than tabs."""
    lines = []
    for hunk in shown_hunks(key):
        lines.append(hunk_header(hunk))
        for line in hunk.lines:
            lines.append(line.sign + visible(line.text, keep="\t"))
            if line.is_open:
                lines.append(NO_NEWLINE)
    return lines


def hunk_header(hunk: Hunk) -> str:
    """Return the first line of a hunk. As in diff(1), the line does not contain a count of 1."""
    old, new = _range(hunk.old, hunk.old_count), _range(hunk.new, hunk.new_count)
    return f"@@ -{old} +{new} @@"


def _range(start: int, count: int) -> str:
    return str(start) if count == 1 else f"{start},{count}"


def shown_hunks(key: KeyChange) -> tuple[Hunk, ...]:
    """Return the hunks of a key.

    If the notice NO_NEWLINE is not useful, the function sets `is_open` to False in all lines.
    """
    if _is_notice_useful(key):
        return key.hunks
    return tuple(
        hunk._replace(lines=tuple(line._replace(is_open=False) for line in hunk.lines))
        for hunk in key.hunks
    )


def _is_notice_useful(key: KeyChange) -> bool:
    """Return whether the notice NO_NEWLINE is useful in the diff of a key.

    If a side does not have lines, the notice is not useful. Otherwise, the notice is useful in two
    cases:
    1. only one side has an open line;
    2. a removed line and an added line differ only in the line feed at the end.
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
    """Return whether `other` is on the other side, has the same text, and ends in a line feed.

    line: an open line.
    """
    return not other.is_open and line.sign != other.sign and line.text == other.text
