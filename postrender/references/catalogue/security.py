"""Kinds that manage Secrets: External Secrets and the Vault operator of Bank-Vaults.

A SecretStore references credentials, and an ExternalSecret references templates. postrender
rewrites these references:

    kind: ExternalSecret
    spec:
      target:
        template:
          templateFrom: [{configMap: {name: web-template, items: [{key: app.yaml}]}}]
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

ENTRIES = (
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
)
