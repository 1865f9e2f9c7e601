"""The forms in which a name occurs in a text: a whole value, a host, a path, or a plain word.

- WHOLE: in a text of one line, the value of a field, flag or assignment, with or without a
  namespace (`--map=shop/web-config`);
- HOST: a part of a URL (`http://web-config:8080/health`), or a host with a port or a user
  (`web-config:8080`, `git@web-config`);
- PATH: a part of a file path (`/etc/web-config/app.yaml`);
- WORD: every other occurrence (`see web-config for details`).
"""

from __future__ import annotations

from collections.abc import Iterator

from postrender.text.words import split_defaults, words_of

WHOLE, HOST, PATH, WORD = "whole", "host", "path", "word"

_DELIMITERS = str.maketrans(dict.fromkeys("\"'`,;()[]{}<>|\t\r", " "))


def forms_of(text: str, name: str) -> set[str]:
    """Return the forms in which a name occurs in a text.

    The result is an empty set if no word of the text is the name.
    """
    is_one_line = "\n" not in text.strip()
    return {
        form
        for line in text.split("\n")
        if name in line
        for form in _forms_in_line(line, name, is_value=is_one_line)
    }


def _forms_in_line(line: str, name: str, *, is_value: bool) -> Iterator[str]:
    """Return the form of the name in each token that contains the name as a word.

    A token is a part of the line between two delimiters, such as spaces, quotes or brackets.
    is_value: whether the line is the whole text.
    """
    tokens = split_defaults(line).translate(_DELIMITERS).split()
    is_unspaced = is_value and not any(char.isspace() for char in line.strip())
    for number, token in enumerate(tokens):
        if name not in token or name not in words_of(token):
            continue
        before = tokens[number - 1] if number else ""
        flag, equals, value = token.rpartition("=")
        is_argument = bool(equals) and (flag.startswith("-") or len(tokens) == 1)
        form = _form_of_value(value, name)
        if form == WHOLE and not (is_value and (is_unspaced or is_argument or before[:1] == "-")):
            form = WORD
        yield form


def _form_of_value(value: str, name: str) -> str:
    """Return the form of a name in one token, or in the part of a token after the last `=`."""
    bare = value.rstrip(".:!?")
    if bare == name:
        return WHOLE
    if "://" in value or value.startswith("//"):
        return HOST
    host, _, rest = value.partition("/")
    host_name, colon, port = host.rpartition(":")
    if colon and port.isdigit() and host_name.rpartition("@")[2] == name:
        return HOST
    if "@" in host and host.rpartition("@")[2] == name:
        return HOST
    if not rest:
        return WORD
    is_qualified = bare.count("/") == 1 and rest.rstrip(".:!?") == name
    return WHOLE if is_qualified and host and host[0] not in ".~" else PATH
