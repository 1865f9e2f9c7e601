"""The edits that turn an object into its revision, and the objects of retained revisions.

The object is a ConfigMap or Secret. The edits set the name, a label, annotations and `immutable`,
and remove annotations of other tools. Some of the new annotations stop Helm, Argo CD and Flux from
deleting the revision. The live revision must have these annotations before a tool applies an output
without the revision.
"""

from __future__ import annotations

from collections.abc import Iterator

from postrender.inventory.model import Item, ItemKey
from postrender.krm.tool_annotations import outdated_annotations, own_annotations
from postrender.kubernetes.annotations import (
    BASE_NAME_ANNOTATION,
    GROUP_LABEL,
    HASH_ANNOTATION,
    KEYED_HASH,
    NUMBER_ANNOTATION,
    PAIRING_ANNOTATION,
    RESOURCE_POLICY_ANNOTATION,
    SWEEP_ANNOTATION,
)
from postrender.kubernetes.retention import changed_values, keep_annotations, without_keep
from postrender.plan.groups import AttachGroups
from postrender.plan.history import EarlierRevision, LiveState
from postrender.plan.model import PlanContext
from postrender.plan.strategy import StrategyDecision
from postrender.yaml.edits import AddKeys, Edit, Remove, SetScalar, set_keys
from postrender.yaml.paths import Json, mapping_at


def add_revision_edits(
    context: PlanContext, attach_groups: AttachGroups, edits: dict[ItemKey, list[Edit]]
) -> None:
    """Add to `edits` the edits that turn each renamed object into its revision."""
    outside_attach = {
        link.target.key
        for links in context.links.values()
        for link in links
        if link.is_outside_attach
    }
    for key in context.names:
        source_edits = edits.get(key, [])
        edited = {edit.path for edit in source_edits}
        new_edits = _revision_edits(
            context,
            context.decisions[key],
            attach_groups.group_names[key],
            is_sweepable=key not in outside_attach,
        )
        edits[key] = [*source_edits, *(edit for edit in new_edits if edit.path not in edited)]


def _revision_edits(
    context: PlanContext, decision: StrategyDecision, group_name: str, *, is_sweepable: bool
) -> list[Edit]:
    """Return the edits that turn an object into its revision.

    The edits also replace folded scalars, because Helm 4 can add newlines to these scalars.
    is_sweepable: whether the attacher deletes the revision if the attacher does not find a
        consumer.
    """
    item = decision.item
    metadata = (*item.path, "metadata")
    outdated = outdated_annotations(item, is_copy=bool(decision.keep_reason))
    annotations = {
        BASE_NAME_ANNOTATION: item.identity.name,
        PAIRING_ANNOTATION: item.identity.name,
    }
    if context.settings.hash_key_of(item.identity) is not None:
        annotations[HASH_ANNOTATION] = KEYED_HASH
    if item.key in context.orders:
        # Later outputs retain the revision. The output that retains the revision for the last time
        # lacks this annotation, so that Helm then deletes the live object.
        annotations[NUMBER_ANNOTATION] = str(context.orders[item.key])
        annotations[RESOURCE_POLICY_ANNOTATION] = "keep"
    if context.settings.attacher.is_enabled:
        # These annotations stop Helm, Argo CD and Flux from deleting the revision.
        annotations |= keep_annotations()
        if not is_sweepable:
            annotations[SWEEP_ANNOTATION] = "false"
    return [
        *(SetScalar(path, text) for path, text in item.folded),
        SetScalar((*metadata, "name"), context.names[item.key]),
        *_merge_edits(item, "labels", item.labels, {GROUP_LABEL: group_name}),
        *_merge_edits(item, "annotations", item.annotations, annotations),
        *(Remove((*metadata, "annotations", annotation)) for annotation in outdated),
        *_immutable_edits(item, decision.is_immutable),
    ]


def _merge_edits(
    item: Item, field: str, existing: dict[str, str], values: dict[str, str]
) -> list[Edit]:
    """Return the edits that set labels or annotations.

    field: `labels` or `annotations`.
    existing: the entries of the field in the input.
    values: the entries to set.
    """
    path = (*item.path, "metadata", field)
    written = mapping_at(item.content, ("metadata", field))  # includes keys with the value null
    return set_keys(path, written, changed_values(existing, values))


def _immutable_edits(item: Item, is_immutable: bool) -> Iterator[Edit]:
    content = item.content or {}
    if "immutable" not in content:
        yield AddKeys(item.path, {"immutable": is_immutable})
    elif content["immutable"] is not is_immutable:
        yield SetScalar((*item.path, "immutable"), is_immutable)


def retained_object(
    revision: EarlierRevision, group_name: str, *, is_attached: bool, is_last_time: bool
) -> dict[str, Json]:
    """Return the content of a retained revision or a retained original for the output.

    An original does not get the annotations and labels of a revision.
    is_attached: whether the attacher is enabled.
    is_last_time: whether the next output drops the object. Helm then deletes the live object.
    """
    metadata = dict(mapping_at(revision.content, ("metadata",)))
    annotations = own_annotations(revision.item.annotations)
    if not revision.is_original:
        # helm-diff accepts only one object for a base name: the current revision.
        annotations.pop(PAIRING_ANNOTATION, None)
        if not is_attached:
            annotations = without_keep(annotations)
        kept = keep_annotations() if is_attached else {RESOURCE_POLICY_ANNOTATION: "keep"}
        annotations |= changed_values(annotations, {**kept, NUMBER_ANNOTATION: str(revision.order)})
        metadata["labels"] = {**revision.item.labels, GROUP_LABEL: group_name}
    if is_last_time:
        annotations.pop(RESOURCE_POLICY_ANNOTATION, None)
        if revision.live_state == LiveState.WITH_KEEP and not revision.is_tracked:
            # The newest applied manifest lacks the object, so Helm would not remove `keep`.
            annotations[RESOURCE_POLICY_ANNOTATION] = "delete"
    metadata["annotations"] = annotations
    if not annotations:
        del metadata["annotations"]
    return {**revision.content, "metadata": metadata}
