"""Findings about old pods that lose the content with which they were released."""

from __future__ import annotations

from postrender.config.settings import CHECKSUM
from postrender.errors import UNPROTECTED, Finding, Location
from postrender.inventory.model import Item
from postrender.plan.model import PlanContext

_MOST_LISTED = 3


def find_unprotected(context: PlanContext) -> list[Finding]:
    """Return a finding if old pods may lose the revisions of this output.

    Without an attacher, revisions have no annotations against pruning. Without a history, the next
    output does not have the revisions of this output.
    """
    settings = context.settings
    if not context.names or settings.attacher.is_enabled or settings.history.previous:
        return []
    return [
        Finding(
            code=UNPROTECTED,
            problem="the attacher is off and --previous is not set, so the next upgrade deletes "
            "revisions that old pods still use",
            fix="Enable the attacher, or pass --previous",
            location=Location(context.inventory.stream.source),
            strict=True,
        )
    ]


def find_overwritten(context: PlanContext) -> list[Finding]:
    """Return a note if workloads use objects with the strategy checksum."""
    used = {
        target.key
        for item in context.inventory.items
        if item.is_rewritable
        for target in context.targets(item)
    }
    items = [
        decision.item
        for key, decision in context.decisions.items()
        if decision.strategy == CHECKSUM and key in used
    ]
    if not items:
        return []
    verb = "keeps its name" if len(items) == 1 else "keep their names"
    return [
        Finding(
            code="checksum",
            problem=f"{_listed(items)} {verb} (strategy checksum), so an old pod that restarts "
            "reads the new content",
            fix="Use the strategy rename if old pods need the old content",
            location=context.inventory.location_of(items[0]),
        )
    ]


def _listed(items: list[Item]) -> str:
    names = [str(item.identity) for item in items]
    if len(names) > _MOST_LISTED:
        names[_MOST_LISTED:] = [f"{len(names) - _MOST_LISTED} more"]
    *first, last = names
    return f"{', '.join(first)} and {last}" if first else last
