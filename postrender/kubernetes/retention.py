"""The annotations by which every tool leaves an object alone that its manifests no longer have.

Helm: not deleted by an upgrade; Argo CD: neither pruned nor OutOfSync for being extra (both are
needed); Flux: not pruned. One output serves all of them.
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
_LISTS = (SYNC_OPTIONS_ANNOTATION, COMPARE_OPTIONS_ANNOTATION)


def keep_annotations() -> dict[str, str]:
    """Return the annotations that stop every tool from deleting an object of its own accord."""
    return dict(_KEEP)


def without_keep(there: Mapping[str, str]) -> dict[str, str]:
    """Return annotations without those; a list of options keeps the others that it has."""
    rest = {key: value for key, value in there.items() if value != _KEEP.get(key)}
    for key in _LISTS:
        options = [part for part in _options(rest.get(key, "")) if part != _KEEP[key]]
        if options:
            rest[key] = ",".join(options)
    return rest


def changed_values(there: Mapping[str, str], wanted: Mapping[str, str]) -> dict[str, str]:
    """Return the labels or annotations to write so that what is wanted is there.

    A list of options keeps those that it has.
    """
    if there.keys().isdisjoint(wanted):
        return dict(wanted)
    merged = {
        key: _with_option(there[key], value) if key in there and key in _LISTS else value
        for key, value in wanted.items()
    }
    return {key: value for key, value in merged.items() if there.get(key) != value}


def _with_option(text: str, option: str) -> str:
    """Return a comma-separated list with an option set: `Prune=false` replaces `Prune=true`."""
    options = _options(text)
    if option in options:
        return text
    name = option.partition("=")[0]
    others = [part for part in options if part.partition("=")[0] != name]
    return ",".join([*others, option])


def _options(text: str) -> list[str]:
    return [part.strip() for part in text.split(",") if part.strip()]
