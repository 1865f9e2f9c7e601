"""The schemas of custom kinds: which of them the API server rejects, and what they reject.

Source: `apiextensions-apiserver/pkg/apis/apiextensions/validation` and structural schemas. Each
clause was tried with an API server of Kubernetes 1.36.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from postrender.kubernetes.hashing import canonical_json
from postrender.kubernetes.validation.checks import (
    Check,
    Problem,
    forbidden,
    is_placeholder,
    matching,
    needs,
    not_one_of,
    one_of,
    repeated,
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


def find_unlike(data: Json, schema: Json, *, is_default: bool = False) -> Iterator[Problem]:
    """What a schema does not allow, in an object or in a default, which can repeat items.

    A null can remove a field, so it does not count.
    """
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
        if isinstance(values, list) and values and isinstance(value, str) and value not in values:
            yield path, not_one_of(value, values)
        yield from ((path, clause) for clause in _outside(value, schema))
        if isinstance(value, str):
            yield from ((path, clause) for clause in _unmatched(value, schema.get("pattern")))
        if isinstance(value, list):
            yield from ((path, one) for one in (() if is_default else _repeated(value, schema)))
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


def _repeated(value: list[Json], schema: dict[str, Json]) -> Iterator[str]:
    """The items of a set, or of a list with keys, that occur twice."""
    kind, keys = (schema.get(f"x-kubernetes-list-{one}") for one in ("type", "map-keys"))
    fields = mapping_at(schema, ("items", "properties"))
    if kind == "set":
        yield from repeated("item", map(canonical_json, value), "value")
    elif kind == "map" and isinstance(keys, list):
        defaults = {str(key): value_at(fields, (str(key), "default")) for key in keys}
        rows = [
            [item.get(key, one) for key, one in defaults.items()] for item in mappings_in(value)
        ]
        yield from repeated("item", (", ".join(map(shown, row)) for row in rows), "key")


# A regular expression that means the same in Python, and without a group that repeats, so that a
# match takes little time.
_SIMPLE = re.compile(
    r"(?!.*--)\^?(?:[\w ./:@,=%!#;<>'\"-]|\\[.dw/-]|\[(?:[^\[\]\\&~|]|\\[.dw/-])+\]"
    r"|\((?:\?:|(?!\?))|\||\)(?![*+{])|[*+?]|\{\d+(?:,\d*)?\})*\$?\Z"
)
_MOST = (
    (re.compile(r"[*+]|,\d*\}"), 2),
    (re.compile(r"(?<!\()\?"), 4),
    (re.compile(r"\("), 2),
)
_LONGEST_TEXT = 253


def _unmatched(value: str, expression: Json) -> Iterator[str]:
    """The pattern that a text does not match. What it yields is certain, but not complete."""
    if not isinstance(expression, str) or max(len(value), len(expression)) > _LONGEST_TEXT:
        return
    # A match can begin at each character, as with one more part that repeats.
    is_anchored = expression.startswith("^") and "|" not in expression
    searched = expression if is_anchored else f"*{expression}"
    is_fast = all(len(part.findall(searched)) <= most for part, most in _MOST)
    if not is_fast or not _SIMPLE.match(expression) or any(pattern(expression)):
        return
    end = r"\Z" if expression.endswith("$") else ""  # `$` also matches before a line break
    try:
        is_found = re.search(f"{expression.removesuffix('$')}{end}", value, re.ASCII)
    except re.error:
        return
    if not is_found:
        yield f"the value {shown(value)} does not match the pattern {expression} of the schema"


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
        default = schema.get("default") if has_defaults else None
        for _, text in find_unlike(default, schema, is_default=True):
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


# A text or comment of CEL, and what CEL does not have.
_CEL = re.compile(
    r"""(?P<text>[rR](?:"{3}.*?"{3}|'{3}.*?'{3}|"[^"\n]*"|'[^'\n]*')|"{3}.*?"{3}|'{3}.*?'{3}"""
    r"""|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*')"""
    r"|(?P<comment>//[^\n]*)|(?P<open>[(\[{])|(?P<close>[)\]}])"
    r"""|(?P<wrong>["';$#@^~]|(?<![=!<>])=(?!=)|(?<!&)&(?!&)|(?<!\|)\|(?!\|))""",
    re.DOTALL,
)
_FIELD = re.compile(r"(?<![\w.])(?:self|oldSelf)\.(\w+)(?!\w|\s*\()")
_OTHER_SELF = re.compile(r"[(,]\s*(?:self|oldSelf)\s*,")  # a variable of a macro: all(self, …)


def cel(value: Json) -> Iterator[str]:
    """Why an expression is not CEL. What it yields is certain, but not complete."""
    depth = 0
    for match in _CEL.finditer(value) if isinstance(value, str) else ():
        depth += {"open": 1, "close": -1}.get(str(match.lastgroup), 0)
        if match.lastgroup == "wrong" or depth < 0:
            yield f"the expression {shown(value)} cannot have {match[0]} here"
            return
    if depth > 0:
        yield f"a bracket is missing in the expression {shown(value)}"


def _rules(schema: Json) -> Iterator[str]:
    """The rules of a schema, and the fields that they read."""
    fields = mapping_at(schema, ("properties",))
    is_open = any(value_at(schema, (one,)) is True for one in (_FREE[1], _EMBEDDED))
    for rule in mappings_in(value_at(schema, ("x-kubernetes-validations",))):
        text = str(rule.get("rule") or "")
        yield from needs("rule")({"rule": text.strip()})
        yield from cel(text)
        code = _CEL.sub(lambda match: "''" if match["text"] or match["comment"] else match[0], text)
        is_closed = fields and not is_open and not _OTHER_SELF.search(code)
        for name in _FIELD.findall(code) if is_closed else ():
            # Names with other characters are escaped, and every object has the standard ones.
            if name not in fields and "__" not in name and name not in _STANDARD:
                yield f"a rule reads the field {name}, which the schema does not have"


_EMBEDDED, _STANDARD = "x-kubernetes-embedded-resource", ("apiVersion", "kind", "metadata")
_OF_SCHEMAS = (
    _rules,
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
