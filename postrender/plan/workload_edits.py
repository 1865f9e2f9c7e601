"""The edits of the objects that name ConfigMaps, and the render ids of their pod templates."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from postrender.config.settings import CHECKSUM
from postrender.inventory.model import Item, ItemKey
from postrender.kubernetes.annotations import CHECKSUM_ANNOTATION, RENDER_ID_ANNOTATION
from postrender.kubernetes.checksum import checksum
from postrender.kubernetes.hashing import (
    HASH_LENGTH,
    hashed_content,
    render_id,
    revision_name,
    template_text,
)
from postrender.kubernetes.kinds import SECRET, WORKLOAD_KINDS
from postrender.plan.auto_mount import mount_edits
from postrender.plan.links import follow_edits
from postrender.plan.model import PlanContext
from postrender.yaml.edits import AddItems, AddKeys, Edit, SetScalar, apply_edits
from postrender.yaml.paths import Json, Path, mapping_at

_ANNOTATIONS = ("metadata", "annotations")


def source_edits(context: PlanContext) -> tuple[dict[ItemKey, list[Edit]], dict[ItemKey, str]]:
    """Return the edits of every object that names another, and the render ids of the workloads.

    Only a workload that names (or mounts) a revision has a render id.
    """
    edits: dict[ItemKey, list[Edit]] = {}
    render_ids: dict[ItemKey, str] = {}
    earlier = context.retained_names
    for item in context.inventory.items:
        links = context.links.get(item.key, ())
        mounts = context.mounts.get(item.key, ())
        if not (links or mounts) or not item.is_rewritable:
            continue
        own = follow_edits(links, context.names, earlier)
        for mount in mounts:
            name = context.names.get(mount.item.key, mount.item.identity.name)
            own += mount_edits(context.inventory, mount, name)
        edits[item.key] = own = _merge_items(own)
        if item.templates:
            render_id_ = _annotate(context, item, own)
            if render_id_:
                render_ids[item.key] = render_id_
    return edits, render_ids


def _merge_items(edits: Iterable[Edit]) -> list[Edit]:
    """Join edits that add items to one list into one."""
    merged: list[Edit] = []
    lists: dict[Path, int] = {}
    for edit in edits:
        if not isinstance(edit, AddItems):
            merged.append(edit)
        elif edit.path in lists:
            before = merged[lists[edit.path]]
            items = before.items if isinstance(before, AddItems) else ()
            merged[lists[edit.path]] = AddItems(edit.path, (*items, *edit.items))
        else:
            lists[edit.path] = len(merged)
            merged.append(edit)
    return merged


def _annotate(context: PlanContext, item: Item, edits: list[Edit]) -> str:
    """Add the annotations of an object's pod templates to its edits; return its render id."""
    checksums = [_checksum(context, item, number) for number in range(len(item.templates))]
    has_revision = [
        any(context.revision_of(target) for target in context.targets(item, number))
        for number in range(len(item.templates))
    ]
    if not any(has_revision) and not any(checksums):
        return ""
    identity = ""
    if any(has_revision):
        several = WORKLOAD_KINDS[item.identity.group_kind].has_several
        identity = render_id(_template_texts(item, edits, checksums), several)
    for number, template in enumerate(item.templates):
        wanted = checksums[number]
        if has_revision[number]:
            wanted = {**wanted, RENDER_ID_ANNOTATION: identity}
        edits += _annotation_edits((*template.path, *_ANNOTATIONS), template.annotations, wanted)
    return identity


def _template_texts(
    item: Item, edits: Sequence[Edit], checksums: Sequence[dict[str, str]]
) -> list[str]:
    """Return the pod templates as they will be, each as the text that is hashed."""
    inside = [edit for edit in edits if _is_in_template(edit.path, item)]
    names = {
        edit.path: edit.value
        for edit in inside
        if isinstance(edit, SetScalar) and isinstance(edit.value, str)
    }
    references = {path for template in item.templates for path, _ in template.references}
    if len(names) == len(inside) and names.keys() <= references and not any(checksums):
        return [template.text(names) for template in item.templates]
    texts = []
    for template, checksum_ in zip(item.templates, checksums, strict=True):
        data = apply_edits(template.data, edits, template.path)
        _set(data, checksum_)
        texts.append(template_text(data))
    return texts


def _is_in_template(path: Path, item: Item) -> bool:
    return any(path[: len(template.path)] == template.path for template in item.templates)


def _checksum(context: PlanContext, item: Item, number: int) -> dict[str, str]:
    """Return the checksum annotation of a pod template, if it names anything by that strategy."""
    hashes = {}
    for target in context.targets(item, number):
        decision = context.decisions[target.key]
        if decision.strategy == CHECKSUM:
            kind, name = target.identity.group_kind, target.identity.name
            revision = revision_name(name, hashed_content(kind, target.content or {}, True))
            prefix = "secret/" if kind == SECRET else ""
            hashes[prefix + name] = revision[-HASH_LENGTH:]
    return {CHECKSUM_ANNOTATION: checksum(hashes)} if hashes else {}


def _set(template: Json, annotations: dict[str, str]) -> None:
    """Set annotations in a pod template's data."""
    if annotations and isinstance(template, dict):
        metadata = dict(mapping_at(template, ("metadata",)))
        metadata["annotations"] = {**mapping_at(metadata, ("annotations",)), **annotations}
        template["metadata"] = metadata


def _annotation_edits(path: Path, there: dict[str, Json], wanted: dict[str, str]) -> list[Edit]:
    missing = {key: value for key, value in wanted.items() if key not in there}
    changed: list[Edit] = [
        SetScalar((*path, key), value)
        for key, value in wanted.items()
        if key in there and there[key] != value
    ]
    return [*changed, AddKeys(path, missing)] if missing else changed
