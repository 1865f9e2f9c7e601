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

_CANARY = "spec.strategy.canary"
_BLUE_GREEN = "spec.strategy.blueGreen"
_ROUTING = f"{_CANARY}.trafficRouting"
_EXPERIMENT = f"{_CANARY}.steps[].experiment"
_INGRESS_BACKENDS = ("spec.defaultBackend", "spec.backend", "spec.rules[].http.paths[].backend")
_INGRESS = {
    "a Service": tuple(
        f"{backend}.{key}" for backend in _INGRESS_BACKENDS for key in ("service", "serviceName")
    ),
    "an IngressClass": ("spec.ingressClassName",),
    "a host or a path": ("spec.rules[].host", "spec.rules[].http.paths[].path", "spec.tls[].hosts"),
}
_ANALYSIS = {
    "an argument": ("spec.args[].name",),
    "a metric": ("spec.metrics[].name", "spec.dryRun", "spec.measurementRetention"),
}
_WEBHOOKS: dict[str, tuple[str, ...]] = {
    "a webhook": ("webhooks[].name",),
    "a Service": ("webhooks[].clientConfig.service",),
}


def _analyses(*paths: str) -> dict[str, tuple[str, ...]]:
    """The fields of the type RolloutAnalysis at some paths."""
    return {
        "an argument": tuple(f"{path}.args[].name" for path in paths),
        "an AnalysisTemplate": tuple(f"{path}.templates[].templateName" for path in paths),
        "a metric": tuple(
            f"{path}.{key}" for path in paths for key in ("dryRun", "measurementRetention")
        ),
    }


# By kind: what the fields at some paths name.
UNRELATED: dict[GroupKind, dict[str, tuple[str, ...]]] = {
    ("argoproj.io", "Rollout"): {
        **_analyses(
            f"{_CANARY}.analysis",
            f"{_CANARY}.steps[].analysis",
            f"{_BLUE_GREEN}.prePromotionAnalysis",
            f"{_BLUE_GREEN}.postPromotionAnalysis",
        ),
        "the workload with the pod template": ("spec.workloadRef",),
        "a Service": (
            f"{_BLUE_GREEN}.activeService",
            f"{_BLUE_GREEN}.previewService",
            f"{_CANARY}.canaryService",
            f"{_CANARY}.stableService",
            f"{_CANARY}.pingPong",
            f"{_ROUTING}.alb.rootService",
            f"{_ROUTING}.smi.rootService",
        ),
        "an Ingress": (
            f"{_ROUTING}.alb.ingress",
            f"{_ROUTING}.alb.ingresses",
            f"{_ROUTING}.nginx.stableIngress",
            f"{_ROUTING}.nginx.stableIngresses",
        ),
        "a route of a service mesh": (
            f"{_ROUTING}.ambassador",
            f"{_ROUTING}.apisix",
            f"{_ROUTING}.appMesh",
            f"{_ROUTING}.istio",
            f"{_ROUTING}.managedRoutes",
            f"{_ROUTING}.smi.trafficSplitName",
            f"{_ROUTING}.traefik",
            f"{_CANARY}.steps[].setHeaderRoute",
            f"{_CANARY}.steps[].setMirrorRoute",
        ),
        "a part of an Experiment": (
            f"{_EXPERIMENT}.templates",
            f"{_EXPERIMENT}.analyses[].name",
            f"{_EXPERIMENT}.analyses[].templateName",
            f"{_EXPERIMENT}.analyses[].args[].name",
            f"{_EXPERIMENT}.dryRun",
        ),
        "a plugin": (f"{_CANARY}.steps[].plugin.name",),
    },
    ("argoproj.io", "AnalysisTemplate"): _ANALYSIS,
    ("argoproj.io", "ClusterAnalysisTemplate"): _ANALYSIS,
    ("argoproj.io", "AnalysisRun"): _ANALYSIS,
    ("argoproj.io", "Experiment"): {
        "a pod template or a Service": ("spec.templates[].name", "spec.templates[].service"),
        "an analysis": ("spec.analyses[].name", "spec.analyses[].templateName"),
        "an argument": ("spec.analyses[].args[].name",),
        "a metric": ("spec.dryRun", "spec.measurementRetention"),
    },
    ("networking.k8s.io", "Ingress"): _INGRESS,
    ("extensions", "Ingress"): _INGRESS,
    ("networking.k8s.io", "IngressClass"): {"a controller": ("spec.controller",)},
    ("autoscaling", "HorizontalPodAutoscaler"): {
        "a metric": tuple(
            f"spec.metrics[].{source}.metric.name" for source in ("pods", "object", "external")
        ),
        "a container": ("spec.metrics[].containerResource.container",),
    },
    ("", "PersistentVolumeClaim"): {
        "a volume or a class": (
            "spec.volumeName",
            "spec.storageClassName",
            "spec.volumeAttributesClassName",
        ),
    },
    ("", "PersistentVolume"): {
        "a claim": ("spec.claimRef",),
        "a class": ("spec.storageClassName", "spec.volumeAttributesClassName"),
    },
    ("storage.k8s.io", "StorageClass"): {"a driver": ("provisioner",)},
    ("node.k8s.io", "RuntimeClass"): {"a handler": ("handler",)},
    ("coordination.k8s.io", "Lease"): {"a process": ("spec.holderIdentity",)},
    ("apiregistration.k8s.io", "APIService"): {"a Service": ("spec.service",)},
    ("admissionregistration.k8s.io", "MutatingWebhookConfiguration"): _WEBHOOKS,
    ("admissionregistration.k8s.io", "ValidatingWebhookConfiguration"): _WEBHOOKS,
}


@cache
def _patterns(group_kind: GroupKind) -> tuple[tuple[str, ...], ...]:
    fields = UNRELATED.get(group_kind, {}).values()
    return tuple(parse_pattern(pattern) for patterns in fields for pattern in patterns)


def names_something_else(group_kind: GroupKind, path: Path) -> bool:
    """Whether a field outside of pod templates never names a ConfigMap or Secret."""
    if group_kind in COVERED:
        return True
    return any(matches_start(path, pattern) for pattern in _patterns(group_kind))
