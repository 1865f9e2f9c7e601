"""What a plan changes: the edits of objects, and the objects that render appends.

The edited objects become revisions or reference revisions. The appended objects are retained
revisions and originals, and objects of attachers.

A new annotation or field of a revision belongs into _revision_edits, one of a pod template into
_annotate. Some annotations stop Helm, Argo CD and Flux from deleting the revision. The live
revision must have these annotations before a tool applies an output without the revision.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence

from postrender.config.settings import CHECKSUM
from postrender.errors import UserError
from postrender.inventory.build import read_items
from postrender.inventory.model import Item, ItemKey
from postrender.krm.input import outdated_annotations, own_annotations
from postrender.kubernetes.annotations import (
    APPLIED_ANNOTATION,
    BASE_NAME_ANNOTATION,
    BY_INVENTORY,
    CHECKSUM_ANNOTATION,
    GROUP_LABEL,
    HASH_ANNOTATION,
    HELM_FILENAME_ANNOTATION,
    KEYED_HASH,
    KUSTOMIZE_HASH,
    NUMBER_ANNOTATION,
    PAIRING_ANNOTATION,
    RENDER_ID_ANNOTATION,
    RESOURCE_POLICY_ANNOTATION,
    SWEEP_ANNOTATION,
    changed_values,
    keep_annotations,
    without_keep,
)
from postrender.kubernetes.hashing import (
    CONTENT_HASH_LENGTH,
    hashed_content,
    render_id,
    revision_name,
    sha256_hex,
)
from postrender.kubernetes.kinds import (
    ANNOTATIONS,
    DATA_FIELDS,
    SECRET,
    WORKLOAD_KINDS,
    ObjectKey,
    api_group,
)
from postrender.plan.attacher_job import AttachGroup, attacher_objects
from postrender.plan.groups import AttachGroups
from postrender.plan.history import LiveState
from postrender.plan.links import reference_edits
from postrender.plan.model import LAST_TIME, PlanContext, RetentionDecision
from postrender.plan.mounts import Mount, mount_edits
from postrender.plan.strategy import StrategyDecision
from postrender.records import grouped
from postrender.text import WordSet
from postrender.yaml.edits import (
    AddItems,
    AddKeys,
    Edit,
    Remove,
    SetScalar,
    apply_edits,
    merge_patch,
    set_keys,
)
from postrender.yaml.paths import EVERY_ITEM, Json, Path, mapping_at, value_at

# With these fields of an exported object, the API server does not create an object of another name.
_OF_THE_LIVE_OBJECT = ("resourceVersion", "uid", "managedFields")


def add_revision_edits(
    context: PlanContext, attach_groups: AttachGroups, edits: dict[ItemKey, list[Edit]]
) -> None:
    """Add to `edits` the edits that turn each renamed or adopted object into its revision."""
    unseen = {
        link.target.key
        for links in context.links.values()
        for link in links
        if link.is_outside_attach
    }
    # A program that reads an adopted revision by its name can still need an earlier one.
    unseen |= {
        target.key
        for mention in context.mentions
        for target in mention.targets
        if target.key not in context.names
    }
    for key in context.revision_names:
        source_edits = edits.get(key, [])
        edited = {edit.path for edit in source_edits}
        new_edits = _revision_edits(
            context,
            context.decisions[key],
            attach_groups.group_names[key],
            is_sweepable=key not in unseen,
        )
        edits[key] = [*source_edits, *(edit for edit in new_edits if edit.path not in edited)]


def _applied(context: PlanContext) -> str:
    attacher = context.settings.attacher
    return BY_INVENTORY if attacher.is_enabled and attacher.is_external else "true"


def _revision_edits(
    context: PlanContext, decision: StrategyDecision, group_name: str, *, is_sweepable: bool
) -> list[Edit]:
    """The edits that turn an object into its revision.

    The edits also replace folded scalars, because Helm 4 can add newlines to these scalars, and
    nulls of the data. The API server stores these as empty strings, which each later apply of the
    null would remove, and the API server refuses this for an immutable object.
    is_sweepable: whether the attacher deletes the revision if it does not find a consumer.
    """
    item = decision.item
    metadata = (*item.path, "metadata")
    written = mapping_at(item.content, ("metadata",))
    outdated = outdated_annotations(item, is_copy=bool(decision.keep_reason))
    annotations = {
        BASE_NAME_ANNOTATION: decision.base_name,
        PAIRING_ANNOTATION: decision.base_name,
        APPLIED_ANNOTATION: _applied(context),
    }
    if decision.is_adopted:
        annotations[HASH_ANNOTATION] = KUSTOMIZE_HASH
    elif context.settings.hash_key_of(item.identity) is not None:
        annotations[HASH_ANNOTATION] = KEYED_HASH
    if item.key in context.orders:
        # Later outputs retain the revision. The output that retains the revision for the last time
        # lacks this annotation, so that Helm then deletes the live object.
        annotations[NUMBER_ANNOTATION] = str(context.orders[item.key])
        annotations[RESOURCE_POLICY_ANNOTATION] = "keep"
    if context.is_kept_by_annotations:
        annotations |= keep_annotations()
        if not is_sweepable:
            annotations[SWEEP_ANNOTATION] = "false"
    return [
        *(SetScalar(path, text) for path, text in item.folded),
        *(SetScalar((*item.path, *path), "") for path in _null_values(item)),
        *_merge_edits(item, "labels", item.labels, {GROUP_LABEL: group_name}),
        *_merge_edits(item, "annotations", item.annotations, annotations),
        *(Remove((*metadata, "annotations", annotation)) for annotation in outdated),
        *(Remove((*metadata, key)) for key in _OF_THE_LIVE_OBJECT if key in written),
        *([] if decision.is_adopted else _renaming_edits(context, decision)),
    ]


def _null_values(item: Item) -> Iterator[Path]:
    for field in DATA_FIELDS:
        for key, value in mapping_at(item.content, (field,)).items():
            if value is None:
                yield field, key


def _merge_edits(
    item: Item, field: str, existing: dict[str, str], values: dict[str, str]
) -> list[Edit]:
    path = (*item.path, "metadata", field)
    written = mapping_at(item.content, ("metadata", field))  # includes keys with the value null
    return set_keys(path, written, changed_values(existing, values))


def _renaming_edits(context: PlanContext, decision: StrategyDecision) -> Iterator[Edit]:
    """Without postrender, an apply could not make an adopted revision mutable again."""
    item, is_immutable = decision.item, decision.is_immutable
    yield SetScalar((*item.path, "metadata", "name"), context.names[item.key])
    content = item.content
    if "immutable" not in content:
        yield AddKeys(item.path, {"immutable": is_immutable})
    elif content["immutable"] is not is_immutable:
        yield SetScalar((*item.path, "immutable"), is_immutable)


def _retained_object(
    context: PlanContext, retained: RetentionDecision, group_name: str
) -> dict[str, Json]:
    """A retained revision or a retained original for the output.

    An original does not get the annotations and labels of a revision. If the next output drops the
    object, Helm then deletes the live object.
    """
    revision = retained.revision
    metadata = dict(mapping_at(revision.content, ("metadata",)))
    annotations = own_annotations(revision.item.annotations)
    if not revision.is_original:
        # helm-diff accepts only one object for a base name: the current revision.
        annotations.pop(PAIRING_ANNOTATION, None)
        kept = {RESOURCE_POLICY_ANNOTATION: "keep"}
        if context.is_kept_by_annotations:
            kept = keep_annotations()
        else:
            annotations = without_keep(annotations)
        kept |= {APPLIED_ANNOTATION: _applied(context), NUMBER_ANNOTATION: str(revision.order)}
        annotations |= changed_values(annotations, kept)
        metadata["labels"] = {**revision.item.labels, GROUP_LABEL: group_name}
    if retained.decision == LAST_TIME:
        annotations.pop(RESOURCE_POLICY_ANNOTATION, None)
        if revision.live_state == LiveState.WITH_KEEP and not revision.is_tracked:
            # The newest applied manifest lacks the object, so Helm would not remove `keep`.
            annotations[RESOURCE_POLICY_ANNOTATION] = "delete"
    metadata["annotations"] = annotations
    if not annotations:
        del metadata["annotations"]
    return {**revision.content, "metadata": metadata}


def source_edits(
    context: PlanContext, *, with_render_ids: bool = True
) -> tuple[dict[ItemKey, list[Edit]], dict[ItemKey, str]]:
    """The edits of the objects that use ConfigMaps or Secrets, and the render IDs.

    Only a workload that references or auto-mounts a revision has a render ID.
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
            identifier = _annotate(context, item, item_edits, has_id=with_render_ids)
            if identifier:
                render_ids[item.key] = identifier
    return edits, render_ids


def _mount_edits(context: PlanContext, mounts: Sequence[Mount]) -> list[AddItems]:
    items: dict[Path, list[Json]] = defaultdict(list)
    for mount in mounts:
        name = context.names.get(mount.item.key, mount.item.identity.name)
        for edit in mount_edits(context.inventory, mount, name):
            items[edit.path] += edit.items
    return [AddItems(path, tuple(added)) for path, added in items.items()]


def _annotate(context: PlanContext, item: Item, edits: list[Edit], *, has_id: bool) -> str:
    """Add the edits of a workload's annotations, and return its render ID.

    The render ID is "" if no pod template uses a revision, or if has_id is False.
    """
    checksums = [_checksum(context, item, number) for number in range(len(item.templates))]
    has_id = has_id and any(context.revision_of(target) for target in context.targets(item))
    if not has_id and not any(checksums):
        return ""
    identifier, own_edits = "", []
    data = context.inventory.document(item.document).data
    if has_id:
        is_list = EVERY_ITEM in WORKLOAD_KINDS[item.identity.group_kind]
        identifier = render_id(_edited_templates(data, item, edits, checksums), is_list)
        path = (*item.path, *ANNOTATIONS)
        own_edits = set_keys(path, mapping_at(data, path), {RENDER_ID_ANNOTATION: identifier})
    for template, checksum in zip(item.templates, checksums, strict=True):
        path = (*template, *ANNOTATIONS)
        edits += set_keys(path, mapping_at(data, path), checksum)
    edits += own_edits
    return identifier


def _edited_templates(
    document: Json, item: Item, edits: Sequence[Edit], checksums: Sequence[dict[str, str]]
) -> list[Json]:
    """The pod templates of a workload in a document, as the API server will get them."""
    templates = []
    for template, checksum in zip(item.templates, checksums, strict=True):
        all_edits = list(edits)
        if checksum:
            all_edits.append(AddKeys((*template, *ANNOTATIONS), checksum))
        templates.append(apply_edits(value_at(document, template), all_edits, template))
    return templates


def _checksum(context: PlanContext, item: Item, number: int) -> dict[str, str]:
    """The checksum annotation of a pod template, {} if no target has the strategy checksum.

    The value is the SHA-256 of lines, sorted by name, one for each target with the strategy
    checksum: `name=hash` for a ConfigMap, `secret/name=hash` for a Secret.
    """
    hashes = {}
    for target in context.targets(item, number):
        decision = context.decisions[target.key]
        if decision.strategy == CHECKSUM:
            kind, name = target.identity.group_kind, target.identity.name
            content = hashed_content(kind, target.content, True)
            key = context.settings.hash_key_of(target.identity)
            revision = revision_name(name, content, key=key)
            prefix = "secret/" if kind == SECRET else ""
            hashes[prefix + name] = revision[-CONTENT_HASH_LENGTH:]
    if not hashes:
        return {}
    lines = "".join(f"{name}={content_hash}\n" for name, content_hash in sorted(hashes.items()))
    return {CHECKSUM_ANNOTATION: sha256_hex(lines)}


def find_replaced(context: PlanContext) -> frozenset[ItemKey]:
    """The originals whose new revision is already in the stream.

    Raises UserError if an object that is not a revision already has the name of a new revision.
    """
    new_names = set(context.names.values())
    unrenamed = [
        decision.item
        for key, decision in context.decisions.items()
        if key not in context.names and decision.item.identity.name in new_names
    ]
    revisions = {
        context.certain_key_of(item.identity) for item in unrenamed if context.revision_of(item)
    }
    taken = {context.certain_key_of(item.identity): item for item in unrenamed}
    replaced = set()
    for item_key, name in context.names.items():
        item = context.decisions[item_key].item
        identity = item.identity
        key = context.certain_key_of(identity, name)
        if key in revisions:
            replaced.add(item_key)
        elif key in taken:
            raise UserError(
                f"postrender would rename {identity} to {name}, but the input already contains "
                f"{identity.kind}/{name} at {context.inventory.location_of(taken[key])}",
                f"Remove or rename {identity.kind}/{name}, or add the annotation "
                f"postrender/strategy: ignore to {identity}",
                context.inventory.location_of(item),
            )
    return frozenset(replaced)


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
            data = _retained_object(context, retained, group_name)
            yield _with_template_name(data, _HISTORY) if is_from_helm_4 else data


def new_attachers(
    context: PlanContext, groups: Sequence[AttachGroup], mode: str
) -> tuple[tuple[dict[str, Json], ...], frozenset[ItemKey]]:
    """The attachers' objects to append, and the keys of outdated objects of the stream.

    An attacher's object in the stream is outdated if it differs from each new object of the group,
    or repeats another object. Both results are empty if the attacher is off. UserError if the chart
    has an object of its own with the name of one of the appended objects.
    """
    settings = context.settings
    if not settings.attacher.is_enabled:
        return (), frozenset()
    existing = _existing_attachers(context, groups)
    by_key = grouped(existing, lambda item: item.identity.key_in(item.identity.namespace))
    is_from_helm_4 = context.inventory.is_from_helm_4
    attachers = [
        (group, data)
        for group in groups
        for data in attacher_objects(group, mode, settings.attacher)
    ]
    _check_names(context, attachers)
    appended, current = [], set()
    for group, data in attachers:
        same_key = by_key.get(attacher_key(data, group), ())
        same = (item.key for item in same_key if without_tool_annotations(item) == data)
        unchanged = next(same, None)
        if unchanged:
            current.add(unchanged)
        else:
            appended.append(_with_template_name(data, _ATTACHER) if is_from_helm_4 else data)
    return tuple(appended), frozenset(item.key for item in existing if item.key not in current)


def _check_names(
    context: PlanContext, attachers: Iterable[tuple[AttachGroup, dict[str, Json]]]
) -> None:
    """Raise UserError if an object of the chart has the name of an attacher's object."""
    resolver, stream = context.resolver, context.inventory.stream
    new_keys = {
        attacher_key(data, group)._replace(namespace=resolver.effective_namespace(group.namespace))
        for group, data in attachers
    }
    names = WordSet(key.name for key in new_keys)
    for index, text in enumerate(stream.texts):
        if not names.is_in(text):
            continue
        try:
            items = read_items(stream, index, context.settings, set())
        except UserError:
            continue  # the document does not concern postrender, and Helm reports the error
        for item in items:
            if not item.is_attacher and resolver.key_of(item.identity) in new_keys:
                raise UserError(
                    f"the attacher needs {item.identity}, and the chart has an object of this name",
                    "Pass another name with --group, or rename the object in the chart. If the "
                    "ServiceAccount of the chart is for the attacher, set "
                    "attacher.serviceAccount.create to false",
                    context.inventory.location_of(item),
                )


def _existing_attachers(context: PlanContext, groups: Sequence[AttachGroup]) -> list[Item]:
    names = {(group.namespace, group.name) for group in groups}
    return [
        item
        for item in context.inventory.items
        if item.is_attacher and (item.identity.namespace, item.attach_group) in names
    ]


def attacher_key(data: Mapping[str, Json], group: AttachGroup) -> ObjectKey:
    """The key of an attacher's object, with AttachGroup.namespace as the namespace."""
    group_kind = api_group(str(data["apiVersion"])), str(data["kind"])
    return ObjectKey(group_kind, group.namespace, str(value_at(data, ("metadata", "name"))))


def without_tool_annotations(item: Item) -> dict[str, Json]:
    """An attacher's object, without the annotations of Helm 4, kustomize and kpt."""
    data = dict(item.content)
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
