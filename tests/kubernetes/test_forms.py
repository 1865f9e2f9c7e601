"""The fields that must be there, and the forms of names, keys and selectors.

tests/e2e/test_api_types.py asks an API server about each value.
"""

from __future__ import annotations

from typing import Any

import pytest

from postrender.kubernetes.validation import find_invalid
from postrender.yaml.paths import format_path
from tests.kubernetes.mutations import ABSENT, OBJECTS, changed
from tests.manifests import Obj

POD = "spec.template.spec"
TERM = "affinity.podAffinity.requiredDuringSchedulingIgnoredDuringExecution.0"
PEER = "spec.ingress.0.from.1.namespaceSelector"
OBJECTS_OF_HOOK = "webhooks.0.objectSelector"
PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"
# A kind, the path of one value, the value, and the end of the path of the problem if it differs.
REJECTED: list[tuple[str, str, Any, str]] = [
    ("Deployment", f"{POD}.priorityClassName", "Bad", ""),
    ("Deployment", f"{POD}.containers.0.env.1.valueFrom.configMapKeyRef.name", "", "KeyRef"),
    ("Deployment", f"{POD}.containers.0.env.1.valueFrom.configMapKeyRef.name", "Bad", ""),
    ("Deployment", f"{POD}.containers.0.env.2.valueFrom.secretKeyRef.key", "a b", ""),
    ("Deployment", f"{POD}.containers.0.envFrom.1.secretRef.name", "", "secretRef"),
    ("Deployment", f"{POD}.containers.0.ports.0.containerPort", ABSENT, "ports[0]"),
    ("Deployment", f"{POD}.containers.0.ports.0.name", "a--b", ""),
    ("Deployment", f"{POD}.containers.0.lifecycle.postStart.httpGet.port", 70_000, ""),
    ("Deployment", f"{POD}.containers.0.volumeMounts.1.subPathExpr", "../a", ""),
    ("Deployment", f"{POD}.containers.0.resources.limits.cpu", -1, ""),
    ("Deployment", f"{POD}.containers.0.securityContext.seccompProfile.type", ABSENT, "Profile"),
    ("Deployment", f"{POD}.volumes.0.configMap.items.0.key", ABSENT, "items[0]"),
    ("Deployment", f"{POD}.volumes.5.nfs.path", "exports", ""),
    ("Deployment", f"{POD}.nodeSelector", {"a b": "c"}, ""),
    ("Deployment", f"{POD}.tolerations.0.value", "a b", ""),
    ("Deployment", f"{POD}.{TERM}.labelSelector.matchLabels.app", "a b", "Selector"),
    ("Deployment", f"{POD}.affinity.podAntiAffinity.{PREFERRED}.0.weight", ABSENT, "[0]"),
    ("StatefulSet", "spec.volumeClaimTemplates.0.spec.storageClassName", "Bad", ""),
    ("StatefulSet", "spec.volumeClaimTemplates.0.spec.resources", {}, ""),
    ("CronJob", "spec.schedule", ABSENT, "spec"),
    ("Job", "spec.successPolicy.rules.0", {}, ""),
    ("HorizontalPodAutoscaler", "spec.metrics.2.pods.metric.name", ABSENT, "metric"),
    ("HorizontalPodAutoscaler", "spec.metrics.0.resource.target.type", "Percent", ""),
    ("HorizontalPodAutoscaler", "spec.behavior.scaleUp.policies.0.value", ABSENT, "policies[0]"),
    ("PodDisruptionBudget", "spec.selector.matchLabels.a", "a b", "selector"),
    ("Service", "spec.selector", {"a b": "c"}, ""),
    ("Service", "spec.ports.0.port", ABSENT, "ports[0]"),
    ("Service", "spec.ipFamilies", ["IPv4", "IPv4"], ""),
    ("Ingress", "spec.ingressClassName", "Bad", ""),
    ("Ingress", "spec.defaultBackend.service.name", "a.b", ""),
    ("Ingress", "spec.rules.0.http.paths", [], "http"),
    ("NetworkPolicy", f"{PEER}.matchExpressions.0.key", "a b", "Selector"),
    ("NetworkPolicy", "spec.ingress.0.from.0.ipBlock", {}, ""),
    ("PersistentVolumeClaim", "spec.storageClassName", "Bad", ""),
    ("PersistentVolume", "spec.local.path", ABSENT, "local"),
    ("Role", "rules.0.resources", ABSENT, "rules[0]"),
    ("RoleBinding", "subjects.0.name", ABSENT, "subjects[0]"),
    ("LimitRange", "spec.limits.0.type", "Containers", ""),
    ("ResourceQuota", "spec.hard.pods", -1, ""),
    ("RuntimeClass", "handler", "Bad", ""),
    ("ValidatingWebhookConfiguration", f"{OBJECTS_OF_HOOK}.matchExpressions.0.key", "", "r"),
    ("ValidatingAdmissionPolicy", "spec.validations.0.expression", "object.a = 1", ""),
    ("ValidatingAdmissionPolicyBinding", "spec.policyName", "Bad", ""),
    ("CustomResourceDefinition", "spec.names.kind", "a b", ""),
    ("APIService", "spec.service.name", ABSENT, "service"),
    ("EndpointSlice", "endpoints.0.hostname", "a.b", ""),
    ("Secret", "data.a", "YQ", "data"),
    ("Pod", "spec.restartPolicy", "always", ""),
]  # fmt: skip

TERMS = "spec.nodeAffinity.required.nodeSelectorTerms.0.matchExpressions"
PREFERENCE = f"{POD}.affinity.nodeAffinity.{PREFERRED}"
BACKEND = "spec.defaultBackend.service.port"
ALL_PARAMS = {"selector": {}, "parameterNotFoundAction": "Deny"}
GREATER = {"key": "a", "operator": "Gt", "values": ["1"]}
NO_LABEL = {"matchExpressions": [{"key": "a", "operator": "In", "values": ["a b"]}]}
ONE_PORT: dict[str, Any] = {"ports": [{"port": 80}]}
NODE = {"fieldRef": {"fieldPath": "spec.host"}}  # the name before Kubernetes 1.0
LOCAL = {"externalIPs": ["192.0.2.1"], "externalTrafficPolicy": "Local"}
RAW_TEXTS = "r'''a'b''' == r\"\"\"a\"b\"\"\""
ACCEPTED: list[tuple[str, str, Any]] = [
    ("PersistentVolume", TERMS, [GREATER]),
    ("Deployment", PREFERENCE, [{"weight": 1, "preference": NO_LABEL}]),
    ("Deployment", f"{POD}.restartPolicy", ""),
    ("Deployment", f"{POD}.volumes.0.emptyDir", None),
    ("ValidatingAdmissionPolicyBinding", "spec.paramRef", ALL_PARAMS),
    ("ValidatingAdmissionPolicy", "spec.validations.0.expression", RAW_TEXTS),
    ("Service", "spec", ONE_PORT | {"healthCheckNodePort": 0}),
    ("Service", "spec", ONE_PORT | LOCAL),
    ("Ingress", BACKEND, {"name": "", "number": 80}),
    ("Ingress", BACKEND, {"name": "a", "number": 0}),
    ("Ingress", "spec.tls", [{"hosts": ["192.0.2.1"]}]),
    ("Ingress", "spec.rules.0.host", "1.2.3.4567"),
    ("LimitRange", "spec.limits.0", {"type": "Pod", "default": {}}),
    ("Deployment", f"{POD}.containers.0.env", [{"name": "A", "valueFrom": NODE}]),
]


@pytest.mark.parametrize(("kind", "path", "value"), ACCEPTED)
def test_one_other_value_is_accepted(kind: str, path: str, value: Any) -> None:
    item = next(one for one in OBJECTS if one["kind"] == kind)
    parts = tuple(int(part) if part.isdigit() else part for part in path.split("."))
    assert not list(find_invalid(changed(item, parts, value)))


@pytest.mark.parametrize("item", OBJECTS, ids=lambda item: item["kind"])
def test_a_valid_object_has_no_problem(item: Obj) -> None:
    assert not list(find_invalid(item))


@pytest.mark.parametrize(("kind", "path", "value", "end"), REJECTED)
def test_one_value_is_rejected(kind: str, path: str, value: Any, end: str) -> None:
    item = next(one for one in OBJECTS if one["kind"] == kind)
    parts = tuple(int(part) if part.isdigit() else part for part in path.split("."))
    found = [format_path(place) for place, _ in find_invalid(changed(item, parts, value))]
    assert any(place.endswith(end or format_path(parts)) for place in found), found
