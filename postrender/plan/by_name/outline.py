"""The structure of a text in YAML, JSON, TOML or XML, from its indentation.

Many such texts are templates, and not valid in any language, so no parser reads them:

    kind: ConfigMap
    metadata:             # the parent of the next line
      name: {{ .Values.name }}
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

# The value of a field `kind`, in block or flow style, in YAML or JSON.
_KIND = r"""\bkind["']?\s{0,9}[:=]\s{0,9}["']?([A-Za-z]+)"""
_KIND_LINE = rf"""[\s{{-]*["']?{_KIND}"""
# The maximum number of keys above a line.
_MAX_DEPTH = 20


class Outline:
    """The parent and the kind of each line. One pass finds both, so the time is linear."""

    __slots__ = ("_kinds", "_lines", "_mappings", "_parents")

    def __init__(self, lines: Sequence[str]) -> None:
        self._lines = lines
        # By line, the number of the line above with less indentation, or of the heading in TOML.
        self._parents: list[int | None] = []
        # By line, the number of the first line in the same mapping. By that number, the kind.
        self._mappings: list[int] = []
        self._kinds: dict[int, str] = {}
        for number, parent, mapping in _structure(lines):
            self._parents.append(parent)
            self._mappings.append(mapping)
            if "kind" in lines[number] and (match := re.match(_KIND_LINE, lines[number])):
                self._kinds.setdefault(mapping, match[1])

    def parent_of(self, number: int) -> str:
        """The line with the parent key, "" if there is none."""
        parent = self._parents[number]
        return "" if parent is None else self._lines[parent]

    def keys_above(self, number: int) -> list[str]:
        """The keys of a YAML text above a line, the outermost first."""
        keys: list[str] = []
        above = self._parents[number]
        while above is not None and len(keys) < _MAX_DEPTH:
            keys.append(self._lines[above].strip(" -:\r"))
            above = self._parents[above]
        return keys[::-1]

    def kind_of(self, number: int) -> str:
        """The kind of the object whose `name: …` is in a line, "" if there is none."""
        line = self._lines[number]
        if match := re.search(_KIND, line):
            return match[1]
        if not line.strip(" \t-{\"'").startswith("name"):
            return ""
        parent = self._parents[number]
        places = [number]
        if parent is not None and "metadata" in self._lines[parent]:
            places.append(parent)
        kinds = (self._kinds.get(self._mappings[place], "") for place in places)
        return next(filter(None, kinds), "")


def _structure(lines: Sequence[str]) -> Iterator[tuple[int, int | None, int]]:
    """For each line, its number, that of its parent, and that of the first line of its mapping."""
    # The indentation, the first line and the last line of each mapping that is not complete.
    # The mapping of a heading has half a column less.
    open_mappings: list[tuple[float, int, int]] = []
    for number, line in enumerate(lines):
        text = line.strip()
        if line.startswith("---"):
            open_mappings.clear()
        if not text or line.startswith("---"):
            yield number, None, number
            continue
        indent: float = len(line) - len(line.lstrip(" -\t"))
        if text[0] == "[" and text[-1] == "]":
            indent -= 0.5
        while open_mappings and open_mappings[-1][0] > indent:
            open_mappings.pop()
        first = number
        if open_mappings and open_mappings[-1][0] == indent:
            _, first, _ = open_mappings.pop()
            if text[0] == "-":
                first = number
        yield number, open_mappings[-1][2] if open_mappings else None, first
        open_mappings.append((indent, first, number))
