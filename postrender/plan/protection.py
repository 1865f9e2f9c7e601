"""Findings about old pods that can lose the old content of their ConfigMaps and Secrets."""

from __future__ import annotations

from collections.abc import Iterator

from postrender.config.settings import CHECKSUM
from postrender.errors import UNPROTECTED, Finding, Location
from postrender.inventory.model import Item
from postrender.plan.model import PlanContext

_MAX_LISTED = 3


def find_unprotected(context: PlanContext) -> Iterator[Finding]:
    """Return a finding if the apply of a later output can delete the revisions of this output.

    Helm, Argo CD and Flux delete these revisions only if the attacher is off and --previous is not
    set. If the attacher is off, the revisions do not have the annotations that prevent the
    deletion. If --previous is not set, the next output lacks the revisions.
    """
    settings = context.settings
    if context.names and not (settings.attacher.is_enabled or settings.history.previous):
        yield Finding(
            code=UNPROTECTED,
            problem="the attacher is off and --previous is not set, so the next release can delete "
            "revisions that old pods still use",
            fix="Enable the attacher, or pass the previous output with --previous",
            location=Location(context.inventory.stream.source),
            strict=True,
        )


def find_overwritten(context: PlanContext) -> Iterator[Finding]:
    """Return a note if workloads use objects with the strategy checksum.

    These objects keep their name, so old pods can read new content.
    """
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
    if items:
        yield Finding(
            code="checksum",
            problem="with the strategy checksum, a restarted old pod reads the new content of "
            f"{_listed(items)}",
            fix="If old pods need the old content, use the strategy rename",
            location=context.inventory.location_of(items[0]),
        )


def _listed(items: list[Item]) -> str:
    names = [str(item.identity) for item in items]
    if len(names) > _MAX_LISTED:
        names[_MAX_LISTED:] = [f"{len(names) - _MAX_LISTED} more"]
    *first, last = names
    return f"{', '.join(first)} and {last}" if first else last
