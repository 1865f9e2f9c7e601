"""The two sides of a comparison, and the pairs of an object before and after the change.

Objects match by kind, namespace and base name, whatever they contain. If two ConfigMaps swap their
values, both change. If all values of a ConfigMap change, it still matches.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from functools import cached_property

from postrender.config.settings import NOTHING
from postrender.diff.model import ADDED, REMOVED
from postrender.diff.texts import Content, content_of
from postrender.errors import Finding, Location
from postrender.inventory.build import Inventory
from postrender.inventory.model import Item, ItemKey
from postrender.kubernetes.hashing import without_hash
from postrender.kubernetes.kinds import SECRET, Identity, ObjectKey, is_namespaced
from postrender.plan.model import PlanContext
from postrender.plan.namespaces import Resolver
from postrender.records import NamedTuple
from postrender.yaml.paths import Json, Parts, differing_parts

TYPE_CHECKING = False
if TYPE_CHECKING:
    from postrender.diff.normalise import BaseNames
    from postrender.diff.usages import UsageIndex

# The roles of an object. EARLIER is a retained or an older revision, ORIGINAL is an original next
# to its revision, and CURRENT is any other object.
CURRENT, EARLIER, ORIGINAL = "current", "earlier", "original"


class ComparedObject(NamedTuple):
    """One object of a side.

    identity: with the base name.
    name: in the cluster.
    data: the whole object, with the plan's edits of references and pod templates. A ConfigMap or
    Secret that the plan renames still has the name, labels and annotations of the input.
    item: None for a revision that postrender adds from the history.
    role: CURRENT, EARLIER or ORIGINAL.
    strategy: of a ConfigMap or Secret, else "".
    reason: why a ConfigMap or Secret keeps its name, as in the plan's decision, else "".
    is_immutable: whether a ConfigMap or Secret is immutable in the output. False for a revision
    from the history.
    """

    identity: Identity
    name: str
    data: dict[str, Json]
    item: Item | None
    role: str = CURRENT
    strategy: str = ""
    reason: str = ""
    is_immutable: bool = False

    @property
    def is_hook(self) -> bool:
        """Whether Helm or Argo CD runs the object as a hook."""
        return self.item is not None and self.item.is_hook

    @property
    def is_attacher(self) -> bool:
        """Whether the kind and the label of the object mark a part of an attacher."""
        return self.item is not None and self.item.is_attacher

    @property
    def attach_group(self) -> str:
        """The attach group of a part of an attacher, else ""."""
        return self.item.attach_group if self.item else ""

    @property
    def is_content(self) -> bool:
        """Whether the object is a ConfigMap or Secret that is not a part of an attacher."""
        return bool(self.strategy)

    @property
    def content(self) -> Content:
        """The values of a ConfigMap or Secret, by key."""
        return content_of(self.data, is_secret=self.identity.group_kind == SECRET)

    @property
    def is_revised(self) -> bool:
        """Whether the name differs from the name in the identity, as for a revision."""
        return self.name != self.identity.name


# The objects of the attachers that postrender would append to one side. The namespace in a key is
# the namespace in the manifests, None if absent.
AttacherObjects = Mapping[ObjectKey, dict[str, Json]]
# The workloads and revisions in the arguments of the attachers' Jobs, by the namespace in the
# manifests and the attach group. An example is (`--emitted`, `configmap/web-m567dfc6df`).
AttacherArguments = Mapping[tuple[str | None, str], frozenset[tuple[str, str]]]


class Side(NamedTuple):
    """One side of a comparison: the older or newer manifests, and facts from their plan.

    objects: all objects, including originals and retained revisions.
    revisions: the revisions of ConfigMaps and Secrets, with the roles CURRENT and EARLIER.
    by_item: the object of each item; if an item has a revision and an original, the revision.
    originals: the originals that stay next to their revisions, by item.
    context: the context of the plan, None as in build_context.
    base_names: the base names, by revision name.
    secret_names: the base names, by the revision names to redact.
    written: the objects of an output without the edits of the plan, by item. Empty for an input.
    attacher_objects, attacher_arguments: the attachers that postrender would append to an output
    again. Empty for an input.
    render_ids: the render IDs that postrender would write, by workload.
    non_objects: each value that is not a Kubernetes object, with its location.
    findings: the findings of the plan.
    """

    inventory: Inventory
    objects: tuple[ComparedObject, ...]
    revisions: Sequence[ComparedObject]
    by_item: Mapping[ItemKey, ComparedObject]
    originals: Mapping[ItemKey, ComparedObject]
    context: PlanContext | None
    resolver: Resolver
    base_names: Mapping[str, str]
    secret_names: Mapping[str, str]
    written: Mapping[ItemKey, dict[str, Json]]
    attacher_objects: AttacherObjects
    attacher_arguments: AttacherArguments
    render_ids: Mapping[ItemKey, str]
    non_objects: tuple[tuple[Json, Location], ...]
    findings: tuple[Finding, ...]

    @property
    def is_rendered(self) -> bool:
        """Whether the side is an output of postrender, and not an input."""
        return self.inventory.is_output

    def written_data(self, compared: ComparedObject) -> dict[str, Json]:
        """The data of an object for an exact comparison: of an output, without the plan's edits."""
        if compared.item is None:
            return compared.data
        return self.written.get(compared.item.key, compared.data)


# All definitions of each object that one side defines more than once, by key.
Duplicates = Mapping[Hashable, Sequence[ComparedObject]]


class Pair:
    """An object before and after the change.

    old, new: None on a side without the object.
    both: the two objects, None if a side does not have the object.
    newest: the object of the newer side, else of the older side; identity: of this object.
    one_sided: ADDED or REMOVED if a side does not have the object, else "".
    """

    def __init__(self, old: ComparedObject | None, new: ComparedObject | None) -> None:
        newest = new or old
        if newest is None:
            raise ValueError("a pair without objects")
        self.old, self.new, self.newest = old, new, newest
        self.both = (old, new) if old and new else None
        self.identity = newest.identity
        self.one_sided = "" if self.both else ADDED if new else REMOVED

    @cached_property
    def parts(self) -> Parts:
        """What differs between the objects: None for everything, {} for nothing."""
        return differing_parts(self.both[0].data, self.both[1].data) if self.both else None


class Comparison(NamedTuple):
    """Two sides, and what is known about both of them together.

    resolver: of the release namespace.
    pairs: of all current objects of the documents that diff reads.
    unread: as in Selection.
    duplicates, usages: on the older side and on the newer side.
    context: the number of unchanged lines before and after each change in a text.
    """

    old: Side
    new: Side
    resolver: Resolver
    pairs: Sequence[Pair]
    duplicates: tuple[Duplicates, Duplicates]
    usages: tuple[UsageIndex, UsageIndex]
    names: BaseNames
    context: int
    unread: Mapping[str, Sequence[int]] = NOTHING

    @property
    def is_exact(self) -> bool:
        """Whether both sides are outputs of postrender."""
        return self.old.is_rendered and self.new.is_rendered


def base_name_of(item: Item, *, is_revision: bool) -> str:
    """The base name of an object with a revision name, or the name of any other object.

    A Secret's name that ends like a revision name counts as one, because an output must not show
    the hash.
    is_revision: as in the plan's decision for the object.
    """
    name = item.identity.name
    if item.is_revision:
        return item.base_name
    has_hash = is_revision or item.identity.group_kind == SECRET
    return (without_hash(name) if has_hash else "") or name


def find_pairs(
    old: Iterable[ComparedObject], new: Iterable[ComparedObject], resolver: Resolver
) -> list[Pair]:
    """A pair for every object, sorted by namespace, kind and name.

    Objects match in three rounds:
    1. equal group, kind, namespace and name. A hook matches only a hook;
    2. equal kind, namespace and name, if each side has exactly one candidate. The API group can
    differ (`extensions`, `networking.k8s.io`), and one object can be a hook;
    3. equal group, kind and name, if each side has exactly one candidate, and only one of the two
    candidates has a namespace. With a known release namespace, the object moves instead.
    If an object does not have a name, its generateName counts as the name.
    """

    def exact(compared: ComparedObject) -> Hashable:
        return _key(compared, resolver), _generate_name(compared)

    def in_any_group(compared: ComparedObject) -> Hashable:
        identity = compared.identity._replace(group="")
        return resolver.key_of(identity), _generate_name(compared)

    def in_any_namespace(compared: ComparedObject) -> Hashable:
        return compared.identity.key_in(None), _generate_name(compared)

    def is_possibly_equal(old: Sequence[ComparedObject], new: Sequence[ComparedObject]) -> bool:
        is_known = resolver.release_namespace and old and is_namespaced(old[0].identity.group_kind)
        if is_known or not _is_one_to_one(old, new):
            return False
        return (old[0].identity.namespace is None) != (new[0].identity.namespace is None)

    old_rest, new_rest = list(old), list(new)
    pairs: list[Pair] = []
    for key, is_match in (
        (exact, None),
        (in_any_group, _is_one_to_one),
        (in_any_namespace, is_possibly_equal),
    ):
        matches, old_rest, new_rest = _match(old_rest, new_rest, key, is_match)
        pairs += matches
    pairs += [Pair(compared, None) for compared in old_rest]
    pairs += [Pair(None, compared) for compared in new_rest]
    return sorted(pairs, key=lambda pair: sort_key(pair.identity))


def find_duplicates(side: Side, resolver: Resolver) -> Duplicates:
    """All definitions of each object that a side defines more than once, in order, by key.

    A plan handles the duplicates of ConfigMaps and Secrets. Of other objects, kubectl and Helm
    leave the last definition in the cluster.
    """
    groups: dict[Hashable, list[ComparedObject]] = defaultdict(list)
    for compared in side.by_item.values():
        if not compared.is_content and compared.identity.name:
            groups[_key(compared, resolver)].append(compared)
    return {key: group for key, group in groups.items() if len(group) > 1}


def sort_key(identity: Identity) -> tuple[str, str, str, str]:
    """By namespace, kind, name and group."""
    return identity.namespace or "", identity.kind, identity.name, identity.group


def _match(
    old: Sequence[ComparedObject],
    new: Sequence[ComparedObject],
    key: Callable[[ComparedObject], Hashable],
    is_match: Callable[[Sequence[ComparedObject], Sequence[ComparedObject]], bool] | None,
) -> tuple[list[Pair], list[ComparedObject], list[ComparedObject]]:
    """The pairs of objects with equal keys, and the objects of each side without a pair.

    is_match: whether the older and the newer objects with one key match. If None, they do, in
    order.
    """
    groups: dict[Hashable, tuple[list[ComparedObject], list[ComparedObject]]] = defaultdict(
        lambda: ([], [])
    )
    for side, objects in enumerate((old, new)):
        for compared in objects:
            groups[key(compared)][side].append(compared)
    pairs: list[Pair] = []
    rests: tuple[list[ComparedObject], list[ComparedObject]] = ([], [])
    for old_group, new_group in groups.values():
        count = min(len(old_group), len(new_group))
        if is_match and not is_match(old_group, new_group):
            count = 0
        pairs += map(Pair, old_group[:count], new_group[:count])
        rests[0].extend(old_group[count:])
        rests[1].extend(new_group[count:])
    return pairs, rests[0], rests[1]


def _is_one_to_one(old: Sequence[ComparedObject], new: Sequence[ComparedObject]) -> bool:
    return len(old) == len(new) == 1


def _key(compared: ComparedObject, resolver: Resolver) -> Hashable:
    return resolver.key_of(compared.identity), compared.is_hook


def _generate_name(compared: ComparedObject) -> str:
    if compared.identity.name:
        return ""
    metadata = compared.data.get("metadata")
    return str(metadata.get("generateName")) if isinstance(metadata, dict) else ""
