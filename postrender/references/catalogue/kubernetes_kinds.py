"""Kinds of Kubernetes, and VolumeSnapshotClass. postrender never rewrites references in them.

postrender keeps the original of a Secret that a PersistentVolume references:

    kind: PersistentVolume
    spec:
      csi:
        nodePublishSecretRef: {name: store-login, namespace: shop}

postrender also keeps originals that bindings of admission policies reference, because new
parameters would apply to the whole cluster at once. The policy, and not the binding, sets the kind
of the parameters. The entry of a binding therefore has a `Use` for a ConfigMap and for a Secret.
"""

from __future__ import annotations

from postrender.references.catalogue.model import Entry, config_map, everything, secret

_IMMUTABLE_SOURCE = "Kubernetes rejects changes to the source of a PersistentVolume"
_IMMUTABLE_PARAMETERS = "Kubernetes rejects changes to the parameters of a StorageClass"
_SNAPSHOT_CLASS = "existing snapshots still need the object that the parameters reference"
_BINDING = "a policy applies new parameters to the whole cluster at once"

ENTRIES = (
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
            uses=(
                config_map("spec.paramRef.name", _BINDING),
                secret("spec.paramRef.name", _BINDING),
            ),
        )
        for kind in ("ValidatingAdmissionPolicyBinding", "MutatingAdmissionPolicyBinding")
    ),
)
