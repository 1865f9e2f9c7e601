"""Text on a terminal: its width, the wrapping of lines, and colours."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import TextIO

# Of the 256 colours, these have a contrast of at least 4.5 on white and on black. The first 16
# colours depend on the theme of the terminal, and yellow has a contrast of 1.7 on white.
RED, GREEN, BLUE = "\x1b[38;5;131m", "\x1b[38;5;29m", "\x1b[38;5;63m"
MAGENTA, GREY = "\x1b[38;5;163m", "\x1b[38;5;243m"
BOLD, END = "\x1b[1m", "\x1b[0m"

_BREAK = re.compile(r"(?<=[./,:\]-])")


def columns_on(output: TextIO | None) -> int | None:
    """The width of the terminal of an output, None if it is not a terminal, or is closed."""
    if output is None:
        return None
    try:
        return (os.get_terminal_size(output.fileno()).columns or None) if output.isatty() else None
    except (OSError, ValueError):
        return None


def wrap(text: str, width: int | None, indent: str, hang: str) -> list[str]:
    """A text as lines of at most `width` columns; all lines but the first begin with `hang`."""
    if width is None or len(indent) + columns_of(text) <= width:
        return [indent + text]
    lines: list[str] = []
    line, used = indent, len(indent)
    for gap, piece in _pieces(text, width - len(hang)):
        columns = columns_of(piece)
        if used + len(gap) + columns > width:
            lines.append(line.rstrip(" "))
            line, used = hang + piece, len(hang) + columns
        else:
            line, used = line + gap + piece, used + len(gap) + columns
    return [*lines, line]


def _pieces(text: str, room: int) -> Iterator[tuple[str, str]]:
    """Pairs of the space before a piece, or "", and a piece of at most `room` columns.

    A word that is too long is broken after the punctuation of a path or name, else at any
    character.
    """
    gap = ""
    for word in text.split(" "):
        for part in [word] if columns_of(word) <= room else _BREAK.split(word):
            step = room if part.isascii() else room // 2  # wide characters have two columns
            for start in range(0, len(part) or 1, step):
                yield gap, part[start : start + step]
                gap = ""
        gap = " "


def columns_of(text: str) -> int:
    """The width of a text on a terminal."""
    if text.isascii():
        return len(text)
    import unicodedata

    return sum(
        0 if unicodedata.combining(char) else 1 + (unicodedata.east_asian_width(char) in "WF")
        for char in text
    )
