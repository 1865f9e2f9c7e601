"""Names as whole words in text: word characters are letters, digits, `.` and `-`."""

from __future__ import annotations

import re

from postrender.startup.patterns import pattern

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

_WORD = pattern(r"[A-Za-z0-9.-]+")
# So many names are searched one by one, which is faster where a text has none of them.
_FEW = 12
# Every byte that is not a word character becomes a space: faster than the pattern by half.
_TO_SPACES = bytes(
    code if code < 128 and (chr(code).isalnum() or code in b".-") else 32 for code in range(256)
)


def words_of(text: str) -> list[str]:
    """Return the words of a text, in order, with repeats."""
    return _spaced(text).decode("ascii").split()


def _spaced(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass").translate(_TO_SPACES)


class WordSet:
    """Names to be counted in many texts, where they are whole words."""

    __slots__ = ("_encoded", "_few")

    def __init__(self, names: Iterable[str]) -> None:
        texts = set(names)
        self._few = texts if len(texts) <= _FEW else None
        self._encoded = frozenset(name.encode("utf-8", "surrogatepass") for name in texts)

    def count_in(self, text: str) -> int:
        """Return how many words of a text are one of the names."""
        if self._few is not None and not any(name in text for name in self._few):
            return 0
        return sum(map(self._encoded.__contains__, _spaced(text).split()))


def replace_words(text: str, renames: Mapping[str, str]) -> str:
    """Return text with each whole word that is a key of renames replaced."""
    return _WORD.sub(lambda match: renames.get(match[0], match[0]), text)


def is_whole_value(text: str, name: str) -> bool:
    """Tell whether name is the whole text, or the value of a path or a flag in it."""
    escaped = re.escape(name)
    return re.search(rf"(?:^|[=/]|--?[\w-]+[ ]){escaped}(?:$|[/,;:\s\"'])", text) is not None
