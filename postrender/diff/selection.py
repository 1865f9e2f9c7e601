"""The documents that a comparison reads.

Two releases have most of their documents in common. A document with the same text on both sides is
left out if it is certain that nothing that differs has an effect on it, or takes effect through it:

- The text shows the kind, and the parser finds the name and the namespace. Documents of which this
  is not true are read, and so are hooks and other documents that matter without being mentioned.
- No other document defines an object of this kind and name.
- It does not mention a ConfigMap or Secret that a document that is read mentions too. A Rollout
  rolls with a ConfigMap, for example, and a new reference changes the strategy of a ConfigMap.

Where a fact of all documents together decides, everything is read. Documents that are left out are
not checked for errors.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence

from postrender.diff.redact import REVISION_END
from postrender.errors import Location, UserError
from postrender.inventory.build import may_escape_names
from postrender.krm.input import FORMER_NAMES
from postrender.kubernetes.annotations import (
    BASE_NAME_ANNOTATION,
    ENV_FROM_ANNOTATION,
    GROUP_LABEL,
    HELM_FILENAME_ANNOTATION,
    HELM_HOOK_ANNOTATION,
    MOUNT_PATH_ANNOTATION,
)
from postrender.kubernetes.hashing import without_hash
from postrender.kubernetes.kinds import (
    CONTENT_KINDS,
    RBAC_GROUP,
    group_kind_of,
    roots_of,
    strings_at,
)
from postrender.records import grouped, reachable
from postrender.references.rule import DERIVED_SUFFIXES
from postrender.text import decoded_values, has_any, words_of
from postrender.yaml.document import parse_document
from postrender.yaml.paths import Json, mapping_at
from postrender.yaml.stream import Stream, has_content

# With one of these annotations, all workloads together decide what a reference means.
_READ_ALL = (MOUNT_PATH_ANNOTATION, ENV_FROM_ANNOTATION, FORMER_NAMES)
# A change of one of these objects can change the decision about any ConfigMap or Secret.
_PERMISSIONS = frozenset({"Role", "ClusterRole", "RoleBinding", "ClusterRoleBinding"})
_WORKLOAD_REF = "workloadRef"
_MARKS = (HELM_HOOK_ANNOTATION, HELM_FILENAME_ANNOTATION, "argocd.argoproj.io/", _WORKLOAD_REF)
# The kinds whose pod template a Rollout can use (Argo Rollouts 1.8, spec.workloadRef).
_TEMPLATE_KINDS = frozenset({"Deployment", "ReplicaSet", "PodTemplate"})

_ESCAPE = re.compile(r"\\(?:x(..)|u(....)|U(.{8})|\r?\n[ \t]*)")


# The usual start of an object, in which every line is one plain entry. A shorter name could be a
# boolean. The parser reads any other document.
_VALUE = r"(?:[A-Za-z0-9][^\n]*|\"[^\"\\\n]*\"|'[^'\n]*')"
_USUAL_START = re.compile(
    r"^apiVersion: [a-z][a-z0-9./]*\nkind: [A-Za-z]+\nmetadata:\n"
    r"  name: ([A-Za-z][A-Za-z0-9.-]{5,})\n(?:  namespace: ([A-Za-z][A-Za-z0-9.-]*)\n)?"
    rf"(?:  (?:labels|annotations):\n(?:    [A-Za-z][A-Za-z0-9./_-]*: {_VALUE}\n)+)*(?=[A-Za-z])",
    re.MULTILINE,
)

# The kind of an object, its namespace, and its name with the base names that it can have.
_Object = tuple[str, str, set[str]]


# The indexes of the documents that a comparison reads in each stream, in order; and those of the
# other documents of the newer stream, by kind.
Selection = tuple[Sequence[int], Sequence[int], Mapping[str, Sequence[int]]]


def select_all(old: Stream, new: Stream) -> Selection:
    """All documents of two streams."""
    return range(len(old.texts)), range(len(new.texts)), {}


def select_documents(old: Stream, new: Stream, namespace: str) -> Selection:
    """The documents to read in two streams; namespace: the release namespace, "" if unknown."""
    counts = Counter(old.texts), Counter(new.texts)
    kinds = {
        text: kind
        for stream in (old, new)
        for text, kind in zip(stream.texts, stream.kinds, strict=True)
        if has_content(text)
    }
    selected = _selected(kinds, *counts, namespace)
    unread = grouped(
        (index for index, text in enumerate(new.texts) if text in kinds and text not in selected),
        lambda index: kinds[new.texts[index]],
    )
    old_indexes, new_indexes = (
        [index for index, text in enumerate(stream.texts) if text in selected]
        for stream in (old, new)
    )
    return old_indexes, new_indexes, unread


def _selected(
    texts: Mapping[str, str], old: Mapping[str, int], new: Mapping[str, int], namespace: str
) -> Collection[str]:
    """The texts of the documents to read.

    texts: the texts of both sides with their kinds; old, new: how often each side has a text.
    """
    whole = "\n".join(texts)
    differing = {text for text in texts if old.get(text) != new.get(text)}
    if any(mark in whole for mark in _READ_ALL) or any(
        _changes_all(text, texts[text]) for text in differing
    ):
        return texts

    marks = [mark for mark in _MARKS if mark in whole]
    read = _TEMPLATE_KINDS if _WORKLOAD_REF in marks else ()
    selected = differing | {
        text
        for text, kind in texts.items()
        if not _is_plain(kind)
        or kind in read
        or old.get(text) != 1
        or not text.endswith("\n")  # the end may be missing
        or has_any(text, marks)
    }
    if len(selected) == len(texts):
        return selected

    objects = {text: _objects_in(text, kind) for text, kind in texts.items()}
    selected |= {text for text, found in objects.items() if not all(names for *_, names in found)}
    selected |= _defined_again(objects)
    mentions = _mentions_by_text(objects, has_hashes=REVISION_END.search(whole) is not None)
    selected = {*_connected(selected, mentions)}
    namespaces = {namespace for found in objects.values() for _, namespace, _ in found}
    if not namespace and len(namespaces) > 1 and any("namespace" in text for text in selected):
        return texts  # all documents decide what an absent namespace means
    return selected


def _changes_all(text: str, kind: str) -> bool:
    """Whether a difference in a document can have an effect on every document.

    The objects of an attacher depend on all revisions of an attach group.
    """
    if kind in _PERMISSIONS or (kind not in CONTENT_KINDS and GROUP_LABEL in text):
        return True
    return not _is_plain(kind) and RBAC_GROUP in text


def _is_plain(kind: str) -> bool:
    return bool(kind) and not kind.endswith("List")


def _objects_in(text: str, kind: str) -> list[_Object]:
    """The objects of a document, one without names if a name is not certain."""
    usual = _USUAL_START.search(text) if _is_plain(kind) else None
    if usual and text.count("\nmetadata") == 1 and BASE_NAME_ANNOTATION not in text:
        return [(kind, usual[2] or "", _names(usual[1]))]
    try:
        document = parse_document(text, Location("")).data
    except UserError:
        return [("", "", set())]  # reading the document reports the error
    return [_object(root) for _, root in roots_of(document)]


def _object(root: Json) -> _Object:
    group_kind = group_kind_of(root)
    if not isinstance(root, dict) or group_kind is None:
        return "", "", set()
    metadata = mapping_at(root, ("metadata",))
    name, base_name = (
        metadata.get("name"),
        strings_at(root, "annotations").get(BASE_NAME_ANNOTATION),
    )
    names = _names(name, base_name) if isinstance(name, str) and name else set()
    return group_kind[1], str(metadata.get("namespace") or ""), names


def _names(name: str, base_name: str | None = None) -> set[str]:
    return {name, without_hash(name) or name, base_name or name}


def _defined_again(objects: Mapping[str, Iterable[_Object]]) -> set[str]:
    """The documents that may define an object that another document defines too."""
    definitions: dict[tuple[str, str], list[str]] = defaultdict(list)
    for text, found in objects.items():
        for kind, _, names in found:
            for name in names:
                definitions[kind, name].append(text)
    return {text for group in definitions.values() if len(group) > 1 for text in group}


def _mentions_by_text(
    objects: Mapping[str, Iterable[_Object]], *, has_hashes: bool
) -> dict[str, frozenset[str]]:
    """What each document mentions; objects: of each document."""
    names = {
        name
        for found in objects.values()
        for kind, _, names in found
        if kind in CONTENT_KINDS
        for name in names
    }
    # A program derives the name of an object that it writes from another name.
    derived = {
        name.removesuffix(suffix): name
        for name in names
        for suffix in DERIVED_SUFFIXES
        if name.endswith(suffix)
    }
    words = frozenset((*names, *derived))
    return {text: _mentions(text, words, derived, has_hashes=has_hashes) for text in objects}


def _mentions(
    text: str, names: frozenset[str], derived: Mapping[str, str], *, has_hashes: bool
) -> frozenset[str]:
    """The ConfigMaps and Secrets that a document mentions, and the hashes of revisions.

    Names count wherever they are: also with escapes, and in the base64 data of a Secret.
    names: of ConfigMaps and Secrets, and the names from which some of them derive.
    """
    shown = text
    if may_escape_names(text):
        shown = f"{text}\n{_ESCAPE.sub(_unescaped, text)}"
    if "Secret" in text:
        shown = "\n".join((shown, *decoded_values(text)))
    words = words_of(shown)
    mentioned = names.intersection(words)
    if not derived.keys().isdisjoint(mentioned):
        mentioned |= {derived[name] for name in mentioned if name in derived}
    if has_hashes or shown is not text:
        hashes = REVISION_END.findall(shown)
        mentioned |= {*hashes, *filter(None, map(without_hash, words))} if hashes else set()
    return mentioned


def _unescaped(match: re.Match[str]) -> str:
    digits = match[1] or match[2] or match[3]
    try:
        return chr(int(digits, 16)) if digits else ""
    except (ValueError, OverflowError):
        return match[0]


def _connected(selected: set[str], mentions: Mapping[str, Iterable[str]]) -> Collection[str]:
    """The selected documents, and all that share a mentioned name with one of them."""
    texts_by_name: dict[str, list[str]] = defaultdict(list)
    for text, names in mentions.items():
        for name in names:
            texts_by_name[name].append(text)
    return reachable(
        selected,
        lambda text: (one for name in mentions[text] for one in texts_by_name.pop(name, ())),
    )
