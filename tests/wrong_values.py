"""Objects with values of types that their kinds do not have."""

from __future__ import annotations

from collections.abc import Iterator
from copy import deepcopy
from random import Random
from typing import Any

VALUES: tuple[Any, ...] = (
    *(None, True, 0, -1, 1.5, 10**30, "", "x", "${A}", "\u00e9" * 300),
    *([], {}, [None], [1], ["a"], [{}], [[{}]], {"a": 1}, {"name": None}, {"a": {"b": []}}),
)


def with_values(data: list[Any], random: Random) -> list[Any]:
    """The objects with other values at one to three places."""
    data = deepcopy(data)
    for _ in range(random.choice((1, 1, 2, 3))):
        found = [path for path in paths(data) if len(path) > 1]
        if not found:
            break
        *start, last = random.choice(found)
        around: Any = data
        for part in start:
            around = around[part]
        around[last] = deepcopy(random.choice(VALUES))
    return data


def paths(data: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The path of each value in parsed objects."""
    yield path
    children = data.items() if isinstance(data, dict) else ()
    for key, value in enumerate(data) if isinstance(data, list) else children:
        yield from paths(value, (*path, key))
