"""The apply of an object fails: `no matches for kind`.

A CustomResourceDefinition no longer serves its version, or Kubernetes 1.32 lacks the version, such
as `policy/v1beta1`, or the kind.

Source: the discovery of the API server, which Helm, kubectl and Argo CD ask before an apply, and
the deprecated API migration guide of Kubernetes.
"""

from __future__ import annotations

from collections.abc import Iterator

from postrender.diff.model import Risk
from postrender.diff.risks import Facts
from postrender.kubernetes.annotations import keeper_of
from postrender.kubernetes.kinds import CRD, GroupKind, Identity
from postrender.yaml.paths import Json, mapping_at, mappings_in, value_at

_CONSEQUENCE = "The apply of the object fails"


# Versions that are gone for all kinds, or for these.
_GONE = {
    **dict.fromkeys(("extensions/v1beta1", "apps/v1beta1", "apps/v1beta2", "batch/v1beta1"), ""),
    **dict.fromkeys(("policy/v1beta1", "autoscaling/v2beta1", "autoscaling/v2beta2"), ""),
    **{
        f"{group}.k8s.io/v1beta1": kinds
        for group, kinds in (
            *(("rbac.authorization", ""), ("apiextensions", ""), ("apiregistration", "")),
            *(("scheduling", ""), ("discovery", ""), ("node", ""), ("coordination", "Lease")),
            ("networking", "Ingress IngressClass"),
            ("storage", "StorageClass CSIDriver CSINode CSIStorageCapacity VolumeAttachment"),
            (
                "admissionregistration",
                "ValidatingWebhookConfiguration MutatingWebhookConfiguration",
            ),
            ("certificates", "CertificateSigningRequest"),
        )
    },
    **{f"flowcontrol.apiserver.k8s.io/v1beta{number}": "" for number in (1, 2, 3)},
}
# All kinds of a version that people write.
_KINDS = {
    "v1": "Binding ConfigMap Endpoints Event LimitRange List Namespace Node PersistentVolume "
    "PersistentVolumeClaim Pod PodTemplate ReplicationController ResourceQuota Secret Service "
    "ServiceAccount",
    "apps/v1": "ControllerRevision DaemonSet Deployment ReplicaSet StatefulSet",
    "batch/v1": "CronJob Job",
    "policy/v1": "Eviction PodDisruptionBudget",
    "autoscaling/v2": "HorizontalPodAutoscaler",
    "networking.k8s.io/v1": "IPAddress Ingress IngressClass NetworkPolicy ServiceCIDR",
    "rbac.authorization.k8s.io/v1": "ClusterRole ClusterRoleBinding Role RoleBinding",
    "scheduling.k8s.io/v1": "PriorityClass",
}


def find(facts: Facts) -> Iterator[Risk]:
    yield from _of_kubernetes(facts)
    lost: dict[GroupKind, tuple[Identity, set[str]]] = {}
    for pair in facts.changes:
        if pair.identity.kind == CRD and pair.old:
            old, new = pair.old.data, pair.new.data if pair.new else {}
            if not (pair.new is None and keeper_of(old)):
                spec = mapping_at(old, ("spec",))
                group_kind = str(spec.get("group")), str(value_at(spec, ("names", "kind")))
                lost[group_kind] = pair.identity, _served(old) - _served(new)
    lost = {kind: one for kind, one in lost.items() if one[1]}
    words = [kind for _, kind in lost]
    for item in facts.objects((), is_new=True, words=words) if lost else ():
        definition, versions = lost.get(item.identity.group_kind, (None, ()))
        version = str(item.data.get("apiVersion")).rpartition("/")[2]
        if definition and version in versions:
            fact = f"{definition} does not serve the version {version} any longer"
            yield Risk(item.identity, fact, _CONSEQUENCE, "apiVersion")


def _of_kubernetes(facts: Facts) -> Iterator[Risk]:
    for pair in facts.changes:
        version = str(pair.new.data.get("apiVersion")) if pair.new else ""
        if pair.old and pair.old.data.get("apiVersion") == version:
            continue
        kind, gone = pair.identity.kind, _GONE.get(version)
        kinds = _KINDS.get(version, kind).split()
        is_gone = gone is not None and (not gone or kind in gone.split())
        if pair.new and (is_gone or not (kind in kinds or kind.endswith("List"))):
            fact = f"Kubernetes does not serve the kind {kind} in the version {version}"
            yield Risk(pair.identity, fact, _CONSEQUENCE, "apiVersion")


def _served(definition: dict[str, Json]) -> set[str]:
    versions = mappings_in(value_at(definition, ("spec", "versions")))
    return {str(version.get("name")) for version in versions if version.get("served") is not False}
