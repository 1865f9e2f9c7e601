"""A KRM function's configuration: the `functionConfig` of the ResourceList that it is called with.

Either kind `Postrender`, whose `spec` is what postrender.yaml holds, or a ConfigMap (`kpt fn eval
… -- strict=true` makes one), each of whose `data` keys is the path of a key that takes one value:
`attacher.image`. It stands where postrender.yaml does, and over it.
"""

from __future__ import annotations

import difflib
import json
from collections.abc import Callable, Mapping
from typing import Any

from postrender.config.load import (
    API_VERSION,
    KIND,
    Values,
    is_object,
    merge_values,
    object_values,
    schema_text,
    validate,
)
from postrender.errors import UserError
from postrender.krm.results import sole_document
from postrender.yaml.document import ParsedDocument, parse_document
from postrender.yaml.paths import Json, Path, value_at
from postrender.yaml.scalars import resolve_plain
from postrender.yaml.stream import Stream

_FIELD = "functionConfig"


def function_values(stream: Stream) -> Values:
    """Return the values that the functionConfig of a ResourceList gives, validated.

    Nothing where it has none. Raises UserError for a functionConfig that is none of ours, or does
    not fit the schema.
    """
    source = sole_document(stream)
    if _FIELD not in source.text:
        return {}
    document = parse_document(source.text, stream.location_of(source))
    config = value_at(document.data, (_FIELD,))
    if config is None:
        return {}
    if is_object(config):
        return object_values(config, document, (_FIELD,))
    what = value_at(config, ("apiVersion",)), value_at(config, ("kind",))
    if what == ("v1", "ConfigMap"):
        return _from_config_map(value_at(config, ("data",)), document)
    raise _error(
        f"a functionConfig of kind {what[1]!r} in {what[0]!r}",
        f"make it kind {KIND} in {API_VERSION}, or a ConfigMap",
        document,
        (_FIELD, "kind"),
    )


def _from_config_map(data: Json, document: ParsedDocument) -> Values:
    schema = json.loads(schema_text())
    values: Values = {}
    for key, text in data.items() if isinstance(data, dict) else ():
        path = (_FIELD, "data", key)
        value: Any = _value(_part(schema, key, document, path), str(text), document, path)
        for name in reversed(key.split(".")):
            value = {name: value}
        validate(value, document, _always(path))
        values = merge_values(values, value)
    return values


def _always(path: Path) -> Callable[[Path], Path]:
    """Return what says of each path inside a value that it stands at this one."""
    return lambda _inside: path


def _part(
    schema: Mapping[str, Any], key: str, document: ParsedDocument, path: Path
) -> Mapping[str, Any]:
    """Return the schema of the key that a dotted path leads to."""
    for name in key.split("."):
        known = schema.get("properties", {})
        if name not in known:
            near = difflib.get_close_matches(name, known, 1, 0.3)
            fix = f"did you mean {near[0]!r}?" if near else "see `postrender config schema`"
            raise _error(f"unknown key {name!r}", fix, document, path)
        schema = known[name]
    return schema


def _value(schema: Mapping[str, Any], text: str, document: ParsedDocument, path: Path) -> Json:
    """Return the text of a ConfigMap's value as the type that its key takes."""
    if schema.get("type") in ("object", "array"):
        raise _error(
            "this key takes more than one value",
            f"give it in the spec of a functionConfig of kind {KIND} in {API_VERSION}",
            document,
            path,
        )
    return text if schema.get("type") == "string" else resolve_plain(text)


def _error(what: str, fix: str, document: ParsedDocument, path: Path) -> UserError:
    return UserError(what, fix, document.location_of(path, instead=path[:1]))
