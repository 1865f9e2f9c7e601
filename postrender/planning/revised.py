"""The edits that make a ConfigMap a revision of itself: its name, label, annotations, immutable.

One output serves every tool: helm's and Argo CD's and Flux's annotations are all there, from the
first apply on, because the live object must have them before the next one.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from postrender.editing.edits import AddKeys, Edit, SetScalar
from postrender.items import BASE_NAME_ANNOTATION, MANAGED_LABEL, SWEEP_ANNOTATION, Item
from postrender.paths import Path
from postrender.planning.decide import Decision

# helm-diff pairs revisions by this (helm-diff 3.10 and later).
_PAIRING = "helm-diff/base-name"
# Helm: not deleted by an upgrade that no longer has it; Argo CD: neither pruned nor OutOfSync for
# being extra (both are needed); Flux: not pruned.
_KEEP = {
    "helm.sh/resource-policy": "keep",
    "argocd.argoproj.io/sync-options": "Prune=false",
    "argocd.argoproj.io/compare-options": "IgnoreExtraneous",
    "kustomize.toolkit.fluxcd.io/prune": "disabled",
}
_LISTS = ("argocd.argoproj.io/sync-options", "argocd.argoproj.io/compare-options")


def keep_annotations() -> dict[str, str]:
    """Return the annotations that stop every tool from deleting an object of its own accord."""
    return dict(_KEEP)


def revision_edits(
    decision: Decision, name: str, set_name: str, *, is_attached: bool, is_swept: bool
) -> list[Edit]:
    """Return the edits that turn an object into the revision `name` of the set `set_name`.

    is_attached: whether an attacher looks after it (otherwise the applying tool deletes it);
    is_swept: whether that attacher may delete it when it sees nothing that names it.
    """
    item = decision.item
    metadata = (*item.path, "metadata")
    annotations = {BASE_NAME_ANNOTATION: item.identity.name, _PAIRING: item.identity.name}
    if is_attached:
        annotations |= _KEEP
        if not is_swept:
            annotations[SWEEP_ANNOTATION] = "false"
    return [
        *(SetScalar(path, text) for path, text in item.folded),
        SetScalar((*metadata, "name"), name),
        *_merge((*metadata, "labels"), item.labels, {MANAGED_LABEL: set_name}),
        *_merge((*metadata, "annotations"), item.annotations, annotations),
        *_immutable(item, decision.is_immutable),
    ]


def changed_values(there: Mapping[str, str], wanted: Mapping[str, str]) -> dict[str, str]:
    """Return the labels or annotations to write so that what is wanted is there.

    A list of options keeps those that it has.
    """
    merged = {
        key: _with_item(there[key], value) if key in there and key in _LISTS else value
        for key, value in wanted.items()
    }
    return {key: value for key, value in merged.items() if there.get(key) != value}


def _merge(path: Path, there: dict[str, str], wanted: dict[str, str]) -> Iterator[Edit]:
    changed = changed_values(there, wanted)
    for key, value in changed.items():
        if key in there:
            yield SetScalar((*path, key), value)
    missing = {key: value for key, value in changed.items() if key not in there}
    if missing:
        yield AddKeys(path, missing)


def _with_item(text: str, item: str) -> str:
    """Return a comma-separated list with an option set: `Prune=false` replaces `Prune=true`."""
    items = [part.strip() for part in text.split(",") if part.strip()]
    if item in items:
        return text
    option = item.partition("=")[0]
    others = [part for part in items if part.partition("=")[0] != option]
    return ",".join([*others, item])


def _immutable(item: Item, is_immutable: bool) -> Iterator[Edit]:
    content = item.content or {}
    if "immutable" not in content:
        yield AddKeys(item.path, {"immutable": is_immutable})
    elif content["immutable"] is not is_immutable:
        yield SetScalar((*item.path, "immutable"), is_immutable)
