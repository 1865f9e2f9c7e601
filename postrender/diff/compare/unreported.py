"""Differences that no other step of a comparison reports.

Other modules leave out values that every render overwrites. This module compares the written form
of every object without a reported change. A manifest therefore cannot hide a difference in such a
value.
"""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence

from postrender.diff.compare.configmaps import originals_of
from postrender.diff.compare.fields import find_field_changes, is_same
from postrender.diff.compare.model import CURRENT, ComparedObject, Side
from postrender.diff.compare.normalise import BaseNames, as_applied, as_written
from postrender.diff.compare.pairs import Pair, find_pairs
from postrender.diff.model import CHANGED, ContentChange, ObjectChange
from postrender.kubernetes.kinds import SECRET, ObjectKey
from postrender.plan.namespaces import Resolver

_DATA = ("data", "binaryData")


def find_unreported(
    pairs: Sequence[Pair], reported: Container[int], old: Side, new: Side
) -> dict[int, ObjectChange]:
    """Return the changes that no other step reports, by the number of the pair.

    Attachers and objects without a name are left out. If only one side is rendered, the result is
    empty, because the sides then differ in all values that the render adds.
    """
    if old.is_rendered != new.is_rendered:
        return {}
    changes = {}
    for number, pair in enumerate(pairs):
        if number in reported or not pair.identity.name or pair.newest.is_attacher:
            continue
        change = _change(pair, old, new)
        if change:
            changes[number] = change
    return changes


def find_unreported_originals(
    contents: Sequence[ContentChange], old: Side, new: Side, resolver: Resolver
) -> list[ObjectChange]:
    """Return the unreported changes of originals, if both sides are rendered.

    contents: the reported changes of ConfigMaps and Secrets, including the revisions next to the
    originals.
    """
    if not (old.is_rendered and new.is_rendered):
        return []
    changes = []
    for pair in find_pairs(originals_of(old), originals_of(new), resolver):
        change = _change(pair, old, new)
        if change is None:
            continue
        reported = [content for content in contents if content.identity == pair.identity]
        known_fields = [field for content in reported for field in content.fields]
        left_out = _DATA if any(content.keys for content in reported) else ()
        fields = [
            field
            for field in change.fields
            if field not in known_fields and not field.path.startswith(left_out)
        ]
        if fields or not (change.fields or reported):
            changes.append(change._replace(fields=tuple(fields)))
    return changes


def _change(pair: Pair, old: Side, new: Side) -> ObjectChange | None:
    if pair.both is None:
        return None
    before, after = old.written_data(pair.both[0]), new.written_data(pair.both[1])
    if is_same(before, after):
        return None
    kind = pair.identity.kind
    before, after = as_applied(before, after)
    fields = find_field_changes(
        as_written(before, _names(kind, old, new)), as_written(after, _names(kind, new, old))
    )
    if not fields:
        return None
    is_secret = pair.identity.group_kind == SECRET
    return ObjectChange(pair.identity, CHANGED, () if is_secret else tuple(fields))


def _names(kind: str, side: Side, other: Side) -> BaseNames:
    """Return the base names of the revisions that an object of a side may reference.

    A render adds the names of current and earlier revisions to a Role. For the comparison, the name
    of a current revision in a Role becomes `<base name> (revision 1)`. A missing name is then a
    difference. A base name has several current revisions if several namespaces have a ConfigMap of
    this name.
    """
    current = _current(side)
    if kind not in ("Role", "ClusterRole"):
        base_names = {revision.name: key.name for key, revision in current.items()}
        return BaseNames(of_all=base_names, of_secrets={})
    marked = {}
    others = _current(other)
    # If only one side has a ConfigMap, the ConfigMap itself is a change.
    names_by_base = _names_by_base(current, others)
    other_names = _names_by_base(others, current)
    for base, names in names_by_base.items():
        # If the sides have different counts, their numbers do not correspond.
        is_numbered = len(names) == len(other_names[base])
        for number, name in enumerate(names, 1):
            marked[name] = f"{base} (revision {number if is_numbered else 1})"
    return BaseNames({**other.base_names, **side.base_names, **marked}, of_secrets={})


def _current(side: Side) -> dict[ObjectKey, ComparedObject]:
    """Return the current revisions of a side, by the key of their base name."""
    return {
        side.resolver.key_of(revision.identity): revision
        for revision in side.revisions
        if revision.role == CURRENT
    }


def _names_by_base(
    current: Mapping[ObjectKey, ComparedObject], others: Container[ObjectKey]
) -> dict[str, list[str]]:
    """Return the names of the revisions that have a counterpart, by base name.

    The names of one base name are in the order of their namespaces.
    """
    names: dict[str, list[str]] = {}
    for key in sorted(current, key=lambda key: key.namespace or ""):
        listed = names.setdefault(key.name, []) if key in others else []
        if current[key].name not in listed:
            listed.append(current[key].name)
    return names
