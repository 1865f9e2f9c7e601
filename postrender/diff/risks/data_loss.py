"""The change deletes stored data.

- A CustomResourceDefinition: Kubernetes deletes every object of its kind, in all namespaces.
- A Namespace: Kubernetes deletes everything in it.
- A PersistentVolumeClaim: with the reclaim policy `Delete`, the volume is deleted too.
- A StatefulSet whose `persistentVolumeClaimRetentionPolicy.whenDeleted` is `Delete`: Kubernetes
  deletes the claims of all its pods.

An object with the annotation `helm.sh/resource-policy: keep` is not a risk, because Helm keeps the
object. So is one with the Argo CD option `Prune=false`.

Source: the reclaim policy of persistent volumes and the StatefulSet controller of Kubernetes;
cascading deletion of namespaces and custom resources.
"""

from __future__ import annotations

from collections.abc import Iterator

from postrender.diff.model import Risk
from postrender.diff.risks.facts import Facts, Object
from postrender.kubernetes.annotations import (
    RESOURCE_POLICY_ANNOTATION,
    SYNC_OPTIONS_ANNOTATION,
)
from postrender.kubernetes.kinds import strings_at
from postrender.yaml.paths import value_at

_CONSEQUENCES = {
    ("apiextensions.k8s.io", "CustomResourceDefinition"): "Kubernetes deletes all objects of this "
    "kind, in every namespace",
    ("", "Namespace"): "Kubernetes deletes all objects in the namespace",
    ("", "PersistentVolumeClaim"): "With the reclaim policy Delete, the storage deletes the volume "
    "and its data",
}
_CLAIMS = (
    "The retention policy of its claims is Delete, so Kubernetes deletes the claims of all pods"
)
_RETENTION = ("spec", "persistentVolumeClaimRetentionPolicy", "whenDeleted")


def find(facts: Facts) -> Iterator[Risk]:
    for removed in facts.removed():
        consequence = _CONSEQUENCES.get(removed.identity.group_kind, "")
        if _deletes_claims(removed):
            consequence = _CLAIMS
        if consequence and not is_kept(removed):
            yield Risk(removed.identity, "the object is removed", consequence)


def is_kept(removed: Object) -> bool:
    """Whether Helm or Argo CD keeps an object that is no longer in the manifests."""
    annotations = strings_at(removed.data, "annotations")
    options = annotations.get(SYNC_OPTIONS_ANNOTATION, "").split(",")
    return annotations.get(RESOURCE_POLICY_ANNOTATION) == "keep" or "Prune=false" in options


def _deletes_claims(removed: Object) -> bool:
    return (
        removed.identity.group_kind == ("apps", "StatefulSet")
        and value_at(removed.data, _RETENTION) == "Delete"
        and bool(value_at(removed.data, ("spec", "volumeClaimTemplates")))
    )
