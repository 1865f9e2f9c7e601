"""The types of the fields of built-in kinds and of Argo Rollouts, and the values of some texts.

Source: the OpenAPI schemas of Kubernetes and the CustomResourceDefinitions of Argo Rollouts.
`release/field_types.py` writes them into field_types.json, and says what a type is. The values of
texts are those of one API server (Kubernetes 1.36), so a value of a later version counts as wrong.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from functools import cache

from postrender.kubernetes.kinds import CONTENT_KINDS, DATA_FIELDS
from postrender.kubernetes.validation.checks import (
    NOT_A_STRING,
    Check,
    NotAString,
    Problem,
    needs_quotes,
    one_of,
    quantity_text,
)
from postrender.text import packaged_text, shown, similar_words
from postrender.yaml.paths import Json, Parts, Path

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_FILE = "kubernetes/validation/field_types.json"
_MIN_SIMILARITY = 0.75


class UnknownField(str):
    """A clause about a field that does not exist."""


class FreeType(str):
    """A clause about a value that the CustomResourceDefinition of Rollouts leaves open."""


def find_wrong_types(root: dict[str, Json], parts: Parts) -> Iterable[Problem]:
    """The values of another type than their field, and the fields that no known version has.

    parts: of the object, to check only these. A kind that the file lacks has no problems.
    """
    kind = root.get("kind")
    name = f"{root.get('apiVersion')} {kind}"
    first = type_of(name)
    found = _find(root, first, parts) if first != name else ()
    return dict.fromkeys(_without_values(kind, found)) if kind in CONTENT_KINDS else found


def _find(root: Json, first: Any, parts: Parts) -> Iterator[Problem]:
    pending: list[tuple[Path, Json, Any, Parts]] = [((), root, first, parts)]
    while pending:
        path, value, name, within = pending.pop()
        fields = type_of(name) if isinstance(name, str) else name
        if value is None or fields == "any":
            continue
        if isinstance(fields, UnknownField):
            yield path, fields
        elif isinstance(fields, str):
            yield from ((path, clause) for clause in _check_of(fields)(value))
        elif not isinstance(value, type(fields)):
            yield path, f"the value is not a {'list' if isinstance(fields, list) else 'mapping'}"
        else:
            inner = value.items() if isinstance(value, dict) else enumerate(value)
            pending += [
                ((*path, key), one, _type_of_part(fields, key), within and within[key])
                for key, one in reversed([*inner])
                if within is None or key in within
            ]


def _type_of_part(fields: Any, key: Any) -> Any:
    """The type of a field, or of an item of a list."""
    if isinstance(fields, list):
        return fields[0]
    known = fields.get(key) or fields.get("*")
    return known or UnknownField("the field does not exist" + _similar(str(key), fields))


def _similar(key: str, fields: Iterable[str]) -> str:
    by_lower_case = {field.lower(): field for field in fields}
    similar = similar_words(key.lower(), by_lower_case, _MIN_SIMILARITY)
    return "".join(f", and {by_lower_case[one]} does" for one in similar)


def _without_values(kind: Json, problems: Iterable[Problem]) -> Iterator[Problem]:
    """Problems that show no value of the content, and of a Secret no key."""
    for path, clause in problems:
        if path[:1] and path[0] in DATA_FIELDS:
            text = NOT_A_STRING if isinstance(clause, NotAString) else clause
            yield path[:1] if kind == "Secret" else path, text
        else:
            yield path, clause


@cache
def _lines() -> dict[str, str]:
    """The lines of the file by the name. Few are needed, so each is read alone."""
    lines = packaged_text(_FILE).splitlines()[1:-1]
    return dict(line.rstrip(",").split(": ", 1) for line in lines)


@cache
def type_of(name: str) -> Any:
    """The type with a name; a name that the file lacks is a type itself."""
    line = _lines().get(f'"{name}"')
    return json.loads(line) if line else name


def string(value: Json) -> Iterator[str]:
    """A check of a text."""
    if isinstance(value, (dict, list)):
        yield "the value is not a string"
    elif not isinstance(value, str):
        yield needs_quotes(value)


def _number(value: Json) -> Iterator[str]:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        yield f"the value {shown(value)} is not a number"


def _integer(value: Json) -> Iterator[str]:
    is_whole = isinstance(value, int) or (isinstance(value, float) and value.is_integer())
    if isinstance(value, bool) or not is_whole:
        yield f"the value {shown(value)} is not a whole number"


def _int32(value: Json) -> Iterator[str]:
    yield from _integer(value)
    if isinstance(value, (int, float)) and not -(2**31) <= value < 2**31:
        yield f"the value {shown(value)} is too large"


def _boolean(value: Json) -> Iterator[str]:
    if not isinstance(value, bool):
        yield f"the value {shown(value)} is not true or false"


def _number_or_text(value: Json) -> Iterator[str]:
    if not isinstance(value, str):
        yield from map(FreeType, _integer(value))


def _quantity(value: Json) -> Iterator[str]:
    return map(FreeType, quantity_text(value))


def _one_of(*values: str) -> Check:
    check = one_of(*values)
    return lambda value: map(FreeType, check(value)) if isinstance(value, str) else string(value)


@cache
def _check_of(word: str) -> Check:
    return _CHECKS.get(word) or _one_of(*word.split("|"))


_CHECKS: dict[str, Check] = {
    "string": string,
    "number": _number,
    "integer": _integer,
    "int32": _int32,
    "boolean": _boolean,
    "int-or-string": _number_or_text,
    "quantity": _quantity,
}
