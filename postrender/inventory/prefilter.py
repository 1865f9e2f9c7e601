"""The prefilter: a search of the text that selects the documents to parse.

Most documents of a chart have nothing to do with ConfigMaps and are never parsed. That makes a
render fast, and unusual YAML in these documents cannot cause an error.
"""

from __future__ import annotations

from postrender.kubernetes.annotations import HELM_HOOK_ANNOTATION, PREFIX
from postrender.kubernetes.kinds import WORKLOAD_KINDS
from postrender.startup.patterns import pattern
from postrender.text.words import WordSet
from postrender.yaml.stream import Stream

_ROOT_KIND = pattern(r"kind:[ \t]+([A-Za-z]+)[ \t]*(?:#[^\n]*)?(?:\r?\n|\Z)")
# A line that may have a root key in another spelling than `kind:` at column 0. The pattern begins
# with a literal, so that the regex engine scans megabytes of CRDs quickly.
_UNUSUAL_LINE = pattern("\n[\"'?&!*{\\[]")
# Escapes in a double-quoted scalar, which a search of the text for a name does not see.
_NAME_ESCAPE = pattern(r"\\(?:x[2-7]|u00[2-7]|U000000[2-7]|\r?\n)")
_WORKLOADS = frozenset(kind for _, kind in WORKLOAD_KINDS)
_ALWAYS_RELEVANT = (PREFIX, HELM_HOOK_ANNOTATION, "argocd.argoproj.io/", "workloadRef")


def may_escape_names(text: str) -> bool:
    """Return whether a text may contain names with escapes, which a text search does not see."""
    return "\\" in text and _NAME_ESCAPE.search(text) is not None


def root_kind(text: str) -> str:
    """Return the kind of the only object in a document, "" if the text leaves a doubt."""
    start = 0 if text.startswith("kind:") else text.find("\nkind:") + 1
    match = _ROOT_KIND.match(text, start)
    if not match or text.find("\nkind:", start) >= 0 or _UNUSUAL_LINE.search(text):
        return ""
    return match[1]


def may_hold(text: str, kind: str, kinds: set[str]) -> bool:
    """Return whether a document may contain an object of the kinds; kind: its root_kind()."""
    if kind and not kind.endswith("List"):
        return kind in kinds
    return any(name in text for name in kinds) or may_escape_names(text)


def may_be_cut(stream: Stream, index: int) -> bool:
    """Return whether a document must be parsed because the stream may end inside it."""
    body = stream.documents[index].text.strip()
    if body[:1] in ("{", "[") and body[-1] not in "}]":
        return True
    return stream.may_be_cut(index)


def is_relevant(text: str, kind: str, names: WordSet, *, mounts: bool) -> bool:
    """Return whether a document without ConfigMaps may reference a ConfigMap of the stream.

    kind: its root_kind(). names: of the ConfigMaps. mounts: whether a ConfigMap requests an
    auto-mount.
    """
    if kind == "CustomResourceDefinition":
        return False
    is_workload = not kind or kind in _WORKLOADS
    if is_workload and (mounts or "onfigMap" in text or "namespace" in text):
        return True
    if any(mark in text for mark in _ALWAYS_RELEVANT):
        return True
    return names.count_in(text) > 0 or may_escape_names(text)
