"""Notes about originals: a change can delete an original, or change an original that stays."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping
from collections.abc import Set as AbstractSet

from postrender.diff.compare.model import ORIGINAL, Side
from postrender.diff.model import ContentChange
from postrender.diff.pairs import sort_key
from postrender.diff.usages import UsageIndex
from postrender.kubernetes.kinds import SECRET, Identity, ObjectKey
from postrender.plan.namespaces import Resolver


def with_original_notes(
    contents: Collection[ContentChange], new: Side, usages: UsageIndex, resolver: Resolver
) -> list[ContentChange]:
    """Return the changes of current ConfigMaps and Secrets, with notes about their originals.

    A change that already has a note keeps this note.
    usages: the usages of the newer side.
    resolver: the resolver with the release namespace.
    """
    if not contents:
        return []
    roles = {resolver.key_of(item.identity, item.name): item.role for item in new.objects}
    readers = _readers(new, usages, resolver)

    def note_of(content: ContentChange) -> str:
        identity = content.identity
        if content.note or not content.old_revision or content.new_revision in ("", identity.name):
            return content.note
        key = resolver.key_of(identity)
        if content.old_revision == identity.name:
            return "" if key in roles or not content.users else _deletion_note(identity)
        if roles.get(key) != ORIGINAL or not content.keys:
            return ""
        return _change_note(identity, readers.get(key, frozenset()))

    return [content._replace(note=note_of(content)) for content in contents]


def _deletion_note(identity: Identity) -> str:
    return (
        f"tools such as Helm delete the original {identity.kind}, although old pods still use the "
        "original. Before the apply, run postrender adopt"
    )


def _change_note(identity: Identity, readers: AbstractSet[Identity]) -> str:
    """Return the note about an original that stays.

    The note is "" for a Secret that workloads do not reference by its base name.
    readers: the workloads that reference the original by its base name.
    """
    if not readers and identity.group_kind == SECRET:
        return ""
    users = ", ".join(str(reader) for reader in sorted(readers, key=sort_key))
    reason = f"referenced by {users}" if users else "which stays in the manifests"
    return f"the original {identity.kind}, {reason}, also changes"


def _readers(
    side: Side, usages: UsageIndex, resolver: Resolver
) -> Mapping[ObjectKey, AbstractSet[Identity]]:
    """Return the workloads that reference each ConfigMap or Secret by its base name."""
    readers: defaultdict[ObjectKey, set[Identity]] = defaultdict(set)
    for item_key, item_usages in usages.by_item.items():
        for usage in item_usages:
            is_from_pod = usage.is_in_template and item_key in side.by_item
            if is_from_pod and usage.name == usage.identity.name:
                readers[resolver.key_of(usage.identity)].add(side.by_item[item_key].identity)
    return readers
