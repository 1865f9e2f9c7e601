"""External Secrets, the Vault operator of Bank-Vaults, and cert-manager.

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

from postrender.references.catalogue.model import (
    Entry,
    config_map,
    everything,
    key_selectors,
    secret,
    written,
)

_EXTERNAL_SECRETS = "external-secrets/external-secrets cc5bfbc, v1"

_SEALED = "a change would restart Vault, and a restart seals Vault"
_ANY_NAMESPACE = "objects of any namespace can use the store"
_WRITTEN_BY_EXTERNAL_SECRETS = "External Secrets writes to the Secret"

_CERT_MANAGER = "cert-manager/cert-manager 2d0d7f7, v1"

_WRITTEN_BY_CERT_MANAGER = "cert-manager writes to the Secret"
_OTHER_NAMESPACE = "cert-manager reads the Secret in the namespace of cert-manager"

ENTRIES = (
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
            written(secret("spec.target.name", _WRITTEN_BY_EXTERNAL_SECRETS)),
            config_map("spec.target.template.templateFrom[].configMap.name"),
            secret("spec.target.template.templateFrom[].secret.name"),
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
            written(secret("spec.acme.privateKeySecretRef.name", _WRITTEN_BY_CERT_MANAGER)),
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
            written(secret("spec.secretName", _WRITTEN_BY_CERT_MANAGER)),
            key_selectors("spec.keystores"),
        ),
    ),
)
