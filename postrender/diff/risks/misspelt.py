"""Names that are most likely misspelt: of pods, next to an unused ConfigMap with a similar name.

A ConfigMap that is not in the input can exist in the cluster, so an unknown name alone is no sign.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import takewhile

from postrender.diff.kinds import pod_templates_of
from postrender.diff.risks.facts import Object
from postrender.kubernetes.hashing import canonical_json
from postrender.kubernetes.kinds import CONTENT_KINDS, ObjectKey
from postrender.kubernetes.uses import Use, uses_of
from postrender.plan.namespaces import Resolver

# Of more names, only the first count, so that the time stays linear.
_MOST_NAMES = 300
# The fewest letters of a word with a mistake. `app-eu` and `app-us` are two names.
_SHORTEST = 5


def find_misspelt(
    objects: Sequence[Object], resolver: Resolver
) -> Iterator[tuple[Object, Use, Object]]:
    """The objects with a use that is not optional of a missing ConfigMap or Secret.

    Each comes with the use, and the ConfigMap or Secret with a similar name, which no other object
    of the input contains.
    """
    there = {
        resolver.key_of(item.identity): item
        for item in objects
        if item.identity.kind in CONTENT_KINDS and item.identity.name
    }
    missing: dict[ObjectKey, tuple[Object, Use]] = {}
    used: set[ObjectKey] = set()
    for item in objects if there else ():
        templates = pod_templates_of(item.identity.group_kind, item.data)
        for use in uses_of(item.identity, item.data, templates) if templates else ():
            if use.group_kind[1] in CONTENT_KINDS:
                namespace = resolver.effective_namespace(use.namespace)
                key = ObjectKey(use.group_kind, namespace, use.name)
                used.add(key)
                if key not in there:
                    missing.setdefault(key, (item, use))
    unused = [key for key in there if key not in used][:_MOST_NAMES] if missing else []
    texts: list[str] = []
    for key, (item, use) in list(missing.items())[:_MOST_NAMES]:
        for other in unused:
            if key._replace(name=other.name) == other and is_typo(key.name, other.name):
                texts = texts or [canonical_json(one.data) for one in objects]
                # `web-configs` contains `web-config`, and does not use it.
                hidden = key.name if other.name in key.name else ""
                if sum(_contains(text, other.name, hidden) for text in texts) == 1:
                    yield item, use, there[other]
                    break


def _contains(text: str, name: str, hidden: str) -> bool:
    return name in text and (not hidden or name in text.replace(hidden, " "))


def is_typo(first: str, second: str) -> bool:
    """Whether two names differ in one letter of a long word, in its order, or in a dash.

    Names that differ in a digit are the names of two objects.
    """
    if first == second or abs(len(first) - len(second)) > 1:
        return False
    start = _common(first, second)
    rest, other_rest = first[start:], second[start:]
    end = _common(rest[::-1], other_rest[::-1])
    middle = rest[: len(rest) - end], other_rest[: len(other_rest) - end]
    letters = "".join(middle)
    if letters == "-":
        return True
    is_swapped = len(letters) == 4 and middle[0] == middle[1][::-1]
    if not (is_swapped or max(map(len, middle)) == 1) or not letters.isalpha():
        return False
    before, after = first[:start].replace(".", "-"), rest[len(rest) - end :].replace(".", "-")
    word = len(before.rpartition("-")[2]) + max(map(len, middle)) + len(after.partition("-")[0])
    return word >= _SHORTEST


def _common(first: str, second: str) -> int:
    """The number of equal characters at the start of two texts."""
    equal = takewhile(lambda pair: pair[0] == pair[1], zip(first, second, strict=False))
    return sum(1 for _ in equal)
