"""A preview as JSON, for programs. diff.schema.json describes the format and its stability."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator

from postrender.diff import model
from postrender.diff.formats import Reporter
from postrender.diff.lines import NO_NEWLINE
from postrender.kubernetes.kinds import Identity
from postrender.text import JSON_ESCAPES, visible_json

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from postrender.diff.values import Terminal

    Json = dict[str, Any]

VERSION = 1

_CHANGES = (model.ADDED, model.REMOVED, model.CHANGED, model.UNCHANGED)
_REVISIONS = (model.NEW, model.REUSED, model.SUPERSEDED, model.RETAINED, model.DROPPED)

_SECTIONS = ("risks", "contents", "workloads", "revisions", "objects", "undecided", "graph")

# The properties of each record, and of a cause by its kind.
_PROPERTIES = {
    model.Risk: "code object path fact consequence",
    model.ContentChange: (
        "object change strategy reason oldRevision newRevision keys fields users formerUsers note"
        " fate parts"
    ),
    model.KeyChange: "key change diff fields remark oldBinary newBinary",
    model.Blob: "size sha256",
    model.FieldChange: "path change old new",
    model.Fate: "outcome holders historyLimits isOptional",
    model.WorkloadChange: "object change effect causes via replacement inPlace fields",
    model.RevisionChange: "object name change isRetained lostOwners",
    model.ObjectChange: "object change fields note",
    model.Undecided: "location problem fix",
    model.Graph: "nodes edges",
    model.GraphNode: "object role change effect",
    model.Edge: "source target label change",
}
_CAUSES = {
    model.CONFIG: "kind object what keys",
    model.IMAGE: "kind container old new",
    model.ENV: "kind container variable old new",
    model.TEMPLATE: "kind field",
}
# The fields of records with another name than the property.
_FIELDS = {
    "formerUsers": "former",
    "historyLimits": "limits",
    "newBinary": "new_blob",
    "object": "identity",
    "oldBinary": "old_blob",
    "sha256": "digest",
    "what": "reason",
}
_UPPER = re.compile("[A-Z]")


class JsonReporter(Reporter):
    """The document for programs."""

    file_suffix = "json"
    escapes = JSON_ESCAPES

    def render(self, preview: model.Preview, terminal: Terminal) -> str:
        """A preview as JSON that conforms to diff.schema.json."""
        document = {
            "version": VERSION,
            "old": preview.old,
            "new": preview.new,
            "configuration": preview.configuration or "",
            "oldConfiguration": preview.old_configuration,
            "hasChanges": preview.has_changes,
            "summary": _summary(preview),
        }
        for section in _SECTIONS:
            document[section] = as_json(getattr(preview, section))
        return visible_json(document)


def _summary(preview: model.Preview) -> Json:
    return {
        "risks": len(preview.risks),
        "contents": _counts(_CHANGES, (content.change for content in preview.contents)),
        "workloads": _counts(model.EFFECTS, (workload.effect for workload in preview.workloads)),
        "revisions": _counts(_REVISIONS, (revision.change for revision in preview.revisions)),
        "objects": _counts(_CHANGES[:3], (change.change for change in preview.objects)),
        "undecided": len(preview.undecided),
    }


def _counts(words: Iterable[str], values: Iterable[str]) -> Json:
    counts = Counter(values)
    return {_camel_case(word): counts[word] for word in words}


def as_json(value: Any) -> Any:
    """A record of a preview with the records in it, as in diff.schema.json."""
    if isinstance(value, Identity):
        return object_json(value)
    is_cause = isinstance(value, model.Cause)
    properties = _CAUSES[value.kind] if is_cause else _PROPERTIES.get(type(value))
    if properties:
        return {name: _property(value, name) for name in properties.split()}
    return list(map(as_json, value)) if isinstance(value, tuple) else value


def object_json(identity: Identity) -> Json:
    """An identity as JSON; `postrender explain` uses the same form."""
    return {
        "group": identity.group,
        "kind": identity.kind,
        "namespace": identity.namespace or "",
        "name": identity.name,
    }


def _property(record: Any, name: str) -> Any:
    if name == "diff":
        return "".join(f"{line}\n" for hunk in record.hunks for line in _hunk_lines(hunk))
    if isinstance(record, model.Cause) and name == "object":
        return as_json(record.subject)
    field = _FIELDS.get(name) or _UPPER.sub(lambda letter: f"_{letter[0].lower()}", name)
    value = getattr(record, field)
    return _camel_case(value) if name in ("effect", "outcome") else as_json(value)


def _camel_case(text: str) -> str:
    first, *rest = text.split(" ")
    return first + "".join(word.capitalize() for word in rest)


def _hunk_lines(hunk: model.Hunk) -> Iterator[str]:
    yield f"@@ -{hunk.old},{hunk.old_count} +{hunk.new},{hunk.new_count} @@"
    for line in hunk.lines:
        yield line.sign + line.text
        if line.is_open:
            yield NO_NEWLINE
