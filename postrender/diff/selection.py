"""The documents that a comparison must read, selected by their text.

A change of one document can have an effect on a document with the same bytes on both sides. For
example, a Rollout rolls if a ConfigMap that the Rollout references changes. A new reference can
also change the strategy of a ConfigMap. A comparison that reads a document therefore reads all
documents that mention the same ConfigMap or Secret. If a text is ambiguous (see `_names_by_text`),
a comparison reads all documents.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet

from postrender.inventory.prefilter import may_escape_names, root_kind
from postrender.kubernetes.annotations import ENV_FROM_ANNOTATION, MOUNT_PATH_ANNOTATION
from postrender.kubernetes.hashing import without_hash
from postrender.text import words_of
from postrender.yaml.stream import Stream, has_content

_CONTENT_KINDS = {"ConfigMap", "Secret"}
_METADATA = re.compile(
    r"^metadata:[ \t]*(?:#[^\n]*)?\r?\n((?:[ \t#][^\n]*\n|\r?\n)*)", re.MULTILINE
)
_NAME_LINE = re.compile(
    r"^([ \t]+)[\"']?(?:name|postrender/base-name)[\"']?:([^\n]*)$", re.MULTILINE
)
_FIRST_LINE = re.compile(r"^([ \t]+)[^\s#]", re.MULTILINE)
_NAME = re.compile(r"[ \t]*([\"']?)([A-Za-z0-9.-]+)\1[ \t]*(?:#.*)?\r?\Z")
_NAMESPACE = re.compile(r"namespace[\"']?:[ \t]*[\"']?([A-Za-z0-9.-]+)")
_MOUNT_ANNOTATIONS = (MOUNT_PATH_ANNOTATION, ENV_FROM_ANNOTATION)
_WORKLOAD_REF = "workloadRef"
_ANY_NAME = "*"  # not a valid name of an object
# The kinds whose pod template a Rollout can use (Argo Rollouts 1.8, spec.workloadRef).
_TEMPLATE_KINDS = {"Deployment", "ReplicaSet", "PodTemplate"}


def select_documents(old: Stream, new: Stream, namespace: str) -> tuple[list[int], list[int]]:
    """Return the indexes of the documents to read in each stream.

    Comparing these documents gives the same result as comparing all documents.
    namespace: the release namespace, "" if unknown.
    """
    texts = [[document.text for document in stream.documents] for stream in (old, new)]
    old_counts, new_counts = (Counter(side) for side in texts)
    all_texts = [text for text in old_counts | new_counts if has_content(text)]
    equal = {text for text in all_texts if old_counts[text] == new_counts[text]}
    names = _names_by_text(all_texts) if equal else None
    if names is None:
        selected = set(all_texts)
    else:
        changed = [[text for text in side if text not in equal] for side in texts]
        selected = _connected(all_texts, equal - _possible_duplicates(changed, equal, names), names)
    if not namespace and (
        _differ_in_namespaces(texts) or _is_namespace_ambiguous(selected, equal - selected)
    ):
        selected = set(all_texts)
    old_indexes, new_indexes = (
        [index for index, text in enumerate(side) if text in selected] for side in texts
    )
    return old_indexes, new_indexes


def _names_by_text(texts: Iterable[str]) -> dict[str, set[str]] | None:
    """Return the possible names of each ConfigMap and Secret, by text; None if a text is ambiguous.

    A text is ambiguous if a search does not find its kind, or the name of its ConfigMap or Secret.
    A List is ambiguous, because a List can contain any object. A text with a mount annotation is
    ambiguous, because all workloads together decide which workload mounts the ConfigMap.
    """
    names = {}
    for text in texts:
        kind = root_kind(text)
        if not kind or kind.endswith("List") or any(name in text for name in _MOUNT_ANNOTATIONS):
            return None
        if kind in _CONTENT_KINDS:
            names[text] = _names_of(text)
            if not names[text]:
                return None
    return names


def _connected(
    texts: Sequence[str], equal: AbstractSet[str], names: Mapping[str, AbstractSet[str]]
) -> set[str]:
    """Return the texts outside of `equal`, the texts of `_always_read`, and all connected texts.

    Two texts are connected if both texts mention the same ConfigMap or Secret.
    equal: the texts that are equal on both sides, without the result of `_possible_duplicates`.
    names: the names of ConfigMaps and Secrets, by text.
    """
    selected = {text for text in texts if text not in equal}
    selected |= _always_read(texts, equal)
    all_names = {name for text_names in names.values() for name in text_names}
    mentions = {
        text: all_names.intersection(words_of(text)) | names.get(text, set()) for text in texts
    }
    texts_by_name: dict[str, list[str]] = defaultdict(list)
    for text, mentioned in mentions.items():
        for name in mentioned:
            texts_by_name[name].append(text)
    queue, seen = list(selected), set[str]()
    while queue:
        for name in mentions[queue.pop()] - seen:
            seen.add(name)
            neighbours = [text for text in texts_by_name[name] if text not in selected]
            selected.update(neighbours)
            queue += neighbours
    return selected


def _possible_duplicates(
    changed: Iterable[Sequence[str]],
    equal: AbstractSet[str],
    names: Mapping[str, AbstractSet[str]],
) -> set[str]:
    """Return the equal texts that can define an object that a changed text adds or removes.

    changed: the texts of each side that are not in `equal`.
    equal: the texts that are equal on both sides.
    names: the names of ConfigMaps and Secrets, by text.
    """
    old_counts, new_counts = (
        Counter((root_kind(text), frozenset(names.get(text) or _names_of(text))) for text in texts)
        for texts in changed
    )
    names_by_kind: dict[str, set[str]] = defaultdict(set)
    for kind, text_names in (old_counts - new_counts) + (new_counts - old_counts):
        names_by_kind[kind] |= text_names or {_ANY_NAME}
    if not names_by_kind:
        return set()
    return {text for text in equal if _may_have_name(text, names_by_kind)}


def _may_have_name(text: str, names_by_kind: Mapping[str, AbstractSet[str]]) -> bool:
    names = names_by_kind.get(root_kind(text))
    if names is None:
        return False
    text_names = _names_of(text)
    return _ANY_NAME in names or not text_names or bool(text_names & names)


def _always_read(texts: Iterable[str], equal: AbstractSet[str]) -> set[str]:
    """Return equal texts in which a search can miss a name, and texts that can share pod templates.

    A search misses a name with escapes. A Rollout can use the pod template of another workload
    (workloadRef).
    """
    selected = {text for text in equal if may_escape_names(text)}
    if any(_WORKLOAD_REF in text for text in texts):
        selected |= {
            text for text in equal if _WORKLOAD_REF in text or root_kind(text) in _TEMPLATE_KINDS
        }
    return selected


def _names_of(text: str) -> set[str]:
    """Return the possible names of an object, an empty set if the text is ambiguous."""
    metadata = _METADATA.search(text)
    first = _FIRST_LINE.search(metadata[1]) if metadata else None
    if metadata is None or first is None:
        return set()
    lines = _NAME_LINE.findall(metadata[1])
    names = [_NAME.match(value) for _, value in lines]
    if not all(names) or not any(indent == first[1] for indent, _ in lines):
        return set()
    written = {name[2] for name in names if name}
    # Add each name without its hash, because postrender or another tool can have added the hash.
    return written | {without_hash(name) for name in written} - {""}


def _differ_in_namespaces(sides: Iterable[Iterable[str]]) -> bool:
    """Return whether the namespaces in the manifests differ between the sides.

    If so, the meaning of an absent namespace can be certain on one side and unknown on the other
    side.
    """
    old_namespaces, new_namespaces = (
        {namespace for text in texts for namespace in _namespaces_in(text)} for texts in sides
    )
    return old_namespaces != new_namespaces


def _is_namespace_ambiguous(selected: Iterable[str], left_out: Iterable[str]) -> bool:
    """Return whether the texts in left_out can decide the meaning of an absent namespace.

    If all manifests together have only one namespace, an absent namespace means this namespace. The
    meaning matters only if some of the selected texts, but not all, have a namespace.
    """
    written = [set(_namespaces_in(text)) for text in selected]
    if all(written) or not any(written):
        return False
    namespaces = set[str]().union(*written, *map(_namespaces_in, left_out))
    return len(namespaces) > 1


def _namespaces_in(text: str) -> list[str]:
    return _NAMESPACE.findall(text) if "namespace" in text else []
