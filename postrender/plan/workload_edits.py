"""The edits of objects that reference ConfigMaps or Secrets, and the render IDs of workloads."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

from postrender.config.settings import CHECKSUM
from postrender.inventory.model import Item, ItemKey
from postrender.kubernetes.annotations import CHECKSUM_ANNOTATION, RENDER_ID_ANNOTATION
from postrender.kubernetes.hashing import (
    HASH_LENGTH,
    hashed_content,
    render_id,
    revision_name,
    template_text,
)
from postrender.kubernetes.kinds import SECRET, WORKLOAD_KINDS
from postrender.plan.links import reference_edits
from postrender.plan.model import PlanContext
from postrender.startup.digest import sha256
from postrender.yaml.edits import AddItems, AddKeys, Edit, SetScalar, apply_edits, set_keys
from postrender.yaml.paths import Json, Path

TYPE_CHECKING = False
if TYPE_CHECKING:
    from postrender.plan.mounts import Mount

_ANNOTATIONS = ("metadata", "annotations")


def source_edits(context: PlanContext) -> tuple[dict[ItemKey, list[Edit]], dict[ItemKey, str]]:
    """Return the edits and the render IDs, both by object.

    The edits are for rewritable objects that reference or auto-mount a ConfigMap or Secret. Only a
    workload that references or auto-mounts a revision has a render ID.
    Raises UserError if postrender cannot add an auto-mount (see mount_edits in `auto_mount`).
    """
    edits: dict[ItemKey, list[Edit]] = {}
    render_ids: dict[ItemKey, str] = {}
    retained_names = context.retained_names
    for item in context.inventory.items:
        links = context.links.get(item.key, ())
        if not (links or context.targets(item)) or not item.is_rewritable:
            continue
        item_edits = reference_edits(links, context.names, retained_names)
        if item.key in context.mounts:
            item_edits += _mount_edits(context, context.mounts[item.key])
        edits[item.key] = item_edits
        if item.templates:
            identifier = _annotate(context, item, item_edits)
            if identifier:
                render_ids[item.key] = identifier
    return edits, render_ids


def _mount_edits(context: PlanContext, mounts: Sequence[Mount]) -> list[AddItems]:
    """Return the edits of a workload's auto-mounts, one edit for each list that gets new items."""
    from postrender.plan.mounts import mount_edits

    items: dict[Path, list[Json]] = defaultdict(list)
    for mount in mounts:
        name = context.names.get(mount.item.key, mount.item.identity.name)
        for edit in mount_edits(context.inventory, mount, name):
            items[edit.path] += edit.items
    return [AddItems(path, tuple(added)) for path, added in items.items()]


def _annotate(context: PlanContext, item: Item, edits: list[Edit]) -> str:
    """Return the render ID of an object after adding the edits of its pod templates' annotations.

    The render ID is "" if no pod template uses a revision.
    """
    checksums = [_checksum(context, item, number) for number in range(len(item.templates))]
    has_revision = [
        any(context.revision_of(target) for target in context.targets(item, number))
        for number in range(len(item.templates))
    ]
    identifier = ""
    if any(has_revision):
        is_list = WORKLOAD_KINDS[item.identity.group_kind].has_several_templates
        identifier = render_id(_template_texts(item, edits, checksums), is_list)
    for number, template in enumerate(item.templates):
        annotations = checksums[number]
        if has_revision[number]:
            annotations = {**annotations, RENDER_ID_ANNOTATION: identifier}
        path = (*template.path, *_ANNOTATIONS)
        edits += set_keys(path, template.annotations, annotations)
    return identifier


def _template_texts(
    item: Item, edits: Sequence[Edit], checksums: Sequence[dict[str, str]]
) -> list[str]:
    """Return the text of each edited pod template, in the form that render_id hashes."""
    template_edits = [edit for edit in edits if _is_in_template(edit.path, item)]
    names = {
        edit.path: edit.value
        for edit in template_edits
        if isinstance(edit, SetScalar) and isinstance(edit.value, str)
    }
    references = {path for template in item.templates for path, _ in template.references}
    if len(names) == len(template_edits) and names.keys() <= references and not any(checksums):
        return [template.text(names) for template in item.templates]
    texts = []
    for template, checksum_annotations in zip(item.templates, checksums, strict=True):
        annotate = AddKeys((*template.path, *_ANNOTATIONS), checksum_annotations)
        data = apply_edits(template.data, [*edits, annotate], template.path)
        texts.append(template_text(data))
    return texts


def _is_in_template(path: Path, item: Item) -> bool:
    return any(path[: len(template.path)] == template.path for template in item.templates)


def _checksum(context: PlanContext, item: Item, number: int) -> dict[str, str]:
    """Return the checksum annotation of a pod template, {} if no target has the strategy checksum.

    The value is the SHA-256 of lines, in the order of the names. Each target with the strategy
    checksum has a line: `name=hash` for a ConfigMap, `secret/name=hash` for a Secret.
    number: the index of the pod template.
    """
    hashes = {}
    for target in context.targets(item, number):
        decision = context.decisions[target.key]
        if decision.strategy == CHECKSUM:
            kind, name = target.identity.group_kind, target.identity.name
            content = hashed_content(kind, target.content or {}, True)
            key = context.settings.hash_key_of(target.identity)
            revision = revision_name(name, content, key=key)
            prefix = "secret/" if kind == SECRET else ""
            hashes[prefix + name] = revision[-HASH_LENGTH:]
    if not hashes:
        return {}
    lines = "".join(f"{name}={content_hash}\n" for name, content_hash in sorted(hashes.items()))
    return {CHECKSUM_ANNOTATION: sha256(lines.encode()).hexdigest()}
