"""References of pod specs (Kubernetes API v1 PodSpec), in every kind with pod templates.

In this example, the value of `configMapRef.name` and the value of `secretName` are references:

    containers:
      - name: web
        envFrom: [{configMapRef: {name: web-config}}]
    volumes:
      - name: tls
        secret: {secretName: web-tls}

Volumes, projected volumes, env and envFrom reference ConfigMaps and Secrets. imagePullSecrets and
volume sources with credentials reference only Secrets. WORKLOAD_KINDS in the module
`kubernetes.kinds` has the kinds with pod templates.
"""

from __future__ import annotations

from collections.abc import Collection

from postrender.kubernetes.kinds import CONFIG_MAP, SECRET, WORKLOAD_KINDS, GroupKind
from postrender.references.rule import POD_TEMPLATE, Rule
from postrender.yaml.paths import parse_pattern

_CONTAINERS = ("containers", "initContainers", "ephemeralContainers")

CONFIG_MAP_PATTERNS = (
    "volumes[].configMap.name",
    "volumes[].projected.sources[].configMap.name",
    *(f"{containers}[].env[].valueFrom.configMapKeyRef.name" for containers in _CONTAINERS),
    *(f"{containers}[].envFrom[].configMapRef.name" for containers in _CONTAINERS),
)

SECRET_PATTERNS = (
    "volumes[].secret.secretName",
    "volumes[].projected.sources[].secret.name",
    *(f"{containers}[].env[].valueFrom.secretKeyRef.name" for containers in _CONTAINERS),
    *(f"{containers}[].envFrom[].secretRef.name" for containers in _CONTAINERS),
    "imagePullSecrets[].name",
    "volumes[].csi.nodePublishSecretRef.name",
    "volumes[].flexVolume.secretRef.name",
    "volumes[].rbd.secretRef.name",
    "volumes[].iscsi.secretRef.name",
    "volumes[].cephfs.secretRef.name",
    "volumes[].scaleIO.secretRef.name",
    "volumes[].storageos.secretRef.name",
    "volumes[].azureFile.secretName",
)

POD_SPEC_PATTERNS: tuple[tuple[tuple[str, ...], GroupKind], ...] = tuple(
    (parse_pattern(pattern), target)
    for patterns, target in ((CONFIG_MAP_PATTERNS, CONFIG_MAP), (SECRET_PATTERNS, SECRET))
    for pattern in patterns
)


def pod_rules(group_kind: GroupKind, targets: Collection[GroupKind]) -> tuple[Rule, ...]:
    """Return the rules for the pod templates of a kind, () if the kind has no pod templates.

    targets: the kinds of the referenced objects.
    """
    workload = WORKLOAD_KINDS.get(group_kind)
    if workload is None:
        return ()
    group, kind = group_kind
    return tuple(
        Rule(
            group=group,
            kind=kind,
            pattern=(*workload.template, "spec", *pattern),
            target=target,
            family=POD_TEMPLATE,
        )
        for pattern, target in POD_SPEC_PATTERNS
        if target in targets
    )
