"""Duplicate keys in a mapping.

For kubectl, Helm and the API server, the last value counts. The exception is an ambiguous pair of
keys, see check_duplicate_keys.
"""

from __future__ import annotations

from postrender.errors import Finding, UserError
from postrender.yaml.document import ParsedDocument
from postrender.yaml.mappings import DuplicateKey
from postrender.yaml.paths import Path


def duplicate_key_findings(document: ParsedDocument) -> tuple[Finding, ...]:
    """Return a finding for each duplicate key of a document."""
    return tuple(_finding(document, duplicate) for duplicate in document.duplicate_keys())


def _finding(document: ParsedDocument, duplicate: DuplicateKey) -> Finding:
    line = document.nodes.location_of(duplicate.first).line
    effect = f"this value overrides the value on line {line}"
    if duplicate.is_ambiguous:
        effect = f"kubectl picks this value or the value on line {line} at random"
    return Finding(
        code="duplicate-key",
        problem=f"the key {duplicate.path[-1]!r} is duplicated, and {effect}",
        fix="Remove one of the two keys; kustomize rejects duplicate keys",
        location=document.nodes.location_of(duplicate.key, duplicate.path),
    )


def check_duplicate_keys(document: ParsedDocument, path: Path) -> None:
    """Raise UserError if an object has an ambiguous pair of keys; path: of the object.

    For keys such as an unquoted `on` and a quoted "true", sigs.k8s.io/yaml picks one value at
    random. A revision would then have a hash of content that the API server may not store.
    """
    for duplicate in document.duplicate_keys():
        if duplicate.is_ambiguous and duplicate.path[: len(path)] == path:
            raise UserError(
                f"the keys '{duplicate.first.value}' and '{duplicate.key.value}' are the same key "
                f"in JSON, and kubectl picks one of them at random",
                "Remove one of the two keys",
                document.nodes.location_of(duplicate.key, duplicate.path),
            )
