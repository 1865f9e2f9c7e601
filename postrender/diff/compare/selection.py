"""Which documents of two streams must be read to compare them, told from their text alone.

A document with the same bytes on both sides says nothing by itself. But it is read where something
that changes has to do with it: a Rollout that names a changed ConfigMap rolls, and what else names
that ConfigMap decides what becomes of it. So whatever is connected by the name of a ConfigMap or
Secret is read as a whole, and where the text leaves a doubt, everything is.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet

from postrender.inventory.prefilter import hides_names, root_kind
from postrender.kubernetes.annotations import ENV_FROM_ANNOTATION, MOUNT_PATH_ANNOTATION
from postrender.kubernetes.hashing import without_hash
from postrender.startup.patterns import pattern
from postrender.text.words import words_of
from postrender.yaml.stream import Stream, has_content

_HOLDERS = {"ConfigMap", "Secret"}
_METADATA = pattern(r"^metadata:[ \t]*(?:#[^\n]*)?\r?\n((?:[ \t#][^\n]*\n|\r?\n)*)", re.MULTILINE)
_NAME_LINE = pattern(r"^([ \t]+)[\"']?(?:name|postrender/base-name)[\"']?:([^\n]*)$", re.MULTILINE)
_FIRST_LINE = pattern(r"^([ \t]+)[^\s#]", re.MULTILINE)
_NAME = pattern(r"[ \t]*([\"']?)([A-Za-z0-9.-]+)\1[ \t]*(?:#.*)?\r?\Z")
_NAMESPACE = pattern(r"namespace[\"']?:[ \t]*[\"']?([A-Za-z0-9.-]+)")
_MOUNTS = (MOUNT_PATH_ANNOTATION, ENV_FROM_ANNOTATION)
_WORKLOAD_REF = "workloadRef"
_ANY = "*"  # no object is called so
# What a Rollout may take its pod template from (Argo Rollouts 1.8, spec.workloadRef).
_REFERRED = {"Deployment", "ReplicaSet", "PodTemplate"}


def select_documents(old: Stream, new: Stream, namespace: str) -> tuple[list[int], list[int]]:
    """Return the documents of each stream that must be read; namespace: the release's.

    Comparing only these gives what comparing all of them does.
    """
    texts = [[document.text for document in stream.documents] for stream in (old, new)]
    before, after = (Counter(each) for each in texts)
    whole = [text for text in before | after if has_content(text)]
    same = {text for text in whole if before[text] == after[text]}
    names = _names_by_text(whole) if same else None
    if names is None:
        read = set(whole)
    else:
        changed = [[text for text in each if text not in same] for each in texts]
        read = _connected(whole, same - _repeated(changed, same, names), names)
    if not namespace and (_writes_others(texts) or _leaves_doubt(read, same - read)):
        read = set(whole)
    first, second = ([at for at, text in enumerate(each) if text in read] for each in texts)
    return first, second


def _names_by_text(texts: Iterable[str]) -> dict[str, set[str]] | None:
    """Return among which names that of each ConfigMap and Secret is, None if a text leaves a doubt.

    A List holds any number of objects. What is mounted where it asks to be goes into a workload
    that depends on what others there are.
    """
    names = {}
    for text in texts:
        kind = root_kind(text)
        if not kind or kind.endswith("List") or any(mark in text for mark in _MOUNTS):
            return None
        if kind in _HOLDERS:
            names[text] = _names_of(text)
            if not names[text]:
                return None
    return names


def _connected(
    texts: Sequence[str], same: AbstractSet[str], names: Mapping[str, AbstractSet[str]]
) -> set[str]:
    """Return the texts that change, with all that names connect with them.

    names: those of ConfigMaps and Secrets, by text.
    """
    read = {text for text in texts if text not in same}
    read |= _always_read(texts, same)
    known = {name for own in names.values() for name in own}
    mentions = {text: known.intersection(words_of(text)) | names.get(text, set()) for text in texts}
    by_name: dict[str, list[str]] = defaultdict(list)
    for text, own in mentions.items():
        for name in own:
            by_name[name].append(text)
    waiting, seen = list(read), set[str]()
    while waiting:
        for name in mentions[waiting.pop()] - seen:
            seen.add(name)
            more = [text for text in by_name[name] if text not in read]
            read.update(more)
            waiting += more
    return read


def _repeated(
    changed: Iterable[Sequence[str]], same: AbstractSet[str], names: Mapping[str, AbstractSet[str]]
) -> set[str]:
    """Return the texts that may hold an object once more that only one side has else.

    changed: by side, the texts that the other one does not have; names: what is known of them.
    """
    first, second = (
        Counter((root_kind(text), frozenset(names.get(text) or _names_of(text))) for text in texts)
        for texts in changed
    )
    names_by_kind: dict[str, set[str]] = defaultdict(set)
    for kind, own in (first - second) + (second - first):
        names_by_kind[kind] |= own or {_ANY}
    if not names_by_kind:
        return set()
    return {text for text in same if _may_be_one_of(text, names_by_kind)}


def _may_be_one_of(text: str, names_by_kind: Mapping[str, AbstractSet[str]]) -> bool:
    names = names_by_kind.get(root_kind(text))
    if names is None:
        return False
    own = _names_of(text)
    return _ANY in names or not own or bool(own & names)


def _always_read(texts: Iterable[str], same: AbstractSet[str]) -> set[str]:
    """Return the texts that may hide a name, or hand their pod template to a Rollout."""
    read = {text for text in same if hides_names(text)}
    if any(_WORKLOAD_REF in text for text in texts):
        read |= {text for text in same if _WORKLOAD_REF in text or root_kind(text) in _REFERRED}
    return read


def _names_of(text: str) -> set[str]:
    """Return names among which that of a ConfigMap or Secret is, nothing if that is not certain."""
    metadata = _METADATA.search(text)
    first = _FIRST_LINE.search(metadata[1]) if metadata else None
    if metadata is None or first is None:
        return set()
    lines = _NAME_LINE.findall(metadata[1])
    names = [_NAME.match(value) for _, value in lines]
    if not all(names) or not any(indent == first[1] for indent, _ in lines):
        return set()
    written = {name[2] for name in names if name}
    # What another tool gave a hash is known without it, as what postrender did is.
    return written | {without_hash(name) for name in written} - {""}


def _writes_others(sides: Iterable[Iterable[str]]) -> bool:
    """Tell whether one side writes a namespace that the other does not.

    Which one an absent one is may then be certain on one side only.
    """
    first, second = (
        {name for text in texts for name in _NAMESPACE.findall(text)} for texts in sides
    )
    return first != second


def _leaves_doubt(read: Iterable[str], left_out: Iterable[str]) -> bool:
    """Tell whether what is left out may decide which namespace an absent one is.

    That is the only one that the manifests write, where some objects write it and others do not.
    """
    inside = [set(_NAMESPACE.findall(text)) for text in read]
    if all(inside) or not any(inside):
        return False
    every = set[str]().union(*inside, *(_NAMESPACE.findall(text) for text in left_out))
    return len(every) > 1
