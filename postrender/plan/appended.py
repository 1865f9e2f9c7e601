"""Whole objects that are appended to a stream: what is carried along, and the attachers'."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping

from postrender.inventory.model import Item, ItemKey
from postrender.krm.tool_annotations import own_annotations
from postrender.kubernetes.annotations import GROUP_LABEL, HELM_FILENAME_ANNOTATION
from postrender.plan.attach_groups import AttachGroups
from postrender.plan.attacher_job import attacher_objects, merge_patch
from postrender.plan.configmap_edits import carried_object
from postrender.plan.model import LAST_TIME, PlanContext
from postrender.yaml.paths import Json, value_at

# What Helm 4 says that these objects are from, as it says a template of the chart's.
_ATTACHER, _HISTORY = "postrender/attacher.yaml", "postrender/history.yaml"


def retained_objects(context: PlanContext, sets: AttachGroups) -> Iterator[dict[str, Json]]:
    """Yield the objects that are carried along from earlier outputs."""
    is_of_helm_4 = _is_of_helm_4(context)
    for retained, group_name in zip(context.retained, sets.retained_names, strict=True):
        if retained.is_emitted:
            data = carried_object(
                retained.past,
                group_name,
                is_attached=context.settings.attacher.is_enabled,
                is_last_time=retained.what == LAST_TIME,
            )
            yield _with_file(data, _HISTORY) if is_of_helm_4 else data


def new_attachers(
    context: PlanContext, sets: AttachGroups, mode: str
) -> tuple[tuple[dict[str, Json], ...], frozenset[ItemKey]]:
    """Return the attachers' objects that are not there yet, and old ones that they replace."""
    settings = context.settings
    if not settings.attacher.is_enabled:
        return (), frozenset()
    names = {(attach_set.namespace, attach_set.name) for attach_set in sets.sets}
    there = [
        item
        for item in context.inventory.items
        if item.is_attacher and (item.identity.namespace, item.labels[GROUP_LABEL]) in names
    ]
    by_name: dict[tuple[str, str | None, str], list[Item]] = defaultdict(list)
    for item in there:
        by_name[item.identity[1:]].append(item)
    is_of_helm_4 = _is_of_helm_4(context)
    appended, kept = [], set()
    for attach_set in sets.sets:
        for data in attacher_objects(attach_set, mode, settings.attacher, settings.revisable):
            name = str(value_at(data, ("metadata", "name")))
            bearers = by_name.get((str(data["kind"]), attach_set.namespace, name), [])
            same = [item for item in bearers if _plain(item) == data]
            kept |= {item.key for item in same[:1]}
            if not same:
                appended.append(_with_file(data, _ATTACHER) if is_of_helm_4 else data)
    return tuple(appended), frozenset(item.key for item in there if item.key not in kept)


def _plain(item: Item) -> dict[str, Json]:
    """Return an attacher object of the stream without the annotations that tools add."""
    data = dict(item.content or {})
    metadata = data.get("metadata")
    annotations = own_annotations(item.annotations)
    if isinstance(metadata, dict) and annotations != item.annotations:
        metadata = {key: value for key, value in metadata.items() if key != "annotations"}
        data["metadata"] = {**metadata, "annotations": annotations} if annotations else metadata
    return data


def _is_of_helm_4(context: PlanContext) -> bool:
    return any(HELM_FILENAME_ANNOTATION in item.annotations for item in context.inventory.items)


def _with_file(data: Mapping[str, Json], file: str) -> dict[str, Json]:
    """Return an object with the annotation from which Helm 4 makes `# Source: …`.

    Helm takes it away again; it is for streams that have it. No name depends on it.
    """
    annotation = {"annotations": {HELM_FILENAME_ANNOTATION: file}}
    return {**data, "metadata": merge_patch(data["metadata"], annotation)}
