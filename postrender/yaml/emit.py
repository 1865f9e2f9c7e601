"""Plain data as YAML text: for objects that are added, and for one that no splice can edit."""

from __future__ import annotations

import json
from functools import lru_cache

from postrender.startup.patterns import pattern
from postrender.yaml.paths import Json
from postrender.yaml.scalars import resolve_plain

_encode = json.JSONEncoder(ensure_ascii=False).encode
_PLAIN = pattern(r"-?[A-Za-z/](?:[A-Za-z0-9_./=,@-]|:(?=[A-Za-z0-9]))*\Z")
_PLAIN_KEY = pattern(r"[A-Za-z][A-Za-z0-9_./-]*\Z")
# YAML 1.1 takes some of these for line breaks and refuses others; JSON lets them stand.
_UNPRINTABLE = pattern("[\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff]")
# Not for text that begins with a space or a tab, or holds characters that `|` cannot.
_LITERAL = pattern(
    "[^\\s\x00-\x1f][^\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff]*\\Z"
)


class Verbatim:
    """A scalar that is written as it stood in the input: a number, a boolean, a tagged value."""

    __slots__ = ("text",)

    def __init__(self, text: str) -> None:
        self.text = text


@lru_cache(maxsize=4096)
def _string_text(value: str) -> str:
    """Return a string as YAML on one line for a block context."""
    is_plain = _PLAIN.match(value) is not None and isinstance(resolve_plain(value), str)
    return value if is_plain else _json(value)


class VerbatimKey(str):
    """A key that is written as it stood in the input, because it is read as something else."""

    __slots__ = ()


def scalar_text(value: Json) -> str:
    """Return a scalar as YAML on one line for a block context: plain where that is safe."""
    return _string_text(value) if isinstance(value, str) else flow_text(value)


def flow_text(value: Json) -> str:
    """Return data as one line of flow YAML, which is JSON unless it holds something verbatim."""
    if isinstance(value, Verbatim):
        return value.text
    if isinstance(value, dict):
        pairs = (f"{_flow_key(key)}: {flow_text(item)}" for key, item in value.items())
        return "{" + ", ".join(pairs) + "}"
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(flow_text(item) for item in value) + "]"
    return _json(value)


def block_text(value: Json, indent: int = 0, newline: str = "\n") -> str:
    """Return data as block YAML; each line but the first is indented, the last one ends open."""
    lines = _lines(value)
    return newline.join([lines[0], *(" " * indent + line if line else "" for line in lines[1:])])


def _json(value: Json) -> str:
    text = _encode(value)
    if text.isascii() and "\x7f" not in text:
        return text
    return _UNPRINTABLE.sub(lambda match: f"\\u{ord(match[0]):04x}", text)


def _lines(value: Json) -> list[str]:
    if isinstance(value, dict) and value:
        lines: list[str] = []
        for key, item in value.items():
            if item.__class__ is str and "\n" not in item:  # nearly every pair
                lines.append(f"{_key_text(key)}: {_string_text(item)}")
            else:
                lines += _pair(_key_text(key), item)
        return lines
    if isinstance(value, (list, tuple)) and value:
        return [line for item in value for line in _item(_lines(item))]
    return [scalar_text(value)]


def _flow_key(key: str) -> str:
    return str(key) if isinstance(key, VerbatimKey) else _json(key)


def _key_text(key: str) -> str:
    return str(key) if isinstance(key, VerbatimKey) else _key(key)


@lru_cache(maxsize=4096)
def _key(key: str) -> str:
    plain = _PLAIN_KEY.match(key) and isinstance(resolve_plain(key), str)
    return key if plain else _json(key)


def _pair(key: str, value: Json) -> list[str]:
    if isinstance(value, (dict, list, tuple)) and value:
        indent = "  " if isinstance(value, dict) else ""
        return [f"{key}:", *(indent + line for line in _lines(value))]
    if isinstance(value, str) and "\n" in value and _LITERAL.match(value):
        body = value.removesuffix("\n")
        if not body.endswith("\n"):
            mark = "|" if value.endswith("\n") else "|-"
            return [f"{key}: {mark}", *("  " + line if line else "" for line in body.split("\n"))]
    return [f"{key}: {scalar_text(value)}"]


def _item(lines: list[str]) -> list[str]:
    return [f"- {lines[0]}", *(f"  {line}" if line else "" for line in lines[1:])]
