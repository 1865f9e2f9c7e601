"""Differences that no other rule of a comparison reports.

Other modules leave out values that a render writes again. This module compares the written form of
every object without a reported change. A manifest therefore cannot hide a difference in such a
value.
"""

from __future__ import annotations

from collections.abc import Container, Sequence

from postrender.diff.compare.configmaps import originals_of
from postrender.diff.compare.fields import find_field_changes, is_same
from postrender.diff.compare.model import CURRENT, Side
from postrender.diff.compare.normalise import BaseNames, as_applied, as_written
from postrender.diff.compare.pairs import Pair, find_pairs
from postrender.diff.model import CHANGED, ContentChange, ObjectChange
from postrender.kubernetes.kinds import SECRET
from postrender.plan.namespaces import Resolver

_DATA = ("data", "binaryData")


def find_unreported(
    pairs: Sequence[Pair], reported: Container[int], old: Side, new: Side
) -> dict[int, ObjectChange]:
    """Return the changes that no other step reports, by the number of the pair.

    Attachers and objects without a name are left out. If only one side is rendered, the result is
    empty, because the render itself is a difference.
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
    """Return the changes of originals that are not reported, if both sides are rendered.

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

    A render adds the names of current and earlier revisions to a Role. In a Role, the name of the
    current revision becomes `<base name> (revision 1)`, so that a missing name is a difference. A
    base name has several current revisions if several namespaces have a ConfigMap of this name.
    """
    current = _current_names(side)
    if kind not in ("Role", "ClusterRole"):
        names = {name: base for base, revisions in current.items() for name in revisions}
        return BaseNames(of_all=names, of_secrets={})
    marked = {}
    others = _current_names(other)
    for base in current.keys() & others.keys():
        # If the sides have different counts, their numbers do not correspond.
        is_numbered = len(current[base]) == len(others[base])
        for number, name in enumerate(current[base], 1):
            marked[name] = f"{base} (revision {number if is_numbered else 1})"
    return BaseNames({**other.base_names, **side.base_names, **marked}, of_secrets={})


def _current_names(side: Side) -> dict[str, list[str]]:
    """Return the names of the current revisions by base name, in the order of their namespaces."""
    current = [revision for revision in side.revisions if revision.role == CURRENT]
    names: dict[str, list[str]] = {}
    for revision in sorted(current, key=lambda revision: revision.identity.namespace or ""):
        listed = names.setdefault(revision.identity.name, [])
        if revision.name not in listed:
            listed.append(revision.name)
    return names
