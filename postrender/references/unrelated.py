"""The fields of Kubernetes and Argo Rollouts that name something else than a ConfigMap or Secret.

In a kind of this module, such a field can contain the base name of a ConfigMap without any meaning
for the ConfigMap, because charts use one name for many objects:

    kind: Rollout
    spec:
      strategy:
        canary:
          canaryService: web    # a Service, although the chart also has a ConfigMap `web`

The search for names (`plan.by_name.mentions`) leaves these fields out. It searches every other
field, so a field that is missing here costs at most an unnecessary original. Source: the API types
of Kubernetes 1.36 and Argo Rollouts 1.10.
"""

from __future__ import annotations

from functools import cache

from postrender.kubernetes.kinds import RBAC_GROUP, WORKLOAD_KINDS, GroupKind
from postrender.yaml.paths import Path, matches_start, parse_pattern

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
    ("", "Node"): "addresses, taints and versions",
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
