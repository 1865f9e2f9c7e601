"""Whether a value surely fits a JSON Schema, without importing jsonschema.

Only the keywords of config.schema.json are known. For any other the answer is no, and jsonschema
decides; it also words what is wrong. A test compares the two on random configurations.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

    Schema = Mapping[str, Any]

_TYPES = {
    "string": str,
    "boolean": bool,
    "integer": int,
    "array": list,
    "object": dict,
    "null": type(None),
}


def surely_fits(value: Any, schema: Schema) -> bool:
    """Return whether a value fits a schema; False also where this module cannot tell."""
    return all(
        keyword in _KEYWORDS and _KEYWORDS[keyword](value, wanted, schema)
        for keyword, wanted in schema.items()
    )


def _says_nothing(_value: Any, _wanted: Any, _schema: Schema) -> bool:
    return True


def _has_type(value: Any, wanted: Any, _schema: Schema) -> bool:
    names = wanted if isinstance(wanted, list) else [wanted]
    return any(type(value) is _TYPES.get(name) for name in names)


def _is_in_enum(value: Any, wanted: Any, _schema: Schema) -> bool:
    return type(value) is str and value in wanted


def _reaches_minimum(value: Any, wanted: Any, _schema: Schema) -> bool:
    return value is None or (type(value) is int and value >= wanted)


def _has_required(value: Any, wanted: Any, _schema: Schema) -> bool:
    return type(value) is dict and all(key in value for key in wanted)


def _items_fit(value: Any, wanted: Any, _schema: Schema) -> bool:
    return type(value) is list and all(surely_fits(item, wanted) for item in value)


def _properties_fit(value: Any, wanted: Any, _schema: Schema) -> bool:
    return type(value) is dict and all(
        surely_fits(value[key], inside) for key, inside in wanted.items() if key in value
    )


def _others_fit(value: Any, wanted: Any, schema: Schema) -> bool:
    if type(value) is not dict:
        return False
    others = [inside for key, inside in value.items() if key not in schema.get("properties", {})]
    if isinstance(wanted, bool):
        return wanted or not others
    return all(surely_fits(inside, wanted) for inside in others)


_KEYWORDS: dict[str, Callable[[Any, Any, Schema], bool]] = {
    "$schema": _says_nothing,
    "$id": _says_nothing,
    "title": _says_nothing,
    "description": _says_nothing,
    "default": _says_nothing,
    "examples": _says_nothing,
    "type": _has_type,
    "enum": _is_in_enum,
    "minimum": _reaches_minimum,
    "required": _has_required,
    "items": _items_fit,
    "properties": _properties_fit,
    "additionalProperties": _others_fit,
}
