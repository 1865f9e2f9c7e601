"""The report of `postrender explain` as JSON; explain.schema.json describes the format."""

from __future__ import annotations

import json

from postrender.diff.formats.json import Json, object_json
from postrender.diff.formats.reporter import Reporter
from postrender.errors import Finding
from postrender.explain.build import Explanation, ObjectEntry

TYPE_CHECKING = False
if TYPE_CHECKING:
    from postrender.diff.values import Terminal


class JsonReporter(Reporter):
    """The document for programs."""

    file_suffix = "json"
    escapes = (":", "\\u0023")  # no line begins with text from the input

    def render(self, explanation: Explanation, terminal: Terminal) -> str:
        """Return a report as JSON that conforms to explain.schema.json."""
        document = {
            "version": 1,
            "objects": [_object(entry) for entry in explanation.objects],
            "earlier": [
                {
                    "object": object_json(entry.identity),
                    "baseName": entry.base_name,
                    "number": entry.number,
                    "decision": entry.decision,
                    "reason": entry.reason,
                }
                for entry in explanation.earlier
            ],
            "attacher": {
                "groups": list(explanation.attach_groups),
                "mode": explanation.mode,
                "reason": explanation.mode_reason,
            },
            "findings": [_finding(finding) for finding in explanation.findings],
        }
        return json.dumps(document, indent=2, ensure_ascii=False) + "\n"


def _object(entry: ObjectEntry) -> Json:
    return {
        "object": object_json(entry.identity),
        "strategy": entry.strategy,
        "reason": entry.reason,
        "revision": entry.revision,
        "keepsOriginal": bool(entry.keep_reason),
        "keepReason": entry.keep_reason,
        "attachGroup": entry.attach_group,
        "references": [
            {
                "object": object_json(reference.identity),
                "line": reference.line,
                "path": reference.path,
                "source": reference.source,
                "isRewritten": reference.is_rewritten,
            }
            for reference in entry.references
        ],
    }


def _finding(finding: Finding) -> Json:
    location = finding.location
    return {
        "code": finding.code,
        "strict": finding.strict,
        "line": location.line,
        "document": location.document,
        "template": location.template,
        "object": location.subject,
        "path": location.path,
        "severity": finding.severity,
        "problem": finding.problem,
        "fix": finding.fix,
    }
