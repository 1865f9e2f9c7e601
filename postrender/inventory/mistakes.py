"""Mistakes in the input: duplicate keys, Helm templates that are not rendered, no objects.

Of a duplicate key, kubectl, Helm and the API server use the last value. A pair of keys is ambiguous
if the keys differ in YAML, but are equal in JSON, such as an unquoted `on`, which is a boolean in
YAML, and a quoted "true". These tools then pick a value at random (sigs.k8s.io/yaml).
"""

from __future__ import annotations

from postrender.errors import Finding, Location, UserError
from postrender.inventory.prefilter import may_escape_names, root_kind
from postrender.kubernetes.kinds import group_kind_of, roots_of
from postrender.text import shown
from postrender.yaml.document import ParsedDocument, parse_document
from postrender.yaml.paths import Path
from postrender.yaml.stream import Document, Stream, has_content

TYPE_CHECKING = False
if TYPE_CHECKING:
    from postrender.yaml.nodes import DuplicateKey
    from postrender.yaml.parser import YamlNode


def duplicate_key_findings(document: ParsedDocument) -> tuple[Finding, ...]:
    """A finding for each duplicate key of a document."""
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
    """A key in backticks, with quotes if it has quotes in the input."""
    return f"`{shown(key.value) if key.style else key.value}`"


def check_duplicate_keys(document: ParsedDocument, path: Path) -> None:
    """Raise UserError if the object at a path has an ambiguous pair of keys.

    Without it, the hash in a revision name could cover one value, and the API server could store
    the other.
    """
    for duplicate in document.duplicate_keys():
        if duplicate.is_ambiguous and duplicate.path[: len(path)] == path:
            raise _error(document, duplicate)


_ACTION = "{{"


def template_error(error: UserError, text: str, location: Location) -> UserError | None:
    """A better error than that of the YAML parser, if the text looks like a Helm template.

    An action (`{{ … }}`) counts in the line of the error, and in the nearest non-empty line above.
    In any other line, it can be ConfigMap data.
    location: of the first line of the text.
    """
    if _ACTION not in text:
        return None
    line = error.location.line - location.line if error.location else 0
    lines = text.splitlines()
    above = [text_line for text_line in lines[:line] if text_line.strip()]
    if not any(_ACTION in text_line for text_line in (*above[-1:], *lines[line : line + 1])):
        return None
    return UserError(
        "the document looks like a Helm template that helm has not rendered",
        "Pass the output of: helm template NAME CHART",
        error.location,
    )


def find_no_objects(stream: Stream) -> Finding | None:
    """A finding if the input has content, but lacks Kubernetes objects."""
    documents = [document for document in stream.documents if has_content(document.text)]
    if not documents or any(map(_may_be_object, documents)):
        return None
    return Finding(
        code="no-objects",
        problem="the input does not contain Kubernetes objects",
        fix="Pass rendered manifests. If the input is the values file of a chart, pass the output "
        "of: helm template NAME CHART --values FILE",
        location=Location(stream.source),
    )


def _may_be_object(document: Document) -> bool:
    """Whether a document can contain a Kubernetes object, or is not YAML."""
    text = document.text
    if not may_escape_names(text) and not ("apiVersion" in text and "kind" in text):
        return False
    if root_kind(text):
        return True
    try:
        data = parse_document(text, Location("")).data
    except UserError:
        return True
    roots = [data, *(root for _, root in roots_of(data))]
    return any(group_kind_of(root) is not None for root in roots)
