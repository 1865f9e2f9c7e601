"""The changes of all pairs of objects.

The changes of ConfigMaps, Secrets and workloads leave out values that postrender always overwrites.
An object without a change is therefore compared again including these values, so that a manifest
cannot hide a difference in them.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Mapping, Sequence

from postrender.diff.attachers import comparable_pair, is_left_out, without_hashes
from postrender.diff.contents import (
    Compared,
    annotations_to_leave_out,
    compare_content,
    originals_of,
)
from postrender.diff.fields import find_field_changes
from postrender.diff.kinds import is_workload
from postrender.diff.model import (
    CHANGED,
    ContentChange,
    FieldChange,
    ObjectChange,
    WorkloadChange,
)
from postrender.diff.normalise import (
    changed_fields,
    comparable,
    content_fields,
    differing,
    without,
    without_cluster_values,
)
from postrender.diff.pairs import (
    CURRENT,
    ORIGINAL,
    ComparedObject,
    Comparison,
    Pair,
    Side,
    find_pairs,
    sort_key,
)
from postrender.diff.reads import Reads
from postrender.diff.texts import content_of
from postrender.diff.usages import Target, Usage
from postrender.diff.workloads import KnownChanges, find_workload_change
from postrender.kubernetes.annotations import RENDER_ID_ANNOTATION, keeper_of
from postrender.kubernetes.kinds import (
    DATA_FIELDS,
    RBAC_GROUP,
    SECRET,
    Identity,
    ObjectKey,
    strings_at,
)
from postrender.yaml.paths import Json, is_same, mapping_at

_RENDER_ID = f'metadata.annotations["{RENDER_ID_ANNOTATION}"]'


def find_changes(
    both: Comparison, reads: Reads
) -> tuple[dict[int, ContentChange], dict[int, WorkloadChange], dict[int, ObjectChange]]:
    """The changes of all pairs, by the index of the pair."""
    contents = _content_changes(both)
    known = KnownChanges(both, contents, reads)
    workloads: dict[int, WorkloadChange] = {}
    objects: dict[int, ObjectChange] = {}
    hidden: dict[int, ObjectChange] = {}
    for number, pair in enumerate(both.pairs):
        if not pair.identity.name or number in contents:
            continue
        workload = change = None
        if is_workload(pair.newest) and not pair.newest.is_attacher:
            workload = find_workload_change(pair, known)
        elif not pair.newest.is_content:
            change = _object_change(pair, both)
        if change and pair.identity.group == RBAC_GROUP and both.is_exact:
            change = _with_revisions(change, _exact_change(pair, both))
        if workload:
            workloads[number] = workload
        elif change:
            objects[number] = change
        # If only one side is an output, only that side has values that postrender adds.
        elif both.old.is_rendered == both.new.is_rendered and not pair.newest.is_attacher:
            change = _exact_change(pair, both)
            if change:
                hidden[number] = change
    return (
        {number: content.change for number, content in contents.items()},
        workloads,
        {**objects, **hidden},
    )


def _content_changes(both: Comparison) -> dict[int, Compared]:
    """The changes of ConfigMaps and Secrets."""
    readers = [_readers_by_target(both, is_new=is_new) for is_new in (False, True)]
    contents = {}
    for number, pair in enumerate(both.pairs):
        if pair.newest.is_content and pair.identity.name:
            left_out = annotations_to_leave_out(pair) if both.is_exact else None
            before, after = (side.get(number, {}) for side in readers)
            in_pods = _users(before, after, in_pods=True)
            content = compare_content(pair, both.names, both.context, left_out, *in_pods)
            if content:
                users, former = _users(before, after, in_pods=False)
                change = content.change._replace(users=tuple(users), former=tuple(former))
                contents[number] = content._replace(change=change)
    return contents


def _object_change(pair: Pair, both: Comparison) -> ObjectChange | None:
    old, new, names = both.old, both.new, both.names
    is_attacher = pair.newest.is_attacher
    if pair.both is None:
        if is_attacher and is_left_out(pair, old, new):
            return None
        change = pair.one_sided
        shown = without_hashes(pair.newest) if is_attacher else pair.newest
        fields = content_fields(shown.data, change, names.of_all)
        keeper = "" if pair.new else keeper_of(shown.data)
        note = f"{keeper} keeps the object" if keeper else ""
        return ObjectChange(pair.identity, change, fields, note)
    before, after = comparable_pair(pair.both, old, new) if is_attacher else pair.both
    compared = Pair(before, after) if is_attacher else pair
    changes = []
    if compared.parts != {}:
        changes = changed_fields(*differing(compared), names, is_exact=is_attacher)
    if before.name != after.name:
        path = "metadata.name"
        changes.append(FieldChange(path=path, change=CHANGED, old=before.name, new=after.name))
    return ObjectChange(pair.identity, CHANGED, tuple(changes)) if changes else None


def _users(
    before: Mapping[Identity, bool], after: Mapping[Identity, bool], *, in_pods: bool
) -> tuple[list[Identity], list[Identity]]:
    """The objects that reference a target on either side, and only on the older side.

    before, after: as in _readers_by_target.
    in_pods: only those with a reference in their pod template.
    """
    old, new = (
        {reader for reader, is_in_pods in side.items() if is_in_pods or not in_pods}
        for side in (before, after)
    )
    return sorted(old | new, key=sort_key), sorted(old - new, key=sort_key)


def _readers_by_target(both: Comparison, *, is_new: bool) -> dict[Target, dict[Identity, bool]]:
    """The objects that reference each target, and whether their pod template does.

    A Role only permits to read a target.
    """
    readers: defaultdict[Target, dict[Identity, bool]] = defaultdict(dict)
    index = both.usages[is_new]
    for pair in both.pairs:
        compared = pair.new if is_new else pair.old
        is_role = pair.identity.group == RBAC_GROUP
        for usage in index.by_item.get(compared.item.key, ()) if compared and compared.item else ():
            is_user = usage.is_in_template or not is_role
            if is_user and _is_of_pair(usage, both.pairs, is_new=is_new):
                of_target = readers[usage.target]
                of_target[pair.identity] = usage.is_in_template or of_target.get(
                    pair.identity, False
                )
    return dict(readers)


def _is_of_pair(usage: Usage, pairs: Sequence[Pair], *, is_new: bool) -> bool:
    """Whether a usage leads to an object of its pair, and not to an earlier revision."""
    if usage.used is None or usage.used.role == ORIGINAL or not isinstance(usage.target, int):
        return True
    pair = pairs[usage.target]
    current = (pair.new or pair.old) if is_new else (pair.old or pair.new)
    return current is not None and usage.name == current.name


# ------------------------------------------------------------------------------ exact comparisons

_DATA = ("data", "binaryData")


def compare_originals_exactly(
    both: Comparison, contents: Sequence[ContentChange]
) -> list[ObjectChange]:
    """The changes of originals that `contents` does not show, if both sides are outputs."""
    if not both.is_exact:
        return []
    changes = []
    for pair in find_pairs(originals_of(both.old), originals_of(both.new), both.resolver):
        change = _exact_change(pair, both)
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


def _exact_change(pair: Pair, both: Comparison) -> ObjectChange | None:
    if pair.both is None:
        return None
    old, new = both.old, both.new
    before, after = old.written_data(pair.both[0]), new.written_data(pair.both[1])
    if is_same(before, after):
        return None
    kind = pair.identity.kind
    before, after = _without_equal_content(*without_cluster_values(before, after))
    fields = find_field_changes(
        comparable(before, _exact_names(kind, old, new), is_exact=True),
        comparable(after, _exact_names(kind, new, old), is_exact=True),
    )
    if _has_derived_id(old, pair.both[0]) and _has_derived_id(new, pair.both[1]):
        fields = [field for field in fields if field.path != _RENDER_ID]
    if not fields:
        return None
    is_secret = pair.identity.group_kind == SECRET
    return ObjectChange(pair.identity, CHANGED, () if is_secret else tuple(fields))


def _without_equal_content(
    old: dict[str, Json], new: dict[str, Json]
) -> tuple[dict[str, Json], dict[str, Json]]:
    """Two objects, without the data of Secrets that differ only in `data` and `stringData`."""
    is_secret = old.get("kind") == new.get("kind") == "Secret"
    sides = ((side, field) for side in (old, new) for field in DATA_FIELDS)
    values = [value for side, field in sides for value in mapping_at(side, (field,)).values()]
    if not is_secret or None in values:
        return old, new
    if content_of(old, is_secret=True) != content_of(new, is_secret=True):
        return old, new
    return without(old, *DATA_FIELDS), without(new, *DATA_FIELDS)


def _with_revisions(change: ObjectChange, exact: ObjectChange | None) -> ObjectChange:
    """The change of a Role, and the revisions that the Role no longer lists."""
    known = {field.path for field in change.fields}
    added = [field for field in exact.fields if field.path not in known] if exact else []
    return change._replace(fields=(*change.fields, *added))


def _has_derived_id(side: Side, compared: ComparedObject) -> bool:
    """Whether an object has the render ID that postrender would write."""
    written = strings_at(side.written_data(compared), "annotations").get(RENDER_ID_ANNOTATION)
    derived = side.render_ids.get(compared.item.key) if compared.item else None
    return bool(written) and written == derived


def _exact_names(kind: str, side: Side, other: Side) -> dict[str, str]:
    """The names that replace revision names in an object of a side.

    For most kinds, these are the base names of current revisions. If a Role or ClusterRole lists a
    base name, postrender also lists names of revisions. For these kinds, a current revision becomes
    `<base name> (revision 1)`, so that a missing name is a difference. If several namespaces have a
    ConfigMap with this base name, the numbers count the namespaces.
    """
    current = _current_revisions(side)
    if kind not in ("Role", "ClusterRole"):
        return {revision.name: key.name for key, revision in current.items()}
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
    return {**other.base_names, **side.base_names, **marked}


def _current_revisions(side: Side) -> dict[ObjectKey, ComparedObject]:
    return {
        side.resolver.key_of(revision.identity): revision
        for revision in side.revisions
        if revision.role == CURRENT
    }


def _names_by_base(
    current: Mapping[ObjectKey, ComparedObject], others: Collection[ObjectKey]
) -> dict[str, list[str]]:
    """The revision names whose key is also in `others`, sorted by namespace, by base name.

    A namespace can be known on one side only, so a base name that is unique on both sides counts.
    """
    counts, other_counts = (Counter(key.name for key in keys) for keys in (current, others))
    names: dict[str, list[str]] = {}
    for key in sorted(current, key=lambda key: key.namespace or ""):
        is_unique = counts[key.name] == other_counts[key.name] == 1
        listed = names.setdefault(key.name, []) if key in others or is_unique else []
        if current[key].name not in listed:
            listed.append(current[key].name)
    return names
