"""The prefilter: a search of the text that selects the documents to parse.

Most documents of a chart do not reference ConfigMaps. Because only a few of them are parsed,
postrender is fast, and unusual YAML rarely causes an error. With the setting `secrets`, "ConfigMap"
means "ConfigMap or Secret" in this module.
"""

from __future__ import annotations

import re

from postrender.kubernetes.annotations import HELM_HOOK_ANNOTATION, PREFIX
from postrender.kubernetes.kinds import CRD, WORKLOAD_KINDS
from postrender.name_parts import NameParts
from postrender.text import WordSet, decoded_values, has_any
from postrender.yaml.stream import Stream

# In a double-quoted scalar.
_NAME_ESCAPE = r"\\(?:x[2-7]|u00[2-7]|U000000[2-7]|\r?\n)"
_WORKLOADS = frozenset(kind for _, kind in WORKLOAD_KINDS)
# In a text that builds the name of a ConfigMap, one of these is part of the kind or of a command.
_KIND_MARKS = (
    *("onfigMap", "onfigmap", "ONFIGMAP", "onfig_map", "ONFIG_MAP", "onfig-map"),
    *("kubectl", "$(", "spring", "bject.metadata"),
    " cm",
)
_ALWAYS_RELEVANT = (PREFIX, HELM_HOOK_ANNOTATION, "argocd.argoproj.io/", "workloadRef")


def may_escape_names(text: str) -> bool:
    """Whether a text can contain names with escapes, which a text search does not find."""
    return "\\" in text and re.search(_NAME_ESCAPE, text) is not None


def may_hold(text: str, kind: str, kinds: set[str]) -> bool:
    """Whether a document of this kind (Stream.kinds) can contain an object of one of the kinds."""
    if kind and not kind.endswith("List"):
        return kind in kinds
    return has_any(text, kinds) or may_escape_names(text)


def must_check_end(stream: Stream, index: int) -> bool:
    """Whether the end of a document could be missing, so that it must be parsed.

    It is JSON without the last bracket, or Stream.lacks_newline returns True.
    """
    body = stream.texts[index].strip()
    if body[:1] in ("{", "[") and body[-1] not in "}]":
        return True
    return stream.lacks_newline(index)


def may_hide_an_object(text: str, kind: str) -> bool:
    """Whether a document of this kind can have two objects, without `---` between them.

    The split into documents leaves `---` in the middle of a text only if it is not a marker.
    """
    if text.rfind("\n---", 1) >= 0 or (text.startswith("---") and not text[3:4].isspace()):
        return True
    if kind:
        return False
    first = 0 if text.startswith("kind:") else text.find("\nkind:")
    return first >= 0 and text.find("\nkind:", first + 1) >= 0


def is_relevant(
    text: str, kind: str, names: WordSet, parts: NameParts, *, has_mounts: bool
) -> bool:
    """Whether a document of this kind (Stream.kinds) must be parsed, after those with ConfigMaps.

    It must be if it can reference a ConfigMap, or can affect the output without a reference, as a
    hook or a Rollout with a workloadRef does.
    names: the names of the ConfigMaps.
    parts: the parts of the names.
    has_mounts: whether any ConfigMap requests an auto-mount.
    """
    if kind == CRD:
        return False
    is_workload = not kind or kind in _WORKLOADS
    if is_workload and (has_mounts or "onfigMap" in text or "namespace" in text):
        return True
    if has_any(text, _ALWAYS_RELEVANT):
        return True
    if names.is_in(text) or may_escape_names(text):
        return True
    if has_any(text, _KIND_MARKS) and parts.possible_in(text):
        return True
    return _is_encoded_in(text, kind, names, parts)


def _is_encoded_in(text: str, kind: str, names: WordSet, parts: NameParts) -> bool:
    """Whether a document can contain a Secret whose data has one of the names in base64."""
    if "Secret" not in text:
        return False
    if kind and kind != "Secret" and not kind.endswith("List"):
        return False  # The text contains another word with `Secret`, such as imagePullSecrets.
    return any(names.is_in(value) or parts.found_in(value) for value in decoded_values(text))
