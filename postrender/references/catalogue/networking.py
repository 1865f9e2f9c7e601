"""Gateway API, Istio, and kinds of Kubernetes and its storage whose references are never rewritten.

postrender rewrites references to certificates in the kinds of Gateway API:

    kind: BackendTLSPolicy
    spec:
      validation:
        caCertificateRefs: [{group: "", kind: ConfigMap, name: web-ca}]

It keeps the original of a Secret that a PersistentVolume references:

    kind: PersistentVolume
    spec:
      csi:
        nodePublishSecretRef: {name: store-login, namespace: shop}
"""

from __future__ import annotations

from postrender.kubernetes.kinds import SECRET
from postrender.references.catalogue.model import (
    Entry,
    config_map,
    everything,
    object_reference,
    secret,
)

_GATEWAY_API = "kubernetes-sigs/gateway-api 4564255, v1"
_ISTIO = "istio/istio 86c9f01, v1"
_GATEWAY_PODS = "Istio reads the Secret in the namespace of the gateway's pods"

_IMMUTABLE_SOURCE = "Kubernetes rejects changes to the source of a PersistentVolume"
_IMMUTABLE_PARAMETERS = "Kubernetes rejects changes to the parameters of a StorageClass"
_SNAPSHOT_CLASS = "existing snapshots still need the object that the parameters reference"
_BINDING = "a policy applies new parameters to the whole cluster at once"

ENTRIES = (
    # Gateway API and Istio
    Entry(
        group="gateway.networking.k8s.io",
        kind="Gateway",
        source=_GATEWAY_API,
        uses=(
            object_reference("spec.listeners[].tls.certificateRefs[]", default=SECRET),
            object_reference("spec.tls.backend.clientCertificateRef", default=SECRET),
            object_reference("spec.tls.frontend.default.validation.caCertificateRefs[]"),
            object_reference("spec.tls.frontend.perPort[].tls.validation.caCertificateRefs[]"),
        ),
    ),
    Entry(
        group="gateway.networking.k8s.io",
        kind="ListenerSet",
        source=_GATEWAY_API,
        uses=(object_reference("spec.listeners[].tls.certificateRefs[]", default=SECRET),),
    ),
    Entry(
        group="gateway.networking.k8s.io",
        kind="BackendTLSPolicy",
        source=_GATEWAY_API,
        uses=(object_reference("spec.validation.caCertificateRefs[]"),),
    ),
    Entry(
        group="networking.istio.io",
        kind="Gateway",
        source=_ISTIO,
        uses=(
            secret("spec.servers[].tls.credentialName", _GATEWAY_PODS),
            secret("spec.servers[].tls.credentialNames[]", _GATEWAY_PODS),
        ),
    ),
    Entry(
        group="networking.istio.io",
        kind="DestinationRule",
        source=_ISTIO,
        uses=(
            secret("spec.trafficPolicy.tls.credentialName", _GATEWAY_PODS),
            secret("spec.trafficPolicy.portLevelSettings[].tls.credentialName", _GATEWAY_PODS),
            secret("spec.subsets[].trafficPolicy.tls.credentialName", _GATEWAY_PODS),
        ),
    ),
    # Kubernetes and its storage: never rewritten
    Entry(
        group="",
        kind="PersistentVolume",
        source="kubernetes/api 10b39a3, v1",
        uses=(everything("spec", _IMMUTABLE_SOURCE),),
    ),
    Entry(
        group="storage.k8s.io",
        kind="StorageClass",
        source="kubernetes/api 10b39a3, v1",
        uses=(everything("parameters", _IMMUTABLE_PARAMETERS),),
    ),
    Entry(
        group="snapshot.storage.k8s.io",
        kind="VolumeSnapshotClass",
        source="openkruise/kruise 07169cf (a copy of the external-snapshotter CRD), v1",
        uses=(everything("parameters", _SNAPSHOT_CLASS),),
    ),
    *(
        Entry(
            group="admissionregistration.k8s.io",
            kind=kind,
            source="kubernetes/api 10b39a3, ParamRef, v1",
            # The policy, and not the binding, sets the kind of the parameters.
            uses=(
                config_map("spec.paramRef.name", _BINDING),
                secret("spec.paramRef.name", _BINDING),
            ),
        )
        for kind in ("ValidatingAdmissionPolicyBinding", "MutatingAdmissionPolicyBinding")
    ),
)
