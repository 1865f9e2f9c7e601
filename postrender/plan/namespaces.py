"""Which object of the stream a reference names: by kind, name and namespace.

An absent namespace is the release's, which a post-renderer is not told. So, in this order: the
same namespace as written (absent with absent), where `--namespace` stands for an absent one; the
only candidate, if every explicit namespace in the stream is one and the same. Anything else is
left alone, with a finding: the object may be made elsewhere.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence

from postrender.config.settings import Settings
from postrender.inventory.build import Inventory
from postrender.inventory.model import Item, Reference
from postrender.kubernetes.kinds import WORKLOAD_KINDS, GroupKind
from postrender.startup.records import NamedTuple

CLUSTER_SCOPED = frozenset({"ClusterRole"})


class Resolver(NamedTuple):
    """Finds the objects that references name.

    candidates: by kind and name; only_namespace: the one that every explicit namespace in the
    stream is, or nothing; is_one_place: whether a reference showed that an absent namespace and
    that one are the same.
    """

    release_namespace: str
    only_namespace: str
    candidates: Mapping[tuple[GroupKind, str], Sequence[Item]]
    is_one_place: bool = False

    def find(self, item: Item, reference: Reference, name: str) -> Sequence[Item]:
        """Return the objects that a reference of item names: none, one, or (ClusterRole) many."""
        candidates = self.candidates.get((reference.rule.target, name), [])
        if not candidates:
            return ()
        if item.identity.kind in CLUSTER_SCOPED:
            return candidates
        return self.nearest(reference.namespace or item.identity.namespace, candidates)

    def nearest(self, namespace: str | None, candidates: Sequence[Item]) -> Sequence[Item]:
        """Return the one of several objects of a name that is meant in a namespace, or none."""
        same = [other for other in candidates if self.is_same(namespace, other.identity.namespace)]
        if same:
            # A hook may bear the name of an ordinary object, which is then the one that is meant.
            return sorted(same, key=lambda other: other.is_hook)[:1]
        if len(candidates) == 1 and self._may_be_same(namespace, candidates[0]):
            return candidates
        return ()

    def is_ambiguous(self, item: Item, reference: Reference, name: str) -> bool:
        """Tell whether a reference that names no object might name one all the same."""
        if self.release_namespace or item.identity.kind in CLUSTER_SCOPED:
            return False
        wanted = reference.namespace or item.identity.namespace
        candidates = self.candidates.get((reference.rule.target, name), [])
        return any((wanted is None) != (other.identity.namespace is None) for other in candidates)

    def is_same(self, one: str | None, other: str | None) -> bool:
        """Tell whether two namespaces as written are the same for certain."""
        return self.namespace_of(one) == self.namespace_of(other)

    def namespace_of(self, written: str | None) -> str | None:
        """Return a namespace as written, or the release's where there is none."""
        return written or self.release_namespace or None

    def group_namespace(self, written: str | None) -> str | None:
        """Return what groups objects into sets: the namespace, as far as it is certain."""
        return (
            self.effective_namespace(written) if self.is_one_place else self.namespace_of(written)
        )

    def effective_namespace(self, written: str | None) -> str | None:
        """Return what groups objects: absent and the only explicit namespace are one place."""
        return self.namespace_of(written) or self.only_namespace or None

    def _may_be_same(self, wanted: str | None, candidate: Item) -> bool:
        if self.release_namespace or not self.only_namespace:
            return False
        return {wanted, candidate.identity.namespace} == {None, self.only_namespace}


def new_resolver(inventory: Inventory, settings: Settings) -> Resolver:
    """Return the resolver for a stream."""
    candidates: dict[tuple[GroupKind, str], list[Item]] = defaultdict(list)
    for item in inventory.items:
        if item.content is not None and not item.is_attacher:
            candidates[item.identity.group_kind, item.identity.name].append(item)
    explicit = set(explicit_namespaces(inventory.items))
    only = next(iter(explicit)) if len(explicit) == 1 else ""
    return Resolver(settings.namespace, only, dict(candidates))


def explicit_namespaces(items: Iterable[Item]) -> Iterable[str]:
    """Yield the namespaces that workloads and what is revised write."""
    for item in items:
        is_workload = item.identity.group_kind in WORKLOAD_KINDS
        if item.identity.namespace and (is_workload or item.content is not None):
            yield item.identity.namespace
