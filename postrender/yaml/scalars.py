"""The values of plain YAML scalars (unquoted and untagged), and the text of data that is written.

Helm, kubectl and kustomize convert manifests to JSON with sigs.k8s.io/yaml 1.4, which contains a
fork of go-yaml v2, which implements YAML 1.1.
"""

from __future__ import annotations

import json
import re
from functools import lru_cache

from postrender.yaml.paths import Json

Scalar = str | int | float | bool | None

_NULLS = ("", "~", "null", "Null", "NULL")
_TRUE = ("y", "Y", "yes", "Yes", "YES", "true", "True", "TRUE", "on", "On", "ON")
_FALSE = ("n", "N", "no", "No", "NO", "false", "False", "FALSE", "off", "Off", "OFF")
WORDS: dict[str, Scalar] = {
    **dict.fromkeys(_NULLS),
    **dict.fromkeys(_TRUE, True),
    **dict.fromkeys(_FALSE, False),
}
_NUMBER_STARTS = frozenset("0123456789+-.")
# The possible first characters of an octal number, and of a number with a prefix such as 0x.
_BEFORE_PREFIX = frozenset("0+-")
# Go's encoding/json writes an exponent for a float of at least this absolute value.
_EXPONENT_FROM = 1e21
_MAX_UINT64 = 2**64 - 1
# A longer text is read as a string, because Python's int() would refuse thousands of digits.
_LONGEST_NUMBER = 400
_INFINITE = (float("inf"), float("-inf"))


def resolve_plain(text: str) -> Scalar:
    """The value of a plain scalar."""
    if text in WORDS:
        return WORDS[text]
    if text[0] in _NUMBER_STARTS:
        return _number(text)
    return text


def key_text(name: str) -> str:
    """The JSON key that sigs.k8s.io/yaml writes for an unquoted key: `true` for `on`."""
    value = resolve_plain(name)
    if isinstance(value, bool):
        return "true" if value else "false"
    return name if isinstance(value, str) or value is None else str(value)


@lru_cache(maxsize=4096)
def _number(text: str) -> Scalar:
    if len(text) < 16 and text[0] != "0" and text.isdecimal() and text.isascii():
        return int(text)
    digits = text.replace("_", "")
    if len(digits) > _LONGEST_NUMBER:
        return text
    if digits[0] in _BEFORE_PREFIX:
        if re.fullmatch("[-+]?0[0-7]*", digits):
            return int(digits, 8)
        if re.fullmatch("[-+]?0([xX][0-9a-fA-F]+|[bB][01]+|[oO][0-7]+)", digits):
            return int(digits, 0)
    if re.fullmatch("[-+]?[1-9][0-9]*", digits) and abs(int(digits)) <= _MAX_UINT64:
        return int(digits)
    if re.fullmatch(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?", digits):
        value = float(digits)
        if value in _INFINITE:
            return text
        # JSON has one type for all numbers, so 1e3 reaches the API server as 1000.
        return int(value) if value.is_integer() and abs(value) < _EXPONENT_FROM else value
    return text


_encode = json.JSONEncoder(ensure_ascii=False, check_circular=False).encode
_PLAIN = r"-?[A-Za-z/](?:[A-Za-z0-9_./=,@-]|:(?=[A-Za-z0-9]))*"
# A table with which str.translate deletes the punctuation that a simple string can contain.
_PUNCTUATION = str.maketrans("", "", "_./-")
# Characters that the JSON encoder does not escape, and that a YAML parser can reject or read as a
# line break.
_UNPRINTABLE = "[\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff]"
# A string that a literal block scalar (`|`) can contain, unless the string begins with white space.
_LITERAL = "[^\\s\x00-\x1f][^\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff]*"


class Verbatim:
    """A scalar that keeps its text from the input: a number, a boolean or a tagged scalar."""

    __slots__ = ("text",)

    def __init__(self, text: str) -> None:
        self.text = text


@lru_cache(maxsize=4096)
def _string_text(value: str) -> str:
    """A string as YAML on one line, without quotes only if it certainly does not need them."""
    is_plain = _is_simple(value) or re.fullmatch(_PLAIN, value) is not None
    is_plain = is_plain and isinstance(resolve_plain(value), str)
    return value if is_plain else _json(value)


def _is_simple(text: str) -> bool:
    # Most strings are simple. This check is faster than _PLAIN.
    return text.isascii() and text[:1].isalpha() and text.translate(_PUNCTUATION).isalnum()


class VerbatimKey(str):
    """A key that keeps its text from the input, such as `on`, which YAML 1.1 reads as a boolean."""

    __slots__ = ()


def scalar_text(value: Json) -> str:
    """A scalar as YAML on one line, for a block mapping or a block list."""
    return _string_text(value) if isinstance(value, str) else flow_text(value)


def flow_text(value: Json) -> str:
    """Data as flow YAML on one line: JSON, except for verbatim keys and scalars."""
    if isinstance(value, Verbatim):
        return value.text
    if isinstance(value, dict):
        pairs = (f"{_flow_key(key)}: {flow_text(item)}" for key, item in value.items())
        return "{" + ", ".join(pairs) + "}"
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(flow_text(item) for item in value) + "]"
    return _json(value)


def block_text(value: Json, indent: int = 0, newline: str = "\n") -> str:
    """Data as block YAML; indent: the spaces before each line except the first."""
    lines = _block_lines(value)
    return newline.join([lines[0], *(" " * indent + line if line else "" for line in lines[1:])])


def _json(value: Json) -> str:
    text = _encode(value)
    if text.isascii() and "\x7f" not in text:
        return text
    return re.sub(_UNPRINTABLE, lambda match: f"\\u{ord(match[0]):04x}", text)


def _block_lines(value: Json) -> list[str]:
    if isinstance(value, dict) and value:
        lines: list[str] = []
        for key, item in value.items():
            if item.__class__ is str and "\n" not in item:  # nearly every pair
                lines.append(f"{_key_text(key)}: {_string_text(item)}")
            else:
                lines += _pair_lines(_key_text(key), item)
        return lines
    if isinstance(value, (list, tuple)) and value:
        return [line for item in value for line in _item_lines(_block_lines(item))]
    return [scalar_text(value)]


def _flow_key(key: str) -> str:
    return str(key) if isinstance(key, VerbatimKey) else _json(key)


def _key_text(key: str) -> str:
    return str(key) if isinstance(key, VerbatimKey) else _quoted_key(key)


@lru_cache(maxsize=4096)
def _quoted_key(key: str) -> str:
    is_plain = _is_simple(key) and isinstance(resolve_plain(key), str)
    return key if is_plain else _json(key)


def _pair_lines(key: str, value: Json) -> list[str]:
    if isinstance(value, (dict, list, tuple)) and value:
        indent = "  " if isinstance(value, dict) else ""
        return [f"{key}:", *(indent + line for line in _block_lines(value))]
    if isinstance(value, str) and "\n" in value and re.fullmatch(_LITERAL, value):
        body = value.removesuffix("\n")
        if not body.endswith("\n"):
            header = "|" if value.endswith("\n") else "|-"
            return [f"{key}: {header}", *("  " + line if line else "" for line in body.split("\n"))]
    return [f"{key}: {scalar_text(value)}"]


def _item_lines(lines: list[str]) -> list[str]:
    return [f"- {lines[0]}", *(f"  {line}" if line else "" for line in lines[1:])]
