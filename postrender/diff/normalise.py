"""The forms of an object for comparisons.

`without_cluster_values`: without the values that an object has only after a read from a cluster;
`comparable`: with base names and Redacted text and, if the comparison is not exact, without the
annotations for the render ID and the checksum; always without the tracking ID of Argo CD;
`as_stored`: a pod template as the API server stores it, with revision names.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from collections.abc import Set as AbstractSet

from postrender.config.settings import NOTHING
from postrender.diff.fields import find_field_changes, restricted
from postrender.diff.marks import MARKED_KEYS, Masked, Redacted, mark_content, mark_digest
from postrender.diff.model import ADDED, FieldChange
from postrender.diff.pairs import Pair
from postrender.diff.secret_fields import mark_fields
from postrender.krm.input import own_annotations
from postrender.kubernetes.annotations import (
    CHECKSUM_ANNOTATION,
    LAST_APPLIED_ANNOTATION,
    RENDER_ID_ANNOTATION,
    TRACKING_ANNOTATION,
)
from postrender.kubernetes.hashing import CONTENT_HASH_LENGTH, HASH_SUFFIX
from postrender.kubernetes.kinds import CRD, api_group
from postrender.records import NamedTuple
from postrender.text import replace_words, words_of
from postrender.yaml.paths import Json, differing_parts, mapping_at

# Fields that the API server sets, and ignores in requests.
_IGNORED_FIELDS = frozenset({"creationTimestamp", "generation", "selfLink"})
# Other fields that a manifest has after a read from a cluster. The API server or a controller sets
# these fields, but the API server does not ignore the fields in requests.
_READ_FIELDS = ("uid", "resourceVersion", "managedFields", "ownerReferences")
# The fields of _READ_FIELDS that change if a controller updates or re-creates the object.
_CHANGING_FIELDS = ("uid", "resourceVersion", "managedFields")
_DERIVED_ANNOTATIONS = frozenset({RENDER_ID_ANNOTATION, CHECKSUM_ANNOTATION})
_STRING_MAPPINGS = ("annotations", "labels")
# Mappings of a pod template that the API server stores only if they are not empty (core/v1).
_STORED_UNLESS_EMPTY = frozenset(
    {"annotations", "labels", "metadata", "nodeSelector", "resources", "limits", "requests"}
)
_MIN_REVISION_LENGTH = CONTENT_HASH_LENGTH + 2
_REVISION_END = re.compile(rf"{HASH_SUFFIX}(?![A-Za-z0-9])")


class BaseNames(NamedTuple):
    """The base names, by revision name.

    of_all: for all revision names.
    of_secrets: for the revision names that `redact` replaces.
    moves: the names on the newer side of each current revision of the older side; None if no side
        has two revisions with one base name.
    """

    of_all: Mapping[str, str]
    of_secrets: Mapping[str, str]
    moves: Mapping[str, AbstractSet[str]] | None = None


class _Form(NamedTuple):
    """The form of compared data.

    base_names: by revision name.
    redacts: whether the content of Secrets, and digests, become Redacted text.
    keeps_derived: whether objects keep _DERIVED_ANNOTATIONS.
    is_stored: whether mappings lose their nulls and empty values, as in the API server. A manifest
        keeps them, because they decide whether an apply deletes what another program has written.
    """

    base_names: Mapping[str, str]
    redacts: bool = True
    keeps_derived: bool = False
    is_stored: bool = False


_AS_STORED = _Form(base_names=NOTHING, redacts=False, is_stored=True)


def without_cluster_values(
    old: dict[str, Json], new: dict[str, Json]
) -> tuple[dict[str, Json], dict[str, Json]]:
    """Two objects without the values that an object has only after a read from a cluster.

    For kinds of the Kubernetes project, `status` always goes, because the API server ignores it in
    an apply. If the older object was read from a cluster, any `status`, _READ_FIELDS and the
    last-applied annotation go too, unless a newer object that was not read from a cluster sets
    them: an apply then writes the value. `ownerReferences` of the newer object always stay.
    """
    if _is_of_kubernetes(old) and _is_of_kubernetes(new):
        old, new = without(old, "status"), without(new, "status")
    if not _was_read_from_cluster(old):
        return old, new
    before, after = (dict(mapping_at(side, ("metadata",))) for side in (old, new))
    is_new_read = _was_read_from_cluster(new)
    for field in _READ_FIELDS:
        if field not in after or (is_new_read and field in _CHANGING_FIELDS):
            before.pop(field, None)
            after.pop(field, None)
    if is_new_read or LAST_APPLIED_ANNOTATION not in mapping_at(after, ("annotations",)):
        for metadata in (before, after):
            annotations = mapping_at(metadata, ("annotations",))
            metadata["annotations"] = without(annotations, LAST_APPLIED_ANNOTATION)
    old, new = {**old, "metadata": before}, {**new, "metadata": after}
    if "status" not in new or is_new_read:
        old, new = without(old, "status"), without(new, "status")
    return old, new


def differing(pair: Pair) -> tuple[dict[str, Json], dict[str, Json]]:
    """The two objects of a pair without such values, and without most of their equal parts."""
    old, new = (one.data if one else {} for one in (pair.old, pair.new))
    if _was_read_from_cluster(old) or "status" in (pair.parts or ()):
        old, new = without_cluster_values(old, new)
        return restricted(old, new, differing_parts(old, new), MARKED_KEYS)
    return restricted(old, new, pair.parts, MARKED_KEYS)


def _is_of_kubernetes(data: Mapping[str, Json]) -> bool:
    """Whether the API group is a group of the Kubernetes project, which owns `*.k8s.io`."""
    group = api_group(str(data.get("apiVersion", "")))
    return "." not in group or group.endswith(".k8s.io")


def _was_read_from_cluster(data: Mapping[str, Json]) -> bool:
    metadata = mapping_at(data, ("metadata",))
    return all(metadata.get(field) for field in ("uid", "resourceVersion", "creationTimestamp"))


def without(data: Mapping[str, Json], *left_out: str) -> dict[str, Json]:
    """A mapping without some keys."""
    return {key: value for key, value in data.items() if key not in left_out}


def comparable(
    data: Mapping[str, Json], base_names: Mapping[str, str], *, is_exact: bool = False
) -> dict[str, Json]:
    """An object with base names, and without name, namespace and _IGNORED_FIELDS.

    The content of Secrets, and digests, become Redacted text.
    is_exact: whether to keep _DERIVED_ANNOTATIONS, as Redacted text.
    """
    metadata = without(mapping_at(data, ("metadata",)), "name", *_IGNORED_FIELDS)
    if isinstance(metadata.get("namespace"), str):
        del metadata["namespace"]  # a part of the identity
    if not metadata.get("annotations"):  # Helm and kubectl write annotations into each object
        metadata.pop("annotations", None)
    # The schema of a Secret in a custom kind is no content.
    form = _Form(base_names, redacts=data.get("kind") != CRD, keeps_derived=is_exact)
    rest = without(data, "metadata")
    compared = _in_form({**rest, "metadata": metadata} if metadata else rest, form)
    if not isinstance(compared, dict):
        return {}
    is_role = data.get("kind") in ("Role", "ClusterRole")
    return _without_repeated_names(compared) if is_role else compared


def changed_fields(
    old: dict[str, Json], new: dict[str, Json], names: BaseNames, *, is_exact: bool = False
) -> list[FieldChange]:
    """The fields that differ between two objects in the form of `comparable`.

    A text that names another revision than the one that replaces the old one is a change, too. For
    a Role, which lists several revisions, postrender.diff.changes finds such a change.
    """
    base = names.of_all
    changes = find_field_changes(
        comparable(old, base, is_exact=is_exact), comparable(new, base, is_exact=is_exact)
    )
    if names.moves is not None and new.get("kind") not in ("Role", "ClusterRole"):
        written = find_field_changes(comparable(old, NOTHING), comparable(new, NOTHING))
        changes += filter(None, (_other_revision(field, names) for field in written))
    return changes


def _other_revision(field: FieldChange, names: BaseNames) -> FieldChange | None:
    """The change of a text in which base names hide another revision."""
    old, new = field.old, field.new
    if not (isinstance(old, str) and isinstance(new, str)):
        return None
    if with_base_names(old, names.of_all) != with_base_names(new, names.of_all):
        return None
    moves = names.moves or {}
    words = zip(words_of(old), words_of(new), strict=False)
    if all(before == after or after in moves.get(before, ()) for before, after in words):
        return None
    is_secret = with_base_names(old, names.of_secrets) == with_base_names(new, names.of_secrets)
    return field._replace(old=Redacted(old), new=Redacted(new)) if is_secret else field


def content_fields(
    data: Mapping[str, Json], change: str, base_names: Mapping[str, str]
) -> tuple[FieldChange, ...]:
    """The fields of an object that is ADDED or REMOVED, as in `comparable`.

    A new name can otherwise hide any other change.
    """
    whole = without(comparable(data, base_names), "apiVersion", "kind", "status")
    old, new = ({}, whole) if change == ADDED else (whole, {})
    return tuple(find_field_changes(old, new))


def _without_repeated_names(role: dict[str, Json]) -> dict[str, Json]:
    """A Role without repeated names, which revisions of one base name can cause."""
    rules = role.get("rules")
    for rule in rules if isinstance(rules, list) else ():
        names = rule.get("resourceNames") if isinstance(rule, dict) else None
        if isinstance(names, list) and all(isinstance(name, str) for name in names):
            rule["resourceNames"] = list(dict.fromkeys(names))
    return role


def as_stored(template: Json) -> Json:
    """A pod template as the API server stores it, with revision names.

    The API server does not store an empty list of a PodSpec (core/v1).
    """
    return _in_form(template, _AS_STORED)


def _in_form(data: Json, form: _Form) -> Json:
    # This function runs for every value. The check of the length avoids a call for most strings.
    if isinstance(data, dict):
        compared: dict[str, Json] = {}
        if form.redacts and not MARKED_KEYS.isdisjoint(data):
            data = mark_fields(mark_content(data))
        for key, value in data.items():
            if value.__class__ is str:
                is_short = len(value) < _MIN_REVISION_LENGTH
                compared[key] = value if is_short else with_base_names(value, form.base_names)
            elif value is None:
                if not form.is_stored and key not in _IGNORED_FIELDS:
                    compared[key] = None
            elif not form.is_stored or value != []:
                inner = (
                    _annotations_or_labels(value, form)
                    if key in _STRING_MAPPINGS and isinstance(value, dict)
                    else _in_form(value, form)
                )
                # Annotations that are all of postrender, and the metadata around, count as absent.
                is_emptied = bool(value) and key in ("annotations", "metadata")
                is_absent = key in _STORED_UNLESS_EMPTY if form.is_stored else is_emptied
                if inner or not is_absent:
                    compared[key] = inner
        return compared
    if isinstance(data, list):
        return [_in_form(value, form) for value in data]
    if isinstance(data, str):
        if data.__class__ is Masked:
            return Masked(replace_words(data, form.base_names), _in_form(data.data, form))
        return with_base_names(data, form.base_names)
    return data


def nulls_of(values: Mapping[str, Json]) -> dict[str, Json]:
    """The entries of a mapping whose value is null."""
    return {key: None for key, value in values.items() if value is None}


def _annotations_or_labels(values: dict[str, Json], form: _Form) -> Json:
    # A value without quotes, such as true, stays what it is: the API server rejects it.
    known = own_annotations({key: str(value) for key, value in values.items() if value is not None})
    own = {key: values[key] for key in known}
    if not form.redacts:
        return own
    return nulls_of(values) | {
        key: _annotation_or_label(key, value, form.base_names)
        for key, value in own.items()
        if key != TRACKING_ANNOTATION and (form.keeps_derived or key not in _DERIVED_ANNOTATIONS)
    }


def _annotation_or_label(key: str, value: Json, base_names: Mapping[str, str]) -> Json:
    if key in _DERIVED_ANNOTATIONS or key == LAST_APPLIED_ANNOTATION:
        return Redacted(value)
    return mark_digest(key, with_base_names(value, base_names)) if isinstance(value, str) else value


def with_base_names(text: str, base_names: Mapping[str, str]) -> str:
    """A text with base names instead of revision names, unless the text is Redacted."""
    if text in base_names:
        return base_names[text]
    if isinstance(text, Redacted) or not _REVISION_END.search(text):
        return text
    return replace_words(text, base_names)
