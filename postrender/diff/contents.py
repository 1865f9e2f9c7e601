"""The changes in the data, names and metadata of ConfigMaps and Secrets, with notes about them.

The module `changes` passes each pair of current objects to `compare_content`. `compare_originals`
compares the originals, and `compare_earlier` the revisions that are EARLIER on at least one side.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet

from postrender.config.settings import CHECKSUM, IGNORE, RENAME
from postrender.diff.fields import find_field_changes
from postrender.diff.model import CHANGED, UNCHANGED, ContentChange, FieldChange
from postrender.diff.normalise import (
    BaseNames,
    comparable,
    differing,
    nulls_of,
    with_base_names,
    without,
)
from postrender.diff.pairs import (
    CURRENT,
    EARLIER,
    ORIGINAL,
    ComparedObject,
    Comparison,
    Pair,
    Side,
    find_pairs,
    sort_key,
)
from postrender.diff.texts import Content, find_key_changes
from postrender.kubernetes.annotations import (
    APPLIED_ANNOTATION,
    BASE_NAME_ANNOTATION,
    GROUP_LABEL,
    HASH_ANNOTATION,
    NUMBER_ANNOTATION,
    PAIRING_ANNOTATION,
    PRUNE_ANNOTATION,
    RESOURCE_POLICY_ANNOTATION,
    SWEEP_ANNOTATION,
    UNUSED_ANNOTATION,
    keeper_of,
    without_keep,
)
from postrender.kubernetes.kinds import DATA_FIELDS, SECRET, Identity, ObjectKey, strings_at
from postrender.records import NamedTuple
from postrender.yaml.paths import Json, mapping_at

_REVISION_ANNOTATIONS = (
    APPLIED_ANNOTATION,
    BASE_NAME_ANNOTATION,
    PAIRING_ANNOTATION,
    NUMBER_ANNOTATION,
    PRUNE_ANNOTATION,
    SWEEP_ANNOTATION,
    HASH_ANNOTATION,
    UNUSED_ANNOTATION,
)
# The annotations that postrender changes when a current revision becomes a retained revision.
_RETENTION_ANNOTATIONS = (NUMBER_ANNOTATION, PAIRING_ANNOTATION, RESOURCE_POLICY_ANNOTATION)


# The name of a changed part of a Secret: a field of the metadata, or of the object.
_PART = re.compile(r"(?:metadata\.)?(\w+)")


class Compared(NamedTuple):
    """The change of a ConfigMap or Secret.

    is_rewritten: whether the data differs between the sides.
    old: the object on the older side, if that is not the current one or if the newer side does not
        read the current one; else None.
    """

    change: ContentChange
    is_rewritten: bool
    old: ComparedObject | None = None


def compare_content(
    pair: Pair,
    names: BaseNames,
    context: int,
    left_out: Iterable[str] | None = None,
    users: Sequence[Identity] = (),
    former: Sequence[Identity] = (),
) -> Compared | None:
    """The change of a ConfigMap or Secret, None if nothing changes.

    The change of a Secret has keys, which `redact` removes later.
    left_out: the annotations that the comparison leaves out. If None, the comparison leaves out all
    labels and annotations that postrender adds to a revision.
    users, former: the workloads that reference the object on either side, and only on the older.
    """
    if pair.both and pair.parts == {}:
        before, after = pair.both
        if before.name == after.name and before.is_immutable == after.is_immutable:
            return None
    old, new = (compared.content if compared else {} for compared in (pair.old, pair.new))
    is_rewritten = pair.both is not None and old != new
    is_secret = pair.identity.group_kind == SECRET
    fields = _fields(pair, names, left_out)
    if pair.both and not (is_rewritten or fields or pair.both[0].name != pair.both[1].name):
        return None
    change = ContentChange(
        identity=pair.identity,
        change=pair.one_sided or (CHANGED if is_rewritten or fields else UNCHANGED),
        strategy=pair.newest.strategy,
        reason=pair.newest.reason if pair.newest.strategy == IGNORE else "",
        old_revision=pair.old.name if pair.old else "",
        new_revision=pair.new.name if pair.new else "",
        keys=find_key_changes(
            _without_secret_names(old, names), _without_secret_names(new, names), context
        ),
        fields=fields,
        users=tuple(users),
        note=_note(pair, len(users), is_rewritten=is_rewritten),
        former=tuple(former),
        parts=_parts(fields, is_rewritten=is_rewritten) if is_secret and pair.both else (),
    )
    return Compared(change, is_rewritten)


def _parts(fields: Iterable[FieldChange], *, is_rewritten: bool) -> tuple[str, ...]:
    """What changes in a Secret, without keys and values."""
    names = (_PART.match(field.path) for field in fields)
    parts = dict.fromkeys(name[1] for name in names if name)
    return ("data", *parts) if is_rewritten else tuple(parts)


def _without_secret_names(content: Content, names: BaseNames) -> Content:
    """Content with base names instead of the revision names of Secrets.

    A preview would otherwise show a change from a base name to the same base name.
    """
    if not names.of_secrets:
        return content
    return {
        key: with_base_names(value, names.of_secrets) if isinstance(value, str) else value
        for key, value in content.items()
    }


def annotations_to_leave_out(pair: Pair) -> Iterable[str] | None:
    """The argument `left_out` of compare_content for two outputs of postrender.

    Two revisions with different names can have different revision numbers.
    """
    if pair.both is None or not all(compared.is_revised for compared in pair.both):
        return None
    return () if pair.both[0].name == pair.both[1].name else (NUMBER_ANNOTATION,)


def _fields(
    pair: Pair, names: BaseNames, left_out: Iterable[str] | None
) -> tuple[FieldChange, ...]:
    """The changes outside of the data, such as changes of labels, and the nulls in the data."""
    if pair.both is None:
        return _all_fields(pair, names)
    old, new = pair.both
    before, after = differing(pair)
    # The revisions of an input get labels, and empty strings instead of nulls.
    is_revised = left_out is None and (old.is_revised or new.is_revised)
    nulls = ({}, {}) if is_revised else (_nulls(before, after), _nulls(after, before))
    fields = find_field_changes(
        _outside_data(before, is_revised, names.of_all, left_out) | nulls[0],
        _outside_data(after, is_revised, names.of_all, left_out) | nulls[1],
    )
    if old.is_immutable != new.is_immutable and old.is_revised == new.is_revised:
        fields.append(
            FieldChange(
                path="immutable", change=CHANGED, old=old.is_immutable, new=new.is_immutable
            )
        )
    return tuple(fields)


def _all_fields(pair: Pair, names: BaseNames) -> tuple[FieldChange, ...]:
    """The fields outside of the data of an object that only one side has."""
    data, is_revised = pair.newest.data, pair.newest.is_revised
    fields = _outside_data(without(data, "apiVersion"), is_revised, names.of_all, None)
    if data.get("immutable") is True and not is_revised:
        fields["immutable"] = True
    return tuple(find_field_changes(*(({}, fields) if pair.new else (fields, {}))))


def _outside_data(
    data: dict[str, Json],
    is_revised: bool,
    base_names: Mapping[str, str],
    left_out: Iterable[str] | None,
) -> dict[str, Json]:
    """A ConfigMap or Secret in the form of `comparable`.

    data: the differing part of the object.
    left_out: as for compare_content.
    """
    metadata = dict(mapping_at(data, ("metadata",)))
    texts, labels = strings_at(data, "annotations"), metadata.get("labels")
    if left_out is None:
        texts, left_out = without_keep(texts), _REVISION_ANNOTATIONS
        if isinstance(labels, dict):
            metadata["labels"] = without(labels, GROUP_LABEL)
        if is_revised and not metadata.get("labels"):
            metadata.pop("labels", None)
    annotations = metadata.get("annotations")
    if isinstance(annotations, dict):
        metadata["annotations"] = nulls_of(annotations) | without(texts, *left_out)
    rest = without(data, *DATA_FIELDS, "kind")
    if isinstance(rest.get("immutable"), (bool, type(None))):
        rest.pop("immutable", None)  # see is_immutable; the API server rejects any other value
    return comparable({**rest, "metadata": metadata}, base_names)


def _nulls(data: dict[str, Json], other: dict[str, Json]) -> dict[str, Json]:
    """The data fields of a ConfigMap or Secret with their nulls only, and empty data fields.

    other: the object on the other side.
    """
    fields: dict[str, Json] = {}
    for field in DATA_FIELDS:
        values = data.get(field)
        nulls = nulls_of(values) if isinstance(values, dict) else None
        if field in data and (nulls or not values or field in other):
            fields[field] = nulls
    return fields


def _note(pair: Pair, users: int, *, is_rewritten: bool) -> str:
    """A remark about a change, or "".

    It lacks the object's name, because formats group objects with equal remarks.
    """
    kind = pair.identity.kind
    keeper = keeper_of(pair.old.data) if pair.old else ""
    if pair.old and pair.new is None and keeper and not pair.old.is_revised:
        return f"{keeper} keeps the {kind}"
    if pair.both is None or not is_rewritten or pair.both[0].name != pair.both[1].name:
        return ""
    old, new = pair.both
    if new.is_revised and new.strategy == RENAME:
        return (
            "the name still has the hash of the old content. The API server rejects a change of an "
            f"immutable {kind}. Render the chart again, and do not edit the output"
        )
    if new.is_immutable and old.is_immutable:
        return f"the {kind} is immutable and keeps its name, so the API server rejects the change"
    if not users:
        return ""
    if new.is_hook:
        return f"the {kind} is a hook, so hooks that run later read the new content"
    if new.strategy == CHECKSUM:
        return (
            f"the {kind} keeps its name, so restarted old pods read the new content. Workloads "
            f"that use the {kind} roll"
        )
    return (
        f"the {kind} keeps its name, so restarted old pods read the new content. This change does "
        "not roll workloads"
    )


def compare_originals(both: Comparison) -> list[ContentChange]:
    """The changes of originals that the changes of revisions do not show.

    An original counts if its data differs from the data of its revision on at least one side, or if
    one side has the original, and the other side has only the revision.
    """
    old, new, resolver = both.old, both.new, both.resolver
    originals = originals_of(old), originals_of(new)
    if not any(originals):
        return []
    diverging = _diverging_originals(old, originals[0]), _diverging_originals(new, originals[1])
    identities = {compared.identity for side in diverging for compared in side}
    keys = [
        {resolver.key_of(compared.identity, compared.name) for compared in side.objects}
        for side in (old, new)
    ]
    revised_keys = [
        {resolver.key_of(revision.identity) for revision in side.revisions} for side in (old, new)
    ]
    pairs = []
    for pair in find_pairs(*originals, resolver):
        key = resolver.key_of(pair.identity)
        other = 0 if pair.new else 1
        is_alone = key in revised_keys[other] and key not in keys[other]
        if pair.identity in identities or (pair.both is None and is_alone):
            pairs.append(pair)
    compared = filter(None, (compare_content(pair, both.names, both.context) for pair in pairs))
    return [
        one.change._replace(
            note=f"this entry is the original {one.change.identity.kind}, not a revision", reason=""
        )
        for one in compared
    ]


def originals_of(side: Side) -> list[ComparedObject]:
    """The originals of a side that stay next to their revisions."""
    return [
        compared
        for compared in (*side.by_item.values(), *side.originals.values())
        if compared.role == ORIGINAL
    ]


_EARLIER_NOTE = "this entry is an earlier revision of the {}"


def compare_earlier(both: Comparison, reads: Iterable[ContentChange]) -> list[ContentChange]:
    """The changes of earlier revisions, except changes that postrender makes.

    Revisions that are current on both sides, or that come from the history, are left out. If the
    sides have different current revisions of one base name, postrender changes
    _RETENTION_ANNOTATIONS. On an input, all labels and annotations that postrender adds are left
    out. A revision that only the newer side has is a change too, unless `reads` shows its content.
    """
    resolver, names, context = both.resolver, both.names, both.context
    before, after = (
        {resolver.key_of(revision.identity, revision.name): revision for revision in side.revisions}
        for side in (both.old, both.new)
    )
    currents = [
        {compared.identity: compared.name for compared in side.values() if compared.role == CURRENT}
        for side in (before, after)
    ]
    shown = {resolver.key_of(change.identity, change.new_revision): change for change in reads}
    changes = []
    for key, revision in after.items():
        if key in before or key in shown or revision.role != EARLIER or revision.item is None:
            continue
        added = compare_content(Pair(None, revision), names, context)
        if added:
            note = _EARLIER_NOTE.format(revision.identity.kind)
            changes.append(added.change._replace(note=note))
    for key in before:  # an intersection of sets would not have a stable order
        if key not in after or None in (before[key].item, after[key].item):
            continue  # postrender does not change the data of a revision from the history
        if before[key].role == after[key].role == CURRENT:
            continue  # find_changes compares the current objects
        pair = Pair(before[key], after[key])
        identity = pair.identity
        is_moved = currents[0].get(identity) != currents[1].get(identity)
        left_out = (_RETENTION_ANNOTATIONS if is_moved else ()) if both.is_exact else None
        users = shown[key].users if key in shown else ()
        content = compare_content(pair, names, context, left_out, users)
        if content:
            note = _EARLIER_NOTE.format(identity.kind)
            changes.append(content.change._replace(change=CHANGED, note=note))
    return changes


def _diverging_originals(side: Side, originals: Sequence[ComparedObject]) -> list[ComparedObject]:
    identities = {original.identity for original in originals}
    contents = {
        compared.identity: compared.content
        for compared in side.by_item.values()
        if compared.role == CURRENT and compared.identity in identities
    }
    return [
        original for original in originals if contents.get(original.identity) != original.content
    ]


def with_original_notes(
    both: Comparison, contents: Collection[ContentChange]
) -> list[ContentChange]:
    """The changes of current ConfigMaps and Secrets, with notes about their originals.

    A change that already has a note keeps it.
    """
    if not contents:
        return []
    resolver = both.resolver
    roles = {resolver.key_of(item.identity, item.name): item.role for item in both.new.objects}
    readers = _readers(both)

    def note_of(content: ContentChange) -> str:
        identity = content.identity
        if content.note or not content.old_revision or content.new_revision in ("", identity.name):
            return content.note
        key = resolver.key_of(identity)
        # About the deletion of an original, there is the risk deleted-original.
        if content.old_revision == identity.name or roles.get(key) != ORIGINAL or not content.keys:
            return ""
        return _change_note(identity, readers.get(key, frozenset()))

    return [content._replace(note=note_of(content)) for content in contents]


def _change_note(identity: Identity, readers: AbstractSet[Identity]) -> str:
    """The note about an original that stays, "" for a Secret whose base name nobody references.

    readers: the workloads that reference the original by its base name.
    """
    if not readers and identity.group_kind == SECRET:
        return ""
    users = ", ".join(str(reader) for reader in sorted(readers, key=sort_key))
    reason = f"referenced by {users}" if users else "which stays in the manifests"
    return f"the original {identity.kind}, {reason}, also changes"


def _readers(both: Comparison) -> Mapping[ObjectKey, AbstractSet[Identity]]:
    """The workloads of the newer side that reference an original by its base name."""
    side, readers = both.new, defaultdict[ObjectKey, set[Identity]](set)
    for item_key, item_usages in both.usages[1].by_item.items():
        for usage in item_usages:
            is_from_pod = usage.is_in_template and item_key in side.by_item
            if is_from_pod and usage.name == usage.identity.name:
                readers[both.resolver.key_of(usage.identity)].add(side.by_item[item_key].identity)
    return readers
