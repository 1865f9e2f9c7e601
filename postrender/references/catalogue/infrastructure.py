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
    Entry,
    Use,
    config_map,
    everything,
    key_selectors,
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
    Entry(
        group="gateway.networking.k8s.io",
        kind="Gateway",
        source=_GATEWAY_API,
        uses=(
            _ISSUED,
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
        uses=(
            _ISSUED,
            object_reference("spec.listeners[].tls.certificateRefs[]", default=SECRET),
        ),
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
    # External Secrets and Bank-Vaults
    Entry(
        group="external-secrets.io",
        kind="SecretStore",
        source=_EXTERNAL_SECRETS,
        uses=(key_selectors("spec.provider"),),
    ),
    Entry(
        group="external-secrets.io",
        kind="ClusterSecretStore",
        source=_EXTERNAL_SECRETS,
        uses=(everything("spec", _ANY_NAMESPACE),),
    ),
    Entry(
        group="external-secrets.io",
        kind="ExternalSecret",
        source=_EXTERNAL_SECRETS,
        uses=(
            *_external_secret("spec", or_own_name=True),
            config_map("spec.target.template.templateFrom[].configMap.name"),
            secret("spec.target.template.templateFrom[].secret.name"),
        ),
    ),
    Entry(
        group="external-secrets.io",
        kind="ClusterExternalSecret",
        source=_EXTERNAL_SECRETS,
        uses=(
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
    ),
    Entry(
        group="external-secrets.io",
        kind="PushSecret",
        source="external-secrets/external-secrets cc5bfbc, v1alpha1",
        uses=(
            secret("spec.selector.secret.name"),
            config_map("spec.template.templateFrom[].configMap.name"),
        ),
    ),
    Entry(
        group="vault.banzaicloud.com",
        kind="Vault",
        source="bank-vaults/vault-operator 7640767, v1alpha1",
        uses=(everything("spec", _SEALED),),
    ),
    # cert-manager
    Entry(
        group="cert-manager.io",
        kind="Issuer",
        source=_CERT_MANAGER,
        uses=(
            writes("cert-manager", SECRET, "spec.acme.privateKeySecretRef.name"),
            secret("spec.ca.secretName"),
            secret("spec.vault.auth.clientCertificate.secretName"),
            secret("spec.venafi.tpp.credentialsRef.name"),
            key_selectors("spec"),
        ),
    ),
    Entry(
        group="cert-manager.io",
        kind="ClusterIssuer",
        source=_CERT_MANAGER,
        uses=(everything("spec", _OTHER_NAMESPACE),),
    ),
    Entry(
        group="cert-manager.io",
        kind="Certificate",
        source=_CERT_MANAGER,
        uses=(
            writes("cert-manager", SECRET, "spec.secretName"),
            key_selectors("spec.keystores"),
        ),
    ),
)
