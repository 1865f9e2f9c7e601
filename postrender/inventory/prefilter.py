"""Which documents of a stream must be read, told from their text alone.

Most of a chart's documents concern no ConfigMap. They are never parsed, which is what makes a
render fast, and keeps odd YAML in them from doing harm.
"""

from __future__ import annotations

from postrender.kubernetes.annotations import HELM_HOOK_ANNOTATION, PREFIX
from postrender.kubernetes.kinds import WORKLOAD_KINDS
from postrender.startup.patterns import pattern
from postrender.text.words import WordSet
from postrender.yaml.stream import Stream

_ROOT_KIND = pattern(r"kind:[ \t]+([A-Za-z]+)[ \t]*(?:#[^\n]*)?(?:\r?\n|\Z)")
# Lines that could hold a root key in another spelling than `kind:` at column 0. Patterns here
# begin with a literal, which lets the engine skip through megabytes of CRDs in no time.
_UNUSUAL_LINE = pattern("\n[\"'?&!*{\\[]")
# Escapes in a double-quoted scalar that could hide a name from a search of the text.
_HIDING = pattern(r"\\(?:x[2-7]|u00[2-7]|U000000[2-7]|\r?\n)")
_WORKLOADS = frozenset(kind for _, kind in WORKLOAD_KINDS)
_ALWAYS_MATTERS = (PREFIX, HELM_HOOK_ANNOTATION, "argocd.argoproj.io/", "workloadRef")


def hides_names(text: str) -> bool:
    """Tell whether a text may hold names that a search of it does not see."""
    return "\\" in text and _HIDING.search(text) is not None


def root_kind(text: str) -> str:
    """Return the kind of the one object in a document, or nothing where the text leaves a doubt."""
    start = 0 if text.startswith("kind:") else text.find("\nkind:") + 1
    match = _ROOT_KIND.match(text, start)
    if not match or text.find("\nkind:", start) >= 0 or _UNUSUAL_LINE.search(text):
        return ""
    return match[1]


def may_hold(text: str, kind: str, kinds: set[str]) -> bool:
    """Return whether a document may hold an object of one of the kinds; kind: its root_kind()."""
    if kind and not kind.endswith("List"):
        return kind in kinds
    return any(kind in text for kind in kinds) or hides_names(text)


def may_be_cut(stream: Stream, index: int) -> bool:
    """Tell whether a document must be read to see that the stream is whole."""
    body = stream.documents[index].text.strip()
    if body[:1] in ("{", "[") and body[-1] not in "}]":
        return True
    return stream.may_be_cut(index)


def is_relevant(text: str, kind: str, names: WordSet, *, mounts: bool) -> bool:
    """Tell whether a document without ConfigMaps may concern those of the stream.

    kind: its root_kind(). names: of the ConfigMaps; mounts: whether one of them is mounted where it
    asks to be.
    """
    if kind == "CustomResourceDefinition":
        return False
    is_workload = not kind or kind in _WORKLOADS
    if is_workload and (mounts or "onfigMap" in text or "namespace" in text):
        return True
    if any(mark in text for mark in _ALWAYS_MATTERS):
        return True
    return names.count_in(text) > 0 or hides_names(text)
