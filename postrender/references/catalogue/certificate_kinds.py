"""Kinds of cert-manager.

In this example, postrender rewrites `binding`, a reference to the credentials of an Issuer:

    kind: Issuer
    spec:
      acme:
        privateKeySecretRef: {name: account-key}
        externalAccountBinding: {keySecretRef: {name: binding, key: secret}}

cert-manager writes to the Secrets of Certificates and of ACME accounts, such as `account-key`. By
default, postrender therefore does not rename these Secrets.
"""

from __future__ import annotations

from postrender.references.catalogue.model import (
    Entry,
    everything,
    key_selectors,
    secret,
    written,
)

_CERT_MANAGER = "cert-manager/cert-manager 2d0d7f7, v1"

_WRITTEN_BY_CERT_MANAGER = "cert-manager writes to the Secret"
_OTHER_NAMESPACE = "cert-manager reads the Secret in the namespace of cert-manager"

ENTRIES = (
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
