"""Names that are most likely misspelt: of pods, next to an unused ConfigMap with a similar name.

A ConfigMap that is not in the input can exist in the cluster, so an unknown name alone is no sign.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from postrender.diff.kinds import pod_templates_of
from postrender.diff.risks.facts import Object
from postrender.kubernetes.hashing import canonical_json
from postrender.kubernetes.kinds import CONTENT_KINDS, ObjectKey
from postrender.kubernetes.uses import Use, uses_of
from postrender.plan.namespaces import Resolver
from postrender.text import common_length

# Of more names, only the first count, because each pair of names is compared.
_MOST_NAMES = 300
# Each recount reads all texts. After so many, a name counts as used.
_MOST_RECOUNTS = 20
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
    holders: dict[str, list[str]] = {}
    recounts = _MOST_RECOUNTS
    for key, (item, use) in list(missing.items())[:_MOST_NAMES]:
        for other in unused:
            if key._replace(name=other.name) == other and is_typo(key.name, other.name):
                texts = texts or [canonical_json(one.data) for one in objects]
                if other.name not in holders:
                    holders[other.name] = [text for text in texts if other.name in text]
                found = holders[other.name]
                # `web-configg` contains `web-config`, and does not use it.
                if len(found) > 1 and other.name in key.name and recounts:
                    recounts -= 1
                    found = [text for text in found if other.name in text.replace(key.name, " ")]
                if len(found) == 1:
                    yield item, use, there[other]
                    break


def is_typo(first: str, second: str) -> bool:
    """Whether one name has a letter more in a long word, two letters swapped, or a dash more.

    Names that differ otherwise are the names of two objects: `app-north` and `app-forth`,
    `tenanta` and `tenantb`, `web-blue` and `web-blues`, `web-1` and `web-2`.
    """
    if first == second or abs(len(first) - len(second)) > 1 or not (first + second).isascii():
        return False
    start = common_length(first, second)
    rest, other_rest = first[start:], second[start:]
    end = common_length(rest[::-1], other_rest[::-1])
    middle = rest[: len(rest) - end], other_rest[: len(other_rest) - end]
    letters = "".join(middle)
    if letters == "-":
        return True
    is_swapped = len(letters) == 4 and middle[0] == middle[1][::-1]
    if not (is_swapped or len(letters) == 1) or not letters.isalpha():
        return False
    before, after = first[:start].replace(".", "-"), rest[len(rest) - end :].replace(".", "-")
    if letters == "s" and not after[:1].isalpha():
        return False
    word = len(before.rpartition("-")[2]) + max(map(len, middle)) + len(after.partition("-")[0])
    return word >= _SHORTEST
