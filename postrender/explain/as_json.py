"""An explanation as JSON, for programs; explain.schema.json describes the JSON."""

from __future__ import annotations

import json

from postrender.explain.model import Explanation

TYPE_CHECKING = False
if TYPE_CHECKING:
    from postrender.diff.wording.terminal import Terminal


def render(explanation: Explanation, terminal: Terminal) -> str:
    """Return an explanation as JSON; keys are stable within a major version."""
    document = {
        "version": 1,
        "objects": [
            {
                "object": entry.identity,
                "namespace": entry.namespace,
                "strategy": entry.strategy,
                "reason": entry.reason,
                "revision": entry.revision,
                "keepsOriginal": entry.keeps_original,
                "set": entry.group_name,
                "users": [
                    {"object": user.identity, "place": user.location, "follows": user.follows}
                    for user in entry.users
                ],
            }
            for entry in explanation.entries
        ],
        "earlier": [
            {
                "object": earlier.identity,
                "namespace": earlier.namespace,
                "baseName": earlier.base_name,
                "order": earlier.order,
                "what": earlier.what,
                "reason": earlier.reason,
            }
            for earlier in explanation.earlier
        ],
        "attacher": {
            "sets": list(explanation.sets),
            "mode": explanation.mode,
            "reason": explanation.mode_reason,
        },
        "findings": [
            {
                "code": finding.code,
                "strict": finding.strict,
                "line": finding.location.line,
                "document": finding.location.document,
                "template": finding.location.template,
                "object": finding.location.subject,
                "path": finding.location.path,
                "severity": finding.severity,
                "problem": finding.problem,
                "fix": finding.fix,
            }
            for finding in explanation.findings
        ],
    }
    return json.dumps(document, indent=2, ensure_ascii=False) + "\n"
