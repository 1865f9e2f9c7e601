"""The objects that render appends: retained revisions and originals, and objects of attachers."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence

from postrender.inventory.model import Item, ItemKey
from postrender.krm.input import own_annotations
from postrender.kubernetes.annotations import GROUP_LABEL, HELM_FILENAME_ANNOTATION
from postrender.kubernetes.kinds import ObjectKey, api_group
from postrender.plan.attacher_job import AttachGroup, attacher_objects, merge_patch
from postrender.plan.edits import retained_object
from postrender.plan.groups import AttachGroups
from postrender.plan.model import LAST_TIME, PlanContext
from postrender.yaml.paths import Json, mapping_at, value_at

# The template names that Helm 4 prints for appended objects.
_ATTACHER, _HISTORY = "postrender/attacher.yaml", "postrender/history.yaml"


def retained_objects(
    context: PlanContext, attach_groups: AttachGroups
) -> Iterator[dict[str, Json]]:
    """The objects of PlanContext.retained that stay in the output."""
    is_from_helm_4 = context.inventory.is_from_helm_4
    pairs = zip(context.retained, attach_groups.retained_group_names, strict=True)
    for retained, group_name in pairs:
        if retained.is_emitted:
            data = retained_object(
                retained.revision,
                group_name,
                is_attached=context.settings.attacher.is_enabled,
                is_last_time=retained.decision == LAST_TIME,
            )
            yield _with_template_name(data, _HISTORY) if is_from_helm_4 else data


def new_attachers(
    context: PlanContext, groups: Sequence[AttachGroup], mode: str
) -> tuple[tuple[dict[str, Json], ...], frozenset[ItemKey]]:
    """The attachers' objects to append, and the keys of outdated objects of the stream.

    An attacher's object in the stream is outdated if it differs from each new object of the group,
    or repeats another object. Both results are empty if the attacher is off.
    """
    settings = context.settings
    if not settings.attacher.is_enabled:
        return (), frozenset()
    existing = _existing_attachers(context, groups)
    by_key: dict[ObjectKey, list[Item]] = defaultdict(list)
    for item in existing:
        by_key[item.identity.key_in(item.identity.namespace)].append(item)
    is_from_helm_4 = context.inventory.is_from_helm_4
    appended, current = [], set()
    for group in groups:
        for data in attacher_objects(group, mode, settings.attacher):
            same_key = by_key.get(attacher_key(data, group), ())
            same = (item.key for item in same_key if without_tool_annotations(item) == data)
            unchanged = next(same, None)
            if unchanged:
                current.add(unchanged)
            else:
                appended.append(_with_template_name(data, _ATTACHER) if is_from_helm_4 else data)
    return tuple(appended), frozenset(item.key for item in existing if item.key not in current)


def _existing_attachers(context: PlanContext, groups: Sequence[AttachGroup]) -> list[Item]:
    names = {(group.namespace, group.name) for group in groups}
    return [
        item
        for item in context.inventory.items
        if item.is_attacher and (item.identity.namespace, item.labels[GROUP_LABEL]) in names
    ]


def attacher_key(data: Mapping[str, Json], group: AttachGroup) -> ObjectKey:
    """The key of an attacher's object, with AttachGroup.namespace as the namespace."""
    group_kind = api_group(str(data["apiVersion"])), str(data["kind"])
    return ObjectKey(group_kind, group.namespace, str(value_at(data, ("metadata", "name"))))


def without_tool_annotations(item: Item) -> dict[str, Json]:
    """An attacher's object, without the annotations of Helm 4, kustomize and kpt."""
    data = dict(item.content or {})
    annotations = own_annotations(item.annotations)
    if annotations != item.annotations:
        metadata = dict(mapping_at(data, ("metadata",)))
        del metadata["annotations"]
        data["metadata"] = {**metadata, "annotations": annotations} if annotations else metadata
    return data


def _with_template_name(data: Mapping[str, Json], template_name: str) -> dict[str, Json]:
    """An object with the annotation from which Helm 4 prints the line `# Source: …`.

    Helm later removes the annotation. The hash in a Job's name does not cover it.
    """
    annotation = {"annotations": {HELM_FILENAME_ANNOTATION: template_name}}
    return {**data, "metadata": merge_patch(data["metadata"], annotation)}
