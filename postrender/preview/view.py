"""How a preview is to be shown, as far as that depends on where it is printed."""

from __future__ import annotations

from typing import NamedTuple


class View(NamedTuple):
    """width: of the terminal, in columns; is_coloured: whether it understands colours."""

    width: int = 80
    is_coloured: bool = False
