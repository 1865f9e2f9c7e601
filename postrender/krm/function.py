"""The settings of a KRM function: the field `functionConfig` in the ResourceList on stdin.

A functionConfig has one of two kinds:

- An object of the kind `Postrender` has the settings of postrender.yaml in `spec`.
- A ConfigMap has the same settings in `data`, with dotted keys such as `attacher.image`. For
  example, kpt creates a ConfigMap from the arguments of `kpt fn eval … -- strict=true`.

The functionConfig overrides postrender.yaml. Somebody whom the user does not trust can write the
functionConfig. Therefore, only `postrender fn` reads a functionConfig, and a setting that can do
more than change the output is an error.
"""

from __future__ import annotations

import difflib
import json
from collections.abc import Mapping
from typing import Any

from postrender.config.load import (
    API_VERSION,
    KIND,
    Values,
    is_config_object,
    merge_values,
    object_values,
    schema_text,
    validate,
)
from postrender.config.trust import FUNCTION_CONFIG, check_trust
from postrender.errors import UserError
from postrender.krm.resource_list import sole_document
from postrender.text.shown import shown
from postrender.yaml.document import ParsedDocument, parse_document
from postrender.yaml.paths import Json, Path, value_at
from postrender.yaml.scalars import resolve_plain
from postrender.yaml.stream import Stream

_FIELD = "functionConfig"


def function_values(stream: Stream) -> Values:
    """Return the settings in the functionConfig of a ResourceList, {} without a functionConfig.

    The result has the nested keys of postrender.yaml.
    stream: a stream for which is_resource_list() is True.
    Raises UserError for an unknown kind of functionConfig, and for an invalid setting. Also raises
    UserError for a setting that can do more than change the output.
    """
    source = sole_document(stream)
    if _FIELD not in source.text:
        return {}
    document = parse_document(source.text, stream.location_of(source))
    config = value_at(document.data, (_FIELD,))
    if config is None:
        return {}
    if is_config_object(config):
        values = object_values(config, document, (_FIELD,))
        check_trust(
            values,
            FUNCTION_CONFIG,
            lambda path: document.location_of((_FIELD, "spec", *path)),
        )
        return values
    api_version, kind = value_at(config, ("apiVersion",)), value_at(config, ("kind",))
    if (api_version, kind) == ("v1", "ConfigMap"):
        return _from_config_map(value_at(config, ("data",)), document)
    raise _error(
        f"the apiVersion of the functionConfig {_state(api_version)} and the kind {_state(kind)}, "
        f"expected {API_VERSION} {KIND} or v1 ConfigMap",
        f"Write the apiVersion {API_VERSION} and the kind {KIND}, or use a ConfigMap",
        document,
        (_FIELD, "kind"),
    )


def _state(value: Json) -> str:
    return "is missing" if value is None else f"is {shown(value)}"


def check_no_function_config(stream: Stream) -> None:
    """Raise UserError if the functionConfig of a ResourceList contains settings.

    A functionConfig without settings does not change the output, and is not an error.
    stream: a stream for which is_resource_list() is True.
    """
    source = sole_document(stream)
    if _FIELD not in source.text:
        return
    document = parse_document(source.text, stream.location_of(source))
    config = value_at(document.data, (_FIELD,))
    keys = config if isinstance(config, dict) else {"": config}
    if any(value for key, value in keys.items() if key not in ("apiVersion", "kind", "metadata")):
        raise _error(
            "the input has a functionConfig, but only `postrender fn` reads a functionConfig",
            "In kustomize, add `args: [fn]` to the exec function. In kpt, use --exec 'postrender "
            "fn'. Elsewhere, delete the functionConfig, and pass the settings as options",
            document,
            (_FIELD,),
        )


def _from_config_map(data: Json, document: ParsedDocument) -> Values:
    """Return the settings in the field `data` of a ConfigMap, {} if `data` is not a mapping.

    Raises UserError as function_values does.
    """
    schema = json.loads(schema_text())
    values: Values = {}
    for key, text in data.items() if isinstance(data, dict) else ():
        if text is None or isinstance(text, (dict, list)):
            raise _error(
                f"the value is {shown(text)}, expected a string",
                "Write the value as a string",
                document,
                (_FIELD, "data", key),
            )
        values = merge_values(values, _nested_value(schema, key, str(text), document))
    return values


def _nested_value(
    schema: Mapping[str, Any], key: str, text: str, document: ParsedDocument
) -> Values:
    """Return one entry of `data` as nested mappings. Raises UserError as function_values does.

    For example, the key `attacher.image` becomes {"attacher": {"image": text}}.
    schema: the schema of postrender.yaml.
    """
    path = (_FIELD, "data", key)
    value: Any = _value(_key_schema(schema, key, document, path), text, document, path)
    for name in reversed(key.split(".")):
        value = {name: value}
    values: Values = value
    validate(values, document, lambda _path: path)
    check_trust(values, FUNCTION_CONFIG, lambda _path: document.location_of(path))
    return values


def _key_schema(
    schema: Mapping[str, Any], key: str, document: ParsedDocument, path: Path
) -> Mapping[str, Any]:
    """Return the part of a schema for a dotted key. Raises UserError for an unknown key.

    path: the path of the entry in the document, for the location of the error.
    """
    parents: list[str] = []
    for name in key.split("."):
        properties = schema.get("properties", {})
        if name not in properties:
            similar = difflib.get_close_matches(name, properties, 1, 0.3)
            keys = [".".join([*parents, other]) for other in similar or properties]
            fix = f"Write one of the keys {', '.join(keys)}" if keys else "Remove the key"
            if similar:
                fix = f"Use {shown(keys[0])} instead, or remove the key"
            raise _error("the key is unknown", fix, document, path)
        schema = properties[name]
        parents.append(name)
    return schema


def _value(schema: Mapping[str, Any], text: str, document: ParsedDocument, path: Path) -> Json:
    """Return the value of a text with the type that the schema requires.

    For a string, the result is the text. Otherwise the result is the value of the YAML scalar, such
    as True for `true`.
    Raises UserError if the schema requires a list or a mapping.
    """
    if schema.get("type") in ("object", "array"):
        raise _error(
            f"the key {shown(path[-1])} needs a list or a mapping, but a ConfigMap "
            "has only strings",
            f"Use a functionConfig of the kind {KIND} ({API_VERSION}), and set the key in spec",
            document,
            path,
        )
    return text if schema.get("type") == "string" else resolve_plain(text)


def _error(problem: str, fix: str, document: ParsedDocument, path: Path) -> UserError:
    return UserError(problem, fix, document.location_of(path, fallback=path[:1]))
