"""The report of `postrender explain` as text for a terminal."""

from __future__ import annotations

from collections.abc import Iterator

from postrender.config.settings import IGNORE, RENAME
from postrender.diff.formats.reporter import Reporter
from postrender.diff.values import capitalised, conjoined, counted, name_of
from postrender.explain.build import (
    FROM_AUTO_MOUNT,
    EarlierEntry,
    Explanation,
    ObjectEntry,
    ObjectReference,
)
from postrender.plan.model import DROP, LAST_TIME, REPLACED, RETAIN

TYPE_CHECKING = False
if TYPE_CHECKING:
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
        """Return a report as text."""
        lines = [line for entry in explanation.objects for line in _object_lines(entry)]
        lines += [line for entry in explanation.earlier for line in _earlier_lines(entry)]
        lines += [
            f"attacher {name} runs as a {explanation.mode}. {capitalised(explanation.mode_reason)}"
            for name in explanation.attach_groups
        ]
        lines.append(f"postrender would {_renames(explanation)}")
        return "\n".join(lines) + "\n"


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
