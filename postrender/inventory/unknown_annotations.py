"""Annotations under the prefix of postrender that postrender does not know: typing mistakes."""

from __future__ import annotations

from collections.abc import Iterator

from postrender.errors import Finding
from postrender.inventory.build import Inventory
from postrender.inventory.model import Item
from postrender.kubernetes import annotations as known_annotations
from postrender.kubernetes.annotations import PREFIX, USER_ANNOTATIONS

_KNOWN = frozenset(
    value
    for value in vars(known_annotations).values()
    if isinstance(value, str) and value.startswith(PREFIX)
)


def find_unknown_annotations(inventory: Inventory) -> Iterator[Finding]:
    """Yield a finding for each annotation of an object that postrender would not read."""
    for item in inventory.items:
        for key in item.annotations:
            if key.startswith(PREFIX) and key not in _KNOWN:
                yield _finding(inventory, item, key)


def _finding(inventory: Inventory, item: Item, key: str) -> Finding:
    import difflib

    near = difflib.get_close_matches(key, USER_ANNOTATIONS, 1)
    return Finding(
        code="unknown-annotation",
        problem=f"the annotation {key} is not one that postrender reads",
        fix=f"Did you mean {near[0]}?" if near else f"Use one of {', '.join(USER_ANNOTATIONS)}",
        location=inventory.location_of(item),
    )
