"""Text with all that a terminal or a reader would not see written out."""

from __future__ import annotations


def visible(text: str, keep: str = "") -> str:
    r"""Return text in which whatever a terminal or a reader would not see is written out: `\x1b`.

    That is each control character, format character (of bidirectional text too), separator but
    the space, unassigned character and half of a pair; keep: those that are left as they are.
    """
    if text.isprintable():
        return text
    return "".join(
        character if character.isprintable() or character in keep else _escaped(character)
        for character in text
    )


def _escaped(character: str) -> str:
    return character.encode("unicode_escape").decode("ascii")
