"""A naive check that the text of a preview shows every changed leaf of the objects.

Each word of a value that only one side has must be in the text, next to the name of the object and
the key of the value. Run as a program with two files:

    python -m tests.diff.leaves OLD NEW
"""

from __future__ import annotations

import re
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from postrender.config.settings import Settings
from postrender.diff.build import compare
from postrender.diff.formats import REPORTERS
from postrender.diff.redact import NOT_SHOWN
from postrender.diff.values import Terminal
from postrender.yaml.stream import read_stream
from tests.manifests import Obj
from tests.security.preview_mutations import items_of, objects_of

# What diff leaves out: fields that the API server sets.
_IGNORED = ("status", "creationTimestamp")
_NAME = re.compile(r"\w+")
_WORD = re.compile(r"\w[\w./:@+-]*\w|\w")
# Names that begin alike, such as `ConfigMap/web-{a, b}`.
_BRACES = re.compile(r"(\w+[\w.:/@+-]+)\{([\w.:/@+-]+(?:, [\w.:/@+-]+)+)\}")
# The schema of a custom kind has one line for each property, without the values.
_SCHEMA = "openAPIV3Schema"
_ALIKE = r"^[-+] {}\b.* \(.*all else .*as in the (?:added|removed) \w+/([\w.-]+)\)"
Key = tuple[str, str, str]


class Leaf(NamedTuple):
    """A value in an object. path: the keys, without the indexes of lists."""

    path: tuple[str, ...]
    value: str


def leaves_of(data: Any, path: tuple[str, ...] = ()) -> Iterator[Leaf]:
    """Yield the leaves of an object; a null and an empty value is a leaf."""
    if isinstance(data, dict) and data:
        for key, value in data.items():
            if not (key in _IGNORED and (len(path) < 2 or value is None)):
                yield from leaves_of(value, (*path, str(key)))
    elif isinstance(data, list) and data:
        for value in data:
            yield from leaves_of(value, path)
    else:
        text = str(data).lower() if isinstance(data, bool) else str(data)
        yield Leaf(path, "" if data in (None, {}, []) else text)


def by_object(text: str) -> dict[Key, Counter[Leaf]]:
    """Return the leaves of each object, by kind, namespace and name."""
    found: dict[Key, Counter[Leaf]] = {}
    for data in objects_of(text):
        for item in items_of(data):
            found.setdefault(_key(item), Counter()).update(leaves_of(item))
    return found


def _key(item: Obj) -> Key:
    metadata = item.get("metadata") or {}
    namespace, name = metadata.get("namespace"), metadata.get("name")
    return str(item.get("kind")), str(namespace or ""), str(name or "")


def untold_leaves(old: str, new: str, shown: str) -> list[tuple[str, Leaf]]:
    """Return each changed leaf that a text does not show, with `Kind/name` and a sign."""
    before, after = by_object(old), by_object(new)
    shown = without_braces(re.sub(r"\\[nrt]", " ", shown))
    names = set(_NAME.findall(shown))
    untold = []
    for key in {**before, **after}:
        title = f"{key[0]}/{key[2]}"
        one, other = before.get(key, Counter()), after.get(key, Counter())
        # An object with another name has only what differs.
        if (name := re.search(_ALIKE.format(re.escape(title)), shown, re.M)) and not (
            one and other
        ):
            alike = (*key[:2], name[1])
            one, other = one or before[alike], other or after[alike]
        for sign, leaves, others in (("-", one - other, other), ("+", other - one, one)):
            rest = _words_by_path(others)
            for leaf in leaves:
                expected = _expected(key[0], leaf, rest, is_whole=not (one and other))
                missing = {
                    word
                    for word in expected - names
                    if word not in shown or (len(word) < 4 and word.isalnum())
                }
                if title not in shown or missing:
                    if NOT_SHOWN in shown and _is_redacted(leaf, names):
                        continue
                    untold.append((f"{sign} {title}", leaf))
    return untold


def without_braces(text: str) -> str:
    """Return a text in which each name is whole: `web-a, web-b` for `web-{a, b}`."""
    return _BRACES.sub(
        lambda match: ", ".join(match[1] + end for end in match[2].split(", ")), text
    )


def _words_by_path(leaves: Counter[Leaf]) -> dict[tuple[str, ...], set[str]]:
    found: dict[tuple[str, ...], set[str]] = {}
    for leaf in leaves:
        found.setdefault(leaf.path, set()).update(_WORD.findall(leaf.value))
    return found


def _expected(
    kind: str, leaf: Leaf, others: dict[tuple[str, ...], set[str]], *, is_whole: bool
) -> set[str]:
    """Return the words that must be shown for a leaf."""
    if leaf.path[0] in ("apiVersion", "kind") or leaf.path in (
        ("metadata", "name"),
        ("metadata", "namespace"),
    ):
        return set()  # the name of the object is shown
    if kind == "Secret":
        return set() if is_whole else {leaf.path[0]} - {"metadata", "data", "stringData"}
    if _SCHEMA in leaf.path:
        return set()
    # A variable is shown by its name, and a reference by its target.
    is_shown_by_name = leaf.path[-2:] == ("env", "value") or leaf.path[-1] in ("name", "secretName")
    key = set() if is_shown_by_name else set(_NAME.findall(leaf.path[-1]))
    if leaf.path[0] == "binaryData":
        return key  # with the size and the digest
    return key | (set(_WORD.findall(leaf.value)) - others.get(leaf.path, set()))


def _is_redacted(leaf: Leaf, names: set[str]) -> bool:
    """Return whether diff can hide a value that looks like a digest."""
    return "metadata" in leaf.path and set(_NAME.findall(leaf.path[-1])) <= names


def text_of(old: str, new: str) -> str:
    """Return the text of the preview of a change, as in a pipe."""
    sides = [read_stream(text.encode(), "side") for text in (old, new)]
    return REPORTERS["text"].render(compare(sides[0], sides[1], Settings()), Terminal())


def main() -> None:
    """Print the changed leaves that the text of a preview does not show."""
    old, new = (Path(name).read_text("utf-8") for name in sys.argv[1:3])
    before, after = by_object(old), by_object(new)
    count = sum(
        sum((before.get(key, Counter()) - after.get(key, Counter())).values())
        + sum((after.get(key, Counter()) - before.get(key, Counter())).values())
        for key in {**before, **after}
    )
    untold = untold_leaves(old, new, text_of(old, new))
    for title, leaf in untold:
        print(title, ".".join(leaf.path), leaf.value[:200])
    print(f"{count} changed leaves, {len(untold)} not shown")


if __name__ == "__main__":
    main()
