"""The references of each object on one side, resolved to targets that both sides share; the graph.

A graph labels a reference with the kind of field that holds the name, such as `envFrom`.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Container, Iterable, Iterator, Mapping, Sequence

from postrender.config.settings import CHECKSUM
from postrender.diff.kinds import SCALERS, is_in_custom_template, is_workload, scaled_by
from postrender.diff.model import (
    ADDED,
    REMOVED,
    UNCHANGED,
    ContentChange,
    Edge,
    Graph,
    GraphNode,
    ObjectChange,
    WorkloadChange,
)
from postrender.diff.pairs import ORIGINAL, ComparedObject, Comparison, Pair, Side
from postrender.inventory.model import Item, ItemKey, Reference
from postrender.kubernetes.hashing import canonical_json
from postrender.kubernetes.kinds import DATA_FIELDS, POD, SECRET, GroupKind, Identity, ObjectKey
from postrender.plan.links import find_rollouts
from postrender.plan.namespaces import Resolver
from postrender.records import NamedTuple, reachable
from postrender.references.built_in import POD_SPEC_PATTERNS
from postrender.yaml.paths import EVERY_ITEM, Json, Path, value_at

AUTO_MOUNT = "auto-mount"
WORKLOAD_REF, _SCALES = "workloadRef", "scales"

# The label of a reference in a pod spec, by a part of the path. If a path has several of these
# parts, the part that is first in this dict decides.
_POD_LABELS = {"projected": "projected", "envFrom": "envFrom", "env": "env", "volumes": "volume"}

# The labels of references that pods read as files.
MOUNTS = ("volume", "projected")

# For a reference in one of these fields, the label is the name of the parent field.
_NAME_FIELDS = ("name", "secretName")


def label_of(path: Path) -> str:
    """The label of a reference at a path.

    For a volume or variable of a pod, it is `volume`, `projected`, `envFrom` or `env`. For an
    annotation, it is the key without its prefix. For any other path, it is the last key except
    `name` and `secretName`, such as `tls` or `imagePullSecrets`.
    """
    pattern = tuple(EVERY_ITEM if isinstance(part, int) else part for part in path)
    for start in range(len(pattern)):
        if pattern[start:] in _LABELS:
            return _LABELS[pattern[start:]]
    return _last_part(pattern)


def _last_part(pattern: Sequence[str]) -> str:
    parts = [part for part in pattern if part != EVERY_ITEM]
    while len(parts) > 1 and parts[-1] in _NAME_FIELDS:
        parts.pop()
    return parts[-1].rpartition("/")[2] if parts else ""


def _pod_label(pattern: Sequence[str]) -> str:
    labels = (label for part, label in _POD_LABELS.items() if part in pattern)
    return next(labels, _last_part(pattern))


_LABELS = {pattern: _pod_label(pattern) for pattern, _ in POD_SPEC_PATTERNS}

# The target of a reference: the index of the target's pair, or the key of a target without a pair.
Target = int | ObjectKey


class Usage(NamedTuple):
    """The use of a ConfigMap or Secret by one object.

    identity: with the base name.
    name: in the reference, as in the output of postrender.
    used: the object with this name. If only the other side has a revision with this name, that
    revision; None if neither side has one, or if the other side has an object with the base name.
    is_missing: whether `used` is not on this side.
    path: of the reference in the object, () for a mount that postrender adds.
    version: the name and, for the strategy checksum, the content. If the version differs between
    the sides, the pod templates differ.
    is_in_template: whether the reference is in a pod template or in a Pod.
    """

    target: Target
    identity: Identity
    name: str
    version: str
    label: str
    is_in_template: bool
    used: ComparedObject | None = None
    is_missing: bool = False
    path: Path = ()

    def is_optional_in(self, data: Json) -> bool:
        """Whether pods start without the ConfigMap or Secret; data: the object."""
        return bool(self.path) and value_at(data, (*self.path[:-1], "optional")) is True


class UsageIndex(NamedTuple):
    """The usages on one side.

    by_item: by the object that has the reference.
    sources: the workload that has the pod template, by the Rollout with a workloadRef.
    rollouts: the Rollouts that use a pod template, by the workload that has the template.
    """

    by_item: Mapping[ItemKey, Sequence[Usage]]
    sources: Mapping[ItemKey, ComparedObject]
    rollouts: Mapping[ItemKey, Sequence[ComparedObject]]

    def missing_source(self, compared: ComparedObject) -> tuple[GroupKind, str] | None:
        """The target of a workloadRef if the manifests do not have it."""
        item = compared.item
        return item.workload_ref if item and item.key not in self.sources else None


def index_usages(side: Side, other: Side, pairs: Sequence[Pair], *, is_new: bool) -> UsageIndex:
    """The usages on a side; is_new: whether it is the newer one."""
    targets = _targets(pairs, side, other, is_new=is_new)
    by_item = {}
    for compared in side.objects:
        if compared.item is not None and compared.role != ORIGINAL:
            by_item[compared.item.key] = list(_usages(side, compared.item, targets))
    rollouts, sources = {}, {}
    for workload, items in find_rollouts(side.inventory.items, side.resolver).items():
        rollouts[workload] = [side.by_item[rollout.key] for rollout in items]
        for rollout in items:
            sources[rollout.key] = side.by_item[workload]
    return UsageIndex(by_item, sources, rollouts)


class _Targets(NamedTuple):
    """The indexes of the pairs of ConfigMaps and Secrets, for references from one side.

    here: for objects on this side, by key with the namespace in the manifest.
    elsewhere: for objects on the other side only, by key with the effective namespace.
    own_revisions, revisions: of this side and of the other side, by key with the effective
    namespace.
    resolver: of the other side.
    """

    here: Mapping[ObjectKey, int]
    elsewhere: Mapping[ObjectKey, int]
    own_revisions: Mapping[ObjectKey, ComparedObject]
    revisions: Mapping[ObjectKey, ComparedObject]
    resolver: Resolver

    def of_object(self, identity: Identity) -> Target:
        key = _manifest_key(identity)
        number = self.here.get(key)
        if number is None:  # this side has only earlier revisions of the object
            number = self.elsewhere.get(self.resolver.key_of(identity))
        return key if number is None else number


def _targets(pairs: Sequence[Pair], side: Side, other: Side, *, is_new: bool) -> _Targets:
    here, elsewhere, resolver = {}, {}, other.resolver
    for number, pair in enumerate(pairs):
        compared = pair.new if is_new else pair.old
        if not pair.newest.is_content:
            continue
        if compared is not None:
            here[_manifest_key(compared.identity)] = number
        else:
            elsewhere[resolver.key_of(pair.identity)] = number
    own_revisions, revisions = (
        {resolver.key_of(revision.identity, revision.name): revision for revision in one.revisions}
        for one in (side, other)
    )
    return _Targets(here, elsewhere, own_revisions, revisions, resolver)


def _manifest_key(identity: Identity) -> ObjectKey:
    return identity.key_in(identity.namespace)


def _usages(side: Side, item: Item, targets: _Targets) -> Iterator[Usage]:
    linked = set()
    context = side.context
    for link in context.links.get(item.key, ()) if context else ():
        reference = link.reference
        linked.add(reference.path)
        keeps_base_name = link.keeps_base_name and link.target.key in side.originals
        used = (side.originals if keeps_base_name else side.by_item)[link.target.key]
        is_in_template = _is_in_template(item, reference)
        path, label = reference.path[len(item.path) :], label_of(reference.path)
        yield _usage(used, targets, label, path, is_in_template=is_in_template)
    for mount in context.mounts.get(item.key, ()) if context else ():
        # Use the labels that label_of returns for an output, in which the mount is a field.
        # Otherwise, the edges of an input and of an output would differ.
        for label in (["volume"] if mount.path else []) + (["envFrom"] if mount.env_from else []):
            used = side.by_item[mount.item.key]
            yield _usage(used, targets, label, is_in_template=True)
    for reference in item.references:
        if reference.path not in linked:
            yield from _usages_elsewhere(side, item, reference, targets)


def _is_in_template(item: Item, reference: Reference) -> bool:
    """Whether a reference is in a pod template; a whole Pod counts as a template."""
    return (
        reference.template is not None
        or item.identity.group_kind == POD
        or is_in_custom_template(item, reference.path)
    )


def _usage(
    used: ComparedObject, targets: _Targets, label: str, path: Path = (), *, is_in_template: bool
) -> Usage:
    version = used.name
    if used.strategy == CHECKSUM:
        content = {key: used.data.get(key) for key in DATA_FIELDS}
        version += canonical_json(content)
    return Usage(
        target=targets.of_object(used.identity),
        identity=used.identity,
        name=used.name,
        version=version,
        label=label,
        is_in_template=is_in_template,
        used=used,
        path=path,
    )


def _usages_elsewhere(
    side: Side, item: Item, reference: Reference, targets: _Targets
) -> Iterator[Usage]:
    """The usage for a reference to an object that the documents of this side do not have.

    The target can be an object or a revision of the other side, a Secret's revision, or a revision
    that render creates for this side. Any other target is skipped.
    """
    identity, name = item.target_of(reference), reference.name
    key = targets.resolver.key_of(identity)
    own = targets.own_revisions.get(key)
    used = own or targets.revisions.get(key)
    base_name = used.identity.name if used else side.base_names.get(name, name)
    identity = identity._replace(name=base_name)
    number = targets.elsewhere.get(targets.resolver.key_of(identity))
    if number is None and base_name != name:
        # The reference has the name of a revision that postrender would create for this side.
        number = targets.here.get(_manifest_key(identity))
    if number is None and not used and (identity.group_kind != SECRET or base_name == name):
        return
    yield Usage(
        target=_manifest_key(identity) if number is None else number,
        identity=identity,
        name=name,
        version=name,
        label=label_of(reference.path),
        is_in_template=_is_in_template(item, reference),
        used=used,
        is_missing=own is None and used is not None,
        path=reference.path[len(item.path) :],
    )


def find_graph(
    both: Comparison, changes: Mapping[int, ContentChange | ObjectChange | WorkloadChange]
) -> tuple[Graph, frozenset[int]]:
    """The graph, and the indexes of the pairs that the graph shows.

    The graph shows the objects that change, and all objects that are connected with one of them.
    changes: by the index of the pair.
    """
    pairs = both.pairs
    before, after = (
        set(_edges(pairs, index, changes, is_new=is_new))
        for index, is_new in zip(both.usages, (False, True), strict=True)
    )
    edge_changes = {
        **dict.fromkeys(before, REMOVED),
        **dict.fromkeys(after, ADDED),
        **dict.fromkeys(before & after, UNCHANGED),
    }
    connected = _connected(changes, edge_changes)
    # Sort by index, because identities can be equal. The indexes are in the order of identities.
    ordered = sorted(connected, key=lambda number: (_role(pairs[number]), number))
    positions = {number: position for position, number in enumerate(ordered)}
    nodes = tuple(_node(pairs[number], changes.get(number)) for number in ordered)
    edges = [
        edge._replace(source=positions[edge.source], target=positions[edge.target], change=change)
        for edge, change in edge_changes.items()
        if edge.source in positions
    ]
    return Graph(nodes, tuple(sorted(edges))), frozenset(connected)


def _node(pair: Pair, change: ContentChange | ObjectChange | WorkloadChange | None) -> GraphNode:
    return GraphNode(
        identity=pair.identity,
        role=_role(pair),
        change=change.change if change else UNCHANGED,
        effect=change.effect if isinstance(change, WorkloadChange) else "",
    )


def _role(pair: Pair) -> str:
    if is_workload(pair.newest) and not pair.newest.is_attacher:
        return "workload"
    return "config" if pair.newest.is_content else "other"


def _edges(
    pairs: Sequence[Pair], index: UsageIndex, changed: Container[int], *, is_new: bool
) -> Iterator[Edge]:
    """The references of one side, and the autoscalers and workloads that both change.

    Other documents with autoscalers or their workloads can be unread.
    """
    numbers: dict[ItemKey, int] = {}
    workloads: dict[tuple[str | None, str, str], int] = {}
    targets = []
    for number, pair in enumerate(pairs):
        compared = pair.new if is_new else pair.old
        if compared is not None and compared.item is not None:
            numbers[compared.item.key] = number
        if number not in changed:
            continue
        if compared is not None and pair.identity.kind in SCALERS:
            targets.append((number, (pair.identity.namespace, *scaled_by(compared.data))))
        elif compared is not None and is_workload(compared):
            identity = pair.identity
            workloads[identity.namespace, identity.kind, identity.name] = number
    for number, scaled in targets:
        if scaled in workloads:
            yield Edge(source=number, target=workloads[scaled], label=_SCALES)
    for key, number in numbers.items():
        for usage in index.by_item.get(key, ()):
            if isinstance(usage.target, int) and usage.target != number:
                yield Edge(source=number, target=usage.target, label=usage.label)
        source = index.sources.get(key)
        if source is not None and source.item is not None and source.item.key in numbers:
            yield Edge(source=number, target=numbers[source.item.key], label=WORKLOAD_REF)


def _connected(changed: Iterable[int], edges: Iterable[Edge]) -> Collection[int]:
    """The changed pairs, and all pairs connected with a changed pair."""
    neighbours: dict[int, set[int]] = defaultdict(set)
    for edge in edges:
        neighbours[edge.source].add(edge.target)
        neighbours[edge.target].add(edge.source)
    return reachable(changed, neighbours.__getitem__)
