"""The fields that have one of a few values, or that cannot be negative, as tables."""

from __future__ import annotations

from collections.abc import Iterator

from postrender.kubernetes.kinds import RBAC_GROUP, GroupKind
from postrender.kubernetes.validation.checks import COUNT, Check, between, one_of
from postrender.kubernetes.validation.forms import KIND_FORMS, form_rows

_BATCH = "spec.parallelism spec.completions spec.backoffLimit spec.activeDeadlineSeconds "
_BATCH += "spec.ttlSecondsAfterFinished spec.backoffLimitPerIndex spec.maxFailedIndexes"
# The counts of each kind.
_COUNTS: dict[GroupKind, str] = {
    ("apps", "Deployment"): "spec.replicas spec.revisionHistoryLimit spec.minReadySeconds",
    ("apps", "StatefulSet"): "spec.replicas spec.minReadySeconds "
    "spec.updateStrategy.rollingUpdate.partition spec.ordinals.start",
    ("apps", "DaemonSet"): "spec.revisionHistoryLimit spec.minReadySeconds",
    ("apps", "ReplicaSet"): "spec.replicas spec.minReadySeconds",
    ("batch", "Job"): _BATCH,
    ("batch", "CronJob"): "spec.startingDeadlineSeconds spec.successfulJobsHistoryLimit "
    "spec.failedJobsHistoryLimit " + _BATCH.replace("spec.", "spec.jobTemplate.spec."),
}
# The numbers that have limits, the last one None without an upper limit.
_RANGES: dict[GroupKind, dict[str, tuple[int, int | None]]] = {
    ("autoscaling", "HorizontalPodAutoscaler"): {
        **{
            f"spec.behavior.scale{way}.{path}": limits
            for way in ("Up", "Down")
            for path, limits in (
                ("stabilizationWindowSeconds", (0, 3_600)),
                ("policies[].periodSeconds", (1, 1_800)),
                ("policies[].value", (1, None)),
            )
        },
        "spec.minReplicas": (0, None),
        "spec.metrics[].resource.target.averageUtilization": (1, None),
        "spec.metrics[].containerResource.target.averageUtilization": (1, None),
    },
    ("", "Service"): {"spec.sessionAffinityConfig.clientIP.timeoutSeconds": (1, 86_400)},
    ("apiregistration.k8s.io", "APIService"): {
        "spec.groupPriorityMinimum": (1, 20_000),
        "spec.versionPriority": (1, 1_000),
    },
    ("networking.k8s.io", "Ingress"): {
        "spec.defaultBackend.service.port.number": (0, 65_535),
        "spec.rules[].http.paths[].backend.service.port.number": (0, 65_535),
    },
}
# The levels of pod security, and the labels of a namespace that set them.
SECURITY_LABEL = 'metadata.labels["pod-security.kubernetes.io/'
MODES = ("enforce", "audit", "warn")
_RETENTION = "spec.persistentVolumeClaimRetentionPolicy.when"
_SUBJECTS = {"subjects[].kind": "User Group ServiceAccount"}
_WEBHOOK = {"webhooks[].sideEffects": "None NoneOnDryRun"}
# What the OpenAPI schemas do not tell; field_types.json has all others.
_VALUES: dict[GroupKind, dict[str, str]] = {
    ("apps", "StatefulSet"): {
        f"{_RETENTION}Deleted": "Retain Delete",
        f"{_RETENTION}Scaled": "Retain Delete",
    },
    ("", "Service"): {"spec.trafficDistribution": "PreferClose PreferSameZone PreferSameNode"},
    ("", "Namespace"): {
        f'{SECURITY_LABEL}{mode}"]': "privileged baseline restricted" for mode in MODES
    },
    ("autoscaling", "HorizontalPodAutoscaler"): {
        **{
            f"spec.behavior.scale{way}.{path}": values
            for way in ("Up", "Down")
            for path, values in (
                ("selectPolicy", "Max Min Disabled"),
                ("policies[].type", "Pods Percent"),
            )
        },
        "spec.metrics[].type": "Resource ContainerResource Pods Object External",
    },
    ("storage.k8s.io", "StorageClass"): {"reclaimPolicy": "Delete Retain"},
    ("apiextensions.k8s.io", "CustomResourceDefinition"): {
        "spec.scope": "Cluster Namespaced",
        "spec.conversion.strategy": "None Webhook",
        "spec.versions[].additionalPrinterColumns[].type": "integer number string boolean date",
    },
    (RBAC_GROUP, "ClusterRoleBinding"): {**_SUBJECTS, "roleRef.kind": "ClusterRole"},
    (RBAC_GROUP, "RoleBinding"): {**_SUBJECTS, "roleRef.kind": "Role ClusterRole"},
    ("admissionregistration.k8s.io", "ValidatingWebhookConfiguration"): _WEBHOOK,
    ("admissionregistration.k8s.io", "MutatingWebhookConfiguration"): _WEBHOOK,
    ("storage.k8s.io", "CSIDriver"): {
        "spec.fsGroupPolicy": "ReadWriteOnceWithFSType File None",
        "spec.volumeLifecycleModes[]": "Persistent Ephemeral",
    },
}


def rows_of(group_kind: GroupKind) -> Iterator[tuple[str, Check]]:
    """The rows of a kind, with the path of each field."""
    yield from ((path, COUNT) for path in _COUNTS.get(group_kind, "").split())
    yield from ((path, between(*ends)) for path, ends in _RANGES.get(group_kind, {}).items())
    for path, known in _VALUES.get(group_kind, {}).items():
        yield path, one_of(*known.split())
    yield from form_rows(KIND_FORMS.get(group_kind, ""))
