"""A preview as JSON, for programs; diff.schema.json describes it and promises what stays."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any

from postrender.diff.model import (
    ADDED,
    CHANGED,
    CONFIG,
    DROPPED,
    ENDS,
    ENV,
    HOOK,
    IMAGE,
    NEW,
    NEXT_PODS,
    NEXT_RUN,
    NO_PODS,
    REFUSED,
    REMOVED,
    RETAINED,
    REUSED,
    ROLLS,
    STARTS,
    STAYS,
    SUPERSEDED,
    UNCHANGED,
    Blob,
    Cause,
    FieldChange,
    Hunk,
    KeyChange,
    Preview,
)
from postrender.diff.wording.wording import NO_NEWLINE
from postrender.kubernetes.kinds import Identity

TYPE_CHECKING = False
if TYPE_CHECKING:
    from postrender.diff.wording.terminal import Terminal

FILE_SUFFIX = "json"

VERSION = 1

_CHANGES = (ADDED, REMOVED, CHANGED, UNCHANGED)
_EFFECTS = (ROLLS, STARTS, ENDS, NEXT_RUN, NEXT_PODS, HOOK, REFUSED, NO_PODS, STAYS)
_REVISIONS = (NEW, REUSED, SUPERSEDED, RETAINED, DROPPED)

Json = dict[str, Any]


def render(preview: Preview, terminal: Terminal) -> str:
    """Return a preview as JSON that fits diff.schema.json."""
    document = {
        "version": VERSION,
        "old": preview.old,
        "new": preview.new,
        "hasChanges": preview.has_changes,
        "summary": _summary(preview),
        "contents": [
            {
                "object": _object(each.identity),
                "change": each.change,
                "strategy": each.strategy,
                "oldRevision": each.old_revision,
                "newRevision": each.new_revision,
                "keys": [_key(key) for key in each.keys],
                "fields": _fields(each.fields),
                "users": [_object(user) for user in each.users],
                "formerUsers": [_object(user) for user in each.former],
                "note": each.note,
            }
            for each in preview.contents
        ],
        "workloads": [
            {
                "object": _object(each.identity),
                "change": each.change,
                "effect": _word(each.effect),
                "causes": [_cause(cause) for cause in each.causes],
                "via": _object(each.via) if each.via else None,
                "inPlace": [_object(target) for target in each.in_place],
                "fields": _fields(each.fields),
            }
            for each in preview.workloads
        ],
        "revisions": [
            {
                "object": _object(each.identity),
                "name": each.name,
                "change": each.change,
                "isCarried": each.is_retained,
            }
            for each in preview.revisions
        ],
        "objects": [
            {
                "object": _object(each.identity),
                "change": each.change,
                "fields": _fields(each.fields),
            }
            for each in preview.objects
        ],
        "undecided": [
            {"location": each.location, "problem": each.problem, "fix": each.fix}
            for each in preview.undecided
        ],
        "graph": {
            "nodes": [
                {
                    "object": _object(node.identity),
                    "role": node.role,
                    "change": node.change,
                    "effect": _word(node.effect),
                }
                for node in preview.graph.nodes
            ],
            "edges": [
                {
                    "source": edge.source,
                    "target": edge.target,
                    "label": edge.label,
                    "change": edge.change,
                }
                for edge in preview.graph.edges
            ],
        },
    }
    return json.dumps(document, indent=2, ensure_ascii=False) + "\n"


def _summary(preview: Preview) -> Json:
    return {
        "contents": _counts(_CHANGES, (each.change for each in preview.contents)),
        "workloads": _counts(_EFFECTS, (each.effect for each in preview.workloads)),
        "revisions": _counts(_REVISIONS, (each.change for each in preview.revisions)),
        "objects": _counts(_CHANGES[:3], (each.change for each in preview.objects)),
        "undecided": len(preview.undecided),
    }


def _counts(every: Iterable[str], found: Iterable[str]) -> Json:
    """Return how often each word is found, those too that never are."""
    counts = Counter(found)
    return {_word(word): counts[word] for word in every}


def _word(text: str) -> str:
    """Return a word of the model as one word: `nextRun`."""
    first, *more = text.split(" ")
    return first + "".join(word.capitalize() for word in more)


def _object(identity: Identity) -> Json:
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
            "object": _object(cause.subject) if cause.subject else None,
            "what": cause.what,
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
            "variable": cause.what,
            "old": cause.old,
            "new": cause.new,
        }
    return {"kind": cause.kind, "field": _field(cause.field) if cause.field else None}
