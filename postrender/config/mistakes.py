"""Mistakes in a configuration, as errors for a user: what is wrong, and what to write instead.

Imported only where a configuration does not fit its schema.
"""

from __future__ import annotations

import difflib
import json
import re

from postrender.errors import UserError
from postrender.yaml.paths import format_path

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from typing import Any

    from jsonschema import ValidationError

    from postrender.errors import Location
    from postrender.yaml.paths import Json, Path

_REFERENCE = "Run `postrender config schema` for the description of every key"
# High enough that only a typing mistake matches, not another word with the same letters.
_CUTOFF = 0.75
_TYPES = {
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

    path: of the key. known: the keys that are allowed there. schema: of the whole configuration.
    """
    key = str(path[-1])
    near = difflib.get_close_matches(key, known, 1, _CUTOFF)
    elsewhere = _places_of(path, schema)
    if near:
        fix = f"Did you mean {near[0]!r}?"
    elif elsewhere:
        fix = f"Write {' or '.join(elsewhere)} instead"
    else:
        fix = f"The keys here are {', '.join(known)}"
    return UserError(f"unknown key {key!r}", fix, location)


def _places_of(path: Path, schema: Mapping[str, Any]) -> list[str]:
    """Return where the schema has a key, or one that is spelled nearly the same.

    If there are places below the parent of the key, only these places are returned.
    """
    places = list(_key_paths(schema, ""))
    names = {place.rpartition(".")[2] for place in places}
    near = difflib.get_close_matches(str(path[-1]), names, 1, _CUTOFF)
    found = [place for place in places if place.rpartition(".")[2] in near]
    parent = re.sub(r"\[\d+\]", "[]", format_path(path[:-1]))
    inside = [place for place in found if place.startswith(f"{parent}.")]
    return (inside or found)[:3]


def _key_paths(schema: Mapping[str, Any], start: str) -> Iterator[str]:
    for key, part in schema.get("properties", {}).items():
        path = f"{start}.{key}" if start else key
        yield path
        yield from _key_paths(part, path)
        if "items" in part:
            yield from _key_paths(part["items"], f"{path}[]")


def wrong_value(error: ValidationError, location: Location) -> UserError:
    """Return the error for a value that the schema does not allow."""
    path: Path = tuple(error.absolute_path)
    name = format_path(path) or "the configuration"
    instance: Any = error.instance
    value = _shown(instance)
    limit: Any = error.validator_value
    if error.validator == "type":
        return UserError(f"{name} is {value}, expected {_TYPES[limit]}", _type_fix(error), location)
    if error.validator == "enum":
        choices = ", ".join(map(_shown, limit))
        return UserError(f"{name} is {value}, expected one of {choices}", _REFERENCE, location)
    if error.validator == "required":
        missing = next(key for key in limit if key not in instance)
        return UserError(
            f"{name} has no {missing!r}, which is required", f"Add {missing!r}", location
        )
    if error.validator == "minimum":
        return UserError(f"{name} is {value}, expected {limit} or more", _REFERENCE, location)
    return UserError(f"{name} is {value}, which is not valid", _REFERENCE, location)


def _type_fix(error: ValidationError) -> str:
    name = format_path(tuple(error.absolute_path))
    instance: Any = error.instance
    has_switch = "enabled" in error.schema.get("properties", {})  # type: ignore[union-attr]
    if isinstance(instance, bool) and has_switch:
        return f"Write {name}.enabled: {_shown(instance)}"
    if error.validator_value == "string" and isinstance(instance, (bool, int, float)):
        return f'Quote the value: "{_shown(instance)}"'
    if error.validator_value == "array" and not isinstance(instance, dict):
        return f"Write the value as a list: [{_shown(instance)}]"
    return _REFERENCE


def _shown(value: Json) -> str:
    """Return a value as YAML would show it, in few words."""
    if isinstance(value, dict):
        return "a mapping"
    if isinstance(value, list):
        return "a list"
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 40 else f"{text[:39]}…"


def wrong_pattern(text: str, error: UserError, location: Location) -> UserError:
    """Return the error for a path pattern that cannot be read; hints at JSONPath."""
    if "[*]" in text or text.startswith((".", "$")):
        translated = text.replace("[*]", "[]").lstrip("$.")
        return UserError(error.problem, f"Write {translated!r} instead of {text!r}", location)
    return error.at(location)
