"""A KRM function: the settings in its functionConfig, and findings and errors as its results.

A functionConfig has one of two kinds:

- An object of the kind `Postrender` has the settings of postrender.yaml in `spec`.
- A ConfigMap has the same settings in `data`, with dotted keys such as `attacher.image`. For
  example, kpt creates a ConfigMap from the arguments of `kpt fn eval … -- strict=true`.

The functionConfig overrides postrender.yaml. Somebody whom the user does not trust can write it.
Therefore, only `postrender fn` reads a functionConfig, and a setting that can do more than change
the output is an error.

The KRM Functions Specification v1 defines the field `results` of the ResourceList. Its severities
are `info` for a note, `warning`, and `error` for what ends the function: an error, or a finding
with the field `strict` if --strict is set. After an error, the items on stdout are the items of the
input, and the exit code is 1.
"""

from __future__ import annotations

import json
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Mapping, Sequence
from operator import itemgetter
from typing import Any

from postrender.config.find import FUNCTION_CONFIG, check_trust
from postrender.config.load import (
    API_VERSION,
    KIND,
    is_config_object,
    merge_values,
    object_values,
)
from postrender.config.settings import Values
from postrender.config.validate import validate
from postrender.errors import NOTE, WARNING, Finding, Location, UserError, sentences
from postrender.krm.input import INDEX_ANNOTATIONS, PATH_ANNOTATIONS, sole_index
from postrender.kubernetes.hashing import canonical_json
from postrender.kubernetes.kinds import roots_of, strings_at
from postrender.text import CONFIG_SCHEMA, packaged_text, shown, similar_words
from postrender.yaml.document import ParsedDocument, parse_document, parse_in
from postrender.yaml.edits import AddKeys, SetScalar
from postrender.yaml.node_edits import rewrite_object
from postrender.yaml.paths import Json, Path, value_at
from postrender.yaml.scalars import resolve_plain
from postrender.yaml.splice import edited_text
from postrender.yaml.stream import Stream, read_stream, stream_texts

_FIELD = "functionConfig"

Result = dict[str, Json]
# The severity of a result, by the severity of a finding that is not an error.
_SEVERITIES = {WARNING: "warning", NOTE: "info"}


def function_values(stream: Stream) -> Values:
    """The settings in the functionConfig of a ResourceList, as nested mappings."""
    document = _document_with_config(stream)
    if document is None:
        return {}
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


def _document_with_config(stream: Stream) -> ParsedDocument | None:
    """The ResourceList if it can have a functionConfig."""
    index = sole_index(stream)
    return parse_in(stream, index) if _FIELD in stream.texts[index] else None


def _state(value: Json) -> str:
    return "is missing" if value is None else f"is {shown(value)}"


def check_no_function_config(stream: Stream) -> None:
    """Raise UserError if the functionConfig of a ResourceList contains settings."""
    document = _document_with_config(stream)
    if document is None:
        return
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
    schema = json.loads(packaged_text(CONFIG_SCHEMA))
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
    """An entry of `data` as nested mappings, such as {"attacher": {"image": text}}."""
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
    """The part of a schema for a dotted key; path: of the entry in the document."""
    parents: list[str] = []
    for name in key.split("."):
        properties = schema.get("properties", {})
        if name not in properties:
            similar = similar_words(name, properties, 0.3)
            keys = [".".join([*parents, other]) for other in similar or properties]
            fix = f"Write one of the keys {', '.join(keys)}" if keys else "Remove the key"
            if similar:
                fix = f"Use {shown(keys[0])} instead, or remove the key"
            raise _error("the key is unknown", fix, document, path)
        schema = properties[name]
        parents.append(name)
    return schema


def _value(schema: Mapping[str, Any], text: str, document: ParsedDocument, path: Path) -> Json:
    """The text itself where the schema requires a string, or else its value in YAML."""
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


def with_error(
    stream: Stream, findings: Sequence[Finding], error: UserError, *, is_strict: bool
) -> list[str]:
    """The text of the input, in parts, with findings and an error as results."""
    texts = stream_texts(stream, list(stream.texts))
    objects = _Objects(stream)
    results = [objects.result_of(finding, is_strict=is_strict) for finding in findings]
    location = error.location or Location(stream.source)
    # An error in another file, such as the configuration, needs its location in the message.
    text = sentences(error.problem, error.fix) if location.source == stream.source else str(error)
    return _with_results(texts, [*results, objects.result("error", text, location)])


def with_findings(output: Sequence[str], stream: Stream, findings: Sequence[Finding]) -> list[str]:
    """The text of the output, in parts, with findings as results; stream: the input."""
    objects = _Objects(stream)
    # With --strict, a strict finding has ended the function before.
    results = [objects.result_of(finding, is_strict=False) for finding in findings]
    return _with_results(output, results)


def _with_results(parts: Sequence[str], results: Sequence[Result]) -> list[str]:
    """Add results, unless they are there already, to the text of a ResourceList in parts."""
    stream = read_stream("".join(parts).encode(), "")
    index, texts = sole_index(stream), list(stream.texts)
    parsed = parse_document(texts[index], Location(""))
    current = value_at(parsed.data, ("results",))
    earlier = current if isinstance(current, list) else []
    known = set(map(canonical_json, earlier))
    added = [result for result in results if canonical_json(result) not in known]
    if added and current is None:
        texts[index] = edited_text(parsed, [AddKeys((), {"results": added})], stream.newline)
    elif added:
        edit_all = SetScalar(("results",), [*earlier, *added])  # type: ignore[arg-type]
        start, end, new_text = rewrite_object(parsed.nodes, (), [edit_all], stream.newline)
        texts[index] = texts[index][:start] + new_text + texts[index][end:]
    return stream_texts(stream, texts)


class _Objects:
    """The objects of a ResourceList, which turn messages into results about an object."""

    def __init__(self, stream: Stream) -> None:
        parsed = parse_in(stream, sole_index(stream))
        # By subject, the first line and the data of each object.
        self.located: defaultdict[str, list[tuple[int, dict[str, Json]]]] = defaultdict(list)
        for path, data in roots_of(parsed.data):
            if isinstance(data, dict):
                # location_of sets the subject only for a path inside an object.
                location = parsed.location_of((*path, ""), fallback=path)
                self.located[location.subject].append((location.line, data))
        for found in self.located.values():
            found.sort(key=itemgetter(0))  # an alias can be below its anchor

    def result_of(self, finding: Finding, *, is_strict: bool) -> Result:
        is_error = finding.strict and is_strict
        severity = "error" if is_error else _SEVERITIES[finding.severity]
        text = f"{sentences(finding.problem, finding.fix)} [{finding.code}]"
        return self.result(severity, text, finding.location)

    def result(self, severity: str, message: str, location: Location) -> Result:
        """A result about the object at a location.

        If the location is not in an object, the message begins with the path of the location.
        """
        data = self.object_at(location)
        if data is None and location.path:
            message = f"{location.path}: {message}"
        result: Result = {"message": " ".join(message.split()), "severity": severity}
        if data is None:
            return result
        metadata = data.get("metadata")
        namespace = value_at(metadata, ("namespace",))
        result["resourceRef"] = {
            "apiVersion": data.get("apiVersion"),
            "kind": data.get("kind"),
            **({"namespace": namespace} if namespace else {}),
            "name": value_at(metadata, ("name",)),
        }
        if location.path:
            result["field"] = {"path": location.path}
        file = _file_of(data)
        if file:
            result["file"] = file
        return result

    def object_at(self, location: Location) -> dict[str, Json] | None:
        """The object at a location, None for a location outside of objects.

        Of several objects with the same kind and name, it is the last one that starts at or above
        the location.
        """
        found = self.located.get(location.subject, ()) if location.subject else ()
        index = bisect_right(found, location.line, key=itemgetter(0))
        return found[index - 1][1] if index else None


def _file_of(data: dict[str, Json]) -> Result:
    """The field `file` of a result, {} if no annotation has the path of the file."""
    annotations = strings_at(data, "annotations")
    paths = [annotations[name] for name in PATH_ANNOTATIONS if name in annotations]
    if not paths:
        return {}
    number = next((annotations[name] for name in INDEX_ANNOTATIONS if name in annotations), "")
    is_index = number.isdecimal() and len(number) < 10
    return {"path": paths[0], **({"index": int(number)} if is_index else {})}
