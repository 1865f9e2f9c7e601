"""Errors for mistakes in a configuration, with fixes.

The location of each error contains the path of the key, so the problem does not contain the path.
The module `load` imports this module late, because few configurations have a mistake.

A quick check of a value against a JSON Schema, without the import of jsonschema.

The check supports only the keywords in config.schema.json. If the check does not accept a value,
the module `load` checks the value with jsonschema. A test compares this check with jsonschema for
random configurations.

Access to the JSON Schema files in the package `postrender`.
"""

from __future__ import annotations

import os
import re

from postrender.errors import UserError
from postrender.text import shown, similar_words
from postrender.yaml.paths import format_path, parse_pattern

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from typing import Any

    from jsonschema import ValidationError

    from postrender.errors import Location
    from postrender.yaml.paths import Json, Path


# The minimum similarity (ratio of difflib) of a misspelt key and a known key.
_CUTOFF = 0.75
_TYPE_NAMES = {
    "object": "a mapping",
    "array": "a list",
    "string": "a string",
    "boolean": "true or false",
    "integer": "a whole number",
    "number": "a number",
    "null": "null",
}


def unknown_key(
    path: Path, known: Sequence[str], schema: Mapping[str, Any], location: Location
) -> UserError:
    """Return the error for a key that the schema does not have.

    path: the path of the key.
    known: the keys that the schema allows in place of the key.
    schema: the schema that contains keys for the fix, if no key in `known` is similar.
    """
    key = str(path[-1])
    similar = similar_words(key, known, _CUTOFF)
    elsewhere = _similar_keys(path, schema)
    if similar:
        fix = f"Use {shown(similar[0])} instead, or remove the key"
    elif elsewhere:
        fix = f"Write {' or '.join(elsewhere)} instead"
    else:
        fix = f"Write one of the keys {', '.join(known)}"
    return UserError("the key is unknown", fix, location)


def _similar_keys(path: Path, schema: Mapping[str, Any]) -> list[str]:
    """Return up to three paths in the schema that end in the name most similar to an unknown key.

    A path is a text such as `rules[].match.kind`.
    path: the path of the unknown key. If the schema has similar keys below the parent of the
        unknown key, the result has only these paths.
    """
    key_paths = list(_key_paths(schema, ""))
    names = {key_path.rpartition(".")[2] for key_path in key_paths}
    similar_names = similar_words(str(path[-1]), names, _CUTOFF)
    similar = [key_path for key_path in key_paths if key_path.rpartition(".")[2] in similar_names]
    parent = re.sub(r"\[\d+\]", "[]", format_path(path[:-1]))
    below_parent = [key_path for key_path in similar if key_path.startswith(f"{parent}.")]
    return (below_parent or similar)[:3]


def _key_paths(schema: Mapping[str, Any], start: str) -> Iterator[str]:
    """Return the path of every key in a schema, such as `rules[].match.kind`.

    start: the path of the schema, "" for the whole configuration.
    """
    for key, part in schema.get("properties", {}).items():
        path = f"{start}.{key}" if start else key
        yield path
        yield from _key_paths(part, path)
        if "items" in part:
            yield from _key_paths(part["items"], f"{path}[]")


def wrong_value(error: ValidationError, location: Location) -> UserError:
    """Return the error for a value that the schema does not allow, or for a missing key.

    error: the error of jsonschema.
    """
    subject = "the value" if error.absolute_path else "the configuration"
    instance: Any = error.instance
    value = _short(instance)
    limit: Any = error.validator_value
    if error.validator == "type":
        types = limit if isinstance(limit, list) else [limit]
        expected = " or ".join(_TYPE_NAMES[name] for name in types)
        fix = _type_fix(error) or f"Write {expected}"
        return UserError(f"{subject} is {value}, expected {expected}", fix, location)
    if error.validator == "enum":
        choices = ", ".join(map(_short, limit))
        similar = similar_words(str(instance), map(str, limit))
        fix = f"Write {shown(similar[0])}" if similar else "Write one of these values"
        return UserError(f"{subject} is {value}, expected one of {choices}", fix, location)
    if error.validator == "required":
        missing = next(key for key in limit if key not in instance)
        fix = f"Add the key {shown(missing)}{_choices_of(error, missing)}"
        return UserError(f"the required key {shown(missing)} is missing", fix, location)
    if error.validator == "minimum":
        fix = f"Write {limit} or more"
        return UserError(f"{subject} is {value}, expected {limit} or more", fix, location)
    if error.validator == "maximum":
        fix = f"Write {limit} or less"
        return UserError(f"{subject} is {value}, expected {limit} or less", fix, location)
    if error.validator == "maxLength":
        problem = f"{subject} has {len(instance)} characters, expected at most {limit}"
        return UserError(problem, "Shorten the value", location)
    if error.validator == "pattern":
        expected = f"{_characters(str(limit))}, with a letter or digit at both ends"
        return UserError(f"{subject} is {value}, expected {expected}", "Change the value", location)
    return UserError(
        f"{subject} is {value}, which is not valid",
        "Run `postrender config schema` to see the valid values",
        location,
    )


def _choices_of(error: ValidationError, key: str) -> str:
    """Return the end of the fix for a missing key: the allowed values, "" if the key allows all."""
    choices = error.schema["properties"][key].get("enum")  # type: ignore[index]
    return f", with one of the values {', '.join(map(_short, choices))}" if choices else ""


def _characters(pattern: str) -> str:
    """Return the description of the characters in a pattern of the schema."""
    letters = "letters" if "A-Z" in pattern else "lower-case letters"
    signs = '"-", "_" and "."' if "_" in pattern else '"-" and "."'
    return f"{letters}, digits, {signs}"


def _type_fix(error: ValidationError) -> str:
    """Return the fix for a value of a wrong type, "" if the expected type is the whole fix."""
    name = format_path(tuple(error.absolute_path))
    instance: Any = error.instance
    has_switch = "enabled" in error.schema.get("properties", {})  # type: ignore[union-attr]
    if isinstance(instance, bool) and has_switch:
        return f"Write {name}.enabled: {_short(instance)}"
    if error.validator_value == "string" and isinstance(instance, (bool, int, float)):
        return "Put the value in quotes"
    if error.validator_value == "boolean" and instance in ("true", "false"):
        return "Remove the quotes"
    return _list_fix(error) if error.validator_value == "array" else ""


def _list_fix(error: ValidationError) -> str:
    items: Any = error.schema.get("items", {})  # type: ignore[union-attr]
    if "properties" in items:
        return f"Write a list. The possible keys of each item are {', '.join(items['properties'])}"
    if items.get("type") == "string" and isinstance(error.instance, str):
        return f"Write the value as a list: [{_short(error.instance)}]"
    return ""


def _short(value: Json) -> str:
    """Return the text of a value for a message, truncated to 40 characters."""
    text = shown(value)
    return text if len(text) <= 40 else f"{text[:39]}…"


def wrong_pattern(text: str, error: UserError, location: Location) -> UserError:
    """Return the error for an invalid path pattern.

    error: the error of parse_pattern. If the text is JSONPath that is easy to translate, the fix
        shows the correct path pattern instead.
    """
    translated = text.replace("[*]", "[]").lstrip("$.")
    if translated == text or not _is_pattern(translated):
        return UserError(error.problem, error.fix, location)
    fix = f"Write {shown(translated)} instead of {shown(text)}"
    return UserError(error.problem, fix, location)


def _is_pattern(text: str) -> bool:
    try:
        parse_pattern(text)
    except UserError:
        return False
    return True


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


_PACKAGE = os.path.dirname(os.path.dirname(__file__))


def schema_text(path: str) -> str:
    """Return the text of a JSON Schema file.

    path: the path in the package `postrender`, such as `config/config.schema.json`.
    """
    try:
        with open(os.path.join(_PACKAGE, path), encoding="utf-8") as file:
            return file.read()
    except OSError:  # the package is in a zip file
        # Import the module late, because the import is slow.
        from importlib import resources

        return resources.files("postrender").joinpath(path).read_text("utf-8")
