"""Paths of values in an object, and patterns that match paths.

A path is a tuple of keys and indexes, such as `("spec", "volumes", 0)`. A pattern is a tuple of
keys, in which "[]" matches every item of a list, and "*" every key of a mapping. In the
configuration, a pattern is a text such as `spec.volumes[].configMap.name`, in which a key that
contains `.`, `[`, `]`, `"` or `*` has quotes: `metadata.annotations["example.com/config"]`.
"""

from __future__ import annotations

import json
import re

from postrender.errors import UserError
from postrender.text import shortened, shown

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from typing import Any, Union

    # A value of YAML or JSON. The parsers return lists and dicts, which mypy treats as read-only.
    Json = Union[  # noqa: UP007 -- a recursive alias cannot use `|` before Python 3.12
        None, bool, int, float, str, Sequence["Json"], Mapping[str, "Json"]
    ]
    # The keys and indexes that differ between two values, with what differs inside of each: None
    # for the whole value, {} for nothing.
    Parts = Union[None, Mapping[Any, "Parts"]]  # noqa: UP007
else:
    Json = Parts = object  # evaluating a union takes longer than importing this module

Path = tuple[str | int, ...]

EVERY_ITEM = "[]"
EVERY_KEY = "*"

sorted_json = json.JSONEncoder(ensure_ascii=False, check_circular=False, sort_keys=True).encode

_PART = r"""(?:^|\.)([^.\[\]"*]+|\*)|\["((?:[^"\\]|\\.)*)"\]|(\[\])"""
# If a text without its `[]` still has one of these characters, parse_pattern needs _PART.
_SPECIAL = frozenset('*"[]')


def format_path(path: Path) -> str:
    """A path as text: `spec.containers[0].env`, `data["app.yaml"]`, or "" for ()."""
    text = ""
    for part in path:
        if isinstance(part, int):
            text += f"[{part}]"
            continue
        part = shortened(part)
        if re.fullmatch("[A-Za-z0-9_-]+", part):
            text += f".{part}" if text else part
        else:
            text += f'["{part}"]'
    return text


def readable_path(data: dict[str, Json], path: Path) -> str:
    """A path with the names of list items, which stay the same if items are added."""
    text = ""
    for depth, part in enumerate(path):
        name = value_at(data, (*path[: depth + 1], "name")) if isinstance(part, int) else None
        part_text = f"[name={name}]" if isinstance(name, str) else format_path((part,))
        text += part_text if part_text.startswith("[") or not text else f".{part_text}"
    return text


def item_path(path: Path) -> Path:
    """The path of the innermost list item with the value at a path, () if there is none."""
    numbers = [depth for depth, part in enumerate(path, 1) if isinstance(part, int)]
    return path[: numbers[-1]] if numbers else ()


def object_path(path: Path) -> Path:
    """The path of the object that contains the value at a path: () outside a List.

    The third object of a List is at `("items", 2)`, in a nested List at `("items", 2, "items", 0)`.
    """
    depth = 0
    while len(path) > depth + 1 and path[depth] == "items" and isinstance(path[depth + 1], int):
        depth += 2
    return path[:depth]


def parse_pattern(text: str) -> tuple[str, ...]:
    """`("spec", "volumes", "[]")` for `spec.volumes[]`; UserError if the text is not a pattern."""
    simple = text.replace(EVERY_ITEM, "." + EVERY_ITEM).split(".")
    has_only_items = simple.count(EVERY_ITEM) == text.count(EVERY_ITEM)
    if has_only_items and "" not in simple and _SPECIAL.isdisjoint(text.replace(EVERY_ITEM, "")):
        return tuple(simple)
    parts, end = [], 0
    for match in re.finditer(_PART, text):
        if match.start() != end:
            break
        unquoted, quoted, items = match.groups()
        parts.append(items or unquoted or re.sub(r"\\(.)", r"\1", quoted or ""))
        end = match.end()
    if end != len(text) or not parts:
        raise UserError(
            f"{shown(text)} is not a path",
            'Write a path such as spec.volumes[].configMap.name or metadata.annotations["a.b/c"]',
        )
    return tuple(parts)


def matches_start(path: Path, pattern: Sequence[str]) -> bool:
    """Whether a pattern matches a path, or the beginning of the path."""
    if len(path) < len(pattern):
        return False
    return all(
        key in (part, EVERY_KEY) or (key == EVERY_ITEM and isinstance(part, int))
        for part, key in zip(path, pattern, strict=False)
    )


class PatternTree:
    """A prefix tree of patterns, which matches all patterns in one walk over the data."""

    __slots__ = ("children", "payloads")

    def __init__(self, rows: Iterable[tuple[Iterable[str], Any]] = ()) -> None:
        """A tree of patterns, each with its payload."""
        self.children: dict[str, PatternTree] = {}
        self.payloads: list[Any] = []
        for pattern, payload in rows:
            self.add(pattern, payload)

    def add(self, pattern: Iterable[str], payload: Any) -> None:
        """Add a pattern. find() returns the payload with each match."""
        self.at(pattern).payloads.append(payload)

    def at(self, pattern: Iterable[str]) -> PatternTree:
        """The part of the tree below a pattern, which is empty before an addition."""
        tree = self
        for part in pattern:
            tree = tree.children.setdefault(part, PatternTree())
        return tree

    def find(self, data: Json, parts: Parts = None) -> list[tuple[Path, Json, Any]]:
        """The (path, value, payload) of every match; for one pattern, in the order of add().

        parts: of the data, to find only values that contain one of them, or are in one.
        """
        matches: list[tuple[Path, Json, Any]] = []
        if parts is None:
            self._collect(data, (), matches)
        else:
            self._collect_in(data, parts, (), matches)
        return matches

    def _collect(self, data: Json, path: Path, matches: list[tuple[Path, Json, Any]]) -> None:
        if self.payloads:
            matches += [(path, data, payload) for payload in self.payloads]
        if data.__class__ is dict:
            for part, tree in self.children.items():
                if part in data:
                    tree._collect(data[part], (*path, part), matches)
                elif part == EVERY_KEY:
                    for key, value in data.items():
                        tree._collect(value, (*path, key), matches)
        elif data.__class__ is list and EVERY_ITEM in self.children:
            tree = self.children[EVERY_ITEM]
            for number, value in enumerate(data):
                tree._collect(value, (*path, number), matches)

    def _collect_in(
        self,
        data: Any,
        parts: Mapping[Any, Parts],
        path: Path,
        matches: list[tuple[Path, Json, Any]],
    ) -> None:
        if parts and self.payloads:
            matches += [(path, data, payload) for payload in self.payloads]
        for part, inner in parts.items() if self.children else ():
            is_item = part.__class__ is int  # the data is a mapping or a list, because it has parts
            if part >= len(data) if is_item else part not in data:
                continue
            for key in (EVERY_ITEM,) if is_item else (part, EVERY_KEY):
                if tree := self.children.get(key):
                    if inner is None:
                        tree._collect(data[part], (*path, part), matches)
                    else:
                        tree._collect_in(data[part], inner, (*path, part), matches)


def is_same(old: Json, new: Json) -> bool:
    """Whether two values are equal; unlike in Python, 1 does not equal true."""
    if old != new or old.__class__ is not new.__class__:
        return False
    if old.__class__ not in (dict, list):
        return True
    # repr also distinguishes 1 from true, and is three times as fast as the JSON encoder. But equal
    # mappings have different reprs if their keys are in another order.
    return repr(old) == repr(new) or sorted_json(old) == sorted_json(new)


_ABSENT: Any = object()


def differing_parts(old: Json, new: Json) -> Parts:
    """What differs between two values. Items of lists match by their indexes."""
    keys: Iterable[Any]
    if isinstance(old, dict) and isinstance(new, dict):
        keys, before, after = {**old, **new}, old, new
    elif isinstance(old, list) and isinstance(new, list):
        keys = range(max(len(old), len(new)))
        before, after = dict(enumerate(old)), dict(enumerate(new))
    else:
        return None
    parts = {}
    for key in keys:
        one, other = before.get(key, _ABSENT), after.get(key, _ABSENT)
        if not is_same(one, other):
            parts[key] = differing_parts(one, other)
    return parts


def parts_at(parts: Parts, path: Path) -> Parts:
    """The parts of the value at a path."""
    for part in path:
        if parts is None:
            return None
        parts = parts.get(part, {})
    return parts


def value_at(data: Json, path: Path) -> Json:
    """The value at a path, None if it is missing or null."""
    for part in path:
        if data.__class__ is dict:
            data = data.get(part)
        elif data.__class__ is list and part.__class__ is int and part < len(data):
            data = data[part]
        else:
            return None
    return data


def mappings_in(data: Json) -> list[dict[str, Json]]:
    """The items of a list that are mappings, [] if the data is not a list."""
    return [item for item in data if isinstance(item, dict)] if isinstance(data, list) else []


def nested_mappings(data: Json, path: Path = ()) -> Iterator[tuple[Path, dict[str, Json]]]:
    """The path and value of each mapping in the data, which is at `path`; the outer ones first."""
    if isinstance(data, dict):
        yield path, data
        for key, value in data.items():
            yield from nested_mappings(value, (*path, key))
    elif isinstance(data, list):
        for number, value in enumerate(data):
            yield from nested_mappings(value, (*path, number))


def mapping_at(data: Json, path: Path) -> dict[str, Json]:
    """The mapping at a path, {} if the value is missing or is not a mapping."""
    value = value_at(data, path)
    return value if isinstance(value, dict) else {}
