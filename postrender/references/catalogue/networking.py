"""Kinds of Gateway API and Istio.

postrender rewrites references to certificates in the kinds of Gateway API:

    kind: BackendTLSPolicy
    spec:
      validation:
        caCertificateRefs: [{group: "", kind: ConfigMap, name: web-ca}]

In the kinds of Istio, `credentialName` references a Secret. Istio reads the Secret in the namespace
of the gateway's pods, which can be another namespace. postrender therefore keeps the original of
this Secret.
"""

from __future__ import annotations

from postrender.kubernetes.kinds import SECRET
from postrender.references.catalogue.model import Entry, object_reference, secret

_GATEWAY_API = "kubernetes-sigs/gateway-api 4564255, v1"
_ISTIO = "istio/istio 86c9f01, v1"
_GATEWAY_PODS = "Istio reads the Secret in the namespace of the gateway's pods"

ENTRIES = (
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
)
