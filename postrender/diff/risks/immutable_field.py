"""The change sets a field that cannot change, so the API server rejects the object.

What else happens depends on the tool: `kubectl apply` applies all other objects, so a workload can
roll towards a ConfigMap that is not there; Helm stops in the middle of the upgrade, and Argo CD
fails the sync. Delete and re-create the object, or give it another name. Hooks are left out,
because Helm and Argo CD delete them before they create them.

The rule knows selectors of workloads, all fixed fields of StatefulSets, Jobs, Pods and
PersistentVolumeClaims, `roleRef`, the addresses of a Service, StorageClasses, PriorityClasses,
RuntimeClasses, IngressClasses, CustomResourceDefinitions, the type of a Secret, and ConfigMaps and
Secrets with `immutable: true`.

Source: the functions `Validate…Update` in `pkg/apis/*/validation` of Kubernetes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from postrender.diff.model import REFUSED, Risk
from postrender.diff.risks.facts import Facts
from postrender.diff.risks.quantities import quantity
from postrender.diff.texts import content_of
from postrender.kubernetes.kinds import SECRET, GroupKind
from postrender.records import NamedTuple
from postrender.yaml.paths import Json, Path, value_at

_CONSEQUENCE = (
    "The API server rejects the object. With kubectl apply, all other objects change. Helm and "
    "Argo CD stop with an error"
)
_RBAC = "rbac.authorization.k8s.io"
_STORAGE = "storage.k8s.io"


class _Change(NamedTuple):
    """The value of a field on each side, and the objects."""

    before: Json
    after: Json
    old: dict[str, Json]
    new: dict[str, Json]


def _differs(change: _Change) -> bool:
    return change.before != change.after


def _both_set(change: _Change) -> bool:
    """The API server or a controller fills in an absent value, which can be the new value."""
    return _differs(change) and change.before is not None and change.after is not None


def _address(change: _Change) -> bool:
    """The API server keeps the address if the new one is absent (patchAllocatedValues)."""
    types = [value_at(data, ("spec", "type")) for data in (change.old, change.new)]
    return change.after not in (None, "", change.before) and "ExternalName" not in types


def _smaller(change: _Change) -> bool:
    before, after = quantity(change.before), quantity(change.after)
    return before is not None and after is not None and after < before


def _not_elastic(change: _Change) -> bool:
    """An indexed Job can change `completions` together with an equal `parallelism`."""
    is_indexed = value_at(change.new, ("spec", "completionMode")) == "Indexed"
    parallelism = value_at(change.new, ("spec", "parallelism"))
    return _differs(change) and not (is_indexed and parallelism == change.after)


class _Row(NamedTuple):
    """A field that cannot change; default: the value that an absent field has."""

    group_kind: GroupKind
    path: Path
    is_rejected: Callable[[_Change], bool] = _differs
    default: Json = None


def _rows(group: str, kind: str, parent: str, *fields: str | tuple[str, Json]) -> Iterator[_Row]:
    for field in fields:
        name, default = (field, None) if isinstance(field, str) else field
        yield _Row((group, kind), tuple(filter(None, (parent, name))), default=default)


_ROWS = (
    # apps/validation and registry/apps/*/strategy.go; a StatefulSet has a list of what can change.
    *_rows("apps", "Deployment", "spec", "selector"),
    *_rows("apps", "ReplicaSet", "spec", "selector"),
    *_rows("apps", "DaemonSet", "spec", "selector"),
    *_rows("apps", "StatefulSet", "spec", "selector", ("serviceName", "")),
    *_rows("apps", "StatefulSet", "spec", ("podManagementPolicy", "OrderedReady")),
    # batch/validation, ValidateJobSpecUpdate.
    *_rows("batch", "Job", "spec", ("completionMode", "NonIndexed"), "podFailurePolicy"),
    *_rows("batch", "Job", "spec", "backoffLimitPerIndex", "managedBy", "successPolicy"),
    _Row(("batch", "Job"), ("spec", "selector"), _both_set),
    _Row(("batch", "Job"), ("spec", "completions"), _not_elastic),
    # rbac/validation, ValidateRoleBindingUpdate.
    *_rows(_RBAC, "RoleBinding", "", "roleRef"),
    *_rows(_RBAC, "ClusterRoleBinding", "", "roleRef"),
    # core/validation: ValidateServiceUpdate, ValidatePersistentVolumeClaimUpdate.
    _Row(("", "Service"), ("spec", "clusterIP"), _address),
    _Row(("", "PersistentVolumeClaim"), ("spec", "storageClassName"), _both_set),
    _Row(("", "PersistentVolumeClaim"), ("spec", "volumeName"), _both_set),
    _Row(("", "PersistentVolumeClaim"), ("spec", "resources", "requests", "storage"), _smaller),
    *_rows("", "PersistentVolumeClaim", "spec", "accessModes", "selector", "dataSource"),
    *_rows("", "PersistentVolumeClaim", "spec", ("volumeMode", "Filesystem")),
    *_rows("", "Secret", "", ("type", "Opaque")),
    # storage/validation, ValidateStorageClassUpdate.
    *_rows(_STORAGE, "StorageClass", "", "provisioner", "parameters"),
    *_rows(_STORAGE, "StorageClass", "", ("reclaimPolicy", "Delete")),
    *_rows(_STORAGE, "StorageClass", "", ("volumeBindingMode", "Immediate")),
    # scheduling/validation, ValidatePriorityClassUpdate.
    *_rows("scheduling.k8s.io", "PriorityClass", "", ("value", 0)),
    *_rows("scheduling.k8s.io", "PriorityClass", "", ("preemptionPolicy", "PreemptLowerPriority")),
    # node/validation and networking/validation.
    *_rows("node.k8s.io", "RuntimeClass", "", "handler"),
    *_rows("networking.k8s.io", "IngressClass", "spec", "controller"),
    # apiextensions/validation, for an established definition.
    *_rows("apiextensions.k8s.io", "CustomResourceDefinition", "spec", "scope"),
    _Row(("apiextensions.k8s.io", "CustomResourceDefinition"), ("spec", "names", "kind")),
)
_CLAIM_TEMPLATES = ("spec", "volumeClaimTemplates")


def find(facts: Facts) -> Iterator[Risk]:
    for workload in facts.workloads:
        if workload.effect == REFUSED:
            yield Risk(workload.identity, "the pod template cannot change", _CONSEQUENCE)
    for pair in facts.pairs:
        # A changed name makes a new object.
        if not pair.both or pair.both[0].name != pair.both[1].name or pair.newest.is_hook:
            continue
        old, new = pair.both[0].data, pair.both[1].data
        if old == new:
            continue
        for path in _rejected(pair.identity.group_kind, old, new):
            what = (
                "the size cannot shrink" if path.endswith("storage") else "the field cannot change"
            )
            yield Risk(pair.identity, what, _CONSEQUENCE, path)
        # In an output, revisions are immutable. The records know that of a rendered input too.
        before, after = pair.both
        is_secret = pair.identity.group_kind == SECRET
        is_rewritten = content_of(old, is_secret=is_secret) != content_of(new, is_secret=is_secret)
        if before.is_immutable and before.is_content and (is_rewritten or not after.is_immutable):
            fact = "the object is immutable, and the change does not give it another name"
            yield Risk(pair.identity, fact, _CONSEQUENCE)


def _rejected(group_kind: GroupKind, old: dict[str, Json], new: dict[str, Json]) -> Iterator[str]:
    for row in _ROWS:
        if row.group_kind == group_kind and row.is_rejected(
            _Change(_value(old, row), _value(new, row), old, new)
        ):
            yield ".".join(map(str, row.path))
    if group_kind == ("apps", "StatefulSet") and _claims(old) != _claims(new):
        yield ".".join(_CLAIM_TEMPLATES)


def _value(data: dict[str, Json], row: _Row) -> Json:
    """A null and an empty mapping count as absent."""
    value = value_at(data, row.path)
    return row.default if value is None or value == {} else value


def _claims(data: dict[str, Json]) -> list[Json]:
    """The claim templates without what the API server fills in or ignores."""
    templates = value_at(data, _CLAIM_TEMPLATES)
    result: list[Json] = []
    for template in templates if isinstance(templates, list) else ():
        spec, metadata = value_at(template, ("spec",)), value_at(template, ("metadata",))
        spec = {"volumeMode": "Filesystem", **spec} if isinstance(spec, dict) else {}
        kept = metadata if isinstance(metadata, dict) else {}
        result.append(
            {
                "spec": {key: value for key, value in spec.items() if value is not None},
                "metadata": {
                    key: kept.get(key) or None for key in ("name", "labels", "annotations")
                },
            }
        )
    return result
