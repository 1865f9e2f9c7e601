"""The change deletes stored data.

- A CustomResourceDefinition, with all objects of its kind.
- A Namespace, with its objects.
- A PersistentVolumeClaim; with the reclaim policy `Delete`, its volume.
- What an object of Argo CD, Flux, CloudNativePG or Strimzi owns.
- A StatefulSet with claims and a `persistentVolumeClaimRetentionPolicy`: `whenDeleted: Delete`, or
  `whenScaled: Delete` and fewer replicas.

An object that Helm (`helm.sh/resource-policy: keep`), Argo CD (`Prune=false`) or Flux
(`prune: disabled`) keeps is not a risk.

Source: the reclaim policy of persistent volumes and the StatefulSet controller of Kubernetes;
cascading deletion of namespaces and custom resources.
"""

from __future__ import annotations

from collections.abc import Iterator

from postrender.diff.model import Risk
from postrender.diff.risks import Facts, Object
from postrender.kubernetes.annotations import keeper_of
from postrender.kubernetes.kinds import GroupKind, Identity
from postrender.yaml.paths import Path, value_at

LOSSES = {
    ("apiextensions.k8s.io", "CustomResourceDefinition"): "Kubernetes deletes all objects of this "
    "kind, in every namespace",
    ("", "Namespace"): "Kubernetes deletes all objects in the namespace",
    ("", "PersistentVolumeClaim"): "With the reclaim policy Delete, the storage deletes the volume "
    "and its data",
}
_ALL = "The controller deletes all objects that the object has applied"
# The custom kinds with what they lose, and a text that must be in a field for the loss.
_OWNERS: dict[GroupKind, tuple[str, Path, str]] = {
    ("argoproj.io", "Application"): (_ALL, ("metadata", "finalizers"), "resources-finalizer"),
    ("argoproj.io", "ApplicationSet"): ("Argo CD deletes its Applications", (), ""),
    ("kustomize.toolkit.fluxcd.io", "Kustomization"): (_ALL, ("spec", "prune"), "True"),
    ("helm.toolkit.fluxcd.io", "HelmRelease"): (_ALL, (), ""),
    ("postgresql.cnpg.io", "Cluster"): ("The operator deletes the database", (), ""),
    ("kafka.strimzi.io", "KafkaTopic"): ("The operator deletes the topic", (), ""),
}
# With one of these values, a controller keeps what the object owns.
_KEPT = (
    (("spec", "suspend"), True),
    (("spec", "deletionPolicy"), "Orphan"),
    (("metadata", "annotations", "strimzi.io/managed"), "false"),
)
_CLAIMS = (
    "The retention policy of its claims is Delete, so Kubernetes deletes the claims of all pods"
)
_SCALED = (
    "The retention policy of its claims is Delete, so Kubernetes deletes the claims of the pods "
    "that go"
)
_RETENTION = ("spec", "persistentVolumeClaimRetentionPolicy")
_REPLICAS = ("spec", "replicas")


def find(facts: Facts) -> Iterator[Risk]:
    for removed in facts.removed():
        consequence = LOSSES.get(removed.identity.group_kind, "")
        text, path, word = _OWNERS.get(removed.identity.group_kind, ("", (), ""))
        is_owner = text and word in str(value_at(removed.data, path))
        if is_owner and all(value_at(removed.data, one) != value for one, value in _KEPT):
            consequence = text
        if _has_claims(removed, "whenDeleted"):
            consequence = _CLAIMS
        if consequence and not keeper_of(removed.data):
            consequence += _inside(facts, removed.identity)
            yield Risk(removed.identity, "the object is removed", consequence)
    for identity, old, new in facts.changed(*_REPLICAS):
        counts = [value_at(data, _REPLICAS) for data in (old, new)]
        before, after = (1 if count is None else count for count in counts)
        if (
            _has_claims(Object(identity, new), "whenScaled")
            and isinstance(before, int)
            and isinstance(after, int)
            and after < before
        ):
            fact = f"the replicas go from {before} to {after}"
            yield Risk(identity, fact, _SCALED, ".".join(_REPLICAS))


def _inside(facts: Facts, namespace: Identity) -> str:
    """Names an object of the newer side in a removed namespace."""
    if namespace.group_kind != ("", "Namespace"):
        return ""
    others = facts.objects((), is_new=True, words=[namespace.name])
    inside = [str(one.identity) for one in others if one.identity.namespace == namespace.name]
    more = f" and {len(inside) - 1:,} more" if len(inside) > 1 else ""
    return f", also {inside[0]}{more} of the newer manifests" if inside else ""


def _has_claims(item: Object, event: str) -> bool:
    """Whether Kubernetes deletes claims of a StatefulSet at an event."""
    return (
        item.identity.group_kind == ("apps", "StatefulSet")
        and value_at(item.data, (*_RETENTION, event)) == "Delete"
        and bool(value_at(item.data, ("spec", "volumeClaimTemplates")))
    )
