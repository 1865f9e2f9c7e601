"""Checks of one value, from which the tables are made, and of the types of all values.

A check yields a clause for each reason why the API server rejects the value.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import lru_cache

from postrender.text import shown
from postrender.yaml.paths import Json, Path, mapping_at, mappings_in, value_at

# Who rejects a value: the API server in every apply, only in a server-side one, or for all but
# Helm 3, which drops the field; Argo Rollouts, which then replaces no pods; the API server in pods;
# or a node, which gives a reason.
API_SERVER, SERVER_SIDE, ROLLOUTS = "API server", "server-side apply", "Argo Rollouts"
STRICT = "strict validation"
ANALYSES = "analysis"
PODS, IMAGE_NAME, CONFIG_ERROR = "pods", "InvalidImageName", "CreateContainerConfigError"
START_ERROR, MOUNT_ERROR = "StartError", "FailedMount"
OF_PODS = (PODS, IMAGE_NAME, CONFIG_ERROR, START_ERROR, MOUNT_ERROR)
# In tables only: the API server in a new list, and otherwise a server-side apply; the API server in
# a live object, or in a new one.
NEW, LIVE, ADDED = "new", "live", "added"

# The marks of Flux, make, Helm, argocd-vault-plugin, vals, sops and Bank-Vaults.
_PLACEHOLDERS = ("${", "$(", "{{", "<", "ref+", "ENC[", "vault:", "bao:")
# The path and a clause about the value there.
Problem = tuple[Path, str]
Check = Callable[[Json], Iterable[str]]
# The checks of a kind or a pod, each with the pattern of its path, "" for the whole value.
Rows = Sequence[tuple[str, Check]]
_LABEL = re.compile(r"(?!-)[-a-z0-9]+(?<!-)\Z")
_SUBDOMAIN = re.compile(r"(?![-.])(?:[a-z0-9]|-(?!\.)|\.(?![-.]))+(?<![-.])\Z")
_LABEL_VALUE = re.compile(r"(?:(?![-._])[-._a-zA-Z0-9]{1,63}(?<![-._]))?\Z")
_CONTENT_KEY = re.compile(r"[-._a-zA-Z0-9]{1,253}\Z")
_PORT_NAME = re.compile(r"(?!-|.*--)[-a-z0-9]{1,15}(?<!-)\Z")


class Missing(str):
    """A clause about a field that is missing."""


class NotAString(str):
    """A clause about a value that needs quotes."""


NOT_A_STRING = NotAString("the value is not a string, and needs quotes")


def is_placeholder(value: Json) -> bool:
    """Whether a program replaces a part of a text after postrender."""
    return isinstance(value, str) and any(mark in value for mark in _PLACEHOLDERS)


def is_label(text: str) -> bool:
    """Whether a text is a part of a DNS name, of any length."""
    return _LABEL.match(text) is not None


def is_subdomain(text: str) -> bool:
    """Whether a text is a DNS name in lower case."""
    return _SUBDOMAIN.match(text) is not None


def is_content_key(text: str) -> bool:
    """Whether a text can be a key of a ConfigMap or Secret."""
    return _CONTENT_KEY.match(text) is not None and text != "." and not text.startswith("..")


def is_label_value(text: str) -> bool:
    """Whether a text can be the value of a label, or a name in its key."""
    return _LABEL_VALUE.match(text) is not None


@lru_cache(maxsize=256)  # most objects have the same keys
def is_label_key(key: str) -> bool:
    """Whether a text can be the key of a label: a name, after the domain of its owner or not."""
    prefix, slash, name = key.rpartition("/")
    return (not slash or is_subdomain(prefix)) and name != "" and is_label_value(name)


def needs_quotes(value: Json) -> str:
    """The clause about a value that YAML does not read as text."""
    return NotAString(f"the value {shown(value)} is not a string, and needs quotes")


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

    return lambda items: repeated(noun, map(name, mappings_in(items)), first)


def needs(*fields: str) -> Check:
    """A check of a mapping that must have fields."""

    def check(value: Json) -> Iterator[str]:
        if isinstance(value, dict):
            missing = (field for field in fields if value.get(field) in (None, "", []))
            yield from (Missing(f"the field {field} is missing") for field in missing)

    return check


def exclusive(*fields: str, is_needed: bool = False) -> Check:
    """A check of a mapping that has at most one of several fields, or exactly one.

    A field is a path, such as `minDomains`, or has values, such as `type: A or B`.
    """
    conditions = {field: _condition(field) for field in fields}

    def check(value: Json) -> Iterator[str]:
        found = [field for field, one in conditions.items() if _is_met(value, one)]
        if len(found) > 1:
            yield f"{found[0]} and {found[1]} are both set"
        elif is_needed and not found and isinstance(value, dict):
            yield f"one of the fields {', '.join(fields)} is missing"

    return check


def requires(condition: str, requirement: str) -> Check:
    """A check of a mapping: a field needs another field, both as in `exclusive`."""
    wanted, needed = _condition(condition), _condition(requirement)

    def check(value: Json) -> Iterator[str]:
        if _is_met(value, wanted) and not _is_met(value, needed):
            yield f"{condition} needs {requirement}"

    return check


def _condition(text: str) -> tuple[Path, list[str]]:
    path, _, values = text.partition(": ")
    parts = (int(part) if part.isdigit() else part for part in path.split("."))
    return tuple(parts), values.split(" or ") if values else []


def _is_met(data: Json, condition: tuple[Path, list[str]]) -> bool:
    path, values = condition
    value = value_at(data, path)
    text = str(value).lower() if isinstance(value, bool) else str(value)
    return value not in (None, "", []) and (not values or text in values)


def some_of(*fields: str) -> Check:
    """A check of a mapping that has at least one of several fields."""

    def check(value: Json) -> Iterator[str]:
        found = [mapping_at(value, ()).get(field) for field in fields]
        if isinstance(value, dict) and not any(one or one == {} for one in found):
            yield f"one of the fields {', '.join(fields)} is missing"

    return check


def forbidden(value: Json) -> Iterator[str]:
    """A check of a field that must be absent, or false."""
    if value not in (None, False, [], {}):
        yield "the field cannot be set here"


def matching(is_valid: Callable[[str], bool], what: str) -> Check:
    """A check of a text."""

    def check(value: Json) -> Iterator[str]:
        if isinstance(value, str) and value and not is_valid(value):
            yield f"the value {shown(value)} is not {what}"

    return check


_MOST_VALUES, _LONGEST_VALUE = 20, 60


def not_one_of(value: Json, values: Sequence[Json]) -> str:
    """The problem of a value. A schema can have thousands of values, and long ones."""
    listed = ", ".join(str(one)[:_LONGEST_VALUE] for one in values[:_MOST_VALUES])
    more = f" and {len(values) - _MOST_VALUES:,} more" if len(values) > _MOST_VALUES else ""
    return f"the value {shown(value)} is not one of {listed}{more}"


def one_of(*values: str) -> Check:
    """A check of a text that must be one of several."""

    def check(value: Json) -> Iterator[str]:
        if isinstance(value, str) and value and value not in values:
            yield not_one_of(value, values)

    return check


def between(low: int, high: int | None = None) -> Check:
    """A check of a number; `high` is None for no upper limit."""

    def check(value: Json) -> Iterator[str]:
        if isinstance(value, int) and (value < low or (high is not None and value > high)):
            limit = f"from {low:,} to {high:,}" if high is not None else f"at least {low:,}"
            yield f"the value {value:,} is not {limit}"

    return check


_OPERATORS = ("In", "NotIn", "Exists", "DoesNotExist")


def expression(*operators: str, has_labels: bool = True) -> Check:
    """A check of a requirement of a selector.

    operators: those of nodes, which a type lists. has_labels: whether a value must be one of a
    label, which the preferences of nodes need not.
    """

    def check(value: Json) -> Iterator[str]:
        operator, values = (value_at(value, (field,)) for field in ("operator", "values"))
        yield from needs("key", "operator")(value)
        yield from QUALIFIED(value_at(value, ("key",)))
        is_read = has_labels and operator in _OPERATORS
        for one in values if isinstance(values, list) and is_read else ():
            yield from selected(one)
        if not operators:
            yield from one_of(*_OPERATORS)(operator)
        if bool(values) == (operator in _OPERATORS[2:]) and operator in _OPERATORS:
            yield f"the operator {operator} {'cannot have' if values else 'needs'} values"
        if operator in operators and not (isinstance(values, list) and len(values) == 1):
            yield f"the operator {operator} needs one value"

    return check


def labels(value: Json) -> Iterator[str]:
    """A check of the labels that an object must have."""
    for key, text in mapping_at(value, ()).items():
        yield from QUALIFIED(key)
        yield from selected(text)


def selector(value: Json) -> Iterator[str]:
    """A check of a selector of labels."""
    yield from labels(value_at(value, ("matchLabels",)))
    for one in mappings_in(value_at(value, ("matchExpressions",))):
        yield from expression()(one)


def label(value: Json) -> Iterator[str]:
    """A check of a name without dots."""
    if isinstance(value, str) and value and not (is_label(value) and len(value) <= 63):
        yield "the name has a character that a name cannot have, or is longer than 63"


def subdomain(value: Json) -> Iterator[str]:
    """A check of the name of an object."""
    if isinstance(value, str) and value and not (is_subdomain(value) and len(value) <= 253):
        yield f"the value {shown(value)} is not the name of an object"


def selected(value: Json) -> Iterator[str]:
    """A check of a value that a label must have."""
    if isinstance(value, str) and not is_label_value(value):
        yield f"the value {shown(value)} cannot be the value of a label"


def port_name(value: Json) -> Iterator[str]:
    """A check of the name of a port."""
    is_valid = isinstance(value, str) and _PORT_NAME.match(value) and not value.isdigit()
    if isinstance(value, str) and value and not is_valid:
        yield f"the value {shown(value)} is not the name of a port, which has at most 15 characters"


_QUANTITY_TEXT = re.compile(r"[+]?[\d.]+([numkMGTPE]|[KMGTPE]i|[eE][-+]?\d+)?\Z")


def quantity_text(value: Json) -> Iterator[str]:
    """A check of a quantity."""
    is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
    if isinstance(value, (int, float)) and value < 0:
        yield f"the value {value} is negative"
    elif not is_number and not (isinstance(value, str) and _QUANTITY_TEXT.match(value)):
        yield f"the value {shown(value)} is not a quantity, such as 500m or 1Gi"


_QUANTITY = re.compile(r"(\d{1,20})(?:\.(\d{1,20}))?(m|k|M|G|T|P|E|Ki|Mi|Gi|Ti|Pi|Ei)?\Z")
_MOST_DIGITS = 20
_UNITS: dict[str, int] = {unit: 1000**power for power, unit in enumerate(("m", "", *"kMGTPE"))}
_UNITS |= {f"{unit}i": 1000 * 1024**power for power, unit in enumerate("KMGTPE", 1)}


def quantity(value: Json) -> int | None:
    """The number of a quantity such as `500m`, in units of 10 ** -23, None for anything else."""
    match = _QUANTITY.match(str(value)) if isinstance(value, (str, int)) else None
    if match is None or isinstance(value, bool):
        return None
    whole, part, unit = match[1], match[2] or "", match[3] or ""
    return int(whole + part.ljust(_MOST_DIGITS, "0")) * _UNITS[unit]


ONE = quantity(1) or 1  # in the unit of quantity()


def deadline(value: Json) -> Iterator[str]:
    """A check of the spec of a workload with a deadline for its progress."""
    ready, limit = (value_at(value, (f,)) for f in ("minReadySeconds", "progressDeadlineSeconds"))
    limit = 600 if limit is None else limit
    if isinstance(ready, int) and isinstance(limit, int) and ready >= limit:
        yield f"minReadySeconds ({ready}) is not below progressDeadlineSeconds ({limit})"


def address(value: Json) -> Iterator[str]:
    """A check of an IP address."""
    from ipaddress import ip_address  # rarely needed

    try:
        ip_address(str(value))
    except ValueError:
        yield f"the value {shown(value)} is not an IP address"


_BASE64 = re.compile(r"[A-Za-z0-9+/]*={0,2}\Z")


def is_base64(text: str) -> bool:
    """Whether Go decodes a text, which can have line breaks."""
    text = text.replace("\r", "").replace("\n", "")
    return len(text) % 4 == 0 and _BASE64.match(text) is not None


base64 = matching(is_base64, "base64")
PORT = between(1, 65_535)
QUALIFIED = matching(is_label_key, "a name such as example.com/a")
COUNT = between(0)
USER = between(0, 2**31 - 1)
