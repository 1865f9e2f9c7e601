"""The form in which a message prints a value."""

from __future__ import annotations

from postrender.startup.json_encoder import json_encoder

_encode = json_encoder(item_separator=", ", key_separator=": ", sort_keys=False)


def shown(value: object) -> str:
    """Return a scalar as JSON, such as `"text"`, `true` or `null`.

    For a mapping or a list, return `a mapping` or `a list`.
    """
    if isinstance(value, dict):
        return "a mapping"
    if isinstance(value, (list, tuple)):
        return "a list"
    return _encode(value)
