"""Checks of one value, from which the tables are made.

A check yields a clause for each reason why the API server rejects the value.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator

from postrender.text import shown
from postrender.yaml.paths import Json, Path, PatternTree, mappings_in, value_at

# The path and a clause about the value there.
Problem = tuple[Path, str]
Check = Callable[[Json], Iterable[str]]
_LABEL = re.compile(r"(?!-)[-a-z0-9]+(?<!-)\Z")
_SUBDOMAIN = re.compile(r"(?![-.])(?:[a-z0-9]|-(?!\.)|\.(?![-.]))+(?<![-.])\Z")
_LABEL_VALUE = re.compile(r"(?:(?![-._])[-._a-zA-Z0-9]{1,63}(?<![-._]))?\Z")
_PORT_NAME = re.compile(r"[-a-z0-9]{1,15}\Z")
MISSING = "is missing"
NOT_A_STRING = "is not a string, and needs quotes"


def is_label(text: str) -> bool:
    """Whether a text is a part of a DNS name, of any length."""
    return _LABEL.match(text) is not None


def is_subdomain(text: str) -> bool:
    """Whether a text is a DNS name in lower case."""
    return _SUBDOMAIN.match(text) is not None


def is_label_value(text: str) -> bool:
    """Whether a text can be the value of a label, or a name in its key."""
    return _LABEL_VALUE.match(text) is not None


def needs_quotes(value: Json) -> str:
    """The clause about a value that YAML does not read as text."""
    return f"the value {shown(value)} {NOT_A_STRING}"


def repeated(noun: str, names: Iterable[Json], what: str = "name") -> Iterator[str]:
    """A clause for each name that occurs more than once."""
    texts = [str(name) for name in names if name is not None]
    for name, count in Counter(texts).items() if len(set(texts)) < len(texts) else ():
        if count > 1:
            yield f"{count} {noun}s have the {what} {name}"


def unique(noun: str, *keys: str) -> Check:
    """A check of a list whose items have unique values in a key, "name" without keys.

    With several keys, only items with the first key count, and a protocol is TCP if absent.
    """
    first, others = keys[0] if keys else "name", keys[1:]

    def name(item: dict[str, Json]) -> Json:
        values = [str(item.get(key) or ("TCP" if key == "protocol" else "")) for key in others]
        return None if item.get(first) is None else "/".join([str(item[first]), *values])

    what = "name" if first == "name" else first
    return lambda items: repeated(noun, map(name, mappings_in(items)), what)


def needs(*fields: str) -> Check:
    """A check of a mapping that must have fields."""

    def check(value: Json) -> Iterator[str]:
        if isinstance(value, dict):
            missing = (field for field in fields if value.get(field) in (None, ""))
            yield from (f"the field {field} {MISSING}" for field in missing)

    return check


def one_of(*values: str) -> Check:
    """A check of a text that must be one of several."""

    def check(value: Json) -> Iterator[str]:
        if isinstance(value, str) and value and value not in values:
            yield f"the value {shown(value)} is not one of {', '.join(values)}"

    return check


def between(low: int, high: int | None = None) -> Check:
    """A check of a number; `high` is None for no upper limit."""

    def check(value: Json) -> Iterator[str]:
        if isinstance(value, int) and (value < low or (high is not None and value > high)):
            limit = f"from {low:,} to {high:,}" if high is not None else f"at least {low:,}"
            yield f"the value {value:,} is not {limit}"

    return check


_OPERATORS = ("In", "NotIn", "Exists", "DoesNotExist")


def expression(*operators: str) -> Check:
    """A check of a requirement of a selector; operators: what it knows besides."""

    def check(value: Json) -> Iterator[str]:
        operator, values = (value_at(value, (field,)) for field in ("operator", "values"))
        yield from one_of(*_OPERATORS, *operators)(operator)
        if bool(values) == (operator in _OPERATORS[2:]) and operator in _OPERATORS:
            yield f"the operator {operator} {'cannot have' if values else 'needs'} values"

    return check


def string(value: Json) -> Iterator[str]:
    """A check of a text."""
    if value is not None and not isinstance(value, str):
        yield needs_quotes(value)


def label(value: Json) -> Iterator[str]:
    """A check of a name without dots."""
    if isinstance(value, str) and not (is_label(value) and len(value) <= 63):
        yield "the name has a character that a name cannot have, or is longer than 63"


def subdomain(value: Json) -> Iterator[str]:
    """A check of the name of an object."""
    if isinstance(value, str) and value and not is_subdomain(value):
        yield f"the value {shown(value)} is not the name of an object"


def selected(value: Json) -> Iterator[str]:
    """A check of a value that a label must have."""
    if value is not None and not isinstance(value, str):
        yield needs_quotes(value)
    elif isinstance(value, str) and not is_label_value(value):
        yield f"the value {shown(value)} cannot be the value of a label"


def port_name(value: Json) -> Iterator[str]:
    """A check of the name of a port."""
    is_valid = isinstance(value, str) and _PORT_NAME.match(value) and not value.isdigit()
    if isinstance(value, str) and not is_valid:
        yield f"the value {shown(value)} is not the name of a port, which has at most 15 characters"


_QUANTITY = re.compile(r"[+]?[\d.]+([numkMGTPE]|[KMGTPE]i|[eE][-+]?\d+)?\Z")


def quantity_text(value: Json) -> Iterator[str]:
    """A check of a quantity."""
    if isinstance(value, (bool, str)) and not _QUANTITY.match(str(value)):
        yield f"the value {shown(value)} is not a quantity, such as 500m or 1Gi"


def tree_of(rows: Iterable[tuple[str, Check]]) -> PatternTree:
    """The checks by path, where `[]` is every item, and `*` is every key."""
    tree = PatternTree()
    for path, check in rows:
        tree.add(path.replace("[]", ".[]").strip(".").split("."), check)
    return tree


PORT = between(1, 65_535)
COUNT = between(0)
