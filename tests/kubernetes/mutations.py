"""Objects with all fields that have rules, and the same with one other value.

objects.yaml has one object of each kind, which an API server of Kubernetes 1.36 accepts.
"""

from __future__ import annotations

from collections.abc import Iterator
from copy import deepcopy
from pathlib import Path
from typing import Any

from tests.manifests import Obj, load
from tests.wrong_values import paths

OBJECTS: list[Obj] = load((Path(__file__).parent / "objects.yaml").read_text("utf-8"))
ABSENT = object()
_TEXTS = ("Bad_Value!", "a b", "-x", "x" * 300, "1", "a.b", "/a", "../a", "Xx", "-1", "10%")
_NUMBERS = (-1, 0, 70_000, 2**33)
_Path = tuple[str | int, ...]


def changed(item: Obj, path: _Path, value: Any) -> Obj:
    """Return an object with another value at a path, or without the value."""
    item = deepcopy(item)
    *start, last = path
    around: Any = item
    for part in start:
        around = around[part]
    if value is ABSENT:
        del around[last]
    else:
        around[last] = value
    return item


def mutations(item: Obj) -> Iterator[tuple[_Path, Obj]]:
    """Yield the object with each of the other values at each path."""
    for path in paths(item):
        if path and path[0] not in ("apiVersion", "kind") and path != ("metadata",):
            value: Any = item
            for part in path:
                value = value[part]
            yield from ((path, changed(item, path, one)) for one in (ABSENT, *_others(value)))


def _others(value: Any) -> Iterator[Any]:
    if isinstance(value, bool):
        yield not value
    elif isinstance(value, int):
        yield from _NUMBERS
    elif isinstance(value, str):
        yield from (*_TEXTS, value.swapcase(), f"{value}x")
    elif isinstance(value, list) and value:
        yield from ([], [*value, deepcopy(value[0])], [*value, type(value[0])()])
    elif isinstance(value, dict) and value:
        yield from ({}, {**value, "Bad Key!": "x"})
