"""The values of configuration files, and the hash key for Secrets.

*Values* are nested mappings with the keys of postrender.yaml. An absent key has the default in
config.schema.json. `cli/settings` merges the values of a file with those of a functionConfig, of
environment variables and of options.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping

from postrender.config.find import (
    Source,
    check_trust,
    extended_file,
    merge_extended,
    path_next_to,
)
from postrender.config.settings import Values
from postrender.config.validate import unknown_key, validate
from postrender.errors import Location, UserError, raise_all
from postrender.kubernetes.hashing import HashKey
from postrender.records import NamedTuple
from postrender.text import CONFIG_SCHEMA, packaged_text, shown
from postrender.yaml.document import MAX_CHARACTERS, ParsedDocument, parse_document
from postrender.yaml.paths import Json, Path, value_at

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

# The apiVersion and kind of a configuration in the form of a Kubernetes object. Some tools accept
# only Kubernetes objects.
API_VERSION, KIND = "postrender/v1alpha1", "Postrender"
_OTHER_FILE = "Check the file, or pass another file with --config"
_OBJECT_KEYS = ("apiVersion", "kind", "metadata", "spec")


class ConfigFile(NamedTuple):
    """A configuration file with validated values.

    root: the path of `values` in the document, which is ("spec",) in a Kubernetes object.
    """

    file: str
    document: ParsedDocument
    root: Path
    values: Values

    def location_of(self, path: Path) -> Location:
        """The location of a value. path: the path in `values`."""
        return self.document.location_of((*self.root, *path))


def load_config(source: Source) -> Values:
    """The values of a configuration file, merged with those of the files that it extends.

    A file that cannot be read, is invalid or needs more trust is a UserError.
    """
    first, *others = load_files(source)
    values: Any = first.values
    for other in others:
        values = merge_extended(other.values, values)
    return dict(values)


def load_files(source: Source) -> list[ConfigFile]:
    """A configuration file, then the files that it extends."""
    files = [_load_file(source.file, source)]
    while files[-1].values.get("extends"):
        last = files[-1]
        earlier = [file.file for file in files]
        value, location = last.values["extends"], last.location_of(("extends",))
        path = extended_file(value, last.file, earlier, source, location)
        fix = f"Check the file, or fix `extends` in {last.file}"
        files.append(_load_file(path, source, fix))
    return files


def _load_file(file: str, source: Source, fix: str = _OTHER_FILE) -> ConfigFile:
    """A valid configuration file.

    source: the source of the first file, which defines the trust.
    fix: the fix for a file that cannot be read.
    """
    document, values = _read_document(file, fix, source)
    root: Path = ()
    if is_config_object(values):
        root, values = ("spec",), object_values(values, document, ())
    elif values is not None:
        _check_object(values, document)
        validate(values, document)
    values = values if isinstance(values, dict) else {}
    if values.get("secretsHashKeyFile"):
        # No commit has the key, so a configuration in git means the file in the working tree.
        on_disk = os.path.join(source.repository, file[len(source.commit) :])
        key_file = path_next_to(on_disk if source.read else file, values["secretsHashKeyFile"])
        values = {**values, "secretsHashKeyFile": key_file}
    config_file = ConfigFile(file=file, document=document, root=root, values=values)
    check_trust(config_file.values, source, config_file.location_of)
    return config_file


def _read_document(path: str, fix: str, source: Source) -> tuple[ParsedDocument, Json]:
    try:
        if source.read:
            text = source.read(path) or ""
        else:
            with open(path, encoding="utf-8") as file:
                text = file.read(MAX_CHARACTERS + 1)  # a device need not end
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "the file is not UTF-8"
        raise UserError(
            f"postrender cannot read the configuration ({reason})", fix, Location(path)
        ) from None
    document = parse_document(text, Location(path, 1))
    data = document.data
    _check_duplicate_keys(document)
    return document, data


def _check_duplicate_keys(document: ParsedDocument) -> None:
    errors = []
    for duplicate in document.duplicate_keys():
        location = document.nodes.location_of(duplicate.key)
        line = document.nodes.location_of(duplicate.first).line
        problem = f"the key {shown(duplicate.path[-1])} is also on line {line}"
        errors.append(UserError(problem, "Remove one of the two keys", location))
    raise_all(errors)


def _check_object(data: Json, document: ParsedDocument) -> None:
    """Raise UserError for data that is almost a configuration object."""
    version, kind = str(value_at(data, ("apiVersion",))), value_at(data, ("kind",))
    if isinstance(kind, str) and value_at(data, ("metadata",)) and kind != KIND:
        raise UserError(
            f"the file is a {kind}, expected a configuration",
            "Pass the file to postrender check, or write a configuration",
            document.location_of(("kind",)),
        )
    if kind == KIND or version.startswith(API_VERSION.partition("/")[0] + "/"):
        key = "apiVersion" if kind == KIND else "kind"
        value = value_at(data, (key,))
        actual = "missing" if value is None else shown(value)
        expected = API_VERSION if key == "apiVersion" else KIND
        raise UserError(
            f"the {key} is {actual}, expected {expected}",
            f"Write the apiVersion {API_VERSION} and the kind {KIND}",
            document.location_of((key,)),
        )


def is_config_object(data: Json) -> bool:
    """Whether data has the form of a Kubernetes object, with the settings in `spec`."""
    return (value_at(data, ("apiVersion",)), value_at(data, ("kind",))) == (API_VERSION, KIND)


def object_values(data: Json, document: ParsedDocument, path: Path) -> Values:
    """The valid values in the spec of a configuration object.

    path: the path of the object in the document.
    """
    for key in data if isinstance(data, dict) else ():
        if key not in _OBJECT_KEYS:
            schema = {"properties": {"spec": json.loads(packaged_text(CONFIG_SCHEMA))}}
            location = document.location_of_key((*path, key))
            raise unknown_key((*path, key), _OBJECT_KEYS, schema, location)
    spec = value_at(data, ("spec",))
    if spec is None:
        return {}
    validate(spec, document, lambda key_path: (*path, "spec", *key_path))
    return spec if isinstance(spec, dict) else {}


def defaults() -> Values:
    """The values in the schema."""
    return _defaults(json.loads(packaged_text(CONFIG_SCHEMA)))


def _defaults(schema: Mapping[str, Any]) -> Values:
    # If the default of a mapping is {}, return the defaults of its keys. Only the pod template
    # keeps the default {}, because its keys do not have defaults. Only the pod template has a
    # key `spec`.
    return {
        key: part["default"]
        if part.get("default") != {} or "spec" in part.get("properties", {})
        else _defaults(part)
        for key, part in schema["properties"].items()
    }


def merge_values(base: Values, overrides: Values) -> Values:
    """`base` updated with `overrides`. Nested mappings are merged by key."""
    merged = dict(base)
    for key, value in overrides.items():
        current = merged.get(key)
        if isinstance(current, dict) and isinstance(value, dict):
            merged[key] = merge_values(current, value)
        else:
            merged[key] = value
    return merged


VARIABLE = "POSTRENDER_SECRETS_HASH_KEY"

_MIN_BYTES, _MAX_BYTES = 16, 4096
_LINE_BREAK = b"\r\n"


def read_hash_key(option: str, configured: str) -> HashKey | None:
    """The hash key for the names of Secrets, None if it is not set.

    postrender never writes the key to an output, a message or a log.
    option: the path in --secrets-hash-key-file, which overrides VARIABLE. "" for none.
    configured: `option`, or else the path in secretsHashKeyFile, which VARIABLE overrides.
    """
    variable = os.environ.get(VARIABLE, "")
    if variable and not option:
        return _key(os.fsencode(variable), Location(VARIABLE))
    if not configured:
        return None
    fix = f"Fix the path in secretsHashKeyFile, or set {VARIABLE}"
    if option:
        fix = f"Fix the path in --secrets-hash-key-file, or remove the option and set {VARIABLE}"
    return _key(_read_key_file(configured, fix), Location(configured))


def _read_key_file(file: str, fix: str) -> bytes:
    try:
        with open(file, "rb") as key_file:
            # Read one byte more than the longest key with its line break, to detect a longer key.
            return key_file.read(_MAX_BYTES + len(_LINE_BREAK) + 1)
    except (OSError, ValueError) as error:  # ValueError: a NUL in the name
        reason = error.strerror if isinstance(error, OSError) else str(error)
        problem = f"postrender cannot read the hash key ({reason})"
        raise UserError(problem, fix, Location(file)) from None


def _key(content: bytes, location: Location) -> HashKey:
    """A key of the right length, without final line breaks."""
    is_cut = len(content) > _MAX_BYTES + len(_LINE_BREAK)
    key = content if is_cut else content.rstrip(_LINE_BREAK)
    if not _MIN_BYTES <= len(key) <= _MAX_BYTES:
        raise UserError(
            f"the hash key has {len(key)} bytes, expected {_MIN_BYTES} to {_MAX_BYTES}"
            if len(key) <= _MAX_BYTES
            else f"the hash key has more than {_MAX_BYTES} bytes",
            "Create a key with `openssl rand -hex 32`",
            location,
        )
    return HashKey(key)
