"""Objects in the form in which they are compared: with base names, without generated fields."""

from __future__ import annotations

from collections.abc import Mapping

from postrender.diff.redact import Redacted, mark_content, mark_digest
from postrender.krm.tool_annotations import own_annotations
from postrender.kubernetes.annotations import (
    BASE_NAME_ANNOTATION,
    CHECKSUM_ANNOTATION,
    GROUP_LABEL,
    LAST_APPLIED_ANNOTATION,
    NUMBER_ANNOTATION,
    PAIRING_ANNOTATION,
    RENDER_ID_ANNOTATION,
    SWEEP_ANNOTATION,
    UNUSED_ANNOTATION,
)
from postrender.kubernetes.hashing import HASH_LENGTH, HASH_SUFFIX
from postrender.kubernetes.kinds import strings_at
from postrender.kubernetes.retention import without_keep
from postrender.startup.patterns import pattern
from postrender.startup.records import NamedTuple
from postrender.text.words import replace_words
from postrender.yaml.paths import Json, mapping_at

# Set by the API server, in manifests that were read from a cluster.
_SERVER_FIELDS = frozenset(
    {
        "creationTimestamp",
        "generation",
        "managedFields",
        "resourceVersion",
        "selfLink",
        "uid",
        "ownerReferences",
    }
)
_DERIVED_ANNOTATIONS = frozenset(
    {RENDER_ID_ANNOTATION, CHECKSUM_ANNOTATION, LAST_APPLIED_ANNOTATION}
)
_REVISION_ANNOTATIONS = frozenset(
    {
        BASE_NAME_ANNOTATION,
        PAIRING_ANNOTATION,
        NUMBER_ANNOTATION,
        SWEEP_ANNOTATION,
        UNUSED_ANNOTATION,
    }
)
_CONTENT = ("data", "binaryData", "stringData", "immutable", "kind")
_STRING_MAPPINGS = ("annotations", "labels")
# An empty value of these fields means the same as no field.
_MAY_BE_EMPTY = ("annotations", "labels", "metadata", "nodeSelector")
_MIN_REVISION_LENGTH = HASH_LENGTH + 2
_REVISION = pattern(rf"{HASH_SUFFIX}(?![A-Za-z0-9])")


class BaseNames(NamedTuple):
    """The base name of each revision name; of_secrets: the names that must not be shown."""

    of_all: Mapping[str, str]
    of_secrets: Mapping[str, str]


def comparable(data: Mapping[str, Json], names: BaseNames) -> dict[str, Json]:
    """Return an object in the form in which it is compared."""
    rest = {key: value for key, value in data.items() if key not in ("metadata", "status")}
    metadata = {
        key: value
        for key, value in mapping_at(data, ("metadata",)).items()
        if key not in _SERVER_FIELDS and key not in ("name", "namespace")
    }
    compared = _comparable({**rest, "metadata": metadata}, names.of_all)
    if not isinstance(compared, dict):
        return {}
    is_role = data.get("kind") in ("Role", "ClusterRole")
    return _without_repeated_names(compared) if is_role else compared


def _without_repeated_names(role: dict[str, Json]) -> dict[str, Json]:
    """Return a Role with each base name once: a render adds revision names next to base names."""
    rules = role.get("rules")
    for rule in rules if isinstance(rules, list) else ():
        names = rule.get("resourceNames") if isinstance(rule, dict) else None
        if isinstance(names, list) and all(isinstance(name, str) for name in names):
            rule["resourceNames"] = list(dict.fromkeys(names))
    return role


def comparable_metadata(data: Mapping[str, Json], names: BaseNames) -> dict[str, Json]:
    """Return a ConfigMap or Secret in the form in which it is compared, without its data."""
    rest = {key: value for key, value in data.items() if key not in _CONTENT}
    annotations = without_keep(strings_at(dict(data), "annotations"))
    labels = strings_at(dict(data), "labels")
    metadata = {
        **mapping_at(data, ("metadata",)),
        "annotations": {
            key: annotations[key] for key in annotations if key not in _REVISION_ANNOTATIONS
        },
        "labels": {key: labels[key] for key in labels if key != GROUP_LABEL},
    }
    return comparable({**rest, "metadata": metadata}, names)


def as_stored(template: Json) -> Json:
    """Return a pod template as the API server stores it, with revision names and digests.

    Empty lists are left out, because the API server does not store an empty list of a PodSpec
    (core/v1). Two templates in this form differ exactly if their render IDs differ.
    """
    return _without_empty_lists(_comparable(template, {}, redacts=False))


def _without_empty_lists(data: Json) -> Json:
    if isinstance(data, dict):
        return {key: _without_empty_lists(value) for key, value in data.items() if value != []}
    return [_without_empty_lists(value) for value in data] if isinstance(data, list) else data


def _comparable(data: Json, base_names: Mapping[str, str], *, redacts: bool = True) -> Json:
    # A hot loop: strings that are too short for a revision name cost no call.
    if isinstance(data, dict):
        compared: dict[str, Json] = {}
        for key, value in (mark_content(data) if redacts and "kind" in data else data).items():
            if value.__class__ is str:
                is_short = len(value) < _MIN_REVISION_LENGTH
                compared[key] = value if is_short else with_base_names(value, base_names)
            elif value is not None:
                inner = (
                    _annotations(value, base_names, redacts=redacts)
                    if key in _STRING_MAPPINGS and isinstance(value, dict)
                    else _comparable(value, base_names, redacts=redacts)
                )
                if inner or key not in _MAY_BE_EMPTY:
                    compared[key] = inner
        return compared
    if isinstance(data, list):
        return [_comparable(value, base_names, redacts=redacts) for value in data]
    if isinstance(data, str):
        return with_base_names(data, base_names)
    return data


def _annotations(values: dict[str, Json], base_names: Mapping[str, str], *, redacts: bool) -> Json:
    texts = own_annotations({key: str(value) for key, value in values.items() if value is not None})
    return {
        key: mark_digest(key, with_base_names(text, base_names)) if redacts else text
        for key, text in texts.items()
        if not redacts or key not in _DERIVED_ANNOTATIONS
    }


def with_base_names(text: str, base_names: Mapping[str, str]) -> str:
    """Return a text with base names instead of revision names, unless the text is Redacted."""
    if text in base_names:
        return base_names[text]
    if isinstance(text, Redacted) or not _REVISION.search(text):
        return text
    return replace_words(text, base_names)
