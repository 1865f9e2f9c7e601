"""The fields of kinds of Kubernetes, Argo Rollouts and ingress-nginx, as tables.

Rules say which fields reference ConfigMaps and Secrets. Rules are data (patterns), so that they
apply to manifests and to objects in the cluster. The references in other kinds are in the package
`catalogue`. COVERED and UNRELATED say which fields name something else.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from functools import cache

from postrender.kubernetes.kinds import (
    ANNOTATIONS,
    CONFIG_MAP,
    RBAC_GROUP,
    SECRET,
    WORKLOAD_KINDS,
    GroupKind,
    is_built_in,
)
from postrender.references.rule import OUTSIDE, POD_TEMPLATE, RBAC, SELECTOR, Rule
from postrender.yaml.paths import Json, Path, PatternTree, mapping_at, matches_start, parse_pattern

# Pod specs (Kubernetes API v1 PodSpec), in every kind with pod templates (kinds.WORKLOAD_KINDS):
#
#     containers:
#       - name: web
#         envFrom: [{configMapRef: {name: web-config}}]
#     volumes:
#       - name: tls
#         secret: {secretName: web-tls}
#
# imagePullSecrets and volume sources with credentials reference only Secrets.
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
    """The rules for the pod templates of a kind, () if it has none."""
    template = WORKLOAD_KINDS.get(group_kind)
    if template is None:
        return ()
    group, kind = group_kind
    return tuple(
        Rule(
            group=group,
            kind=kind,
            pattern=(*template, "spec", *pattern),
            target=target,
            family=POD_TEMPLATE,
        )
        for pattern, target in POD_SPEC_PATTERNS
        if target in targets
    )


# An Ingress: TLS Secrets (networking.k8s.io/v1), and annotations whose value is a name or
# `namespace/name` (user guide of ingress-nginx 1.12):
#
#     metadata:
#       annotations:
#         nginx.ingress.kubernetes.io/auth-secret: shop/web-users
#     spec:
#       tls: [{secretName: web-tls}]
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

# With one of these annotations, cert-manager writes the TLS Secrets of an Ingress or a Gateway
# (cert-manager 2d0d7f7, pkg/controller/certificate-shim/sync.go).
_ISSUERS = ("cert-manager.io/issuer", "cert-manager.io/cluster-issuer", "kubernetes.io/tls-acme")


def has_issuer(data: Json) -> bool:
    """Whether cert-manager writes the TLS Secrets of an Ingress or a Gateway."""
    annotations = mapping_at(data, ANNOTATIONS)
    return any(annotations.get(name) not in (None, "", "false") for name in _ISSUERS)


_TLS = Rule(
    group="networking.k8s.io",
    kind="Ingress",
    pattern=("spec", "tls", "[]", "secretName"),
    target=SECRET,
)
INGRESS_RULES = (
    _TLS._replace(
        only_if=lambda data, _: has_issuer(data),
        keep_reason="cert-manager writes to the Secret",
        is_written=True,
    ),
    _TLS,
    *(
        Rule(
            group="networking.k8s.io",
            kind="Ingress",
            pattern=("metadata", "annotations", annotation),
            target=target,
            is_qualified=True,
            triggers_rename=target == SECRET,
        )
        for annotation, target in _ANNOTATIONS.items()
    ),
)


def _has_resource(resource: str) -> Callable[[Json, Path], bool]:
    def condition(data: Json, path: Path) -> bool:
        resources = mapping_at(data, path[:-2]).get("resources")
        return isinstance(resources, list) and (resource in resources or "*" in resources)

    return condition


# A Role or ClusterRole (rbac.authorization.k8s.io/v1 PolicyRule). postrender adds names and never
# removes one, because old pods and Jobs still use the old names:
#
#     rules:
#       - apiGroups: [""]
#         resources: [configmaps]
#         resourceNames: [web-config]
#         verbs: [get]
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

# The policies of admissionregistration.k8s.io/v1 (NamedRuleWithOperations) select objects by name.
# postrender adds names, as in a Role.
_POLICIES = {
    "ValidatingAdmissionPolicy": "spec.matchConstraints",
    "MutatingAdmissionPolicy": "spec.matchConstraints",
    "ValidatingAdmissionPolicyBinding": "spec.matchResources",
    "MutatingAdmissionPolicyBinding": "spec.matchResources",
}
_MUTATING = ("MutatingAdmissionPolicy", "MutatingAdmissionPolicyBinding")
POLICY_RULES = tuple(
    Rule(
        group="admissionregistration.k8s.io",
        kind=kind,
        pattern=parse_pattern(f"{path}.{rules}[].resourceNames[]"),
        target=target,
        family=OUTSIDE if kind in _MUTATING else SELECTOR,
        only_if=_has_resource(resource),
        keep_reason="a policy changes the object" if kind in _MUTATING else "",
        is_written=kind in _MUTATING,
    )
    for kind, path in _POLICIES.items()
    for rules in ("resourceRules", "excludeResourceRules")
    for target, resource in ((CONFIG_MAP, "configmaps"), (SECRET, "secrets"))
)

# Kubernetes API v1 ServiceAccount: `secrets: [{name: web-token}]`, `imagePullSecrets` alike.
SERVICE_ACCOUNT_RULES = tuple(
    Rule(group="", kind="ServiceAccount", pattern=parse_pattern(pattern), target=SECRET)
    for pattern in ("imagePullSecrets[].name", "secrets[].name")
)

# Arguments of Argo Rollouts' analysis objects (argo-rollouts v1.10, Argument). The Jobs in these
# objects have pod templates, for which the rules are above.
_ARGUMENT = parse_pattern("spec.args[].valueFrom.secretKeyRef.name")
ANALYSIS_RULES = tuple(
    Rule(group="argoproj.io", kind=kind, pattern=_ARGUMENT, target=SECRET)
    for kind in ("AnalysisTemplate", "ClusterAnalysisTemplate", "AnalysisRun")
)

# Annotations with the name of a Secret that a program writes. Sources:
# openshift/service-ca-operator 6391e07, pkg/controller/api/api.go
# 1Password/onepassword-operator 9c3b1b9, pkg/kubernetessecrets/kubernetes_secrets_builder.go
_SERVING = "serving-cert-secret-name"
WRITER_RULES = tuple(
    Rule(
        group=group,
        kind=kind,
        pattern=("metadata", "annotations", annotation),
        target=SECRET,
        keep_reason=f"{program} writes to the Secret",
        is_written=True,
    )
    for group, kind, annotation, program in (
        ("", "Service", f"service.beta.openshift.io/{_SERVING}", "OpenShift"),
        ("", "Service", f"service.alpha.openshift.io/{_SERVING}", "OpenShift"),
        ("apps", "Deployment", "operator.1password.io/item-name", "the operator of 1Password"),
    )
)

_OTHER_RULES = (
    *ANALYSIS_RULES,
    *INGRESS_RULES,
    *POLICY_RULES,
    *RBAC_RULES,
    *SERVICE_ACCOUNT_RULES,
    *WRITER_RULES,
)


@cache
def _built_in_tree(group_kind: GroupKind, targets: tuple[GroupKind, ...]) -> PatternTree:
    return PatternTree(
        (rule.pattern, rule)
        for rule in (*pod_rules(group_kind, targets), *_OTHER_RULES)
        if (rule.group, rule.kind) == group_kind and rule.target in targets
    )


def find_built_in(
    group_kind: GroupKind, targets: tuple[GroupKind, ...], data: Json
) -> list[tuple[Path, Json, Rule]]:
    """The (path, value, rule) of each reference to an object of these kinds."""
    return _built_in_tree(group_kind, targets).find(data)


# The kinds of Kubernetes itself that are in the catalogue, because their references are kept.
_KEPT_KINDS: frozenset[GroupKind] = frozenset(
    {
        ("", "PersistentVolume"),
        ("storage.k8s.io", "StorageClass"),
        ("admissionregistration.k8s.io", "ValidatingAdmissionPolicyBinding"),
        ("admissionregistration.k8s.io", "MutatingAdmissionPolicyBinding"),
    }
)


def is_custom(group_kind: GroupKind) -> bool:
    """Whether the catalogue, and not this module, describes a kind."""
    if group_kind in WORKLOAD_KINDS:
        return False
    return not is_built_in(group_kind[0]) or group_kind in _KEPT_KINDS


# Fields that name something else than a ConfigMap or Secret. Charts use one name for many objects,
# so such a field can contain the base name of a ConfigMap without any meaning for the ConfigMap:
#
#     kind: Rollout
#     spec:
#       strategy:
#         canary:
#           canaryService: web    # a Service, although the chart also has a ConfigMap `web`
#
# The search for names (`plan.by_name.mentions`) leaves these fields out. It searches every other
# field, so a field that is missing here costs at most an unnecessary original. Source: the API
# types of Kubernetes 1.36 and Argo Rollouts 1.10.

# The kinds without any other field that can reference a ConfigMap than pod templates, for which
# there are rules, and free text. Each has the reason.
COVERED: dict[GroupKind, str] = {
    **{
        kind: "outside the pod template, only labels, numbers, modes, a Service and claims"
        for kind in WORKLOAD_KINDS
        if kind[0] != "argoproj.io"
    },
    ("", "Service"): "labels, ports, hosts and addresses",
    ("", "Endpoints"): "ports, hosts and addresses",
    ("discovery.k8s.io", "EndpointSlice"): "ports, hosts and addresses",
    ("networking.k8s.io", "NetworkPolicy"): "labels, ports and addresses",
    ("policy", "PodDisruptionBudget"): "labels and numbers",
    ("", "Namespace"): "no fields",
    ("", "ResourceQuota"): "resources and scopes",
    ("", "LimitRange"): "resources",
    (RBAC_GROUP, "Role"): "names of objects, for which there are rules of their own",
    (RBAC_GROUP, "ClusterRole"): "names of objects, for which there are rules of their own",
    (RBAC_GROUP, "RoleBinding"): "a role and its subjects",
    (RBAC_GROUP, "ClusterRoleBinding"): "a role and its subjects",
}


def _below(prefix: str, paths: str) -> tuple[str, ...]:
    """The patterns of several paths below a prefix."""
    return tuple(f"{prefix}.{path}" for path in paths.split())


_CANARY = "spec.strategy.canary"
_BLUE_GREEN = "spec.strategy.blueGreen"
# Names of arguments, analysis templates and metrics.
_ANALYSIS_RUN = "args[].name templates[].templateName dryRun measurementRetention"
_ANALYSIS = _below("spec", "args[].name metrics[].name dryRun measurementRetention")
# A Service, an IngressClass, hosts and paths.
_INGRESS = _below(
    "spec",
    "defaultBackend.service defaultBackend.serviceName backend.service backend.serviceName "
    "rules[].http.paths[].backend.service rules[].http.paths[].backend.serviceName "
    "ingressClassName rules[].host rules[].http.paths[].path tls[].hosts",
)
_WEBHOOKS = _below("webhooks[]", "name clientConfig.service")

# By kind, the paths of fields that name something else, with all fields below.
UNRELATED: dict[GroupKind, tuple[str, ...]] = {
    ("argoproj.io", "Rollout"): (
        "spec.workloadRef",
        # Services, Ingresses, routes of service meshes, and plugins
        *_below(_BLUE_GREEN, "activeService previewService"),
        *_below(_CANARY, "canaryService stableService pingPong"),
        *_below(
            f"{_CANARY}.trafficRouting",
            "alb.rootService alb.ingress alb.ingresses nginx.stableIngress nginx.stableIngresses "
            "smi.rootService smi.trafficSplitName ambassador apisix appMesh istio managedRoutes "
            "traefik",
        ),
        *_below(f"{_CANARY}.steps[]", "setHeaderRoute setMirrorRoute plugin.name"),
        # Analyses, and the parts of an Experiment
        *_below(f"{_BLUE_GREEN}.prePromotionAnalysis", _ANALYSIS_RUN),
        *_below(f"{_BLUE_GREEN}.postPromotionAnalysis", _ANALYSIS_RUN),
        *_below(f"{_CANARY}.analysis", _ANALYSIS_RUN),
        *_below(f"{_CANARY}.steps[].analysis", _ANALYSIS_RUN),
        *_below(
            f"{_CANARY}.steps[].experiment",
            "templates analyses[].name analyses[].templateName analyses[].args[].name dryRun",
        ),
    ),
    ("argoproj.io", "AnalysisTemplate"): _ANALYSIS,
    ("argoproj.io", "ClusterAnalysisTemplate"): _ANALYSIS,
    ("argoproj.io", "AnalysisRun"): _ANALYSIS,
    ("argoproj.io", "Experiment"): _below(
        "spec",
        "templates[].name templates[].service analyses[].name analyses[].templateName "
        "analyses[].args[].name dryRun measurementRetention",
    ),
    ("networking.k8s.io", "Ingress"): _INGRESS,
    ("extensions", "Ingress"): _INGRESS,
    ("networking.k8s.io", "IngressClass"): ("spec.controller",),
    ("autoscaling", "HorizontalPodAutoscaler"): _below(
        "spec.metrics[]",
        "pods.metric.name object.metric.name external.metric.name containerResource.container",
    ),
    ("", "PersistentVolumeClaim"): _below(
        "spec", "volumeName storageClassName volumeAttributesClassName"
    ),
    ("", "PersistentVolume"): _below("spec", "claimRef storageClassName volumeAttributesClassName"),
    ("storage.k8s.io", "StorageClass"): ("provisioner",),
    ("node.k8s.io", "RuntimeClass"): ("handler",),
    ("coordination.k8s.io", "Lease"): ("spec.holderIdentity",),
    ("apiregistration.k8s.io", "APIService"): ("spec.service",),
    ("admissionregistration.k8s.io", "MutatingWebhookConfiguration"): _WEBHOOKS,
    ("admissionregistration.k8s.io", "ValidatingWebhookConfiguration"): _WEBHOOKS,
}


@cache
def _patterns(group_kind: GroupKind) -> tuple[tuple[str, ...], ...]:
    return tuple(map(parse_pattern, UNRELATED.get(group_kind, ())))


def names_something_else(group_kind: GroupKind, path: Path) -> bool:
    """Whether a field outside of pod templates never names a ConfigMap or Secret."""
    if group_kind in COVERED:
        return True
    return any(matches_start(path, pattern) for pattern in _patterns(group_kind))
