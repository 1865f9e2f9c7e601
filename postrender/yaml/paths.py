"""Paths into an object, and patterns that match many of them.

A path is a tuple of keys and indexes. A pattern is written as users write it in the configuration:
`spec.template.spec.volumes[].configMap.name`; `[]` is every item, `*` every key, and a key with
other characters is quoted: `metadata.annotations["example.com/config"]`.
"""

from __future__ import annotations

import re

from postrender.errors import UserError
from postrender.startup.patterns import pattern

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from typing import Any, Union

    # A value of YAML or JSON: a parser makes lists and dicts, and code may not change them.
    Json = Union[  # noqa: UP007 -- a recursive alias cannot use `|` before Python 3.12
        None, bool, int, float, str, Sequence["Json"], Mapping[str, "Json"]
    ]
else:
    Json = object  # evaluating the union takes longer than importing this module

Path = tuple[str | int, ...]

EVERY_ITEM = "[]"
EVERY_KEY = "*"

_PART = pattern(r"""(?:^|\.)([^.\[\]"*]+|\*)|\["((?:[^"\\]|\\.)*)"\]|(\[\])""")
# Characters that need the pattern above.
_SPECIAL = frozenset('*"[]')
_SIMPLE_KEY = pattern(r"[A-Za-z0-9_-]+\Z")


def format_path(path: Path) -> str:
    """Return a path as text: `spec.containers[0].env`, `data["app.yaml"]`."""
    text = ""
    for part in path:
        if isinstance(part, int):
            text += f"[{part}]"
        elif _SIMPLE_KEY.match(part):
            text += f".{part}" if text else part
        else:
            text += f'["{part}"]'
    return text


def object_path(path: Path) -> Path:
    """Return the part of a path that leads to its object, through the items of Lists."""
    depth = 0
    while len(path) > depth + 1 and path[depth] == "items" and isinstance(path[depth + 1], int):
        depth += 2
    return path[:depth]


def parse_pattern(text: str) -> tuple[str, ...]:
    """Return the parts of a pattern.

    Raises UserError when the text is not a pattern.
    """
    simple = text.replace(EVERY_ITEM, "." + EVERY_ITEM).split(".")
    if all(part == EVERY_ITEM or (part and _SPECIAL.isdisjoint(part)) for part in simple):
        return tuple(simple)
    parts, end = [], 0
    for match in _PART.finditer(text):
        if match.start() != end:
            break
        plain, quoted, every = match.groups()
        parts.append(every or plain or re.sub(r"\\(.)", r"\1", quoted or ""))
        end = match.end()
    if end != len(text) or not parts:
        raise UserError(
            f"{text!r} is not a path",
            'write it as spec.volumes[].configMap.name, with ["…"] around keys that hold dots',
        )
    return tuple(parts)


class PatternTree:
    """Patterns that share their beginnings, so that one walk over an object matches all of them."""

    __slots__ = ("children", "payloads")

    def __init__(self) -> None:
        self.children: dict[str, PatternTree] = {}
        self.payloads: list[Any] = []

    def add(self, pattern: Iterable[str], payload: Any) -> None:
        """Add one pattern with what find() is to return for it."""
        tree = self
        for part in pattern:
            tree = tree.children.setdefault(part, PatternTree())
        tree.payloads.append(payload)

    def find(self, data: Json) -> list[tuple[Path, Json, Any]]:
        """Return every (path, value there, payload) in data, in the order of the patterns."""
        found: list[tuple[Path, Json, Any]] = []
        self._collect(data, (), found)
        return found

    def _collect(self, data: Json, path: Path, found: list[tuple[Path, Json, Any]]) -> None:
        if self.payloads:
            found += [(path, data, payload) for payload in self.payloads]
        if data.__class__ is dict:
            for part, tree in self.children.items():
                if part in data:
                    tree._collect(data[part], (*path, part), found)
                elif part == EVERY_KEY:
                    for key, value in data.items():
                        tree._collect(value, (*path, key), found)
        elif data.__class__ is list and EVERY_ITEM in self.children:
            tree = self.children[EVERY_ITEM]
            for number, value in enumerate(data):
                tree._collect(value, (*path, number), found)


def value_at(data: Json, path: Path) -> Json:
    """Return the value at a path, or None where there is none."""
    for part in path:
        if isinstance(data, dict):
            data = data.get(part)
        elif isinstance(data, list) and isinstance(part, int) and part < len(data):
            data = data[part]
        else:
            return None
    return data


def mapping_at(data: Json, path: Path) -> dict[str, Json]:
    """Return the mapping at a path, or an empty one where there is none."""
    value = value_at(data, path)
    return value if isinstance(value, dict) else {}
