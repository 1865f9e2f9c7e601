"""Escapes for characters that a terminal or a reader would not see."""

from __future__ import annotations


def visible(text: str, keep: str = "") -> str:
    r"""Return a text in which invisible characters are written as escapes, such as `\x1b`.

    Invisible characters are control characters, format characters (also those of bidirectional
    text), separators except the space, unassigned characters and unpaired surrogates.
    keep: characters that are left unchanged.
    """
    if text.isprintable():
        return text
    return "".join(
        character if character.isprintable() or character in keep else _escaped(character)
        for character in text
    )


def _escaped(character: str) -> str:
    return character.encode("unicode_escape").decode("ascii")
