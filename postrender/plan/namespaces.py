"""Namespace resolution: the object that a reference means, and the key of an object.

An absent namespace is the release's, which a post-renderer does not know. A reference therefore
resolves in this order:

1. to the object whose namespace is written the same way (absent matches absent); `--namespace`
   replaces an absent namespace first;
2. to the only candidate, if all explicit namespaces in the stream are the same one.

Any other reference is left unchanged, with a finding: the object may be created elsewhere.

This module alone knows how an absent namespace is read. Other modules compare objects by
`Resolver.key_of`, or by `Resolver.certain_key_of` where a wrong guess would do harm.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence

from postrender.config.settings import NOTHING, Settings
from postrender.inventory.build import Inventory
from postrender.inventory.model import Item, Reference
from postrender.kubernetes.kinds import WORKLOAD_KINDS, GroupKind, Identity, ObjectKey
from postrender.references.rule import RBAC
from postrender.startup.records import NamedTuple

CLUSTER_SCOPED = frozenset({"ClusterRole"})


class Resolver(NamedTuple):
    """The reading of absent namespaces in one stream.

    release_namespace: from `--namespace`, "" if unknown;
    only_namespace: the explicit namespace of the stream if there is exactly one, else "";
    candidates: the ConfigMaps and Secrets by kind and name;
    is_proven: whether a reference proves that an absent namespace is only_namespace.
    """

    release_namespace: str
    only_namespace: str = ""
    candidates: Mapping[tuple[GroupKind, str], Sequence[Item]] = NOTHING
    is_proven: bool = False

    def find(self, item: Item, reference: Reference, name: str) -> Sequence[Item]:
        """Return the objects that a reference means: at most one, or several for a ClusterRole."""
        candidates = self.candidates.get((reference.rule.target, name), [])
        if not candidates:
            return ()
        if item.identity.kind in CLUSTER_SCOPED:
            return candidates
        return self.nearest(reference.namespace or item.identity.namespace, candidates)

    def nearest(self, namespace: str | None, candidates: Sequence[Item]) -> Sequence[Item]:
        """Return the object in a namespace, of several objects with one name, or nothing."""
        matches = [
            candidate
            for candidate in candidates
            if self.is_same(namespace, candidate.identity.namespace)
        ]
        if matches:
            # A hook may have the name of an ordinary object; a reference means the ordinary one.
            return sorted(matches, key=lambda match: match.is_hook)[:1]
        if len(candidates) == 1 and self._is_likely_same(namespace, candidates[0]):
            return candidates
        return ()

    def is_ambiguous(self, item: Item, reference: Reference, name: str) -> bool:
        """Return whether an unresolved reference may still mean an object of the stream."""
        if self.release_namespace or item.identity.kind in CLUSTER_SCOPED:
            return False
        namespace = reference.namespace or item.identity.namespace
        candidates = self.candidates.get((reference.rule.target, name), [])
        return any(
            (namespace is None) != (candidate.identity.namespace is None)
            for candidate in candidates
        )

    def is_same(self, first: str | None, second: str | None) -> bool:
        """Return whether two namespaces as written are certainly the same."""
        return self.namespace_of(first) == self.namespace_of(second)

    def may_be_same(self, first: str | None, second: str | None) -> bool:
        """Return whether two namespaces as written are the same, or one of them is absent."""
        return not first or not second or self.is_same(first, second)

    def namespace_of(self, written: str | None) -> str | None:
        """Return a namespace as written, or the release namespace if it is absent."""
        return written or self.release_namespace or None

    def effective_namespace(self, written: str | None) -> str | None:
        """Return the likely namespace: an absent one is read as the only explicit one."""
        return self.namespace_of(written) or self.only_namespace or None

    def certain_namespace(self, written: str | None) -> str | None:
        """Return the certain namespace: an absent one is read as another only with proof."""
        if self.is_proven:
            return self.effective_namespace(written)
        return self.namespace_of(written)

    def key_of(self, identity: Identity, name: str | None = None) -> ObjectKey:
        """Return the key of an object in its effective namespace.

        name: the name to use instead of the object's own.
        """
        namespace = self.effective_namespace(identity.namespace)
        return ObjectKey(identity.group_kind, namespace, identity.name if name is None else name)

    def certain_key_of(self, identity: Identity, name: str | None = None) -> ObjectKey:
        """Return the key of an object in its group namespace; name: as in key_of."""
        namespace = self.certain_namespace(identity.namespace)
        return ObjectKey(identity.group_kind, namespace, identity.name if name is None else name)

    def _is_likely_same(self, namespace: str | None, candidate: Item) -> bool:
        if self.release_namespace or not self.only_namespace:
            return False
        return {namespace, candidate.identity.namespace} == {None, self.only_namespace}


def new_resolver(inventory: Inventory, settings: Settings) -> Resolver:
    """Return the resolver for a stream."""
    candidates: dict[tuple[GroupKind, str], list[Item]] = defaultdict(list)
    for item in inventory.items:
        if item.content is not None and not item.is_attacher:
            candidates[item.identity.group_kind, item.identity.name].append(item)
    explicit = set(explicit_namespaces(inventory.items))
    only_namespace = next(iter(explicit)) if len(explicit) == 1 else ""
    return Resolver(settings.namespace, only_namespace, dict(candidates))


def is_proof(source: Item, reference: Reference, target: Item) -> bool:
    """Return whether a reference proves that an absent namespace is an explicit one.

    RBAC references are not proof, because a Role keeps the base name. After the rename, that name
    may mean an object in another namespace.
    """
    if reference.rule.family == RBAC or source.identity.kind in CLUSTER_SCOPED:
        return False
    written = reference.namespace or source.identity.namespace
    return (written is None) != (target.identity.namespace is None)


def explicit_namespaces(items: Iterable[Item]) -> Iterable[str]:
    """Yield the namespaces that workloads, ConfigMaps and Secrets write."""
    for item in items:
        is_workload = item.identity.group_kind in WORKLOAD_KINDS
        if item.identity.namespace and (is_workload or item.content is not None):
            yield item.identity.namespace
