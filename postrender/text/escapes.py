"""Escapes for characters that a reader would not see, or that would control the terminal."""

from __future__ import annotations

from postrender.startup.patterns import pattern

# Fillers and variation selectors. Most fonts show nothing or a space for these characters, but
# str.isprintable() returns True for most of them.
_BLANK = pattern(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2800\u3164\ufe00-\ufe0f\uffa0"
    "\U0001d159\U0001d173-\U0001d17a\U000e0100-\U000e01ef]"
)


def visible(text: str, keep: str = "") -> str:
    r"""Return a text in which an escape such as `\x1b` replaces each invisible character.

    Invisible characters are control characters, format characters such as the controls of
    bidirectional text, and separators except the space. Unassigned and private-use characters,
    unpaired surrogates, fillers and variation selectors also count as invisible.
    keep: characters to leave unchanged, such as a tab. `keep` has no effect on fillers and
        variation selectors.
    """
    has_blank = not text.isascii() and _BLANK.search(text) is not None
    if text.isprintable() and not has_blank:
        return text
    if has_blank:
        text = _BLANK.sub(lambda match: _escaped(match[0]), text)
    return "".join(
        character if character.isprintable() or character in keep else _escaped(character)
        for character in text
    )


def _escaped(character: str) -> str:
    return character.encode("unicode_escape").decode("ascii")
