"""The check of a configuration against config.schema.json, and errors with a location and a fix.

A quick check accepts most configurations. jsonschema, which takes 80 ms to import, only finds the
errors of the others. A test compares both for random configurations.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import islice

from postrender.config.settings import EXPECTED_IMAGE, STRATEGIES
from postrender.errors import Location, UserError, raise_all
from postrender.kubernetes.kinds import CONTENT_KINDS
from postrender.text import CONFIG_SCHEMA, is_image, packaged_text, shown, similar_words
from postrender.yaml.document import ParsedDocument
from postrender.yaml.paths import Json, Path, format_path, parse_pattern, value_at

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from jsonschema import ValidationError

    Schema = Mapping[str, Any]


# More mistakes are not reported, because each one costs a search for similar keys.
_MOST_ERRORS = 100
# The minimum similarity (ratio of difflib) of a misspelt key and a known key.
_CUTOFF = 0.75
_TYPES = {
    "string": str,
    "boolean": bool,
    "integer": int,
    "array": list,
    "object": dict,
    "null": type(None),
}
_TYPE_NAMES = {
    "string": "a string",
    "boolean": "true or false",
    "integer": "a whole number",
    "array": "a list",
    "object": "a mapping",
    "null": "null",
}
# The keywords of a schema that do not restrict values.
_ANNOTATIONS = frozenset({"$schema", "$id", "title", "description", "default", "examples"})


def validate(
    values: Json,
    document: ParsedDocument,
    in_document: Callable[[Path], Path] = lambda path: path,
) -> None:
    """Raise UserError for values that do not fit the schema, or that have an invalid path pattern.

    in_document: a function that converts a path in `values` to a path in the document.
    """
    schema = json.loads(packaged_text(CONFIG_SCHEMA))
    errors: dict[Path, UserError] = {}
    if not surely_fits(values, schema):
        found = _schema_errors(values, schema, document, in_document)
        errors = dict(islice(found, _MOST_ERRORS))
    rules = value_at(values, ("rules",))
    unreadable = {path[:2] for path in errors}
    for number, rule in enumerate(rules if isinstance(rules, list) else ()):
        place: Path = ("rules", number)
        is_readable = place not in unreadable and len(errors) < _MOST_ERRORS
        mistake = _mistake_in_rule(rule) if is_readable else None
        if mistake:
            errors[place] = UserError(*mistake, document.location_of(in_document(place)))
    for path in _pattern_paths(values):
        text = value_at(values, path) if len(errors) < _MOST_ERRORS else None
        if isinstance(text, str) and path not in errors:
            try:
                _check_pattern(text, document.location_of(in_document(path)))
            except UserError as error:
                errors[path] = error
    place = ("attacher", "image")
    image = value_at(values, place)
    if isinstance(image, str) and place not in errors and not is_image(image):
        problem = f"the value is {shown(image)}, {EXPECTED_IMAGE}"
        location = document.location_of(in_document(place))
        errors[place] = UserError(problem, "Correct the name", location)
    raise_all(
        sorted(errors.values(), key=lambda error: error.location.line if error.location else 0)
    )


def surely_fits(value: Any, schema: Schema) -> bool:
    """Whether a value certainly fits a schema. If not, it can still fit.

    The check knows only the keywords in config.schema.json.
    """
    return all(
        keyword in _ANNOTATIONS or _fits(value, keyword, expected, schema)
        for keyword, expected in schema.items()
    )


def _fits(value: Any, keyword: str, expected: Any, schema: Schema) -> bool:
    match keyword:
        case "type":
            names = expected if isinstance(expected, list) else [expected]
            return any(type(value) is _TYPES.get(name) for name in names)
        case "enum":
            return type(value) is str and value in expected
        case "minimum":
            return value is None or (type(value) is int and value >= expected)
        case "maximum":
            return value is None or (type(value) is int and value <= expected)
        case "maxLength":
            return type(value) is not str or len(value) <= expected
        case "pattern":
            return type(value) is not str or re.search(expected, value) is not None
        case "required":
            return type(value) is dict and all(key in value for key in expected)
        case "items":
            return type(value) is list and all(surely_fits(item, expected) for item in value)
        case "properties":
            return type(value) is dict and all(
                surely_fits(value[key], part) for key, part in expected.items() if key in value
            )
        case "additionalProperties":
            known = schema.get("properties", {})
            return type(value) is dict and all(
                expected if isinstance(expected, bool) else surely_fits(item, expected)
                for key, item in value.items()
                if key not in known
            )
    return False


def _mistake_in_rule(rule: Mapping[str, Any]) -> tuple[str, str] | None:
    """The problem and the fix of a rule whose keys do not go together, None for other rules."""
    match = rule.get("match", {})
    kind, is_about_references = match.get("kind"), "rewriteReferences" in rule
    others = [key for key in ("strategy", "immutable", "keepOriginal") if key in rule]
    if is_about_references and others:
        problem = f"rewriteReferences and {others[0]} are for different kinds of objects"
        return problem, "Write two rules"
    if not is_about_references and "strategy" not in rule and others:
        return (
            f"the rule sets {others[0]}, which is for revisions, without a strategy",
            "Add strategy: rename. To leave objects that nothing references unchanged, also add "
            "referenced: true to match",
        )
    if not is_about_references and "strategy" not in rule:
        return (
            "the rule has neither of the keys strategy and rewriteReferences",
            f"Add strategy, with one of the values {', '.join(STRATEGIES)}, or rewriteReferences",
        )
    if is_about_references and (kind in CONTENT_KINDS or "referenced" in match):
        return (
            "rewriteReferences is for the objects that contain references, and match is for "
            "ConfigMaps and Secrets",
            "Write the kind of such an object, such as Deployment, and no key referenced",
        )
    if not is_about_references and kind not in (None, *CONTENT_KINDS):
        similar = similar_words(str(kind), CONTENT_KINDS)
        other = f"{' or '.join(CONTENT_KINDS)}, or use the key rewriteReferences"
        return (
            f"a strategy is for ConfigMaps and Secrets, and match.kind is {shown(kind)}",
            f"Write {similar[0] if similar else other}",
        )
    return None


def _schema_errors(
    values: Json,
    schema: Schema,
    document: ParsedDocument,
    in_document: Callable[[Path], Path],
) -> Iterator[tuple[Path, UserError]]:
    import jsonschema

    for error in jsonschema.Draft7Validator(schema).iter_errors(values):
        path: Path = tuple(error.absolute_path)
        if error.validator == "additionalProperties" and isinstance(error.instance, dict):
            known = list(error.schema["properties"])
            for key in [key for key in error.instance if key not in known]:
                place = (*path, key)
                location = document.location_of_key(in_document(place))
                yield place, unknown_key(place, known, schema, location)
        else:
            yield path, _worded(error, document.location_of(in_document(path)))


def unknown_key(
    path: Path, known: Sequence[str], schema: Mapping[str, Any], location: Location
) -> UserError:
    """The error for a key that the schema does not have.

    known: the keys that the schema allows in this place.
    schema: the whole schema, for a similar key in another place.
    """
    key = str(path[-1])
    similar = similar_words(key, known, _CUTOFF)
    elsewhere = _similar_keys(path, schema)
    parent, dot, last = key.rpartition(".")
    if dot and key in _key_paths(schema, ""):
        fix = f"Write {last} as a key in the mapping {parent}"
    elif similar:
        fix = f"Use {shown(similar[0])} instead, or remove the key"
    elif elsewhere:
        fix = f"Write {' or '.join(elsewhere)} instead"
    else:
        fix = f"Write one of the keys {', '.join(known)}"
    return UserError("the key is unknown", fix, location)


def _similar_keys(path: Path, schema: Mapping[str, Any]) -> list[str]:
    """Up to three paths, such as `rules[].match.kind`, that end in a name like the last key.

    Paths below the parent of the unknown key come alone.
    """
    paths = list(_key_paths(schema, ""))
    names = {key_path.rpartition(".")[2] for key_path in paths}
    similar_names = similar_words(str(path[-1]), names, _CUTOFF)
    similar = [key_path for key_path in paths if key_path.rpartition(".")[2] in similar_names]
    parent = re.sub(r"\[\d+\]", "[]", format_path(path[:-1]))
    below_parent = [key_path for key_path in similar if key_path.startswith(f"{parent}.")]
    return (below_parent or similar)[:3]


def key_paths() -> Iterator[str]:
    """The path of every key of a configuration, such as `attacher.image`."""
    return _key_paths(json.loads(packaged_text(CONFIG_SCHEMA)), "")


def _key_paths(schema: Mapping[str, Any], start: str) -> Iterator[str]:
    """The path of every key in a schema, which is at the path `start`."""
    for key, part in schema.get("properties", {}).items():
        path = f"{start}.{key}" if start else key
        yield path
        yield from _key_paths(part, path)
        if "items" in part:
            yield from _key_paths(part["items"], f"{path}[]")


def _worded(error: ValidationError, location: Location) -> UserError:
    """An error of jsonschema in words for users of postrender."""
    subject = "the value" if error.absolute_path else "the configuration"
    value: Any = error.instance
    limit: Any = error.validator_value
    schema: Any = error.schema
    fix = ""
    match error.validator:
        case "required":
            missing = next(key for key in limit if key not in value)
            choices = schema["properties"][missing].get("enum")
            rest = f", with one of the values {_listed(choices)}" if choices else ""
            fix = f"Add the key {shown(missing)}{rest}"
            return UserError(f"the required key {shown(missing)} is missing", fix, location)
        case "maxLength":
            problem = f"{subject} has {len(value)} characters, expected at most {limit}"
            return UserError(problem, "Shorten the value", location)
        case "type":
            names = limit if isinstance(limit, list) else [limit]
            expected = " or ".join(_TYPE_NAMES[name] for name in names)
            fix = _type_fix(error)
        case "enum":
            expected = f"one of {_listed(limit)}"
            similar = similar_words(str(value), map(str, limit))
            fix = f"Write {shown(similar[0])}" if similar else "Write one of these values"
        case "minimum":
            expected = f"{limit} or more"
        case "maximum":
            expected = f"{limit} or less"
        case "pattern":
            expected = f"{_characters(limit)}, with a letter or digit at both ends"
            fix = "Change the value"
        case _:
            expected = "a valid value"
            fix = "Run `postrender config schema` to see the valid values"
    return UserError(
        f"{subject} is {_short(value)}, expected {expected}", fix or f"Write {expected}", location
    )


def _characters(pattern: str) -> str:
    letters = "letters" if "A-Z" in pattern else "lower-case letters"
    signs = '"-", "_" and "."' if "_" in pattern else '"-" and "."'
    return f"{letters}, digits, {signs}"


def _type_fix(error: ValidationError) -> str:
    """The fix for a value of a wrong type, "" if the expected type says everything."""
    value: Any = error.instance
    schema: Any = error.schema
    expected = error.validator_value
    if isinstance(value, bool) and "enabled" in schema.get("properties", {}):
        return f"Write {format_path(tuple(error.absolute_path))}.enabled: {_short(value)}"
    if expected == "object" and value is None:
        key = error.absolute_path[-1]
        return f"Indent the keys of {key}, or remove {key}"
    if expected == "string" and isinstance(value, (bool, int, float)):
        return "Put the value in quotes"
    if expected == "boolean" and value in ("true", "false"):
        return "Remove the quotes"
    items = schema.get("items", {})
    if expected == "array" and "properties" in items:
        return f"Write a list. The possible keys of each item are {', '.join(items['properties'])}"
    if expected == "array" and items.get("type") == "string" and isinstance(value, str):
        return f"Write the value as a list: [{_short(value)}]"
    return ""


def _short(value: Json) -> str:
    text = shown(value)
    return text if len(text) <= 40 else f"{text[:39]}…"


def _listed(values: Iterable[Json]) -> str:
    return ", ".join(map(_short, values))


def _pattern_paths(values: Json) -> Iterator[Path]:
    """The path of each path pattern that `values` can have."""
    for start in (("references",), ("leftovers", "ignore")):
        entries = value_at(values, start)
        for number in range(len(entries) if isinstance(entries, list) else 0):
            yield (*start, number, "path")


def _check_pattern(text: str, location: Location) -> None:
    try:
        parse_pattern(text)
    except UserError as error:
        translated = text.replace("[*]", "[]").lstrip("$.")  # JSONPath
        fix = error.fix
        if translated != text and _is_pattern(translated):
            fix = f"Write {shown(translated)} instead of {shown(text)}"
        raise UserError(error.problem, fix, location) from None


def _is_pattern(text: str) -> bool:
    try:
        parse_pattern(text)
    except UserError:
        return False
    return True
