"""A custom object lacks a required field, or has a value that its definition does not allow.

The CustomResourceDefinition must be in the input.

Source: structural schemas, with `CRDValidationRatcheting`.
"""

from __future__ import annotations

from collections.abc import Iterator

from postrender.diff.model import Risk
from postrender.diff.risks import Facts, rejection
from postrender.kubernetes.kinds import CRD, is_built_in
from postrender.kubernetes.validation import is_placeholder
from postrender.kubernetes.validation.checks import Problem, not_one_of
from postrender.kubernetes.validation.rows import TYPES
from postrender.yaml.paths import (
    Json,
    Path,
    mapping_at,
    mappings_in,
    parts_at,
    readable_path,
    value_at,
)

REJECTS = True


def find(facts: Facts) -> Iterator[Risk]:
    changed = [pair for pair in facts.changes if pair.new and not is_built_in(pair.identity.group)]
    kinds = {pair.identity.kind for pair in changed}
    before, after = (_schemas(facts, kinds, is_new=is_new) for is_new in (False, True))
    for pair in changed if after else ():
        old, new = ((one and one.data) or {} for one in (pair.old, pair.new))
        known = set(_problems(old, before.get(_version(old), {})))
        for path, fact in _problems(new, after.get(_version(new), {})):
            if (path, fact) not in known and parts_at(pair.parts, path) != {}:
                yield rejection(facts, pair.identity, fact, readable_path(new, path))


def _version(data: dict[str, Json]) -> tuple[str, str]:
    return str(data.get("apiVersion")), str(data.get("kind"))


def _schemas(
    facts: Facts, kinds: set[str], *, is_new: bool
) -> dict[tuple[str, str], dict[str, Json]]:
    """The schemas of one side by apiVersion and kind."""
    found = {}
    for item in facts.objects((CRD,), is_new=is_new, words=kinds) if kinds else ():
        spec = mapping_at(item.data, ("spec",))
        for version in mappings_in(spec.get("versions")):
            key = f"{spec.get('group')}/{version.get('name')}", str(value_at(spec, _KIND))
            found[key] = mapping_at(version, ("schema", "openAPIV3Schema"))
    return found


_KIND = ("names", "kind")


def _problems(data: Json, schema: Json) -> Iterator[Problem]:
    """What the schema does not allow. A null can remove a field, so it does not count."""
    pending: list[tuple[Path, Json, Json]] = [((), data, schema)]
    while pending:
        path, value, schema = pending.pop()
        if value is None or is_placeholder(value) or not isinstance(schema, dict):
            continue
        types, values = TYPES.get(str(schema.get("type"))), schema.get("enum")
        is_whole = types == (int,) and isinstance(value, float) and value.is_integer()
        if types and type(value) not in types and not is_whole:
            yield path, f"the value has the type {_NAMES[type(value)]}, and not {schema['type']}"
        elif isinstance(values, list) and isinstance(value, str) and value not in values:
            yield path, not_one_of(value, values)
        elif isinstance(value, list):
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


_NAMES = {kind: name for name, kinds in TYPES.items() for kind in kinds}
