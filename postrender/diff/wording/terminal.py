"""The width and the colours of the terminal on which a command prints its output."""

from __future__ import annotations

from postrender.records import NamedTuple

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import TextIO


class Terminal(NamedTuple):
    """The properties of an output that a person reads.

    width: the number of columns.
    is_coloured: whether the output shows colours.
    """

    width: int = 80
    is_coloured: bool = False


def terminal_of(output: TextIO | None, *, is_coloured: bool) -> Terminal:
    """Return the properties of an output. The width is 80 if `output` is None or not a terminal."""
    if output is None or not output.isatty():
        return Terminal(is_coloured=is_coloured)
    import shutil

    return Terminal(shutil.get_terminal_size().columns, is_coloured)
