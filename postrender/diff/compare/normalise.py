"""Objects as they are compared: by base names, without what a server or a render adds."""

from __future__ import annotations

from collections.abc import Mapping

from postrender.diff.compare.redact import Hidden, hide_content, hide_digest
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

# What an API server writes, where manifests come from one.
_SERVERS = frozenset(
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
_DERIVED = frozenset({RENDER_ID_ANNOTATION, CHECKSUM_ANNOTATION, LAST_APPLIED_ANNOTATION})
_ON_REVISIONS = frozenset(
    {
        BASE_NAME_ANNOTATION,
        PAIRING_ANNOTATION,
        NUMBER_ANNOTATION,
        SWEEP_ANNOTATION,
        UNUSED_ANNOTATION,
    }
)
_CONTENT = ("data", "binaryData", "stringData", "immutable", "kind")
_OF_TEXTS = ("annotations", "labels")
# Keys that may be there without saying anything.
_MAY_BE_EMPTY = ("annotations", "labels", "metadata", "nodeSelector")
_SHORTEST_REVISION = HASH_LENGTH + 2
_REVISION = pattern(rf"{HASH_SUFFIX}(?![A-Za-z0-9])")


class BaseNames(NamedTuple):
    """What each revision name stands for; of_secrets: those that are not to be shown."""

    of_all: Mapping[str, str]
    of_secrets: Mapping[str, str]


def comparable(data: Mapping[str, Json], names: BaseNames) -> dict[str, Json]:
    """Return an object as it is compared."""
    own = {key: value for key, value in data.items() if key not in ("metadata", "status")}
    metadata = {
        key: value
        for key, value in mapping_at(data, ("metadata",)).items()
        if key not in _SERVERS and key not in ("name", "namespace")
    }
    compared = _comparable({**own, "metadata": metadata}, names.of_all)
    if isinstance(compared, dict):
        return (
            _without_repeats(compared) if data.get("kind") in ("Role", "ClusterRole") else compared
        )
    return {}


def _without_repeats(role: dict[str, Json]) -> dict[str, Json]:
    """Return a Role that grants each base name once: a render adds the names of revisions."""
    rules = role.get("rules")
    for rule in rules if isinstance(rules, list) else ():
        named = rule.get("resourceNames") if isinstance(rule, dict) else None
        if isinstance(named, list) and all(isinstance(name, str) for name in named):
            rule["resourceNames"] = list(dict.fromkeys(named))
    return role


def comparable_content(data: Mapping[str, Json], names: BaseNames) -> dict[str, Json]:
    """Return a ConfigMap or Secret as it is compared, but for what it holds."""
    own = {key: value for key, value in data.items() if key not in _CONTENT}
    annotations = without_keep(strings_at(dict(data), "annotations"))
    labels = strings_at(dict(data), "labels")
    metadata = {
        **mapping_at(data, ("metadata",)),
        "annotations": {key: annotations[key] for key in annotations if key not in _ON_REVISIONS},
        "labels": {key: labels[key] for key in labels if key != GROUP_LABEL},
    }
    return comparable({**own, "metadata": metadata}, names)


def applied(template: Json) -> Json:
    """Return a pod template as the API server has it.

    An empty list is none: every list of core/v1 PodSpec is left out where it is empty. A render id
    differs where the templates do as they are written.
    """
    return _without_empty_lists(_comparable(template, {}, hides=False))


def _without_empty_lists(data: Json) -> Json:
    if isinstance(data, dict):
        return {key: _without_empty_lists(value) for key, value in data.items() if value != []}
    return [_without_empty_lists(value) for value in data] if isinstance(data, list) else data


def _comparable(data: Json, base_names: Mapping[str, str], *, hides: bool = True) -> Json:
    # A hot loop: short strings, which no revision name is in, cost no call.
    if isinstance(data, dict):
        compared: dict[str, Json] = {}
        for key, value in (hide_content(data) if hides and "kind" in data else data).items():
            if value.__class__ is str:
                is_short = len(value) < _SHORTEST_REVISION
                compared[key] = value if is_short else with_base_names(value, base_names)
            elif value is not None:
                inner = (
                    _annotations(value, base_names, hides=hides)
                    if key in _OF_TEXTS and isinstance(value, dict)
                    else _comparable(value, base_names, hides=hides)
                )
                if inner or key not in _MAY_BE_EMPTY:
                    compared[key] = inner
        return compared
    if isinstance(data, list):
        return [_comparable(value, base_names, hides=hides) for value in data]
    if isinstance(data, str):
        return with_base_names(data, base_names)
    return data


def _annotations(values: dict[str, Json], base_names: Mapping[str, str], *, hides: bool) -> Json:
    known = own_annotations({key: str(value) for key, value in values.items() if value is not None})
    return {
        key: hide_digest(key, with_base_names(text, base_names)) if hides else text
        for key, text in known.items()
        if not hides or key not in _DERIVED
    }


def with_base_names(text: str, base_names: Mapping[str, str]) -> str:
    """Return text with base names in the place of revision names; what is hidden stays so."""
    if text in base_names:
        return base_names[text]
    if isinstance(text, Hidden) or not _REVISION.search(text):
        return text
    return replace_words(text, base_names)
