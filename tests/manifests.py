"""A naive reader of manifests, to check the real one: the text of a stream as plain data.

The module shares no code with the program. It reads YAML as Kubernetes does (sigs.k8s.io/yaml),
and writes JSON as Go does, which the hashes need.
"""

from __future__ import annotations

import contextlib
import copy
import json
import re
from collections.abc import Iterator
from decimal import Decimal
from typing import Any

from ruamel.yaml import YAML
from ruamel.yaml.error import YAMLError

try:
    from yaml import YAMLError as LibyamlError
    from yaml.cyaml import CParser
except ImportError:  # PyYAML was built without libyaml
    CParser, LibyamlError = None, YAMLError

Obj = dict[str, Any]


class InputError(ValueError):
    """The stream has an error: the program must exit with 1 and write nothing."""


# ------------------------------------------------------------------------------------------ scalars

STR_TAG = "tag:yaml.org,2002:str"
CORE_TAGS = tuple(f"tag:yaml.org,2002:{name}" for name in ("int", "float", "bool", "null"))
TRUE = {"y", "Y", "yes", "Yes", "YES", "true", "True", "TRUE", "on", "On", "ON"}
FALSE = {"n", "N", "no", "No", "NO", "false", "False", "FALSE", "off", "Off", "OFF"}
NULL = {"", "~", "null", "Null", "NULL"}
NOT_JSON = re.compile(r"\.(nan|NaN|NAN)|[-+]?\.(inf|Inf|INF)")
INTEGER = re.compile(
    r"([-+]?)(?:0[xX](?P<x>[0-9a-fA-F]+)|0[bB](?P<b>[01]+)|0[oO]?(?P<o>[0-7]+)|(?P<d>0|[1-9][0-9]*))"
)
BASES = {"x": 16, "b": 2, "o": 8, "d": 10}
FLOAT = re.compile(r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?")


def resolve_plain(text: str) -> Any:
    """Return the value of a plain scalar: YAML 1.1 without dates."""
    if text in TRUE:
        return True
    if text in FALSE:
        return False
    if text in NULL:
        return None
    if NOT_JSON.fullmatch(text):
        raise InputError(f"{text} is not a JSON value")
    return resolve_number(text) if text[0] in "0123456789+-." else text


def resolve_number(text: str) -> Any:
    # Underscores are ignored. After a leading dot, only single ones between digits are.
    between = r"(?<=[0-9])_(?=[0-9])"
    digits = re.sub(between, "", text) if text[0] == "." else text.replace("_", "")
    if match := INTEGER.fullmatch(digits):
        number = next(int(part, BASES[base]) for base, part in match.groupdict().items() if part)
        number = -number if match[1] == "-" else number
        # Go reads int64, or uint64 without a sign.
        if -(2**63) <= number < (2**63 if match[1] else 2**64):
            return number
    if FLOAT.fullmatch(digits):
        # Go's parser rejects an overflow, so that the text stays a string.
        return text if abs(float(digits)) == float("inf") else float(digits)
    return text


def scalar_value(event: Any) -> Any:
    if event.tag is None or event.tag == "!":
        return resolve_plain(event.value) if event.implicit[0] else event.value
    if event.tag == STR_TAG:
        return event.value
    if event.tag in CORE_TAGS:
        return resolve_plain(event.value)
    raise InputError(f"tag {event.tag}")


# ---------------------------------------------------------------------------------- text to objects


def load(text: str, *, pure: bool = False) -> list[Any]:
    """Return all documents of a stream as data, with None for an empty document.

    pure: whether to parse in Python, independently of libyaml, which takes nine times as long. A
        stream that libyaml cannot read is always parsed in Python.
    """
    # kubectl ignores a byte order mark at the start of any document.
    text = re.sub(
        r"^(---(?:[ \t][^\n]*)?\r?\n)\ufeff", r"\1", text.removeprefix("\ufeff"), flags=re.M
    )
    values = json_values(text)
    if values is not None:
        return values
    if CParser is not None and not pure:
        with contextlib.suppress(LibyamlError):
            return read_documents(events_of_libyaml(text))
    try:
        return read_documents(iter(YAML(typ="safe", pure=True).parse(text)))
    except YAMLError as error:
        raise InputError(str(error)) from error


def events_of_libyaml(text: str) -> Iterator[Any]:
    parser = CParser(text)
    while parser.check_event():
        yield parser.get_event()


def read_documents(events: Iterator[Any]) -> list[Any]:
    return [
        read_node(events, next(events), {})
        for event in events
        if type(event).__name__ == "DocumentStartEvent"
    ]


def json_values(text: str) -> list[Any] | None:
    """Return the values of a stream of JSON objects, or None for another stream."""
    decoder = json.JSONDecoder()
    values = []
    rest = text.strip()
    if not rest.startswith("{"):
        return None
    while rest:
        try:
            value, end = decoder.raw_decode(rest)
        except json.JSONDecodeError:
            return None
        values.append(value)
        rest = rest[end:].strip()
    return values


def read_node(events: Iterator[Any], event: Any, anchors: Obj) -> Any:
    """Read the rest of a node whose first event is given. An alias becomes a copy."""
    kind = type(event).__name__  # the two parsers have their own classes
    if kind == "AliasEvent":
        if event.anchor not in anchors:
            raise InputError(f"alias {event.anchor} before its anchor")
        return copy.deepcopy(anchors[event.anchor])
    value: Any
    if kind == "ScalarEvent":
        value = scalar_value(event)
    elif kind == "SequenceStartEvent":
        value = []
        while type(child := next(events)).__name__ != "SequenceEndEvent":
            value.append(read_node(events, child, anchors))
    else:
        value = {}
        while type(child := next(events)).__name__ != "MappingEndEvent":
            # Each entry, own or merged, overrides the entries above.
            key = "" if is_merge(child) else key_text(read_node(events, child, anchors))
            entry = read_node(events, next(events), anchors)
            value |= merged(entry) if is_merge(child) else {key: entry}
    if event.anchor is not None:
        anchors[event.anchor] = value
    return value


def is_merge(event: Any) -> bool:
    """Return whether an event is a merge key; Helm 4 writes it as `!!merge <<`."""
    if type(event).__name__ != "ScalarEvent" or event.value != "<<":
        return False
    return bool(event.implicit[0]) or event.tag == "tag:yaml.org,2002:merge"


def merged(value: Any) -> Obj:
    """Return the keys that `<<` merges, from a mapping or a list in which the first wins."""
    result: Obj = {}
    for source in value if isinstance(value, list) else [value]:
        if not isinstance(source, dict):
            raise InputError("<< needs a mapping")
        result = {**source, **result}
    return result


def key_text(key: Any) -> str:
    """Return a mapping key as text, as JSON requires."""
    if isinstance(key, str):
        return key
    if isinstance(key, bool | int | float):
        return go_json(key)
    raise InputError(f"mapping key {key!r}")


def normalise(text: str, *, pure: bool = False) -> list[Obj]:
    """Return a stream as a flat list of objects."""
    return [obj for document in load(text, pure=pure) for obj in flatten(document)]


def flatten(value: Any) -> list[Obj]:
    """Return the objects of a document; an item without a kind gets it from its list."""
    if not is_list(value):
        return [value] if isinstance(value, dict) else []
    objects = []
    for item in value["items"]:
        if isinstance(item, dict) and "kind" not in item and value["kind"] != "List":
            kind = value["kind"].removesuffix("List")
            item = {"apiVersion": value.get("apiVersion", "v1"), "kind": kind, **item}
        objects.extend(flatten(item))
    return objects


def is_list(value: Any) -> bool:
    """Return whether a value is a list object: List, ConfigMapList, ResourceList and so on."""
    return (
        isinstance(value, dict)
        and str(value.get("kind", "")).endswith("List")
        and isinstance(value.get("items"), list)
    )


# --------------------------------------------------------------------------------------------- JSON


def go_json(value: Any) -> str:
    """Return compact JSON with sorted keys, numbers and escapes as Go's encoding/json writes."""
    if isinstance(value, dict):
        return "{" + ",".join(f"{go_json(k)}:{go_json(value[k])}" for k in sorted(value)) + "}"
    if isinstance(value, list):
        return "[" + ",".join(map(go_json, value)) + "]"
    if isinstance(value, str):
        return escaped(json.dumps(value, ensure_ascii=False), "<>&\u2028\u2029")
    return go_number(value) if isinstance(value, float) else json.dumps(value)


def go_number(value: float) -> str:
    if value == 0 or 1e-6 <= abs(value) < 1e21:
        text = format(Decimal(repr(value)), "f")
        return text.rstrip("0").rstrip(".") if "." in text else text
    mantissa, exponent = repr(value).split("e")
    sign = exponent[0] if exponent[0] == "-" else "+"
    return f"{mantissa.removesuffix('.0')}e{sign}{exponent.lstrip('+-').lstrip('0')}"


def dump(objects: list[Obj]) -> str:
    """Return objects as a stream of JSON documents, which all YAML parsers read alike."""
    texts = (json.dumps(obj, ensure_ascii=False, indent=1) for obj in objects)
    return "".join(f"---\n{escaped(text, SEPARATORS)}\n" for text in texts)


# The characters that YAML does not accept in a double-quoted scalar, but JSON does.
SEPARATORS = "\x7f\x85\u2028\u2029\ufeff"


def escaped(text: str, characters: str) -> str:
    for character in characters:
        text = text.replace(character, f"\\u{ord(character):04x}")
    return text


# --------------------------------------------------------------------------- the parts of an object


def sub(value: Any, *keys: str) -> Obj:
    """Return the mapping below some keys, or an empty one."""
    for key in keys:
        value = value.get(key) if isinstance(value, dict) else None
    return value if isinstance(value, dict) else {}


def text_of(value: Any) -> str:
    return value if isinstance(value, str) else ""


def kind_of(obj: Obj) -> str:
    return text_of(obj.get("kind"))


def name_of(obj: Obj) -> str:
    return text_of(sub(obj, "metadata").get("name"))


def namespace_of(obj: Obj) -> str:
    return text_of(sub(obj, "metadata").get("namespace"))


def annotation(obj: Obj, key: str) -> str:
    return text_of(sub(obj, "metadata", "annotations").get(key))


def label(obj: Obj, key: str) -> str:
    return text_of(sub(obj, "metadata", "labels").get(key))


def is_hook(obj: Obj) -> bool:
    """Return whether an object is a hook of Helm or Argo CD."""
    annotations = sub(obj, "metadata", "annotations")
    return "helm.sh/hook" in annotations or "argocd.argoproj.io/hook" in annotations
