"""What the API server rejects in the objects of one kind, as a table.

The rows of workloads and of networks are in modules of their own.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise

from postrender.kubernetes.kinds import RBAC_GROUP, GroupKind
from postrender.kubernetes.validation.checks import (
    ONE,
    PORT,
    Check,
    Rows,
    base64,
    between,
    exclusive,
    forbidden,
    label,
    matching,
    needs,
    one_of,
    quantity,
    requires,
    some_of,
    unique,
)
from postrender.kubernetes.validation.network_rows import NETWORK_ROWS
from postrender.kubernetes.validation.values import MODES, SECURITY_LABEL, rows_of
from postrender.kubernetes.validation.workload_rows import WORKLOAD_ROWS
from postrender.yaml.paths import Json, mapping_at, mappings_in, value_at


def _versions(value: Json) -> Iterator[str]:
    count = sum(version.get("storage") is True for version in mappings_in(value))
    if count != 1:
        yield f"{count} versions have storage: true, and exactly one must have it"


def _size(value: Json) -> Iterator[str]:
    if quantity(value) == 0:
        yield "the size is 0"


def _rule(value: Json) -> Iterator[str]:
    if isinstance(value, dict) and not value.get("verbs"):
        yield "the rule has no verbs"
    elif isinstance(value, dict) and not value.get("apiGroups") and value.get("resources"):
        yield "the rule has no apiGroups"
    elif isinstance(value, dict) and not (value.get("resources") or value.get("nonResourceURLs")):
        yield "the rule has no resources"
    yield from exclusive("resources", "nonResourceURLs")(value)


_WEBHOOKS = (
    ("admissionregistration.k8s.io", "ValidatingWebhookConfiguration"),
    ("admissionregistration.k8s.io", "MutatingWebhookConfiguration"),
)


def _reviews(value: Json) -> Iterator[str]:
    if isinstance(value, list) and value and not {"v1", "v1beta1"}.intersection(map(str, value)):
        yield "the versions contain neither v1 nor v1beta1"


def _alone(item: str) -> Check:
    def check(value: Json) -> Iterator[str]:
        items = value if isinstance(value, list) else []
        # The API server counts `*`, and accepts ReadWriteOncePod twice.
        if item in items and len(items if item == "*" else dict.fromkeys(map(str, items))) > 1:
            yield f"the list has {item} and other items"

    return check


_CLIENT: Rows = (
    ("", exclusive("url", "service", is_needed=True)),
    (
        ".url",
        matching(
            lambda text: re.match(r"(?i:https)://[^/?#@]+(?:/[^?#]*)?\Z", text) is not None,
            "https://HOST",
        ),
    ),
    (".service", needs("name", "namespace")),
    (".service.port", PORT),
    (".service.path", matching(lambda text: text.startswith("/"), "a path that begins with /")),
    (".caBundle", base64),
)
_RULES: Rows = (
    ("", needs("operations", "apiGroups", "apiVersions", "resources")),
    *((f".{field}", _alone("*")) for field in ("operations", "apiGroups", "apiVersions")),
)
_COUNTED = (
    *("pods", "resourcequotas", "services", "replicationcontrollers", "secrets", "configmaps"),
    *("persistentvolumeclaims", "services.nodeports", "services.loadbalancers"),
)
_AMOUNTS = ["cpu", "memory", "ephemeral-storage"]
_QUOTAS = {
    *(*_COUNTED, "requests.storage", *_AMOUNTS),
    *(f"{way}.{name}" for way in ("requests", "limits") for name in _AMOUNTS),
}


def _quota(value: Json) -> Iterator[str]:
    for name, amount in value.items() if isinstance(value, dict) else ():
        if "/" not in name and "hugepages-" not in name and name not in _QUOTAS:
            yield f"the resource {name} does not exist"
        is_count = name in _COUNTED or name.startswith("count/")
        number = quantity(amount) if is_count else None
        if number is not None and number % ONE:
            yield f"the number of {name} ({amount}) is not a whole number"


def _scopes(value: Json) -> Iterator[str]:
    scopes = value_at(value, ("scopes",))
    is_of_pods = isinstance(scopes, list) and {*map(str, scopes)} - {"VolumeAttributesClass"}
    for name in mapping_at(value, ("hard",)) if is_of_pods else ():
        if name in (*_COUNTED[1:], "requests.storage"):
            yield f"a quota with scopes cannot count {name}"


def _actions(value: Json) -> Iterator[str]:
    if isinstance(value, list) and {"Deny", "Warn"} <= set(map(str, value)):
        yield "Deny and Warn are both set"


RATIO = "maxLimitRequestRatio"
_VERSION = matching(
    lambda text: re.match(r"(latest|v1\.\d+)\Z", text) is not None,
    "latest or a version such as v1.34",
)


def _limits(value: Json) -> Iterator[str]:
    names = ("min", "defaultRequest", "default", "max")
    if value_at(value, ("type",)) == "Pod":
        for name in names[1:3]:
            if mapping_at(value, (name,)):
                yield f"type: Pod and {name} are both set"
    for resource in {key: None for name in names for key in mapping_at(value, (name,))}:
        sizes = [(name, quantity(value_at(value, (name, resource)))) for name in names]
        known = [(name, size) for name, size in sizes if size is not None]
        for (low, least), (high, most) in pairwise(known):
            if least > most:
                yield f"the {low} of {resource} is above the {high}"
    for resource, ratio in mapping_at(value, (RATIO,)).items():
        number = quantity(ratio)
        if number is not None and number < ONE:
            yield f"the {RATIO} of {resource} is below 1"


def _schema(value: Json) -> Iterator[str]:
    from postrender.kubernetes.validation.schemas import find_rejected_schemas  # rarely needed

    return find_rejected_schemas(value)


_BINDING: Rows = (
    ("subjects[]", exclusive("kind: ServiceAccount", "apiGroup")),
    ("subjects[].apiGroup", one_of(RBAC_GROUP)),
    ("roleRef.apiGroup", one_of(RBAC_GROUP)),
)


_ROWS: dict[GroupKind, Rows] = {
    **WORKLOAD_ROWS,
    **NETWORK_ROWS,
    ("", "PersistentVolumeClaim"): (
        ("spec.resources.requests.storage", _size),
        ("spec.accessModes", _alone("ReadWriteOncePod")),
    ),
    ("", "PersistentVolume"): (
        ("spec", needs("capacity", "accessModes")),
        ("spec", requires("local", "nodeAffinity")),
        ("spec.accessModes", _alone("ReadWriteOncePod")),
    ),
    (RBAC_GROUP, "ClusterRole"): (
        ("rules[]", _rule),
        ("aggregationRule", needs("clusterRoleSelectors")),
    ),
    (RBAC_GROUP, "Role"): (("rules[]", _rule), ("rules[].nonResourceURLs", forbidden)),
    ("storage.k8s.io", "StorageClass"): (("", needs("provisioner")),),
    ("apiregistration.k8s.io", "APIService"): (
        ("spec", exclusive("caBundle", "insecureSkipTLSVerify: true")),
        ("spec.caBundle", base64),
        ("spec", needs("groupPriorityMinimum", "versionPriority")),
    ),
    ("admissionregistration.k8s.io", "ValidatingAdmissionPolicy"): (
        ("spec", needs("matchConstraints")),
        ("spec", some_of("validations", "auditAnnotations")),
        ("spec.matchConstraints", needs("resourceRules")),
        *((f"spec.matchConstraints.resourceRules[]{path}", check) for path, check in _RULES),
        ("spec.validations[]", needs("expression")),
    ),
    ("admissionregistration.k8s.io", "ValidatingAdmissionPolicyBinding"): (
        ("spec", needs("policyName", "validationActions")),
        ("spec.validationActions", _actions),
    ),
    ("apiextensions.k8s.io", "CustomResourceDefinition"): (
        ("spec.versions", _versions),
        ("spec.versions", unique("version")),
        ("spec.versions[]", needs("schema")),
        ("spec.versions[].schema", needs("openAPIV3Schema")),
        ("spec.versions[].schema.openAPIV3Schema", _schema),
        ("spec.versions[].schema.openAPIV3Schema.type", one_of("object")),
        ("spec.versions[].schema.openAPIV3Schema.nullable", forbidden),
        ("spec.versions[].subresources.scale", needs("specReplicasPath", "statusReplicasPath")),
        ("spec.preserveUnknownFields", forbidden),
        *((f"spec.names.{field}", label) for field in ("plural", "singular", "shortNames[]")),
        ("spec.conversion", requires("strategy: Webhook", "webhook.clientConfig")),
        ("spec.conversion.webhook", needs("conversionReviewVersions")),
        *((f"spec.conversion.webhook.clientConfig{path}", check) for path, check in _CLIENT),
        ("spec.conversion.webhook.conversionReviewVersions", _reviews),
        ("spec.versions[].additionalPrinterColumns[]", needs("name", "type", "jsonPath")),
        (
            "spec.versions[].additionalPrinterColumns[].jsonPath",
            matching(lambda text: text.startswith("."), "a path that begins with a period"),
        ),
    ),
    (RBAC_GROUP, "ClusterRoleBinding"): (
        ("subjects[]", requires("kind: ServiceAccount", "namespace")),
        *_BINDING,
    ),
    (RBAC_GROUP, "RoleBinding"): _BINDING,
    ("", "LimitRange"): (
        ("spec.limits[]", _limits),
        ("spec.limits", unique("limit", "type")),
    ),
    ("", "Namespace"): tuple((f'{SECURITY_LABEL}{mode}-version"]', _VERSION) for mode in MODES),
    ("", "ResourceQuota"): (("spec.hard", _quota), ("spec", _scopes)),
    **dict.fromkeys(
        _WEBHOOKS,
        (
            ("webhooks[]", needs("admissionReviewVersions", "sideEffects", "clientConfig")),
            ("webhooks[].timeoutSeconds", between(1, 30)),
            *((f"webhooks[].clientConfig{path}", check) for path, check in _CLIENT),
            *((f"webhooks[].rules[]{path}", check) for path, check in _RULES),
            ("webhooks[].admissionReviewVersions", _reviews),
            ("webhooks[].matchConditions[]", needs("name", "expression")),
            (
                "webhooks[].name",
                matching(lambda text: text.count(".") > 1, "a name of three parts"),
            ),
        ),
    ),
}
# For a live object, kubectl and Helm 3 merge two items with one key.
NEW_KIND_ROWS: dict[GroupKind, Rows] = {
    ("", "Service"): [("spec.ports", unique("port", "port", "protocol"))],
    ("admissionregistration.k8s.io", "ValidatingAdmissionPolicy"): [
        ("spec.matchConditions", unique("condition")),
    ],
    **dict.fromkeys(
        _WEBHOOKS,
        (
            ("webhooks", unique("webhook")),
            ("webhooks[].matchConditions", unique("condition")),
        ),
    ),
}


def kind_rows(group_kind: GroupKind) -> Iterator[tuple[str, Check]]:
    """The rows of a kind."""
    yield from _ROWS.get(group_kind, ())
    yield from rows_of(group_kind)
