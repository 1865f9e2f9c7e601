"""Namespaces: the object that a reference means, the key of an object, and repeated objects.

Helm creates an object without a namespace in the namespace of the release. A post-renderer does not
know this namespace. With `--namespace`, postrender uses the given namespace for objects and
references without a namespace. postrender resolves a reference in two steps:

1. Find the object with the referenced name in the same namespace. Two absent namespaces are the
   same namespace.
2. Without `--namespace`, find the only object with the referenced name in the stream. Either the
   object or the reference must have the namespace Resolver.only_namespace. The other namespace
   must be absent.

postrender leaves a reference unchanged if both steps fail, because the object may be in another
namespace. The reference is *ambiguous* if only one of the object and the reference has a namespace,
which a finding reports.

Two kinds of references can resolve to several objects:

- A reference in a ClusterRole resolves to the objects with the referenced name in all namespaces.
- postrender never rewrites a reference with a `keep_reason` (references/rule.py), and adds names to
  a selector. These references resolve to each object with the referenced name that is possibly in
  the same namespace.

Only this module interprets absent namespaces. Other modules compare objects by
`Resolver.key_of`, or by `PlanContext.certain_key_of` where postrender must not guess.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping, Sequence
from itertools import pairwise

from postrender.config.settings import NOTHING, Settings
from postrender.errors import UserError
from postrender.inventory.build import Inventory
from postrender.inventory.model import Item, ItemKey, Reference
from postrender.krm.input import own_annotations
from postrender.kubernetes.annotations import USER_ANNOTATIONS
from postrender.kubernetes.kinds import (
    CONFIG_MAP,
    SECRET,
    WORKLOAD_KINDS,
    GroupKind,
    Identity,
    ObjectKey,
    is_namespaced_workload,
)
from postrender.records import grouped
from postrender.references.rule import SELECTOR
from postrender.yaml.paths import Json, mapping_at

CLUSTER_SCOPED = frozenset({"ClusterRole"})

Candidates = Mapping[tuple[GroupKind, str], Sequence[Item]]


# The input grows with the sum of the names and of the objects that they can mean, and the time with
# the product. The limit is for the product, without the first object that each name can mean.
_MAX_MEANINGS = 100_000


class Resolver:
    """The interpretation of absent namespaces in one stream.

    release_namespace: the namespace from `--namespace`, "" if unknown.
    only_namespace: the only explicit namespace of the stream, "" if the number of explicit
        namespaces is not 1. Also "" if the stream has an object twice, with and without this
        namespace. An absent namespace then certainly means another namespace.
    candidates: the ConfigMaps and Secrets by kind and name, for each referenced name.
    """

    __slots__ = ("_by_namespace", "_meanings", "candidates", "only_namespace", "release_namespace")

    def __init__(
        self, release_namespace: str, only_namespace: str = "", candidates: Candidates = NOTHING
    ) -> None:
        self.release_namespace = release_namespace
        self.only_namespace = only_namespace
        self.candidates = candidates
        self._by_namespace: dict[int, tuple[Sequence[Item], dict[str | None, list[Item]]]] = {}
        self._meanings = 0

    def find(self, item: Item, reference: Reference, candidates: Sequence[Item]) -> Sequence[Item]:
        """The objects that a reference means, () if the reference does not resolve.

        candidates: the objects with the kind and the name in the reference.
        """
        if not candidates:
            return ()
        if item.identity.kind in CLUSTER_SCOPED:
            self.count_meanings(candidates)
            return candidates
        if reference.rule.keep_reason or reference.rule.family == SELECTOR:
            # postrender keeps the original of each result. An original that programs do not need
            # is harmless, but a program fails without an original that the program needs.
            self.count_meanings(candidates)
            return [
                candidate
                for candidate in candidates
                if self.may_mean(item, candidate, reference.namespace)
            ]
        return self.find_in_namespace(reference.namespace or item.identity.namespace, candidates)

    def find_in_namespace(
        self, namespace: str | None, candidates: Sequence[Item]
    ) -> Sequence[Item]:
        """The candidate that a reference in a namespace means, as a list of at most one."""
        if len(candidates) == 1:
            is_same = self.is_same(namespace, candidates[0].identity.namespace)
            matches = candidates if is_same else ()
        else:
            matches = self._in_namespace(candidates).get(self.namespace_of(namespace), ())
        if matches:
            # An ordinary object has priority over a hook with the same name.
            return [min(matches, key=lambda match: match.is_hook)]
        if len(candidates) == 1 and not self.release_namespace:
            namespaces = {namespace, candidates[0].identity.namespace}
            if namespaces == {None, self.only_namespace}:
                return candidates
        return ()

    def _in_namespace(self, candidates: Sequence[Item]) -> dict[str | None, list[Item]]:
        """Objects by namespace; only once for a list, because many references can have a name."""
        if id(candidates) not in self._by_namespace:
            items = grouped(candidates, lambda item: self.namespace_of(item.identity.namespace))
            self._by_namespace[id(candidates)] = (candidates, items)  # the list keeps its id()
        return self._by_namespace[id(candidates)][1]

    def count_meanings(self, candidates: Sequence[Item]) -> None:
        """Refuse a stream in which names without a namespace mean too many objects altogether."""
        self._meanings += max(0, len(candidates) - 1)
        if self._meanings > _MAX_MEANINGS:
            raise UserError(
                f"the input has objects of one name in many namespaces, such as "
                f"{candidates[0].identity}, and the names in other objects can mean more than "
                f"{_MAX_MEANINGS:,} of these objects",
                "Render the namespaces one by one",
            )

    def is_ambiguous(self, item: Item, reference: Reference, candidates: Sequence[Item]) -> bool:
        """Whether an unresolved reference possibly means one of the candidates.

        The given release namespace can be wrong, too.
        """
        rule = reference.rule
        is_lenient = rule.keep_reason or rule.family == SELECTOR
        if is_lenient or item.identity.kind in CLUSTER_SCOPED:
            return False
        namespace = reference.namespace or item.identity.namespace
        self.count_meanings(candidates)
        return any(
            (namespace is None) != (candidate.identity.namespace is None)
            for candidate in candidates
        )

    def is_same(self, first: str | None, second: str | None) -> bool:
        """Whether two namespaces, as written in manifests, are certainly the same."""
        return self.namespace_of(first) == self.namespace_of(second)

    def may_mean(self, item: Item, target: Item, namespace: str | None = None) -> bool:
        """Whether a name in an object is possibly that of a ConfigMap or Secret.

        namespace: next to the name. An absent namespace of the object is the release namespace only
        if the object certainly has a namespace.
        """
        source = namespace or item.identity.namespace
        if _is_namespaced(item.identity.group_kind):
            source = self.namespace_of(source)
        home = self.namespace_of(target.identity.namespace)
        return not source or not home or source == home

    def namespace_of(self, written: str | None) -> str | None:
        return written or self.release_namespace or None

    def effective_namespace(self, written: str | None) -> str | None:
        return self.namespace_of(written) or self.only_namespace or None

    def key_of(self, identity: Identity, name: str | None = None) -> ObjectKey:
        """The key of an object, or of its namesake `name`, in its effective namespace."""
        namespace = self.effective_namespace(identity.namespace)
        return ObjectKey(identity.group_kind, namespace, identity.name if name is None else name)


def _is_namespaced(group_kind: GroupKind) -> bool:
    return group_kind in (CONFIG_MAP, SECRET) or is_namespaced_workload(group_kind)


def new_resolver(inventory: Inventory, settings: Settings) -> Resolver:
    """The resolver for a stream."""
    candidates: dict[tuple[GroupKind, str], list[Item]] = {
        (reference.rule.target, name): []
        for item in inventory.items
        for reference in item.references
        for name in reference.names
    }
    for item in inventory.items if candidates else ():
        if item.has_content and not item.is_attacher:
            key = item.identity.group_kind, item.identity.name
            if key in candidates:
                candidates[key].append(item)
    explicit = set(explicit_namespaces(inventory.items))
    is_unique = len(explicit) == 1 and not _has_namesakes(inventory.items, candidates)
    only_namespace = next(iter(explicit)) if is_unique else ""
    return Resolver(settings.namespace, only_namespace, candidates)


def _has_namesakes(
    items: Iterable[Item], candidates: Mapping[tuple[GroupKind, str], Sequence[Item]]
) -> bool:
    """Whether the stream has an object twice, once with and once without a namespace.

    The objects are the candidates, revisions by base name, and the workloads that reference them.
    """
    with_namespace: set[tuple[GroupKind, str]] = set()
    without: set[tuple[GroupKind, str]] = set()
    for item in items:
        if not item.identity.name or item.is_hook or item.is_attacher:
            continue
        if item.has_content or _references_any(item, candidates):
            names = with_namespace if item.identity.namespace else without
            names.add((item.identity.group_kind, item.base_name))
    return not with_namespace.isdisjoint(without)


def _references_any(item: Item, candidates: Mapping[tuple[GroupKind, str], Sequence[Item]]) -> bool:
    return item.identity.group_kind in WORKLOAD_KINDS and any(
        candidates.get((reference.rule.target, reference.name)) for reference in item.references
    )


def explicit_namespaces(items: Iterable[Item]) -> Iterable[str]:
    """The namespaces that workloads, ConfigMaps, Secrets and objects of attachers set."""
    for item in items:
        is_workload = item.identity.group_kind in WORKLOAD_KINDS
        if item.identity.namespace and (is_workload or item.has_content):
            yield item.identity.namespace


def find_duplicates(
    inventory: Inventory, release_namespace: str
) -> tuple[frozenset[ItemKey], Inventory]:
    """The objects that repeat an earlier object, and the inventory without these objects.

    Helm 3 cannot install a stream that defines an object twice, so the output lacks the second one.
    Hooks, attachers' objects and objects with generateName can repeat. An absent namespace means
    only the release namespace here, because the only explicit one is a guess.
    Raises UserError if the two definitions have different content.
    """
    earlier_items: dict[ObjectKey, Item] = {}
    repeated: set[ItemKey] = set()
    # Few names repeat, and the keys of all objects would take more memory than small objects.
    names = sorted(item.identity.name for item in inventory.items)
    several = {name for name, following in pairwise(names) if name == following}
    del names
    for item in inventory.items:
        if item.identity.name not in several or not item.has_content:
            continue
        if item.is_hook or item.is_attacher or item.has_generated_name:
            continue
        key = item.identity.key_in(item.identity.namespace or release_namespace or None)
        earlier = earlier_items.setdefault(key, item)
        if earlier is item:
            continue
        # postrender's annotations have no effect on an object that keeps its name.
        is_fixed = item.identity.group_kind in inventory.fixed_kinds
        without = USER_ANNOTATIONS if is_fixed else ()
        first, second = (_comparable(copy, key.namespace, without) for copy in (earlier, item))
        if first != second:
            raise UserError(
                f"the input contains {item.identity} twice, with different content. The first "
                f"object is at {inventory.location_of(earlier)}",
                "Remove or rename one of the two objects",
                inventory.location_of(item),
            )
        repeated.add(item.key)
    kept = tuple(item for item in inventory.items if item.key not in repeated)
    return frozenset(repeated), inventory._replace(items=kept)


def _comparable(item: Item, namespace: str | None, without: Container[str]) -> dict[str, Json]:
    """The content with `namespace`, and without the annotations of Helm 4, kustomize and kpt.

    without: other annotations to leave out.
    """
    metadata = mapping_at(item.content, ("metadata",))
    annotations = {
        key: value for key, value in own_annotations(item.annotations).items() if key not in without
    }
    comparable = {**metadata, "namespace": namespace, "annotations": annotations}
    return {**item.content, "metadata": comparable}
