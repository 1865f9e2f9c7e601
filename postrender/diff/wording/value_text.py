"""Values and fields as short texts: `spec.replicas: 2 -> 3`, `spec.paused added: true`."""

from __future__ import annotations

import re

from postrender.diff.model import ADDED, CHANGED, FieldChange
from postrender.diff.redact import NOT_SHOWN
from postrender.diff.wording.plurals import counted
from postrender.diff.wording.style import Style
from postrender.startup.json_encoder import json_encoder
from postrender.startup.patterns import pattern
from postrender.text.common import common_length
from postrender.yaml.paths import Json

# The phrase for a FieldChange without values. Only notation or a revision name differs.
WRITTEN_DIFFERENTLY = "differs only in notation or in a revision name"

# The number of equal characters that a truncated value shows before the first difference.
_CONTEXT = 20

# This pattern matches strings that look like a value of another type, and therefore need quotes.
_OTHER_TYPE = pattern(
    r"(?:null|~|true|false|yes|no|on|off|[-+]?(?:[0-9_]*\.[0-9]+|[0-9_]*[0-9])(?:e[-+]?[0-9]+)?"
    r"|0x[0-9a-f]+|0o[0-7]+|[\[{\"'].*)?\Z",
    re.IGNORECASE,
)

_OTHER_TYPE_WORDS = frozenset({"null", "true", "false", "yes", "no", "on", "off"})

_encode = json_encoder(item_separator=", ", key_separator=": ", sort_keys=False, default=str)


def describe_field(field: FieldChange, style: Style) -> str:
    """Return the change of a field: `spec.replicas: 2 -> 3`, `order of spec.containers: …`."""
    path = field.path.removesuffix("[]")
    subject = style.code(path) if path == field.path else f"order of {style.code(path)}"
    return describe_values(subject, field.change, field.old, field.new, style)


def describe_values(subject: str, change: str, old: Json, new: Json, style: Style) -> str:
    """Return the change of a value: `image: app:1 -> app:2`. An absent value is None."""
    if old is None and new is None:
        return f"{subject} {WRITTEN_DIFFERENTLY}"
    if old == new == NOT_SHOWN:
        return f"{subject}: changed {NOT_SHOWN}"
    if change == CHANGED:
        before, after = _truncated_pair(old, new, style)
        return f"{subject}: {before} {style.arrow} {after}"
    value = new if change == ADDED else old
    return f"{subject} {change}: {_truncated(_text_of(value), 0, style)}"


def _truncated_pair(old: Json, new: Json, style: Style) -> tuple[str, str]:
    """Return two values as text. Truncated values can start shortly before the first difference."""
    before, after = _text_of(old), _text_of(new)
    start = 0
    if max(len(before), len(after)) > style.limit:
        common = common_length(before, after)
        start = common - _CONTEXT if common > style.limit // 2 else 0
    return _truncated(before, start, style), _truncated(after, start, style)


def _truncated(text: str, start: int, style: Style) -> str:
    """Return a text, truncated to the limit of the style.

    The length of the whole text follows a truncated text.
    start: the index of the first character in the result.
    """
    if not start and len(text) <= style.limit:
        return style.code(text)
    end = start + style.limit
    shown = ("…" if start else "") + text[start:end] + ("…" if end < len(text) else "")
    return f"{style.code(shown)} ({counted(len(text), 'character')})"


def _text_of(value: Json) -> str:
    """Return a value as JSON on one line. A string has quotes only if necessary."""
    if isinstance(value, str):
        is_plain = value.isprintable() and value == value.strip()
        if is_plain and not _looks_like_another_type(value):
            return value
    return _encode(value)


def _looks_like_another_type(text: str) -> bool:
    if text.isascii() and text[:1].isalpha():
        return text.lower() in _OTHER_TYPE_WORDS  # only other texts need the compiled pattern
    return _OTHER_TYPE.match(text) is not None
