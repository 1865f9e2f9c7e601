"""Lines of scripts and of YAML inside a string.

Many of these strings are templates and not valid YAML, so the rules do not parse them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

_COMMENTS = ("#", "//")
# The maximum distance in lines between `name:` and a line `kind: …`.
MAX_DISTANCE = 8
# The maximum distance in lines between `name:` and the key above, such as `configMap:`.
_MAX_DISTANCE_OF_PARENT = 100


def lines_of(text: str) -> list[str]:
    """Return the lines of a text, with continuation lines joined."""
    lines = text.split("\n")
    if "\\\n" not in text:
        return lines
    joined: list[str] = []
    parts: list[str] = []
    for line in lines:
        parts.append(line.lstrip() if parts else line)
        if line.endswith("\\") and not is_comment(parts[0]):
            parts[-1] = parts[-1][:-1]
        else:
            joined.append(" ".join(parts))
            parts = []
    return [*joined, " ".join(parts)] if parts else joined


def is_comment(line: str) -> bool:
    """Return whether a line is a comment of a script, of YAML or of properties."""
    return line.lstrip().startswith(_COMMENTS)


def parent_of(lines: Sequence[str], number: int) -> int | None:
    """Return the number of the line with the parent key of a line, None if no parent is near."""
    indent = _indent_of(lines[number])
    for above in reversed(range(max(0, number - _MAX_DISTANCE_OF_PARENT), number)):
        if lines[above].strip() and _indent_of(lines[above]) < indent:
            return above
    return None


def siblings_of(lines: Sequence[str], number: int) -> Iterator[str]:
    """Return a line and the nearby lines of the same mapping, without nested lines."""
    indent = _indent_of(lines[number])
    for line in reversed(lines[max(0, number - MAX_DISTANCE) : number + 1]):
        if line.strip() and _indent_of(line) <= indent:
            if _indent_of(line) < indent:
                break
            yield line
            if _begins_item(line):
                break
    for line in lines[number + 1 : number + MAX_DISTANCE]:
        if line.strip() and _indent_of(line) <= indent:
            if _indent_of(line) < indent or _begins_item(line):
                break
            yield line


def _begins_item(line: str) -> bool:
    return line.lstrip().startswith("-")


def _indent_of(line: str) -> int:
    return len(line) - len(line.lstrip(" -"))
