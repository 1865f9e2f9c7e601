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

References of an Ingress: TLS Secrets (networking.k8s.io/v1) and ingress-nginx annotations.

In this example, the value of `secretName` and the value of the annotation are references:

    kind: Ingress
    metadata:
      annotations:
        nginx.ingress.kubernetes.io/auth-secret: shop/web-users
    spec:
      tls: [{secretName: web-tls}]

The value of each annotation is a name or `namespace/name` (user guide of ingress-nginx 1.12).

References of a Role or ClusterRole (rbac.authorization.k8s.io/v1 PolicyRule).

If `resources` has `configmaps`, `secrets` or `*`, each item of `resourceNames` is a reference:

    kind: Role
    rules:
      - apiGroups: [""]
        resources: [configmaps]
        resourceNames: [web-config]
        verbs: [get]

postrender adds names to `resourceNames` and never removes a name, because old pods and Jobs still
use the old names.

References of a ServiceAccount to Secrets (Kubernetes API v1 ServiceAccount).

The names in `imagePullSecrets` and `secrets` are references:

    kind: ServiceAccount
    imagePullSecrets:
      - name: registry
    secrets:
      - name: web-token

References of Argo Rollouts' analysis objects to Secrets (argo-rollouts v1.10, Argument).

The value of `secretKeyRef.name` is the reference:

    kind: AnalysisTemplate
    spec:
      args:
        - name: token
          valueFrom: {secretKeyRef: {name: web-token, key: token}}

The Jobs in these objects have pod templates. The module `pods` has the rules for pod templates.

Rules for references between objects.

Rules are data (patterns), so that the same rules apply to manifests and to objects in the cluster.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from functools import cache

from postrender.kubernetes.kinds import (
    CONFIG_MAP,
    RBAC_GROUP,
    SECRET,
    WORKLOAD_KINDS,
    GroupKind,
    is_built_in,
)
from postrender.references.rule import POD_TEMPLATE, RBAC, Rule
from postrender.yaml.paths import Json, Path, PatternTree, parse_pattern

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


_GROUP = "networking.k8s.io"
_NGINX = "nginx.ingress.kubernetes.io/"

_ANNOTATIONS = {
    f"{_NGINX}fastcgi-params-configmap": CONFIG_MAP,
    f"{_NGINX}auth-proxy-set-headers": CONFIG_MAP,
    f"{_NGINX}custom-headers": CONFIG_MAP,
    f"{_NGINX}auth-secret": SECRET,
    f"{_NGINX}auth-tls-secret": SECRET,
    f"{_NGINX}proxy-ssl-secret": SECRET,
    f"{_NGINX}secure-verify-ca-secret": SECRET,
    # ingress-nginx used this prefix before 0.9, and other controllers still read this annotation.
    "ingress.kubernetes.io/auth-secret": SECRET,
}

INGRESS_RULES = (
    Rule(
        group=_GROUP,
        kind="Ingress",
        pattern=("spec", "tls", "[]", "secretName"),
        target=SECRET,
    ),
    *(
        Rule(
            group=_GROUP,
            kind="Ingress",
            pattern=("metadata", "annotations", annotation),
            target=target,
            is_qualified=True,
            triggers_rename=target == SECRET,
        )
        for annotation, target in _ANNOTATIONS.items()
    ),
)


def _has_resource(resource: str) -> Callable[[Mapping[str, Json]], bool]:

    def condition(policy_rule: Mapping[str, Json]) -> bool:
        resources = policy_rule.get("resources")
        return isinstance(resources, list) and (resource in resources or "*" in resources)

    return condition


RBAC_RULES = tuple(
    Rule(
        group=RBAC_GROUP,
        kind=kind,
        pattern=parse_pattern("rules[].resourceNames[]"),
        target=target,
        family=RBAC,
        only_if=_has_resource(resource),
    )
    for kind in ("Role", "ClusterRole")
    for target, resource in ((CONFIG_MAP, "configmaps"), (SECRET, "secrets"))
)


SERVICE_ACCOUNT_RULES = tuple(
    Rule(group="", kind="ServiceAccount", pattern=parse_pattern(pattern), target=SECRET)
    for pattern in ("imagePullSecrets[].name", "secrets[].name")
)


_ARGUMENT = parse_pattern("spec.args[].valueFrom.secretKeyRef.name")

ANALYSIS_RULES = tuple(
    Rule(group="argoproj.io", kind=kind, pattern=_ARGUMENT, target=SECRET)
    for kind in ("AnalysisTemplate", "ClusterAnalysisTemplate", "AnalysisRun")
)


# The kinds of Kubernetes itself that are in the catalogue. postrender never rewrites references in
# these kinds.
_KEPT_KINDS: frozenset[GroupKind] = frozenset(
    {
        ("", "PersistentVolume"),
        ("storage.k8s.io", "StorageClass"),
        ("admissionregistration.k8s.io", "ValidatingAdmissionPolicyBinding"),
        ("admissionregistration.k8s.io", "MutatingAdmissionPolicyBinding"),
    }
)


# The rules for fields outside of pod templates.
_OTHER_RULES = (*ANALYSIS_RULES, *INGRESS_RULES, *RBAC_RULES, *SERVICE_ACCOUNT_RULES)


@cache
def _built_in_tree(group_kind: GroupKind, targets: tuple[GroupKind, ...]) -> PatternTree:
    tree = PatternTree()
    for rule in (*pod_rules(group_kind, targets), *_OTHER_RULES):
        if (rule.group, rule.kind) == group_kind and rule.target in targets:
            tree.add(rule.pattern, rule)
    return tree


def find_built_in(
    group_kind: GroupKind, targets: tuple[GroupKind, ...], data: Json
) -> list[tuple[Path, Json, Rule]]:
    """Return (path, value, rule) for each match of a built-in rule in an object.

    targets: the kinds of referenced objects; the function skips rules with another target.
    """
    return _built_in_tree(group_kind, targets).find(data)


def is_custom(group_kind: GroupKind) -> bool:
    """Return whether postrender uses the catalogue for a kind."""
    if group_kind in WORKLOAD_KINDS:
        return False
    return not is_built_in(group_kind[0]) or group_kind in _KEPT_KINDS
