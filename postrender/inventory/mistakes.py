"""Findings and errors about duplicate keys in a mapping.

If a key is duplicated, kubectl, Helm and the API server use the last value.

A pair of keys is ambiguous if the keys differ in YAML, but are equal in JSON. An example is an
unquoted `on`, which is a boolean in YAML, and a quoted "true". kubectl, Helm and the API server
then pick one of the two values at random (sigs.k8s.io/yaml).
"""

from __future__ import annotations

from postrender.errors import Finding, UserError
from postrender.text.shown import shown
from postrender.yaml.document import ParsedDocument
from postrender.yaml.mappings import DuplicateKey
from postrender.yaml.parser import YamlNode
from postrender.yaml.paths import Path


def duplicate_key_findings(document: ParsedDocument) -> tuple[Finding, ...]:
    """Return a finding for each duplicate key of a document."""
    return tuple(_finding(document, duplicate) for duplicate in document.duplicate_keys())


def _finding(document: ParsedDocument, duplicate: DuplicateKey) -> Finding:
    line = document.nodes.location_of(duplicate.first).line
    problem = (
        f"the mapping has the key {shown(duplicate.path[-1])} again, and this value overrides the "
        f"value on line {line}"
    )
    return Finding(
        code="duplicate-key",
        problem=_error(document, duplicate).problem if duplicate.is_ambiguous else problem,
        fix="Remove one of the two keys",
        location=document.nodes.location_of(duplicate.key, duplicate.path),
    )


def _error(document: ParsedDocument, duplicate: DuplicateKey) -> UserError:
    line = document.nodes.location_of(duplicate.first).line
    return UserError(
        f"the keys {_as_written(duplicate.first)} (line {line}) and "
        f"{_as_written(duplicate.key)} are one key in JSON, and kubectl uses one of the two values "
        "at random",
        "Remove one of the two keys",
        document.nodes.location_of(duplicate.key, duplicate.path),
    )


def _as_written(key: YamlNode) -> str:
    """Return a key in backticks, with quotes if the key has quotes in the input."""
    return f"`{shown(key.value) if key.style else key.value}`"


def check_duplicate_keys(document: ParsedDocument, path: Path) -> None:
    """Raise UserError if the object at a path has an ambiguous pair of keys.

    Without this error, the hash in a revision name could cover one value, and the API server could
    store the other value.
    """
    for duplicate in document.duplicate_keys():
        if duplicate.is_ambiguous and duplicate.path[: len(path)] == path:
            raise _error(document, duplicate)
