"""The search for names as whole words in a text, and the replacement of these words.

A word consists of ASCII letters, digits, `.` and `-`. The `-` before the default value of a shell
variable is not a part of a word. In `${NAME:-web-config}`, the words are `NAME` and `web-config`.
"""

from __future__ import annotations

from postrender.startup.patterns import pattern

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

# A shell variable up to its default value: `${NAME:-` or `${NAME-`.
_VARIABLE = r"(?<![A-Za-z0-9.-])\$\{\w+:?-"
_DEFAULT = pattern(_VARIABLE)
_WORD = pattern(rf"((?:{_VARIABLE})?)([A-Za-z0-9.-]+)")
# A WordSet of at most this many names first searches a text for each name as a substring. If the
# text does not contain any of the names, this search is faster than splitting the text into words.
_FEW = 12
# A table that replaces every byte outside a word with a space. Splitting at spaces is faster than
# a search with _WORD.
_TO_SPACES = bytes(
    code if code < 128 and (chr(code).isalnum() or code in b".-") else 32 for code in range(256)
)


def words_of(text: str) -> list[str]:
    """Return the words of a text in order, with duplicates."""
    return _spaced(text).decode("ascii").split()


def _spaced(text: str) -> bytes:
    """Return a text as bytes, with a space for each byte outside of words."""
    return split_defaults(text).encode("utf-8", "surrogatepass").translate(_TO_SPACES)


def split_defaults(text: str) -> str:
    """Return a text in which a space replaces the `-` before the default value of a variable."""
    return _DEFAULT.sub(lambda match: match[0][:-1] + " ", text) if "${" in text else text


def letters_of(text: str) -> str:
    """Return a text in lower case, without the separators `-` and `_`."""
    return text.lower().replace("-", "").replace("_", "")


class WordSet:
    """A set of names that counts how many words of a text are in the set."""

    __slots__ = ("_encoded", "_few")

    def __init__(self, names: Iterable[str]) -> None:
        distinct = set(names)
        self._few = distinct if len(distinct) <= _FEW else None
        self._encoded = frozenset(name.encode("utf-8", "surrogatepass") for name in distinct)

    def count_in(self, text: str) -> int:
        """Return the number of words of a text that are in the set."""
        if self._few is not None and not any(name in text for name in self._few):
            return 0
        return self._count_words(text)

    def has_more_than(self, count: int, text: str) -> bool:
        """Return whether more than `count` words of a text are in the set."""
        # Each name that is a word is also a substring. If the text has at most `count` of these
        # substrings, the count of words cannot be higher. Counting substrings is faster than
        # counting words.
        if self._few is not None and sum(map(text.count, self._few)) <= count:
            return False
        return self._count_words(text) > count

    def _count_words(self, text: str) -> int:
        return sum(map(self._encoded.__contains__, _spaced(text).split()))


def replace_words(text: str, renames: Mapping[str, str]) -> str:
    """Return a text in which each word that is a key of `renames` becomes the key's value."""
    return _WORD.sub(lambda match: match[1] + renames.get(match[2], match[2]), text)
