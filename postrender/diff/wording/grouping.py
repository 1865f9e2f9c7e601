"""Changes that differ in nothing but the object: a chart's version in a label of all that it makes.

Told once for all of them, they do not bury what changes in one object alone.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Iterable

from postrender.diff.model import CHANGED, ContentChange, ObjectChange, WorkloadChange

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import TypeVar

    Change = TypeVar("Change", WorkloadChange, ContentChange, ObjectChange)


def find_alike(changes: Iterable[Change]) -> list[list[Change]]:
    """Return changes in groups of those that are alike, each in order; alone ones come first."""
    groups: dict[Hashable, list[Change]] = defaultdict(list)
    for number, change in enumerate(changes):
        groups[_what_changes(change) or number].append(change)
    return sorted(groups.values(), key=lambda group: len(group) > 1)


def _what_changes(change: WorkloadChange | ContentChange | ObjectChange) -> Hashable:
    """Return what changes of an object, None where its name says all or it has texts of its own.

    A Secret is never like another one: that they are told alike would say so of what they hold.
    """
    if isinstance(change, WorkloadChange):
        details = change.causes, change.fields, change.in_place, change.via
        return (change.change, change.effect, repr(details)) if any(details) else None
    if isinstance(change, ContentChange):
        if change.keys or not change.fields or change.change != CHANGED:
            return None
        return change.identity.kind, change.strategy, change.note, repr(change.fields)
    return repr(change.fields) if change.fields else None
