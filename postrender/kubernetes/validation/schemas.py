"""The schemas of custom kinds: which of them the API server rejects, and what they reject.

Source: `apiextensions-apiserver/pkg/apis/apiextensions/validation` and structural schemas. Each
clause was tried with an API server of Kubernetes 1.36.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from postrender.kubernetes.validation.checks import (
    Check,
    Problem,
    forbidden,
    is_placeholder,
    matching,
    not_one_of,
    one_of,
    requires,
)
from postrender.text import shown
from postrender.yaml.paths import Json, Path, mapping_at, mappings_in, value_at

_TYPES: dict[str, tuple[type, ...]] = {
    "string": (str,),
    "boolean": (bool,),
    "integer": (int,),
    "number": (int, float),
    "array": (list,),
    "object": (dict,),
}
_NAMES = {kind: name for name, kinds in _TYPES.items() for kind in kinds}
# Without a type, a schema needs one of these.
_FREE = ("x-kubernetes-int-or-string", "x-kubernetes-preserve-unknown-fields")
# A limit has the sign with which a larger value is outside.
_LIMITS = (("min", -1), ("max", 1))
_LIMITED = {str: "Length", list: "Items", int: "imum", float: "imum"}


def find_unlike(data: Json, schema: Json) -> Iterator[Problem]:
    """What a schema does not allow. A null can remove a field, so it does not count."""
    pending: list[tuple[Path, Json, Json]] = [((), data, schema)]
    while pending:
        path, value, schema = pending.pop()
        if value is None or is_placeholder(value) or not isinstance(schema, dict):
            continue
        types, values = _TYPES.get(str(schema.get("type"))), schema.get("enum")
        is_whole = types == (int,) and isinstance(value, float) and value.is_integer()
        if types and type(value) not in types and not is_whole:
            yield path, f"the value has the type {_NAMES[type(value)]}, and not {schema['type']}"
            continue
        if isinstance(values, list) and isinstance(value, str) and value not in values:
            yield path, not_one_of(value, values)
        yield from ((path, clause) for clause in _outside(value, schema))
        if isinstance(value, list):
            items = schema.get("items")
            pending += [((*path, number), one, items) for number, one in enumerate(value)]
        elif isinstance(value, dict):
            fields, required = mapping_at(schema, ("properties",)), schema.get("required")
            for field in required if isinstance(required, list) else ():
                has_default = value_at(fields, (str(field), "default")) is not None
                if isinstance(field, str) and field not in value and not has_default:
                    yield path, f"the field {field} is missing, and the schema requires it"
            others = schema.get("additionalProperties")
            pending += [((*path, key), one, fields.get(key, others)) for key, one in value.items()]


def _outside(value: Json, schema: dict[str, Json]) -> Iterator[str]:
    """The limits of a schema that a value exceeds."""
    what = _LIMITED.get(type(value), "")
    size = len(value) if isinstance(value, (str, list)) else value
    for end, sign in _LIMITS if what else ():
        limit = schema.get(f"{end}{what}")
        is_number = isinstance(limit, (int, float)) and isinstance(size, (int, float))
        if is_number and size * sign > limit * sign:  # type: ignore[operator]
            yield f"the {end}{what} of the schema is {limit}"


def find_rejected_schemas(value: Json) -> Iterator[str]:
    """Why the API server rejects a schema. It checks no defaults below additionalProperties."""
    others = "additionalProperties"
    pending: list[tuple[str, Json, bool]] = [("openAPIV3Schema", value, True)]
    while pending:
        name, schema, has_defaults = pending.pop()
        if not isinstance(schema, dict):
            continue
        if not schema.get("type") and not any(schema.get(one) is True for one in _FREE):
            yield f"the field {name} has no type"
        if schema.get("properties") and schema.get(others) not in (None, True):
            yield f"the field {name} has both properties and {others}"
        found = [text for key, check in _OF_FIELDS for text in check(schema.get(key))]
        found += [text for check in _OF_SCHEMAS for text in check(schema)]
        yield from (f"the field {name}: {text}" for text in found)
        for _, text in find_unlike(schema.get("default"), schema) if has_defaults else ():
            yield f"the default {shown(schema['default'])} of the field {name}: {text}"
        for key in ("allOf", "anyOf", "oneOf"):
            for inner in mappings_in(schema.get(key)):
                yield from (f"the field {name}: {text}" for text in pattern(inner.get("pattern")))
                is_free = schema.get(_FREE[0]) is True
                for one in ("type", "default", "description")[is_free:]:
                    if inner.get(one) not in ((None,) if one == "default" else (None, "")):
                        yield f"the field {name}: {key} cannot have the field {one}"
        fields = mapping_at(schema, ("properties",))
        pending += [(field, one, has_defaults) for field, one in fields.items()]
        pending.append((f"{name}[]", schema.get("items"), has_defaults))
        pending.append((f"{name}[]", schema.get(others), False))


_ITEM = r"(?:\[:\^?\w+:\]|\\.|[^\]\\])"
# A token of a regular expression of Go (RE2), and what cannot be one.
_TOKEN = re.compile(
    r"(?P<quoted>\\Q[^\\]*(?:\\(?!E)[^\\]*)*(?:\\E|\Z)|\\x\{[0-9A-Fa-f]+\})"
    rf"|(?P<set>\[(?:\^|(?!\^))(?:\]{_ITEM}*|{_ITEM}+)\])"
    r"|\\(?P<escape>[1-7](?![0-7])|[89CEFGHIJKLMNORTUVXYZceghijklmoquy])"
    r"|(?P<escaped>\\.)"
    r"|(?P<flags>\(\?[imsU]*(?:-[imsU]+)?\))"
    r"|(?P<open>\((?:\?(?:P?<\w+>|[imsU]*(?:-[imsU]+)?:))?(?!\?))"
    r"|(?P<close>\))"
    r"|(?P<repeat>[*+?]|\{(?:0|[1-9]\d{0,9})(?:,(?:0|[1-9]\d{0,9})?)?\})\??"
    r"|(?P<bar>\|)"
    r"|(?P<wrong>\[.*|[(\\])"
    r"|(?P<other>.)",
    re.DOTALL,
)
_MOST_REPEATS = 1_000


def pattern(value: Json) -> Iterator[str]:
    """Why Go does not compile a regular expression. What it yields is certain, but not complete."""
    depth, before = 0, "bar"
    for match in _TOKEN.finditer(value) if isinstance(value, str) else ():
        kind, text = str(match.lastgroup), match[0]
        depth += {"open": 1, "close": -1}.get(kind, 0)
        counts = [int(one) for one in re.findall(r"\d+", text)] if kind == "repeat" else []
        is_wrong = kind in ("wrong", "escape") or depth < 0
        is_wrong |= kind == "repeat" and before in ("bar", "open", "repeat")
        if is_wrong or counts != sorted(counts) or max(counts, default=0) > _MOST_REPEATS:
            yield f"Go does not compile {text[:20]} in the pattern {shown(value)}"
            return
        before = kind
    if depth > 0:
        yield f"Go does not compile the pattern {shown(value)}, in which a ) is missing"


def _items(schema: Json) -> Iterator[str]:
    """The items of a list with keys, or of a set."""
    items = mapping_at(schema, ("items",))
    kind, keys = (value_at(schema, (f"x-kubernetes-list-{one}",)) for one in ("type", "map-keys"))
    fields, required = mapping_at(items, ("properties",)), items.get("required")
    for key in keys if isinstance(keys, list) and kind == "map" and items else ():
        is_there = isinstance(required, list) and key in required
        if not is_there and value_at(fields, (str(key), "default")) is None:
            yield f"the key {key} is not a required field of the items"
    is_atomic = items.get("x-kubernetes-map-type") == "atomic"
    if kind == "set" and items.get("type") == "object" and not is_atomic:
        yield "the items of a set cannot be mappings that are not atomic"


_OF_SCHEMAS = (
    requires("type: array", "items"),
    requires("x-kubernetes-list-type: map", "x-kubernetes-list-map-keys"),
    requires("x-kubernetes-list-map-keys", "x-kubernetes-list-type: map"),
    requires("x-kubernetes-list-type", "type: array"),
    requires("x-kubernetes-map-type", "type: object"),
    requires("x-kubernetes-embedded-resource: true", "type: object"),
    _items,
)
_OF_FIELDS: tuple[tuple[str, Check], ...] = (
    ("type", one_of(*_TYPES)),
    ("pattern", pattern),
    ("x-kubernetes-list-type", one_of("atomic", "set", "map")),
    ("x-kubernetes-map-type", one_of("atomic", "granular")),
    *((key, forbidden) for key in ("$ref", "definitions", "dependencies")),
    ("id", matching(lambda _: False, "permitted")),
    *((key, forbidden) for key in ("patternProperties", "additionalItems", "uniqueItems")),
)
