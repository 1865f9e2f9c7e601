"""The fields that have one of a few values, or that cannot be negative, as tables."""

from __future__ import annotations

from collections.abc import Iterator

from postrender.kubernetes.kinds import RBAC_GROUP, GroupKind
from postrender.kubernetes.validation.checks import COUNT, Check, one_of

_BATCH = "spec.parallelism spec.completions spec.backoffLimit spec.activeDeadlineSeconds "
_BATCH += "spec.ttlSecondsAfterFinished"
# The counts of each kind.
_COUNTS: dict[GroupKind, str] = {
    ("apps", "Deployment"): "spec.replicas spec.revisionHistoryLimit spec.minReadySeconds",
    ("apps", "StatefulSet"): "spec.replicas spec.revisionHistoryLimit spec.minReadySeconds "
    "spec.updateStrategy.rollingUpdate.partition spec.ordinals.start",
    ("apps", "DaemonSet"): "spec.revisionHistoryLimit spec.minReadySeconds",
    ("apps", "ReplicaSet"): "spec.replicas spec.minReadySeconds",
    ("batch", "Job"): _BATCH,
    ("batch", "CronJob"): "spec.startingDeadlineSeconds spec.successfulJobsHistoryLimit "
    "spec.failedJobsHistoryLimit " + _BATCH.replace("spec.", "spec.jobTemplate.spec."),
}
_STRATEGIES = {"spec.updateStrategy.type": "RollingUpdate OnDelete"}
_RETENTION = "spec.persistentVolumeClaimRetentionPolicy.when"
_JOB = {
    "spec.completionMode": "Indexed NonIndexed",
    "spec.podReplacementPolicy": "TerminatingOrFailed Failed",
}
_MODES = {
    "spec.accessModes[]": "ReadWriteOnce ReadOnlyMany ReadWriteMany ReadWriteOncePod",
    "spec.volumeMode": "Block Filesystem",
}
_WEBHOOK = {
    "webhooks[].sideEffects": "None NoneOnDryRun",
    "webhooks[].failurePolicy": "Ignore Fail",
    "webhooks[].matchPolicy": "Exact Equivalent",
    "webhooks[].reinvocationPolicy": "Never IfNeeded",
    "webhooks[].rules[].scope": "* Cluster Namespaced",
    "webhooks[].rules[].operations[]": "* CREATE UPDATE DELETE CONNECT",
}
_PROTOCOLS = "TCP UDP SCTP"
_VALUES: dict[GroupKind, dict[str, str]] = {
    ("apps", "Deployment"): {"spec.strategy.type": "RollingUpdate Recreate"},
    ("apps", "StatefulSet"): {
        **_STRATEGIES,
        "spec.podManagementPolicy": "OrderedReady Parallel",
        f"{_RETENTION}Deleted": "Retain Delete",
        f"{_RETENTION}Scaled": "Retain Delete",
    },
    ("apps", "DaemonSet"): _STRATEGIES,
    ("batch", "Job"): _JOB,
    ("batch", "CronJob"): {
        "spec.concurrencyPolicy": "Allow Forbid Replace",
        **{path.replace("spec.", "spec.jobTemplate.spec.", 1): one for path, one in _JOB.items()},
    },
    ("", "Service"): {
        "spec.type": "ClusterIP NodePort LoadBalancer ExternalName",
        "spec.sessionAffinity": "None ClientIP",
        "spec.ports[].protocol": _PROTOCOLS,
        "spec.externalTrafficPolicy": "Cluster Local",
        "spec.internalTrafficPolicy": "Cluster Local",
        "spec.ipFamilyPolicy": "SingleStack PreferDualStack RequireDualStack",
    },
    ("", "PersistentVolumeClaim"): _MODES,
    ("", "PersistentVolume"): {
        **_MODES,
        "spec.persistentVolumeReclaimPolicy": "Retain Delete Recycle",
    },
    ("scheduling.k8s.io", "PriorityClass"): {"preemptionPolicy": "Never PreemptLowerPriority"},
    ("autoscaling", "HorizontalPodAutoscaler"): {
        f"spec.behavior.scale{way}.{path}": values
        for way in ("Up", "Down")
        for path, values in (
            ("selectPolicy", "Max Min Disabled"),
            ("policies[].type", "Pods Percent"),
        )
    },
    ("policy", "PodDisruptionBudget"): {
        "spec.unhealthyPodEvictionPolicy": "IfHealthyBudget AlwaysAllow"
    },
    ("networking.k8s.io", "NetworkPolicy"): {
        "spec.policyTypes[]": "Ingress Egress",
        "spec.ingress[].ports[].protocol": _PROTOCOLS,
        "spec.egress[].ports[].protocol": _PROTOCOLS,
    },
    ("networking.k8s.io", "Ingress"): {
        "spec.rules[].http.paths[].pathType": "Exact Prefix ImplementationSpecific"
    },
    ("storage.k8s.io", "StorageClass"): {
        "reclaimPolicy": "Delete Retain",
        "volumeBindingMode": "Immediate WaitForFirstConsumer",
    },
    ("apiextensions.k8s.io", "CustomResourceDefinition"): {"spec.scope": "Cluster Namespaced"},
    (RBAC_GROUP, "ClusterRoleBinding"): {"roleRef.kind": "ClusterRole"},
    (RBAC_GROUP, "RoleBinding"): {"roleRef.kind": "Role ClusterRole"},
    ("admissionregistration.k8s.io", "ValidatingWebhookConfiguration"): _WEBHOOK,
    ("admissionregistration.k8s.io", "MutatingWebhookConfiguration"): _WEBHOOK,
    ("discovery.k8s.io", "EndpointSlice"): {"addressType": "IPv4 IPv6 FQDN"},
}
_PROBES = ("livenessProbe", "readinessProbe", "startupProbe")
_PROFILES = "Localhost RuntimeDefault Unconfined"
_CONTAINER = {
    "restartPolicy": "Always OnFailure Never",
    "imagePullPolicy": "Always IfNotPresent Never",
    "terminationMessagePolicy": "File FallbackToLogsOnError",
    "ports[].protocol": _PROTOCOLS,
    "volumeMounts[].mountPropagation": "None HostToContainer Bidirectional",
    "securityContext.seccompProfile.type": _PROFILES,
    "securityContext.appArmorProfile.type": _PROFILES,
    "securityContext.procMount": "Default Unmasked",
    **{f"{probe}.httpGet.scheme": "HTTP HTTPS" for probe in _PROBES},
}
_POD = {
    "dnsPolicy": "ClusterFirst ClusterFirstWithHostNet Default None",
    "preemptionPolicy": "Never PreemptLowerPriority",
    "securityContext.fsGroupChangePolicy": "OnRootMismatch Always",
    "securityContext.seccompProfile.type": _PROFILES,
    "securityContext.appArmorProfile.type": _PROFILES,
    "tolerations[].effect": "NoSchedule PreferNoSchedule NoExecute",
    "topologySpreadConstraints[].whenUnsatisfiable": "DoNotSchedule ScheduleAnyway",
    "topologySpreadConstraints[].nodeAffinityPolicy": "Honor Ignore",
    "topologySpreadConstraints[].nodeTaintsPolicy": "Honor Ignore",
    "volumes[].hostPath.type": "DirectoryOrCreate Directory FileOrCreate File Socket CharDevice "
    "BlockDevice",
    **{
        f"{containers}[].{path}": values
        for containers in ("initContainers", "containers")
        for path, values in _CONTAINER.items()
    },
}


def rows_of(group_kind: GroupKind) -> Iterator[tuple[str, Check]]:
    """The rows of a kind, with the path of each field."""
    yield from ((path, COUNT) for path in _COUNTS.get(group_kind, "").split())
    yield from _rows(_VALUES.get(group_kind, {}))


def pod_rows() -> Iterator[tuple[str, Check]]:
    """The rows of a pod spec."""
    return _rows(_POD)


def _rows(values: dict[str, str]) -> Iterator[tuple[str, Check]]:
    return ((path, one_of(*known.split())) for path, known in values.items())


KINDS = {**_COUNTS, **_VALUES}
