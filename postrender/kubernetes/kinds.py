"""The kinds and the identity of objects, the objects in a List, and pod templates."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from sys import intern

from postrender.records import NamedTuple
from postrender.text import shortened
from postrender.yaml.paths import Json, Path, PatternTree, mapping_at, parse_pattern

# The API group and the kind of an object, such as ("", "ConfigMap") or ("apps", "Deployment").
GroupKind = tuple[str, str]

CONFIG_MAP: GroupKind = ("", "ConfigMap")
SECRET: GroupKind = ("", "Secret")
CONTENT_KINDS = ("ConfigMap", "Secret")
# The kinds of the objects of an attacher.
ATTACHER_KINDS = ("ServiceAccount", "Role", "RoleBinding", "Job")
# The fields with the data of a ConfigMap or Secret.
DATA_FIELDS = ("data", "binaryData", "stringData")
POD: GroupKind = ("", "Pod")
RBAC_GROUP = "rbac.authorization.k8s.io"
# Of a DNS label, such as the name of a volume, and of the value of a Kubernetes label.
MAX_LABEL_LENGTH = 63
# Of the values in a ConfigMap or Secret, in bytes (MaxSecretSize in the Kubernetes API v1).
MAX_CONTENT_SIZE = 1024 * 1024
# A definition does not reference other objects.
CRD = "CustomResourceDefinition"
ROLLOUT: GroupKind = ("argoproj.io", "Rollout")
_JOB: GroupKind = ("batch", "Job")
_CLUSTER_ANALYSIS_TEMPLATE: GroupKind = ("argoproj.io", "ClusterAnalysisTemplate")


class ObjectKey(NamedTuple):
    """Manifests with equal keys are the same object.

    namespace: None if unknown or if the manifest does not set one.
    """

    group_kind: GroupKind
    namespace: str | None
    name: str


class Identity(NamedTuple):
    """The identity of an object in its manifest, whose namespace is None if absent."""

    group: str
    kind: str
    namespace: str | None
    name: str

    @property
    def group_kind(self) -> GroupKind:
        return self.group, self.kind

    def key_in(self, namespace: str | None) -> ObjectKey:
        return ObjectKey(self.group_kind, namespace, self.name)

    def __str__(self) -> str:
        return shortened(f"{self.kind}/{self.name}" if self.name else self.kind)


_SPEC_TEMPLATE = parse_pattern("spec.template")
_METRIC_JOB = parse_pattern("spec.metrics[].provider.job.spec.template")

# The kinds with pod templates, each with a pattern for the path of a template: () for a Pod, which
# is itself a template.
#
# A new kind here needs more, and tests compare the lists: the API resource in CONSUMER_KINDS and,
# if the controller keeps old templates in another kind, HISTORY_KINDS (attach/request.py); the
# resource in the Role (plan/attacher_objects.py); the effect of a new template, if it does not
# replace the pods at once (diff/workloads.py); and a row in docs/reference/decisions.md. A kind
# that the attacher need not follow is a custom kind in the catalogue instead.
WORKLOAD_KINDS: dict[GroupKind, tuple[str, ...]] = {
    ROLLOUT: _SPEC_TEMPLATE,
    ("apps", "Deployment"): _SPEC_TEMPLATE,
    ("apps", "StatefulSet"): _SPEC_TEMPLATE,
    ("apps", "DaemonSet"): _SPEC_TEMPLATE,
    ("apps", "ReplicaSet"): _SPEC_TEMPLATE,
    ("", "ReplicationController"): _SPEC_TEMPLATE,
    ("batch", "CronJob"): parse_pattern("spec.jobTemplate.spec.template"),
    _JOB: _SPEC_TEMPLATE,
    POD: (),
    ("", "PodTemplate"): parse_pattern("template"),
    ("argoproj.io", "Experiment"): parse_pattern("spec.templates[].template"),
    ("argoproj.io", "AnalysisTemplate"): _METRIC_JOB,
    ("argoproj.io", "AnalysisRun"): _METRIC_JOB,
    _CLUSTER_ANALYSIS_TEMPLATE: _METRIC_JOB,
}
# The API server rejects changes of the pod templates of these kinds.
IMMUTABLE_WORKLOADS = frozenset({_JOB, POD})

# The rules in `references` cover every field of these groups that references a ConfigMap. Only free
# text can contain other references.
_BUILT_IN_GROUPS = frozenset(
    {
        "",
        "apps",
        "batch",
        "autoscaling",
        "policy",
        "extensions",
        RBAC_GROUP,
        "networking.k8s.io",
        "storage.k8s.io",
        "scheduling.k8s.io",
        "coordination.k8s.io",
        "admissionregistration.k8s.io",
        "apiextensions.k8s.io",
        "apiregistration.k8s.io",
        "certificates.k8s.io",
        "discovery.k8s.io",
        "node.k8s.io",
        "events.k8s.io",
    }
)


_NAMESPACED_KINDS = {
    *CONTENT_KINDS,
    *ATTACHER_KINDS,
    "Service",
    "PersistentVolumeClaim",
    "Ingress",
    "NetworkPolicy",
    "PodDisruptionBudget",
    "HorizontalPodAutoscaler",
}


def is_namespaced_workload(group_kind: GroupKind) -> bool:
    """Whether a kind has pod templates that the attacher reads: only those in a namespace."""
    return group_kind in WORKLOAD_KINDS and group_kind != _CLUSTER_ANALYSIS_TEMPLATE


def is_namespaced(group_kind: GroupKind) -> bool:
    """Whether a kind is one of those in a namespace that most releases have."""
    return group_kind[1] in _NAMESPACED_KINDS or is_namespaced_workload(group_kind)


def is_built_in(group: str) -> bool:
    """Whether an API group belongs to Kubernetes itself."""
    return group in _BUILT_IN_GROUPS


def api_group(api_version: str) -> str:
    """The group of an apiVersion: `apps` for `apps/v1`, "" for `v1`."""
    return intern(api_version.rpartition("/")[0])  # many objects have few groups


def group_kind_of(data: Json) -> GroupKind | None:
    """The group and kind of an object, None if `kind` or `apiVersion` is not a string."""
    if not isinstance(data, dict):
        return None
    kind, api_version = data.get("kind"), data.get("apiVersion")
    if isinstance(kind, str) and isinstance(api_version, str):
        return api_group(api_version), kind
    return None


def items_of(data: Json) -> list[Json] | None:
    """The items of any kind of List, such as a ConfigMapList; None for other data."""
    if not isinstance(data, dict):
        return None
    kind, items = data.get("kind"), data.get("items")
    is_list = isinstance(items, list) and isinstance(kind, str) and kind.endswith("List")
    return items if is_list else None


def roots_of(data: Json, path: Path = ()) -> Iterator[tuple[Path, Json]]:
    """The path and data of each object: `data` itself, which is at `path`, or the items of a List.

    An inner List yields its items. An item of a List such as a ConfigMapList can lack `kind` and
    `apiVersion`; it becomes a copy with both. In an invalid List, an item need not be a mapping.
    """
    items = items_of(data)
    if items is None:
        yield path, data
        return
    parent = data if isinstance(data, dict) else {}
    kind = str(parent.get("kind")).removesuffix("List")
    defaults = {"apiVersion": parent.get("apiVersion"), "kind": kind}
    for number, item in enumerate(items):
        if isinstance(item, dict) and kind and "kind" not in item:
            item = {**defaults, **item}
        yield from roots_of(item, (*path, "items", number))


# The path of the annotations in an object, and in a pod template.
ANNOTATIONS: Path = ("metadata", "annotations")
# Shared by all objects without labels or annotations, to save memory.
_NO_STRINGS: dict[str, str] = {}


def strings_at(data: dict[str, Json], key: str) -> dict[str, str]:
    """The string values of the `labels` or `annotations` (key) of an object.

    The caller must not change the result.
    """
    values = mapping_at(data, ("metadata", key))
    if not values:
        return _NO_STRINGS
    return {name: value for name, value in values.items() if isinstance(value, str)}


def content_size(data: Json) -> int:
    """The bytes of the values in a ConfigMap or Secret, as the API server counts them."""
    size, is_secret = 0, group_kind_of(data) == SECRET
    for key in DATA_FIELDS:
        for value in mapping_at(data, (key,)).values():
            if isinstance(value, str):
                is_encoded = key == "binaryData" or (key == "data" and is_secret)
                base64 = "".join(value.split()).rstrip("=")
                size += len(base64) * 3 // 4 if is_encoded else len(value.encode())
    return size


@cache
def _template_tree(group_kind: GroupKind) -> PatternTree:
    pattern = WORKLOAD_KINDS.get(group_kind)
    return PatternTree([(pattern, None)] if pattern else ())


def pod_templates(group_kind: GroupKind, data: Json) -> list[tuple[Path, Json]]:
    """The path and value of each pod template in an object; [] for a Pod, which is itself one."""
    return [(path, template) for path, template, _ in _template_tree(group_kind).find(data)]


def workload_ref(group_kind: GroupKind, data: Json) -> tuple[GroupKind, str] | None:
    """The kind and name in spec.workloadRef of a Rollout, else None."""
    if group_kind != ROLLOUT:
        return None
    reference = mapping_at(data, ("spec", "workloadRef"))
    kind, name = reference.get("kind"), reference.get("name")
    if not isinstance(kind, str) or not isinstance(name, str):
        return None
    return (api_group(str(reference.get("apiVersion") or "apps/v1")), kind), name
