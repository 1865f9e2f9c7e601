"""The terminal that a preview is printed on: its width and its colours."""

from __future__ import annotations

from postrender.startup.records import NamedTuple

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import TextIO


class Terminal(NamedTuple):
    """The output that a person reads.

    width: the number of columns;
    is_coloured: whether the output shows colours.
    """

    width: int = 80
    is_coloured: bool = False


def terminal_of(output: TextIO | None, *, is_coloured: bool) -> Terminal:
    """Return the terminal behind an output; 80 columns if the output is not a terminal."""
    if output is None or not output.isatty():
        return Terminal(is_coloured=is_coloured)
    import shutil

    return Terminal(shutil.get_terminal_size().columns, is_coloured)
