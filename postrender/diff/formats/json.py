"""A preview as JSON, for programs. diff.schema.json describes the format and its stability."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator

from postrender.diff.formats import Reporter
from postrender.diff.hunks import NO_NEWLINE
from postrender.diff.model import (
    ADDED,
    CHANGED,
    CONFIG,
    DROPPED,
    EFFECTS,
    ENV,
    IMAGE,
    NEW,
    REMOVED,
    RETAINED,
    REUSED,
    SUPERSEDED,
    UNCHANGED,
    Blob,
    Cause,
    ContentChange,
    Fate,
    FieldChange,
    Graph,
    Hunk,
    KeyChange,
    Preview,
    RevisionChange,
    Risk,
    WorkloadChange,
)
from postrender.kubernetes.kinds import Identity

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from postrender.diff.values import Terminal

    Json = dict[str, Any]

VERSION = 1

_CHANGES = (ADDED, REMOVED, CHANGED, UNCHANGED)
_REVISIONS = (NEW, REUSED, SUPERSEDED, RETAINED, DROPPED)


class JsonReporter(Reporter):
    """The document for programs."""

    file_suffix = "json"
    escapes = (":", "\\u0023")  # no line begins with text from the input

    def render(self, preview: Preview, terminal: Terminal) -> str:
        """A preview as JSON that conforms to diff.schema.json."""
        document = {
            "version": VERSION,
            "old": preview.old,
            "new": preview.new,
            "configuration": preview.configuration or "",
            "oldConfiguration": preview.old_configuration,
            "hasChanges": preview.has_changes,
            "summary": _summary(preview),
            "risks": [_risk(risk) for risk in preview.risks],
            "contents": [content_json(content) for content in preview.contents],
            "workloads": [_workload(workload) for workload in preview.workloads],
            "revisions": [_revision(revision) for revision in preview.revisions],
            "objects": [
                {
                    "object": object_json(change.identity),
                    "change": change.change,
                    "fields": _fields(change.fields),
                    "note": change.note,
                }
                for change in preview.objects
            ],
            "undecided": [
                {"location": item.location, "problem": item.problem, "fix": item.fix}
                for item in preview.undecided
            ],
            "graph": _graph(preview.graph),
        }
        return json.dumps(document, indent=2, ensure_ascii=False) + "\n"


def _summary(preview: Preview) -> Json:
    return {
        "risks": len(preview.risks),
        "contents": _counts(_CHANGES, (content.change for content in preview.contents)),
        "workloads": _counts(EFFECTS, (workload.effect for workload in preview.workloads)),
        "revisions": _counts(_REVISIONS, (revision.change for revision in preview.revisions)),
        "objects": _counts(_CHANGES[:3], (change.change for change in preview.objects)),
        "undecided": len(preview.undecided),
    }


def _counts(words: Iterable[str], values: Iterable[str]) -> Json:
    counts = Counter(values)
    return {_camel_case(word): counts[word] for word in words}


def _risk(risk: Risk) -> Json:
    return {
        "code": risk.code,
        "object": object_json(risk.identity),
        "path": risk.path,
        "fact": risk.fact,
        "consequence": risk.consequence,
    }


def content_json(content: ContentChange) -> Json:
    """The change of a ConfigMap or Secret, as in diff.schema.json."""
    return {
        "object": object_json(content.identity),
        "change": content.change,
        "strategy": content.strategy,
        "oldRevision": content.old_revision,
        "newRevision": content.new_revision,
        "keys": [_key(key) for key in content.keys],
        "fields": _fields(content.fields),
        "users": [object_json(user) for user in content.users],
        "formerUsers": [object_json(user) for user in content.former],
        "note": content.note,
        "fate": _fate(content.fate),
        "parts": list(content.parts),
    }


def _fate(fate: Fate | None) -> Json | None:
    if fate is None:
        return None
    return {
        "outcome": _camel_case(fate.outcome),
        "holders": list(fate.holders),
        "historyLimits": list(fate.limits),
        "isOptional": fate.is_optional,
    }


def _workload(workload: WorkloadChange) -> Json:
    return {
        "object": object_json(workload.identity),
        "change": workload.change,
        "effect": _camel_case(workload.effect),
        "causes": [_cause(cause) for cause in workload.causes],
        "via": object_json(workload.via) if workload.via else None,
        "replacement": workload.replacement,
        "inPlace": [object_json(target) for target in workload.in_place],
        "fields": _fields(workload.fields),
    }


def _revision(revision: RevisionChange) -> Json:
    return {
        "object": object_json(revision.identity),
        "name": revision.name,
        "change": revision.change,
        "isRetained": revision.is_retained,
        "lostOwners": list(revision.lost_owners),
    }


def _graph(graph: Graph) -> Json:
    nodes = [
        {
            "object": object_json(node.identity),
            "role": node.role,
            "change": node.change,
            "effect": _camel_case(node.effect),
        }
        for node in graph.nodes
    ]
    edges = [
        {"source": edge.source, "target": edge.target, "label": edge.label, "change": edge.change}
        for edge in graph.edges
    ]
    return {"nodes": nodes, "edges": edges}


def _camel_case(text: str) -> str:
    first, *rest = text.split(" ")
    return first + "".join(word.capitalize() for word in rest)


def object_json(identity: Identity) -> Json:
    """An identity as JSON; `postrender explain` uses the same form."""
    return {
        "group": identity.group,
        "kind": identity.kind,
        "namespace": identity.namespace or "",
        "name": identity.name,
    }


def _key(key: KeyChange) -> Json:
    return {
        "key": key.key,
        "change": key.change,
        "diff": "".join(f"{line}\n" for hunk in key.hunks for line in _hunk_lines(hunk)),
        "fields": _fields(key.fields),
        "remark": key.remark,
        "oldBinary": _blob(key.old_blob),
        "newBinary": _blob(key.new_blob),
    }


def _hunk_lines(hunk: Hunk) -> Iterator[str]:
    yield f"@@ -{hunk.old},{hunk.old_count} +{hunk.new},{hunk.new_count} @@"
    for line in hunk.lines:
        yield line.sign + line.text
        if line.is_open:
            yield NO_NEWLINE


def _blob(blob: Blob | None) -> Json | None:
    return {"size": blob.size, "sha256": blob.digest} if blob else None


def _fields(fields: Iterable[FieldChange]) -> list[Json]:
    return [_field(field) for field in fields]


def _field(field: FieldChange) -> Json:
    return {"path": field.path, "change": field.change, "old": field.old, "new": field.new}


def _cause(cause: Cause) -> Json:
    if cause.kind == CONFIG:
        return {
            "kind": cause.kind,
            "object": object_json(cause.subject) if cause.subject else None,
            "what": cause.reason,
            "keys": list(cause.keys),
        }
    if cause.kind == IMAGE:
        return {
            "kind": cause.kind,
            "container": cause.container,
            "old": cause.old,
            "new": cause.new,
        }
    if cause.kind == ENV:
        return {
            "kind": cause.kind,
            "container": cause.container,
            "variable": cause.variable,
            "old": cause.old,
            "new": cause.new,
        }
    return {"kind": cause.kind, "field": _field(cause.field) if cause.field else None}
