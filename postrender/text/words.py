"""Searching text for names as whole words. Word characters are letters, digits, `.` and `-`."""

from __future__ import annotations

import re

from postrender.startup.patterns import pattern

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

_WORD = pattern(r"[A-Za-z0-9.-]+")
# Up to this number, names are first searched one by one: faster for a text without any of them.
_FEW = 12
# Every byte that is not a word character becomes a space, which is faster than the pattern.
_TO_SPACES = bytes(
    code if code < 128 and (chr(code).isalnum() or code in b".-") else 32 for code in range(256)
)


def words_of(text: str) -> list[str]:
    """Return the words of a text in order, with duplicates."""
    return _spaced(text).decode("ascii").split()


def _spaced(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass").translate(_TO_SPACES)


class WordSet:
    """A set of names that counts the words of a text that are in the set."""

    __slots__ = ("_encoded", "_few")

    def __init__(self, names: Iterable[str]) -> None:
        distinct = set(names)
        self._few = distinct if len(distinct) <= _FEW else None
        self._encoded = frozenset(name.encode("utf-8", "surrogatepass") for name in distinct)

    def count_in(self, text: str) -> int:
        """Return the number of words of a text that are in the set."""
        if self._few is not None and not any(name in text for name in self._few):
            return 0
        return sum(map(self._encoded.__contains__, _spaced(text).split()))


def replace_words(text: str, renames: Mapping[str, str]) -> str:
    """Return a text in which each whole word that is a key of `renames` is replaced."""
    return _WORD.sub(lambda match: renames.get(match[0], match[0]), text)


def is_whole_value(text: str, name: str) -> bool:
    """Return whether a name is the whole text, or a path segment or the value of a flag in it."""
    escaped = re.escape(name)
    return re.search(rf"(?:^|[=/]|--?[\w-]+[ ]){escaped}(?:$|[/,;:\s\"'])", text) is not None
