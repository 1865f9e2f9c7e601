"""The edits that make a ConfigMap a revision of itself: its name, label, annotations, immutable.

The annotations that keep it are there from the first apply on, because the live object must have
them before the next one.
"""

from __future__ import annotations

from collections.abc import Iterator

from postrender.inventory.model import Item
from postrender.krm.tool_annotations import outdated_annotations, own_annotations
from postrender.kubernetes.annotations import (
    BASE_NAME_ANNOTATION,
    GROUP_LABEL,
    NUMBER_ANNOTATION,
    PAIRING_ANNOTATION,
    RESOURCE_POLICY_ANNOTATION,
    SWEEP_ANNOTATION,
)
from postrender.kubernetes.kinds import strings_at
from postrender.kubernetes.retention import changed_values, keep_annotations, without_keep
from postrender.plan.history import EarlierRevision, Remains
from postrender.plan.strategy import StrategyDecision
from postrender.yaml.edits import AddKeys, Edit, Remove, SetScalar
from postrender.yaml.paths import Json, Path, mapping_at


def revision_edits(
    decision: StrategyDecision,
    name: str,
    group_name: str,
    *,
    is_attached: bool,
    is_swept: bool,
    order: int | None = None,
) -> list[Edit]:
    """Return the edits that turn an object into the revision `name` of the set `set_name`.

    is_attached: whether an attacher looks after it (otherwise the applying tool deletes it);
    is_swept: whether that attacher may delete it when it sees nothing that names it; order: its
    number in the history, None where there is none.
    """
    item = decision.item
    metadata = (*item.path, "metadata")
    outdated = outdated_annotations(item, is_copy=bool(decision.keep_reason))
    annotations = {
        BASE_NAME_ANNOTATION: item.identity.name,
        PAIRING_ANNOTATION: item.identity.name,
    }
    if order is not None:
        # Later outputs carry it, and drop it when it is old: until then Helm is to keep it.
        annotations |= {NUMBER_ANNOTATION: str(order), RESOURCE_POLICY_ANNOTATION: "keep"}
    if is_attached:
        annotations |= keep_annotations()
        if not is_swept:
            annotations[SWEEP_ANNOTATION] = "false"
    return [
        *(SetScalar(path, text) for path, text in item.folded),
        SetScalar((*metadata, "name"), name),
        *_merge((*metadata, "labels"), item.labels, {GROUP_LABEL: group_name}),
        *_merge((*metadata, "annotations"), item.annotations, annotations),
        *(Remove((*metadata, "annotations", annotation)) for annotation in outdated),
        *_immutable(item, decision.is_immutable),
    ]


def _merge(path: Path, there: dict[str, str], wanted: dict[str, str]) -> Iterator[Edit]:
    changed = changed_values(there, wanted)
    for key, value in changed.items():
        if key in there:
            yield SetScalar((*path, key), value)
    missing = {key: value for key, value in changed.items() if key not in there}
    if missing:
        yield AddKeys(path, missing)


def carried_object(
    past: EarlierRevision, group_name: str, *, is_attached: bool, is_last_time: bool
) -> dict[str, Json]:
    """Return a revision of an earlier output as it is carried: content and name as they were.

    is_last_time: whether the next output is to drop it, and Helm to delete it. An original is as
    it was.
    """
    data = dict(past.content)
    metadata = dict(mapping_at(data, ("metadata",)))
    annotations = own_annotations(strings_at(data, "annotations"))
    if not past.is_original:
        # helm-diff takes one object of a base name: the current one.
        annotations.pop(PAIRING_ANNOTATION, None)
        if not is_attached:
            annotations = without_keep(annotations)
        kept = keep_annotations() if is_attached else {RESOURCE_POLICY_ANNOTATION: "keep"}
        annotations |= changed_values(annotations, {**kept, NUMBER_ANNOTATION: str(past.order)})
        metadata["labels"] = {**strings_at(data, "labels"), GROUP_LABEL: group_name}
    if is_last_time:
        annotations.pop(RESOURCE_POLICY_ANNOTATION, None)
        if past.live == Remains.KEPT and not past.is_tracked:
            # It is adopted, and keeps what nothing overwrites.
            annotations[RESOURCE_POLICY_ANNOTATION] = "delete"
    metadata["annotations"] = annotations
    if not annotations:
        del metadata["annotations"]
    return {**data, "metadata": metadata}


def _immutable(item: Item, is_immutable: bool) -> Iterator[Edit]:
    content = item.content or {}
    if "immutable" not in content:
        yield AddKeys(item.path, {"immutable": is_immutable})
    elif content["immutable"] is not is_immutable:
        yield SetScalar((*item.path, "immutable"), is_immutable)
