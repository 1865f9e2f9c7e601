"""What an object is: its identity, and for workloads where their pod templates stand."""

from __future__ import annotations

from collections.abc import Iterator

from postrender.startup.records import NamedTuple
from postrender.yaml.paths import Json, Path, parse_pattern

GroupKind = tuple[str, str]

CONFIG_MAP: GroupKind = ("", "ConfigMap")
SECRET: GroupKind = ("", "Secret")
POD: GroupKind = ("", "Pod")


class ObjectKey(NamedTuple):
    """The key of an object: two objects with one key are one object in the cluster.

    namespace: None where the release's is meant and not known.
    """

    group_kind: GroupKind
    namespace: str | None
    name: str


class Identity(NamedTuple):
    """The identity of an object: group and kind, namespace as written (None: absent), name."""

    group: str
    kind: str
    namespace: str | None
    name: str

    @property
    def group_kind(self) -> GroupKind:
        """Group and kind, by which rules are found."""
        return self.group, self.kind

    def key_in(self, namespace: str | None) -> ObjectKey:
        """Return the key of the object, given the namespace that the object is in."""
        return ObjectKey(self.group_kind, namespace, self.name)

    def __str__(self) -> str:
        return f"{self.kind}/{self.name}" if self.name else self.kind


class WorkloadKind(NamedTuple):
    """Where the pod templates of a kind stand.

    template: a pattern that matches each pod template, () for a Pod, which is one itself;
    is_mutable: whether the API server lets an upgrade change them;
    is_namespaced: whether the attacher can look after what they name.
    """

    template: tuple[str, ...]
    is_mutable: bool = True
    is_namespaced: bool = True

    @property
    def has_several(self) -> bool:
        """Tell whether an object of the kind may have any number of pod templates."""
        return "[]" in self.template


_USUAL = parse_pattern("spec.template")
_METRIC_JOB = parse_pattern("spec.metrics[].provider.job.spec.template")

WORKLOAD_KINDS: dict[GroupKind, WorkloadKind] = {
    ("argoproj.io", "Rollout"): WorkloadKind(_USUAL),
    ("apps", "Deployment"): WorkloadKind(_USUAL),
    ("apps", "StatefulSet"): WorkloadKind(_USUAL),
    ("apps", "DaemonSet"): WorkloadKind(_USUAL),
    ("apps", "ReplicaSet"): WorkloadKind(_USUAL),
    ("", "ReplicationController"): WorkloadKind(_USUAL),
    ("batch", "CronJob"): WorkloadKind(parse_pattern("spec.jobTemplate.spec.template")),
    ("batch", "Job"): WorkloadKind(_USUAL, is_mutable=False),
    POD: WorkloadKind((), is_mutable=False),
    ("", "PodTemplate"): WorkloadKind(parse_pattern("template")),
    ("argoproj.io", "Experiment"): WorkloadKind(parse_pattern("spec.templates[].template")),
    ("argoproj.io", "AnalysisTemplate"): WorkloadKind(_METRIC_JOB),
    ("argoproj.io", "AnalysisRun"): WorkloadKind(_METRIC_JOB),
    ("argoproj.io", "ClusterAnalysisTemplate"): WorkloadKind(_METRIC_JOB, is_namespaced=False),
}

# API groups that come with Kubernetes: their fields are known, so that only free text in them can
# name a ConfigMap unseen. Groups that hold a dot and end in k8s.io are Kubernetes' as well.
_BUILT_IN_GROUPS = frozenset({"", "apps", "batch", "autoscaling", "policy", "extensions"})


def is_built_in(group: str) -> bool:
    """Tell whether an API group is one of Kubernetes' own or of Argo Rollouts' workloads."""
    return group in _BUILT_IN_GROUPS or group in (
        "rbac.authorization.k8s.io",
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
    )


def api_group(api_version: str) -> str:
    """Return the group of an apiVersion: `apps` of `apps/v1`, nothing of `v1`."""
    return api_version.rpartition("/")[0]


def group_kind_of(data: Json) -> GroupKind | None:
    """Return the group and kind of an object, or None for what is no Kubernetes object."""
    if not isinstance(data, dict):
        return None
    kind, api_version = data.get("kind"), data.get("apiVersion")
    if isinstance(kind, str) and isinstance(api_version, str):
        return api_group(api_version), kind
    return None


def items_of(data: Json) -> list[Json] | None:
    """Return the items of a List, a list of one kind or a KRM ResourceList; None for others."""
    if not isinstance(data, dict):
        return None
    kind, items = data.get("kind"), data.get("items")
    is_list = isinstance(items, list) and isinstance(kind, str) and kind.endswith("List")
    return items if is_list else None


def roots_of(data: Json, path: Path = ()) -> Iterator[tuple[Path, Json]]:
    """Yield with its path what should be an object: the root of a document, or what its Lists hold.

    The items of a ConfigMapList need not say what they are, and are yielded as if they did.
    """
    items = items_of(data)
    if items is None:
        yield path, data
        return
    listed = data if isinstance(data, dict) else {}
    kind = str(listed.get("kind")).removesuffix("List")
    own = {"apiVersion": listed.get("apiVersion"), "kind": kind}
    for number, item in enumerate(items):
        if isinstance(item, dict) and kind and "kind" not in item:
            item = {**own, **item}
        yield from roots_of(item, (*path, "items", number))


# Shared by all objects without labels or annotations, of which a large stream has many.
_NO_STRINGS: dict[str, str] = {}


def strings_at(data: dict[str, Json], key: str) -> dict[str, str]:
    """Return metadata.labels or metadata.annotations without the values that are no strings."""
    metadata = data.get("metadata")
    values = metadata.get(key) if isinstance(metadata, dict) else None
    if not values or not isinstance(values, dict):
        return _NO_STRINGS
    return {name: value for name, value in values.items() if isinstance(value, str)}
