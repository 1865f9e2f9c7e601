"""The report of `postrender explain`: text for a terminal, and JSON (explain.schema.json)."""

from __future__ import annotations

from collections.abc import Iterator

from postrender.config.settings import EXTERNAL, IGNORE, RENAME
from postrender.diff.formats import Reporter
from postrender.diff.formats.json import object_json
from postrender.diff.values import capitalised, counted, name_of
from postrender.diff.words import describe_configuration
from postrender.errors import Finding
from postrender.explain.build import (
    FROM_AUTO_MOUNT,
    EarlierEntry,
    Explanation,
    ObjectEntry,
    ObjectReference,
)
from postrender.plan.model import DROP, LAST_TIME, REPLACED, RETAIN
from postrender.terminal import BOLD, END, GREEN, GREY, MAGENTA, wrap
from postrender.text import JSON_ESCAPES, conjoined, visible, visible_json

TYPE_CHECKING = False
if TYPE_CHECKING:
    from postrender.diff.formats.json import Json
    from postrender.diff.values import Terminal

_DECISIONS = {
    RETAIN: "retained",
    LAST_TIME: "retained for the last time",
    DROP: "dropped",
    REPLACED: "replaced",
}


class TextReporter(Reporter):
    """The text for a terminal."""

    file_suffix = "txt"

    def render(self, explanation: Explanation, terminal: Terminal) -> str:
        """A report as text."""
        lines = [line for entry in explanation.objects for line in _object_lines(entry)]
        lines += [line for entry in explanation.earlier for line in _earlier_lines(entry)]
        form = "has only an inventory" if explanation.mode == EXTERNAL else "runs as a {mode}"
        reason = explanation.mode_reason
        if reason.startswith("attacher."):  # a key has no capital
            reason = f"the setting {reason}"
        lines += [
            f"attacher {name} {form.format(mode=explanation.mode)}. {capitalised(reason)}"
            for name in explanation.attach_groups
        ]
        lines.append(f"postrender would {_renames(explanation)}")
        lines += filter(None, [describe_configuration(explanation.configuration, str)])
        parts = (part for line in lines for part in _painted(visible(line), terminal))
        return "".join(f"{part}\n" for part in parts)


def _painted(line: str, terminal: Terminal) -> Iterator[str]:
    """A line as lines that fit the terminal, with the colour of its sort."""
    text = line.lstrip()
    indent = line[: len(line) - len(text)]
    colour = "" if indent else BOLD
    if text.startswith(("not renamed:", "also ", "Configuration", "No configuration")):
        colour = GREY
    elif text.startswith(("original kept:", "dropped:", "checksum:")):
        colour = MAGENTA
    elif " -> " in line and not indent:
        colour = BOLD + GREEN
    for part in wrap(text, terminal.width, indent, f"{indent}    "):
        yield f"{colour}{part}{END}" if colour and terminal.is_coloured else part


def _renames(explanation: Explanation) -> str:
    entries_by_kind: dict[str, list[ObjectEntry]] = {}
    for entry in explanation.objects:
        entries_by_kind.setdefault(entry.identity.kind, []).append(entry)
    counts = [
        f"{sum(entry.strategy == RENAME for entry in entries)} of {counted(len(entries), kind)}"
        for kind, entries in entries_by_kind.items()
    ]
    return f"rename {conjoined(counts)}" if counts else "not rename any object"


def _object_lines(entry: ObjectEntry) -> Iterator[str]:
    is_renamed = entry.strategy == RENAME
    arrow = f" -> {entry.revision or 'a revision'}" if is_renamed else ""
    yield f"{name_of(entry.identity)}{arrow}"
    references = [_reference(reference, is_renamed) for reference in entry.references]
    if is_renamed and references:
        # For a rename, the field `reason` would only repeat a reference.
        yield f"  rename: {references[0]}"
        yield from (f"  also {reference}" for reference in references[1:])
    else:
        strategy = "not renamed" if entry.strategy == IGNORE else entry.strategy
        yield f"  {strategy}: {entry.reason}"
        yield from (f"  {reference}" for reference in references)
    if entry.keep_reason:
        yield f"  original kept: {entry.keep_reason}"
    if entry.reloaders:
        yield f"  reloaded without a restart by {conjoined(entry.reloaders)}, which now rolls"


def _reference(reference: ObjectReference, is_renamed: bool) -> str:
    is_auto_mount = reference.source == FROM_AUTO_MOUNT
    location = reference.source if is_auto_mount else f"line {reference.line}, {reference.path}"
    keeps_name = is_renamed and not reference.is_rewritten
    note = "; postrender does not rewrite this reference" if keeps_name else ""
    return f"referenced by {name_of(reference.identity)} ({location}){note}"


def _earlier_lines(entry: EarlierEntry) -> Iterator[str]:
    number = f"revision {entry.number}" if entry.number else "the original"
    yield f"{name_of(entry.identity)}, {number} of {entry.base_name}"
    yield f"  {_DECISIONS[entry.decision]}: {entry.reason}"


class JsonReporter(Reporter):
    """The document for programs."""

    file_suffix = "json"
    escapes = JSON_ESCAPES

    def render(self, explanation: Explanation, terminal: Terminal) -> str:
        """A report as JSON that conforms to explain.schema.json."""
        document = {
            "version": 1,
            "configuration": explanation.configuration or "",
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
        return visible_json(document)


def _object(entry: ObjectEntry) -> Json:
    return {
        "object": object_json(entry.identity),
        "strategy": entry.strategy,
        "reason": entry.reason,
        "revision": entry.revision,
        "keepsOriginal": bool(entry.keep_reason),
        "keepReason": entry.keep_reason,
        "attachGroup": entry.attach_group,
        "reloadedBy": list(entry.reloaders),
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
