"""Annotations that stop Helm, Argo CD and Flux from deleting objects that the manifests lack.

Argo CD needs two annotations. With `Prune=false`, Argo CD does not delete the object. Without
`IgnoreExtraneous`, the object would make the Application OutOfSync. postrender sets the
annotations of all tools together, so that the output does not depend on the tool.
"""

from __future__ import annotations

from collections.abc import Mapping

from postrender.kubernetes.annotations import (
    COMPARE_OPTIONS_ANNOTATION,
    FLUX_PRUNE_ANNOTATION,
    RESOURCE_POLICY_ANNOTATION,
    SYNC_OPTIONS_ANNOTATION,
)

_KEEP = {
    RESOURCE_POLICY_ANNOTATION: "keep",
    SYNC_OPTIONS_ANNOTATION: "Prune=false",
    COMPARE_OPTIONS_ANNOTATION: "IgnoreExtraneous",
    FLUX_PRUNE_ANNOTATION: "disabled",
}
# The annotations whose value is a comma-separated list of options.
_OPTION_LISTS = (SYNC_OPTIONS_ANNOTATION, COMPARE_OPTIONS_ANNOTATION)


def keep_annotations() -> dict[str, str]:
    """Return the annotations that stop Helm, Argo CD and Flux from deleting an object."""
    return dict(_KEEP)


def without_keep(annotations: Mapping[str, str]) -> dict[str, str]:
    """Return annotations without the annotations in keep_annotations().

    If the value is a list of options, the function removes only the option in keep_annotations().
    """
    rest = {key: value for key, value in annotations.items() if value != _KEEP.get(key)}
    for key in _OPTION_LISTS:
        options = _options(rest.get(key, ""))
        others = [option for option in options if option != _KEEP[key]]
        if others:
            rest[key] = ",".join(others)
        elif options:
            del rest[key]
    return rest


def changed_values(current: Mapping[str, str], desired: Mapping[str, str]) -> dict[str, str]:
    """Return the labels or annotations to write, so that an object has the desired values.

    If the value is a list of options, the function adds an option, and removes only a contrary
    option such as `Prune=true`.
    current: the labels or annotations of the object.
    """
    merged = {
        key: _with_option(current[key], value) if key in current and key in _OPTION_LISTS else value
        for key, value in desired.items()
    }
    return {key: value for key, value in merged.items() if current.get(key) != value}


def _with_option(text: str, option: str) -> str:
    """Return a comma-separated list with an option set: `Prune=false` replaces `Prune=true`."""
    options = _options(text)
    if option in options:
        return text
    name = option.partition("=")[0]
    kept = [part for part in options if part.partition("=")[0] != name]
    return ",".join([*kept, option])


def _options(text: str) -> list[str]:
    return [part.strip() for part in text.split(",") if part.strip()]
