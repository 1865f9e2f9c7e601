"""Differences that no other step of a comparison reports.

Other modules leave out values that postrender always overwrites. If an object does not have a
reported change, this module compares the object on both sides, including these values
(`as_written`). A manifest therefore cannot hide a difference in these values.
"""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence

from postrender.diff.compare.fields import find_field_changes, is_same
from postrender.diff.compare.model import CURRENT, ComparedObject, Side
from postrender.diff.contents import originals_of
from postrender.diff.model import CHANGED, ContentChange, ObjectChange
from postrender.diff.normalise import BaseNames, as_written, without_cluster_values
from postrender.diff.pairs import Pair, find_pairs
from postrender.kubernetes.kinds import SECRET, ObjectKey
from postrender.plan.namespaces import Resolver

_DATA = ("data", "binaryData")


def find_unreported(
    pairs: Sequence[Pair], reported: Container[int], old: Side, new: Side
) -> dict[int, ObjectChange]:
    """Return the changes that no other step reports, by the index of the pair.

    The result leaves out the objects of attachers, and objects without a name. If exactly one side
    is an output of postrender, the result is empty, because only the output has values that
    postrender adds.
    reported: the indexes of the pairs with a reported change.
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
    """Return the changes of originals that no other step reports, if both sides are outputs.

    contents: the reported changes of originals and of all other ConfigMaps and Secrets.
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
    before, after = without_cluster_values(before, after)
    fields = find_field_changes(
        as_written(before, _names(kind, old, new)), as_written(after, _names(kind, new, old))
    )
    if not fields:
        return None
    is_secret = pair.identity.group_kind == SECRET
    return ObjectChange(pair.identity, CHANGED, () if is_secret else tuple(fields))


def _names(kind: str, side: Side, other: Side) -> BaseNames:
    """Return the names that replace revision names in an object of a side.

    For most kinds, these are the base names of current revisions. If a Role or ClusterRole lists a
    base name, postrender also lists names of revisions. For these kinds, the result therefore has
    `<base name> (revision 1)` for a current revision, so that a missing name is a difference. If
    several namespaces have a ConfigMap with this base name, the numbers count the namespaces. If
    the sides have different counts of names, all numbers are 1.
    kind: the kind of the object.
    """
    current = _current_revisions(side)
    if kind not in ("Role", "ClusterRole"):
        base_names = {revision.name: key.name for key, revision in current.items()}
        return BaseNames(of_all=base_names, of_secrets={})
    marked = {}
    others = _current_revisions(other)
    # Use a current revision only if the other side has a current revision of the same ConfigMap.
    # Otherwise, another step reports a change of the ConfigMap.
    names_by_base = _names_by_base(current, others)
    other_names = _names_by_base(others, current)
    for base, names in names_by_base.items():
        # If the sides have different counts of names, equal numbers can mean different ConfigMaps.
        is_numbered = len(names) == len(other_names[base])
        for number, name in enumerate(names, 1):
            marked[name] = f"{base} (revision {number if is_numbered else 1})"
    return BaseNames({**other.base_names, **side.base_names, **marked}, of_secrets={})


def _current_revisions(side: Side) -> dict[ObjectKey, ComparedObject]:
    return {
        side.resolver.key_of(revision.identity): revision
        for revision in side.revisions
        if revision.role == CURRENT
    }


def _names_by_base(
    current: Mapping[ObjectKey, ComparedObject], others: Container[ObjectKey]
) -> dict[str, list[str]]:
    """Return the names of the revisions whose key is also in `others`, by base name.

    The names for each base name are in the order of the namespaces.
    """
    names: dict[str, list[str]] = {}
    for key in sorted(current, key=lambda key: key.namespace or ""):
        listed = names.setdefault(key.name, []) if key in others else []
        if current[key].name not in listed:
            listed.append(current[key].name)
    return names
