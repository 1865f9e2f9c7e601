"""Names as words of a text, Base64, what messages print, and the texts in the package.

A word consists of ASCII letters, digits, `.` and `-`. The `-` before the default value of a shell
variable is not a part of a word: the words of `${NAME:-web-config}` are `NAME` and `web-config`.
"""

from __future__ import annotations

import json
import os
import re
from binascii import a2b_base64
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from io import StringIO

# The forms in which a name occurs in a text:
# - WHOLE: in a text of one line, the value of a field, flag or assignment, with or without a
#   namespace (`--map=shop/web-config`);
# - HOST: a part of a URL (`http://web-config:8080/health`), or a host with a port or a user
#   (`web-config:8080`, `git@web-config`);
# - PATH: a part of a file path (`/etc/web-config/app.yaml`);
# - WORD: every other occurrence (`see web-config for details`).
WHOLE, HOST, PATH, WORD = "whole", "host", "path", "word"

# A shell variable up to its default value: `${NAME:-` or `${NAME-`.
_VARIABLE = r"(?<![A-Za-z0-9.-])\$\{\w+:?-"
_WORD = rf"((?:{_VARIABLE})?)([A-Za-z0-9.-]+)"
# A WordSet of at most this many names first searches a text for each name as a substring, which is
# faster than splitting a text that contains none of the names.
_FEW = 12
# A character in JSON or a shell, such as `\u002d` for `-`, or in a URL, such as `%2F` for `/`.
_ESCAPE = r"(?:(?<!\\)\\{1,8}(?:u00|x)|%)([2-7][0-9a-fA-F])"
# Such a character, or a line break in JSON text. Next to a name, it separates words.
_SEPARATOR = r"%[2-7][0-9a-fA-F]|\\[nrt]"
# Replaces every byte outside a word with a space, because splitting is faster than using _WORD.
_TO_SPACES = bytes(
    code if code < 128 and (chr(code).isalnum() or code in b".-") else 32 for code in range(256)
)


def words_of(text: str) -> list[str]:
    """The words of a text in order, with duplicates."""
    return with_spaces(text).split()


def with_spaces(text: str) -> str:
    """A text with a space for each byte outside of words."""
    return _spaced(text).decode("ascii")


def _spaced(text: str) -> bytes:
    if "%" in text or "\\" in text:
        text = re.sub(_SEPARATOR, " ", text)
    return split_defaults(text).encode("utf-8", "surrogatepass").translate(_TO_SPACES)


def split_defaults(text: str) -> str:
    """Replace the `-` before the default value of each variable with a space."""
    return re.sub(_VARIABLE, lambda match: match[0][:-1] + " ", text) if "${" in text else text


def unescaped(text: str) -> str:
    r"""A text in which each character of a name is written as itself, not as in JSON or a URL."""
    if "\\" not in text and "%" not in text:
        return text
    return re.sub(_ESCAPE, lambda match: chr(int(match[1], 16)), text)


def has_any(text: str, marks: Iterable[str]) -> bool:
    """Whether a text contains one of the marks."""
    for mark in marks:  # noqa: SIM110 (any() would call a generator for each text)
        if mark in text:
            return True
    return False


def letters_of(text: str) -> str:
    """A text in lower case, without the separators `-` and `_`."""
    return text.lower().replace("-", "").replace("_", "")


class WordSet:
    """A set of names, to be found as words of texts."""

    __slots__ = ("_encoded", "_few")

    def __init__(self, names: Iterable[str]) -> None:
        self._encoded = frozenset(name.encode("utf-8", "surrogatepass") for name in names)
        self._few = None
        if len(self._encoded) <= _FEW:
            self._few = {name.decode("utf-8", "surrogatepass") for name in self._encoded}

    def __bool__(self) -> bool:
        return bool(self._encoded)

    def is_in(self, text: str) -> bool:
        """Whether one of the names is a word of a text."""
        return self.may_be_in(text) and not self._encoded.isdisjoint(_spaced(text).split())

    def in_words(self, text: str) -> dict[str, None]:
        """The names that are words of a text, in order."""
        return dict.fromkeys(
            word.decode("ascii") for word in _spaced(text).split() if word in self._encoded
        )

    def may_be_in(self, text: str) -> bool:
        """False if a fast search proves that no name is a word of a text."""
        if self._few is None:
            return True
        return has_any(text, self._few)

    def possible_in(self, text: str) -> set[str]:
        """The names except those that a fast search does not find in a text."""
        if self._few is not None:
            return {name for name in self._few if name in text}
        found = self._encoded.intersection(_spaced(text).split())
        return {name.decode("utf-8", "surrogatepass") for name in found}


def replace_words(text: str, renames: Mapping[str, str]) -> str:
    """Replace each word that is a key of `renames` with its value."""
    return re.sub(_WORD, lambda match: match[1] + renames.get(match[2], match[2]), text)


def forms_of(text: str, names: WordSet) -> dict[str, set[str]]:
    """The forms in which names occur in a text, by name."""
    is_one_line = "\n" not in text.strip()
    forms: dict[str, set[str]] = defaultdict(set)
    for line in text.split("\n"):
        if names.may_be_in(line):
            for name, form in _forms_in_line(line, names, is_value=is_one_line):
                forms[name].add(form)
    return forms


_DELIMITERS = str.maketrans(dict.fromkeys("\"'`,;()[]{}<>|\t\r", " "))


def _forms_in_line(line: str, names: WordSet, *, is_value: bool) -> Iterator[tuple[str, str]]:
    """The names in each token of a line, with the form of each name.

    A token is a part of the line between two delimiters, such as spaces, quotes or brackets.
    is_value: whether the line is the whole text.
    """
    tokens = split_defaults(line).translate(_DELIMITERS).split()
    is_unspaced = is_value and not any(char.isspace() for char in line.strip())
    for number, token in enumerate(tokens):
        found = names.in_words(token) if names.may_be_in(token) else ()
        if not found:
            continue
        before = tokens[number - 1] if number else ""
        flag, equals, value = token.rpartition("=")
        is_argument = bool(equals) and (flag.startswith("-") or len(tokens) == 1)
        is_whole = is_value and (is_unspaced or is_argument or before[:1] == "-")
        for name, form in _forms_in_value(value, found):
            yield name, WORD if form == WHOLE and not is_whole else form


def _forms_in_value(value: str, names: Iterable[str]) -> Iterator[tuple[str, str]]:
    """The form of each name in one token, or in the part of a token after the last `=`."""
    bare = value.rstrip(".:!?")
    is_url = "://" in value or value.startswith("//")
    host, _, rest = value.partition("/")
    host_name, colon, port = host.rpartition(":")
    hosts = []
    if colon and port.isdigit():
        hosts.append(host_name.rpartition("@")[2])
    if "@" in host:
        hosts.append(host.rpartition("@")[2])
    is_qualified = bare.count("/") == 1 and bool(host) and host[0] not in ".~"
    qualified = rest.rstrip(".:!?") if is_qualified else ""
    for name in names:
        if name == bare:
            yield name, WHOLE
        elif is_url or name in hosts:
            yield name, HOST
        elif not rest:
            yield name, WORD
        else:
            yield name, WHOLE if name == qualified else PATH


def common_length(old: Sequence[str], new: Sequence[str]) -> int:
    """The length of the common prefix of two texts, or of two lists."""
    low, high = 0, min(len(old), len(new))
    while low < high:
        middle = (low + high + 1) // 2
        if old[low:middle] == new[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low


def decoded(value: str) -> str:
    """The text of a base64 value, "" if its padding is wrong or it is not UTF-8 text.

    Characters that base64 does not use are ignored. postrender never prints decoded text.
    """
    try:
        return a2b_base64(value).decode()
    except ValueError:
        return ""


# A base64 value of at least four characters, on one line or folded over several indented lines.
_VALUE = r"[A-Za-z0-9+/]{4,}(?:\n[ \t]+[A-Za-z0-9+/]+(?=[=\r\n]|\Z))*={0,2}"


def decoded_values(text: str) -> Iterator[str]:
    """The decoded text of each base64 value in the document of a Secret that decoded() can decode.

    Some words that are not base64 look like it, so the result can contain meaningless text.
    """
    if "data:" in text or '"data"' in text:
        yield from filter(None, map(decoded, re.findall(_VALUE, text)))


# Fillers and variation selectors. Most fonts show nothing or a space for these characters, but
# str.isprintable() returns True for most of them.
_BLANK = (
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2800\u3164\ufe00-\ufe0f\uffa0"
    "\U0001d159\U0001d173-\U0001d17a\U000e0100-\U000e01ef]"
)


# Cyrillic and Greek letters that look like Latin letters, next to a Latin letter.
_LOOK_ALIKE = "[АВЕКМНОРСТХІЈЅаеорсухіјѕһԁΑΒΕΖΗΙΚΜΝΟΡΤΥΧο]"
# An accent that is a character of its own looks like the letter with the accent.
_MIXED = rf"(?<=[A-Za-z])(?:{_LOOK_ALIKE}|[\u0300-\u036f])|{_LOOK_ALIKE}(?=[A-Za-z])"


def escape_of(character: str) -> str:
    r"""A character as an escape such as `\x1b`."""
    return character.encode("unicode_escape").decode("ascii")


# The runners of GitHub, Azure Pipelines and TeamCity run `##[…]`, `##vso[…]` and `##teamcity[…]`
# anywhere in a line. That of GitHub also runs `::…::` at the start of a line.
_RUNNER_COMMAND = r"##(?=[a-z]{0,20}\[)"
TEXT_ESCAPES, JSON_ESCAPES = ("\\x3a", "\\x23"), ("\\u003a", "\\u0023")  # of `:` and `#`


def visible(text: str, keep: str = "", escape: Callable[[str], str] = escape_of) -> str:
    r"""Replace each character that a reader would not see, or that would control the terminal.

    The replacement is an escape such as `\x1b`. Invisible are control and format characters (such
    as those of bidirectional text), separators except the space, unassigned and private-use
    characters, unpaired surrogates, fillers and variation selectors. So is a
    letter of another alphabet in a Latin word.
    keep: characters to leave unchanged, such as a tab, except fillers and variation selectors.
    escape: writes the replacement of a character.
    """
    if not text.isascii():
        text = re.sub(f"{_BLANK}|{_MIXED}", lambda match: escape(match[0]), text)
    if text.isprintable():
        return text
    return "".join(
        character if character.isprintable() or character in keep else escape(character)
        for character in text
    )


def without_runner_commands(text: str, escapes: tuple[str, str]) -> str:
    """A text without commands such as `##vso[`; escapes: of `:` and `#` in the format."""
    return re.sub(_RUNNER_COMMAND, lambda _: f"#{escapes[1]}", text)


def visible_line(text: str) -> str:
    """A line of a log or a report: `visible`, and without commands of a CI runner."""
    return without_runner_commands(visible(text), TEXT_ESCAPES)


def visible_json(document: object) -> str:
    """A JSON document for programs, in which a reader sees each character, as in `visible`."""
    # json.dumps() would keep each of the many parts of the text until it joins them.
    parts = StringIO()
    parts.writelines(json.JSONEncoder(indent=2, ensure_ascii=False).iterencode(document))
    parts.write("\n")
    text = parts.getvalue()
    if text.isascii() and text.replace("\n", "").isprintable():
        return text
    lines = text.split("\n")
    return "\n".join(visible(line, escape=lambda one: json.dumps(one)[1:-1]) for line in lines)


_ENDS = str.maketrans(" \t", "·→")


def with_visible_end(text: str) -> str:
    """A text with `·` for each blank and `→` for each tab at its end."""
    kept = text.rstrip(" \t")
    return text if kept == text else kept + text[len(kept) :].translate(_ENDS)


_encode = json.JSONEncoder(ensure_ascii=False, check_circular=False).encode


def shown(value: object) -> str:
    """A value as messages print it: `"text"`, `true`, `null`, `a mapping` or `a list`."""
    if isinstance(value, dict):
        return "a mapping"
    if isinstance(value, (list, tuple)):
        return "a list"
    return _encode(value)


_LONGEST_NAME = 400


def shortened(name: str) -> str:
    """A name or key without what is beyond any name that an API server accepts.

    Thousands of messages can name one object, and would multiply a long name.
    """
    return name if len(name) <= _LONGEST_NAME else f"{name[:_LONGEST_NAME]}…"


def printable(path: str) -> str:
    """A path with `�` in place of each byte that is not UTF-8."""
    return path.encode("utf-8", "surrogateescape").decode("utf-8", "replace")


def conjoined(parts: Sequence[str], most: int | None = None, word: str = "and") -> str:
    """A list in words, such as `a, b and c`; with `most` parts, such as `a, b and 2 more`."""
    rest = len(parts) - (len(parts) if most is None else most)
    shown = [*parts[:most], f"{rest:,} more"] if rest > 0 else parts
    return f" {word} ".join([", ".join(shown[:-1]), shown[-1]] if shown[1:] else shown)


def similar_words(word: str, known: Iterable[str], cutoff: float = 0.6) -> list[str]:
    """The known word that is most similar to a misspelt word, as a list of at most one.

    cutoff: the minimum similarity, from 0 to 1 (the ratio of difflib).
    """
    from difflib import get_close_matches  # a large module, which only mistakes need

    return get_close_matches(word, list(known), 1, cutoff)


_IMAGE_CHARACTERS = frozenset(
    "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-_:/@+[]"
)


def is_image(text: str) -> bool:
    """Whether a text is "", a placeholder, or can be the name of an image.

    A program can replace a placeholder, such as `<path:images#attacher>`, after postrender.
    Source: github.com/distribution/reference.
    """
    if not text or "<" in text or "://" in text:
        return True
    *folders, last = text.partition("@")[0].split("/")
    names = [*folders[1:], *last.split(":")[:1], *last.lower().split(":")[1:]]
    is_readable = _IMAGE_CHARACTERS.issuperset(text) and last.count(":") < 2
    return is_readable and all(name and name == name.lower() for name in names)


CONFIG_SCHEMA = "config/config.schema.json"
_PACKAGE = os.path.dirname(__file__)


def packaged_text(path: str) -> str:
    """The text of a file; path: in the package `postrender`."""
    try:
        with open(os.path.join(_PACKAGE, path), encoding="utf-8") as file:
            return file.read()
    except OSError:  # the package is in a zip file
        from importlib import resources  # takes long to import

        return resources.files("postrender").joinpath(path).read_text("utf-8")
