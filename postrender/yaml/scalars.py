"""The values of plain YAML scalars (unquoted and untagged), as Kubernetes tools read them.

Helm, kubectl and kustomize convert manifests to JSON with sigs.k8s.io/yaml 1.4, which contains a
fork of go-yaml v2, which implements YAML 1.1.
"""

from __future__ import annotations

import re
from functools import lru_cache

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
