"""A quick check of a value against a JSON Schema, without the import of jsonschema.

The check supports only the keywords in config.schema.json. If the check does not accept a value,
the module `load` checks the value with jsonschema. A test compares this check with jsonschema for
random configurations.
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
# The keywords that do not restrict values.
_ANNOTATIONS = frozenset({"$schema", "$id", "title", "description", "default", "examples"})


def surely_fits(value: Any, schema: Schema) -> bool:
    """Return whether a value certainly fits a schema.

    If the result is False, the value can still fit. For example, the result is False if the schema
    has a keyword that _KEYWORDS does not have.
    """
    return all(
        keyword in _ANNOTATIONS
        or (keyword in _KEYWORDS and _KEYWORDS[keyword](value, expected, schema))
        for keyword, expected in schema.items()
    )


def _has_type(value: Any, expected: Any, _schema: Schema) -> bool:
    names = expected if isinstance(expected, list) else [expected]
    return any(type(value) is _TYPES.get(name) for name in names)


def _is_in_enum(value: Any, expected: Any, _schema: Schema) -> bool:
    return type(value) is str and value in expected


def _reaches_minimum(value: Any, expected: Any, _schema: Schema) -> bool:
    return value is None or (type(value) is int and value >= expected)


def _is_within_maximum(value: Any, expected: Any, _schema: Schema) -> bool:
    return value is None or (type(value) is int and value <= expected)


def _is_short_enough(value: Any, expected: Any, _schema: Schema) -> bool:
    return type(value) is not str or len(value) <= expected


def _matches_pattern(value: Any, expected: Any, _schema: Schema) -> bool:
    # Import re late, because few configurations set a key whose schema has a pattern.
    import re

    return type(value) is not str or re.search(expected, value) is not None


def _has_required(value: Any, expected: Any, _schema: Schema) -> bool:
    return type(value) is dict and all(key in value for key in expected)


def _items_fit(value: Any, expected: Any, _schema: Schema) -> bool:
    return type(value) is list and all(surely_fits(item, expected) for item in value)


def _properties_fit(value: Any, expected: Any, _schema: Schema) -> bool:
    return type(value) is dict and all(
        surely_fits(value[key], schema) for key, schema in expected.items() if key in value
    )


def _additional_fit(value: Any, expected: Any, schema: Schema) -> bool:
    if type(value) is not dict:
        return False
    named = schema.get("properties", {})
    additional = [item for key, item in value.items() if key not in named]
    if isinstance(expected, bool):
        return expected or not additional
    return all(surely_fits(item, expected) for item in additional)


# The check of each keyword. A check gets the value, the value of the keyword, and the schema that
# contains the keyword.
_KEYWORDS: dict[str, Callable[[Any, Any, Schema], bool]] = {
    "type": _has_type,
    "enum": _is_in_enum,
    "minimum": _reaches_minimum,
    "maximum": _is_within_maximum,
    "maxLength": _is_short_enough,
    "pattern": _matches_pattern,
    "required": _has_required,
    "items": _items_fit,
    "properties": _properties_fit,
    "additionalProperties": _additional_fit,
}
