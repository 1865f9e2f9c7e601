"""What a cluster offers to applications: networking, storage, secrets and certificates.

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

A SecretStore references credentials, and an ExternalSecret references templates, which postrender
rewrites:

    kind: ExternalSecret
    spec:
      target:
        template:
          templateFrom: [{configMap: {name: web-template, items: [{key: app.yaml}]}}]

cert-manager writes to the Secrets of Certificates and of ACME accounts, such as `account-key`, so
by default postrender does not rename them. It rewrites `binding`, the credentials of an Issuer:

    kind: Issuer
    spec:
      acme:
        privateKeySecretRef: {name: account-key}
        externalAccountBinding: {keySecretRef: {name: binding, key: secret}}
"""

from __future__ import annotations

from collections.abc import Mapping

from postrender.kubernetes.kinds import CONFIG_MAP, SECRET, GroupKind
from postrender.references.built_in import has_issuer
from postrender.references.catalogue.model import (
    Condition,
    Use,
    config_map,
    everything,
    key_selectors,
    kinds,
    object_reference,
    secret,
    writes,
    written,
)
from postrender.yaml.paths import Json, mapping_at, parse_pattern

_GATEWAY_API = "kubernetes-sigs/gateway-api 4564255, v1"
_ISTIO = "istio/istio 86c9f01, v1"
_GATEWAY_PODS = "Istio reads the Secret in the namespace of the gateway's pods"

_IMMUTABLE_SOURCE = "Kubernetes rejects changes to the source of a PersistentVolume"
_IMMUTABLE_PARAMETERS = "Kubernetes rejects changes to the parameters of a StorageClass"
_SNAPSHOT_CLASS = "existing snapshots still need the object that the parameters reference"
_BINDING = "a policy applies new parameters to the whole cluster at once"

_EXTERNAL_SECRETS = "external-secrets/external-secrets cc5bfbc, v1"

_SEALED = "a change would restart Vault, and a restart seals Vault"
_ANY_NAMESPACE = "objects of any namespace can use the store"
_EVERY_NAMESPACE = "External Secrets reads the object in each namespace with an ExternalSecret"

_CERT_MANAGER = "cert-manager/cert-manager 2d0d7f7, v1"

_OTHER_NAMESPACE = "cert-manager reads the Secret in the namespace of cert-manager"

# With an annotation of cert-manager, cert-manager writes the certificates of a Gateway.
_ISSUED = written(
    object_reference(
        "spec.listeners[].tls.certificateRefs[]", SECRET, "cert-manager writes to the Secret"
    )._replace(only_if=has_issuer)
)


def _external_secret(path: str, *, or_own_name: bool = False) -> tuple[Use, ...]:
    """The target of the spec of an ExternalSecret at a path."""
    return tuple(
        writes(
            "External Secrets",
            target,
            f"{path}.target.name",
            or_own_name=or_own_name,
            only_if=_creates(target, path),
        )
        for target in (SECRET, CONFIG_MAP)
    )


def _creates(target: GroupKind, path: str, *, has_name: bool = True) -> Condition:
    """Whether the target of an ExternalSecret's spec has a kind: that of `manifest`, or Secret.

    has_name: False for only those without a name.
    """
    pattern = parse_pattern(f"{path}.target")

    def condition(data: Mapping[str, Json]) -> bool:
        output = mapping_at(data, pattern)
        kind = mapping_at(output, ("manifest",)).get("kind", SECRET[1])
        return kind == target[1] and (has_name or not output.get("name"))

    return condition


ENTRIES = (
    # Gateway API and Istio
    *kinds(
        "gateway.networking.k8s.io: Gateway",
        _GATEWAY_API,
        _ISSUED,
        object_reference("spec.listeners[].tls.certificateRefs[]", default=SECRET),
        object_reference("spec.tls.backend.clientCertificateRef", default=SECRET),
        object_reference("spec.tls.frontend.default.validation.caCertificateRefs[]"),
        object_reference("spec.tls.frontend.perPort[].tls.validation.caCertificateRefs[]"),
    ),
    *kinds(
        "gateway.networking.k8s.io: ListenerSet",
        _GATEWAY_API,
        _ISSUED,
        object_reference("spec.listeners[].tls.certificateRefs[]", default=SECRET),
    ),
    *kinds(
        "gateway.networking.k8s.io: BackendTLSPolicy",
        _GATEWAY_API,
        object_reference("spec.validation.caCertificateRefs[]"),
    ),
    *kinds(
        "networking.istio.io: Gateway",
        _ISTIO,
        secret("spec.servers[].tls.credentialName", _GATEWAY_PODS),
        secret("spec.servers[].tls.credentialNames[]", _GATEWAY_PODS),
    ),
    *kinds(
        "networking.istio.io: DestinationRule",
        _ISTIO,
        secret("spec.trafficPolicy.tls.credentialName", _GATEWAY_PODS),
        secret("spec.trafficPolicy.portLevelSettings[].tls.credentialName", _GATEWAY_PODS),
        secret("spec.subsets[].trafficPolicy.tls.credentialName", _GATEWAY_PODS),
    ),
    # Kubernetes and its storage: never rewritten
    *kinds("PersistentVolume", "kubernetes/api 10b39a3, v1", everything("spec", _IMMUTABLE_SOURCE)),
    *kinds(
        "storage.k8s.io: StorageClass",
        "kubernetes/api 10b39a3, v1",
        everything("parameters", _IMMUTABLE_PARAMETERS),
    ),
    *kinds(
        "snapshot.storage.k8s.io: VolumeSnapshotClass",
        "openkruise/kruise 07169cf (a copy of the external-snapshotter CRD), v1",
        everything("parameters", _SNAPSHOT_CLASS),
    ),
    # The policy, and not the binding, sets the kind of the parameters.
    *kinds(
        "admissionregistration.k8s.io: ValidatingAdmissionPolicyBinding "
        "MutatingAdmissionPolicyBinding",
        "kubernetes/api 10b39a3, ParamRef, v1",
        config_map("spec.paramRef.name", _BINDING),
        secret("spec.paramRef.name", _BINDING),
    ),
    # External Secrets and Bank-Vaults
    *kinds("external-secrets.io: SecretStore", _EXTERNAL_SECRETS, key_selectors("spec.provider")),
    *kinds(
        "external-secrets.io: ClusterSecretStore",
        _EXTERNAL_SECRETS,
        everything("spec", _ANY_NAMESPACE),
    ),
    *kinds(
        "external-secrets.io: ExternalSecret",
        _EXTERNAL_SECRETS,
        *_external_secret("spec", or_own_name=True),
        config_map("spec.target.template.templateFrom[].configMap.name"),
        secret("spec.target.template.templateFrom[].secret.name"),
    ),
    *kinds(
        "external-secrets.io: ClusterExternalSecret",
        _EXTERNAL_SECRETS,
        *_external_secret("spec.externalSecretSpec"),
        *(
            writes(
                "External Secrets",
                target,
                "spec.externalSecretName",
                or_own_name=True,
                only_if=_creates(target, "spec.externalSecretSpec", has_name=False),
            )
            for target in (SECRET, CONFIG_MAP)
        ),
        everything("spec.externalSecretSpec", _EVERY_NAMESPACE),
    ),
    *kinds(
        "external-secrets.io: PushSecret",
        "external-secrets/external-secrets cc5bfbc, v1alpha1",
        secret("spec.selector.secret.name"),
        config_map("spec.template.templateFrom[].configMap.name"),
    ),
    *kinds(
        "vault.banzaicloud.com: Vault",
        "bank-vaults/vault-operator 7640767, v1alpha1",
        everything("spec", _SEALED),
    ),
    # cert-manager
    *kinds(
        "cert-manager.io: Issuer",
        _CERT_MANAGER,
        writes("cert-manager", SECRET, "spec.acme.privateKeySecretRef.name"),
        secret("spec.ca.secretName"),
        secret("spec.vault.auth.clientCertificate.secretName"),
        secret("spec.venafi.tpp.credentialsRef.name"),
        key_selectors("spec"),
    ),
    *kinds("cert-manager.io: ClusterIssuer", _CERT_MANAGER, everything("spec", _OTHER_NAMESPACE)),
    *kinds(
        "cert-manager.io: Certificate",
        _CERT_MANAGER,
        writes("cert-manager", SECRET, "spec.secretName"),
        key_selectors("spec.keystores"),
    ),
)
