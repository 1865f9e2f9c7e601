"""Groups of objects with equal changes, such as a new chart version in the labels of each object.

A format describes the change of a group only once, so that repetitions do not hide other changes.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Iterable

from postrender.diff.model import CHANGED, ContentChange, ObjectChange, WorkloadChange
from postrender.diff.words import EFFECTS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import TypeVar

    Change = TypeVar("Change", WorkloadChange, ContentChange, ObjectChange)

_RANKS = {effect: rank for rank, effect in enumerate(EFFECTS)}


def group_equal(changes: Iterable[Change]) -> list[list[Change]]:
    """Return groups of equal changes.

    Groups with one change are first. Otherwise, the groups are in the order of `changes`.
    """
    groups: dict[Hashable, list[Change]] = defaultdict(list)
    for index, change in enumerate(changes):
        groups[_key(change) or index].append(change)
    return sorted(groups.values(), key=lambda group: len(group) > 1)


def group_by_effect(workloads: Iterable[WorkloadChange]) -> list[list[WorkloadChange]]:
    """Return groups of workloads with equal changes, the most important effect first."""
    return sorted(group_equal(workloads), key=lambda group: _RANKS[group[0].effect])


def _key(change: WorkloadChange | ContentChange | ObjectChange) -> Hashable:
    """Return a value that equal changes share, or None for a change that has its own group.

    The value for a Secret is None, because a group would reveal that Secrets have equal content.
    """
    if isinstance(change, WorkloadChange):
        details = change.causes, change.fields, change.in_place, change.via
        return (change.change, change.effect, repr(details)) if any(details) else None
    if isinstance(change, ContentChange):
        if change.keys or not change.fields or change.change != CHANGED:
            return None
        return change.identity.kind, change.strategy, change.note, repr(change.fields)
    return repr(change.fields) if change.fields else None
