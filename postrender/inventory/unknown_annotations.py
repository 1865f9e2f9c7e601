"""Findings about unknown annotations, such as misspelled annotations."""

from __future__ import annotations

import difflib
from collections.abc import Iterator

from postrender.errors import Finding
from postrender.inventory.build import Inventory
from postrender.inventory.model import Item
from postrender.kubernetes.annotations import PREFIX, USER_ANNOTATIONS, is_unknown


def find_unknown_annotations(inventory: Inventory) -> Iterator[Finding]:
    """Return a finding for each unknown annotation with the prefix `postrender/`."""
    for item in inventory.items:
        for key in item.annotations:
            if is_unknown(key):
                yield _finding(inventory, item, key)


def _finding(inventory: Inventory, item: Item, key: str) -> Finding:
    names = [annotation.removeprefix(PREFIX) for annotation in USER_ANNOTATIONS]
    similar = difflib.get_close_matches(key.removeprefix(PREFIX), names, 1)
    return Finding(
        code="unknown-annotation",
        problem=f"postrender does not know the annotation {key}, so the annotation has no effect",
        fix=f"Rename the annotation to {PREFIX}{similar[0]}"
        if similar
        else f"Remove the annotation, or use one of {', '.join(USER_ANNOTATIONS)}",
        location=inventory.location_of(item),
    )
