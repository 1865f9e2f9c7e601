"""The fields that have one of a few values, or that cannot be negative, as tables."""

from __future__ import annotations

from collections.abc import Iterator

from postrender.kubernetes.kinds import RBAC_GROUP, GroupKind
from postrender.kubernetes.validation.checks import COUNT, Check, between, one_of

_BATCH = "spec.parallelism spec.completions spec.backoffLimit spec.activeDeadlineSeconds "
_BATCH += "spec.ttlSecondsAfterFinished spec.backoffLimitPerIndex spec.maxFailedIndexes"
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
        "spec.metrics[].resource.target.averageUtilization": (1, None),
        "spec.metrics[].containerResource.target.averageUtilization": (1, None),
    },
    ("", "Service"): {"spec.sessionAffinityConfig.clientIP.timeoutSeconds": (1, 86_400)},
    ("apiregistration.k8s.io", "APIService"): {
        "spec.groupPriorityMinimum": (1, 20_000),
        "spec.versionPriority": (1, 1_000),
    },
    ("networking.k8s.io", "Ingress"): {
        "spec.defaultBackend.service.port.number": (1, 65_535),
        "spec.rules[].http.paths[].backend.service.port.number": (1, 65_535),
    },
}
_STRATEGIES = {"spec.updateStrategy.type": "RollingUpdate OnDelete"}
_RETENTION = "spec.persistentVolumeClaimRetentionPolicy.when"
_JOB = {
    "spec.completionMode": "Indexed NonIndexed",
    "spec.podReplacementPolicy": "TerminatingOrFailed Failed",
    "spec.podFailurePolicy.rules[].action": "FailJob FailIndex Ignore Count",
    "spec.podFailurePolicy.rules[].onExitCodes.operator": "In NotIn",
}
_MODES = {
    "spec.accessModes[]": "ReadWriteOnce ReadOnlyMany ReadWriteMany ReadWriteOncePod",
    "spec.volumeMode": "Block Filesystem",
}
_CLAIM_SPEC = "volumes[].ephemeral.volumeClaimTemplate."
_WEBHOOK = {
    "webhooks[].sideEffects": "None NoneOnDryRun",
    "webhooks[].failurePolicy": "Ignore Fail",
    "webhooks[].matchPolicy": "Exact Equivalent",
    "webhooks[].reinvocationPolicy": "Never IfNeeded",
    "webhooks[].rules[].scope": "* Cluster Namespaced",
    "webhooks[].rules[].operations[]": "* CREATE UPDATE DELETE CONNECT",
}
# The levels of pod security, and the labels of a namespace that set them.
SECURITY_LABEL = 'metadata.labels["pod-security.kubernetes.io/'
MODES = ("enforce", "audit", "warn")
_PROTOCOLS = "TCP UDP SCTP"
_SUBJECTS = {"subjects[].kind": "User Group ServiceAccount"}
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
        "spec.ipFamilies[]": "IPv4 IPv6",
        "spec.trafficDistribution": "PreferClose PreferSameZone PreferSameNode",
    },
    ("", "Namespace"): {
        f'{SECURITY_LABEL}{mode}"]': "privileged baseline restricted" for mode in MODES
    },
    ("", "PersistentVolumeClaim"): _MODES,
    ("", "PersistentVolume"): {
        **_MODES,
        "spec.persistentVolumeReclaimPolicy": "Retain Delete Recycle",
    },
    ("scheduling.k8s.io", "PriorityClass"): {"preemptionPolicy": "Never PreemptLowerPriority"},
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
    ("apiextensions.k8s.io", "CustomResourceDefinition"): {
        "spec.scope": "Cluster Namespaced",
        "spec.conversion.strategy": "None Webhook",
        "spec.versions[].additionalPrinterColumns[].type": "integer number string boolean date",
    },
    (RBAC_GROUP, "ClusterRoleBinding"): {**_SUBJECTS, "roleRef.kind": "ClusterRole"},
    (RBAC_GROUP, "RoleBinding"): {**_SUBJECTS, "roleRef.kind": "Role ClusterRole"},
    ("admissionregistration.k8s.io", "ValidatingWebhookConfiguration"): _WEBHOOK,
    ("admissionregistration.k8s.io", "MutatingWebhookConfiguration"): _WEBHOOK,
    ("discovery.k8s.io", "EndpointSlice"): {"addressType": "IPv4 IPv6 FQDN"},
    ("admissionregistration.k8s.io", "ValidatingAdmissionPolicy"): {
        "spec.failurePolicy": "Ignore Fail"
    },
    ("admissionregistration.k8s.io", "ValidatingAdmissionPolicyBinding"): {
        "spec.validationActions[]": "Deny Warn Audit"
    },
    ("storage.k8s.io", "CSIDriver"): {
        "spec.fsGroupPolicy": "ReadWriteOnceWithFSType File None",
        "spec.volumeLifecycleModes[]": "Persistent Ephemeral",
    },
}
_PROBES = ("livenessProbe", "readinessProbe", "startupProbe")
_PROFILES = "Localhost RuntimeDefault Unconfined"
_CONTAINER = {
    "restartPolicy": "Always OnFailure Never",
    "imagePullPolicy": "Always IfNotPresent Never",
    "terminationMessagePolicy": "File FallbackToLogsOnError",
    "ports[].protocol": _PROTOCOLS,
    "volumeMounts[].mountPropagation": "None HostToContainer Bidirectional",
    "volumeMounts[].recursiveReadOnly": "Disabled IfPossible Enabled",
    "resizePolicy[].resourceName": "cpu memory",
    "resizePolicy[].restartPolicy": "NotRequired RestartContainer",
    "securityContext.seccompProfile.type": _PROFILES,
    "securityContext.appArmorProfile.type": _PROFILES,
    "securityContext.procMount": "Default Unmasked",
    **{f"{probe}.httpGet.scheme": "HTTP HTTPS" for probe in _PROBES},
}
_POD = {
    **{f"{_CLAIM_SPEC}{path}": values for path, values in _MODES.items()},
    "dnsPolicy": "ClusterFirst ClusterFirstWithHostNet Default None",
    "preemptionPolicy": "Never PreemptLowerPriority",
    "os.name": "linux windows",
    "securityContext.fsGroupChangePolicy": "OnRootMismatch Always",
    "securityContext.supplementalGroupsPolicy": "Merge Strict",
    "securityContext.seccompProfile.type": _PROFILES,
    "securityContext.appArmorProfile.type": _PROFILES,
    "tolerations[].operator": "Exists Equal Lt Gt",
    "volumes[].image.pullPolicy": "Always IfNotPresent Never",
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
    yield from ((path, between(*ends)) for path, ends in _RANGES.get(group_kind, {}).items())
    yield from _rows(_VALUES.get(group_kind, {}))


def pod_rows() -> Iterator[tuple[str, Check]]:
    """The rows of a pod spec."""
    return _rows(_POD)


def _rows(values: dict[str, str]) -> Iterator[tuple[str, Check]]:
    return ((path, one_of(*known.split())) for path, known in values.items())
