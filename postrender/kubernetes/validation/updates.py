"""The fields that cannot change in a live object, as a table, and what counts as a change.

The API server fills in defaults, so a pod template can differ in a manifest and be stored in the
same way. A field behind a pointer, such as `privileged: false`, differs from an absent one, and so
has no default here. Sources: the functions `Validate…Update` in `pkg/apis/*/validation` of
Kubernetes, `pkg/apis/core/v1/defaults.go`, and the `omitempty` of fields. Most rows were tried with
an API server of Kubernetes 1.36.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from postrender.kubernetes.kinds import CRD, RBAC_GROUP, GroupKind
from postrender.kubernetes.validation.checks import Problem, quantity
from postrender.kubernetes.validation.containers import CONTAINERS, PROBES
from postrender.records import NamedTuple
from postrender.text import conjoined
from postrender.yaml.paths import Json, Parts, is_same, mapping_at, mappings_in, parts_at, value_at

_CONTAINER: dict[str, Json] = {
    "terminationMessagePath": "/dev/termination-log",
    "terminationMessagePolicy": "File",
    "stdin": False,
    "stdinOnce": False,
    "tty": False,
}
_PROBE: dict[str, Json] = {
    "initialDelaySeconds": 0,
    "timeoutSeconds": 1,
    "periodSeconds": 10,
    "successThreshold": 1,
    "failureThreshold": 3,
}
_FILES: dict[str, Json] = {"defaultMode": 0o644}
# The value of an absent field, by the field around. The items of a list are in the list's field.
_DEFAULTS: dict[str, dict[str, Json]] = {
    "spec": {
        "restartPolicy": "Always",
        "terminationGracePeriodSeconds": 30,
        "dnsPolicy": "ClusterFirst",
        "schedulerName": "default-scheduler",
        "securityContext": {},
        "hostNetwork": False,
        "hostPID": False,
        "hostIPC": False,
    },
    **dict.fromkeys(CONTAINERS, _CONTAINER),
    **dict.fromkeys(PROBES, _PROBE),
    **dict.fromkeys(("configMap", "secret", "projected", "downwardAPI"), _FILES),
    "ports": {"protocol": "TCP"},
    "httpGet": {"path": "/", "scheme": "HTTP"},
    "env": {"value": ""},
    "fieldRef": {"apiVersion": "v1"},
    "volumeMounts": {"readOnly": False, "subPath": ""},
    "hostPath": {"type": ""},
    "persistentVolumeClaim": {"readOnly": False},
}


# The fields of a Service that the API server drops with its type (dropTypeDependentFields).
_TYPE_FIELDS = (
    *("nodePort", "externalTrafficPolicy", "healthCheckNodePort", "loadBalancerClass"),
    "allocateLoadBalancerNodePorts",
)


def goes_with_type(old: dict[str, Json], new: dict[str, Json], clause: str) -> bool:
    """Whether a clause about a Service is about a field that an update of its type drops."""
    types = [value_at(data, ("spec", "type")) for data in (old, new)]
    return (
        new.get("kind") == "Service"
        and types[0] != types[1]
        and any(field in clause for field in _TYPE_FIELDS)
    )


def are_stored_alike(old: Json, new: Json, field: str = "") -> bool:
    """Whether the API server stores two pod templates in the same way, or two parts of them.

    field: the name of the field that has the values.
    """
    if isinstance(old, list) and isinstance(new, list):
        new = _merged(old, new, field)
        pairs = zip(old, new, strict=False)
        return len(old) == len(new) and all(are_stored_alike(*pair, field) for pair in pairs)
    if not (isinstance(old, dict) and isinstance(new, dict)):
        return is_same(old, new)
    sides = [_stored(data, field) for data in (old, new)]
    return sides[0].keys() == sides[1].keys() and all(
        are_stored_alike(value, sides[1][key], key) for key, value in sides[0].items()
    )


# The keys of lists that kubectl and Helm 3 merge into those of a live object.
_MERGE_KEYS = {
    **dict.fromkeys((*CONTAINERS, "env", "volumes", "imagePullSecrets"), "name"),
    "volumeMounts": "mountPath",
    "ports": "containerPort",
    "hostAliases": "ip",
}


def _merged(old: list[Json], new: list[Json], field: str) -> list[Json]:
    """The items that a merge leaves: of several with the key of a live item, only the first.

    Tried with kubectl 1.36. A key that the live list lacks stays there twice.
    """
    key = _MERGE_KEYS.get(field)
    if key is None or len(new) <= len(old):
        return new
    live, kept, seen = [value_at(item, (key,)) for item in old], [], []
    for item in new:
        name = value_at(item, (key,))
        if name not in live or name not in seen:
            kept.append(item)
        seen.append(name)
    return kept


def _stored(data: dict[str, Json], field: str) -> dict[str, Json]:
    """A mapping without defaults, and with quantities as numbers."""
    if field in ("limits", "requests"):
        return {name: _as_number(value) for name, value in data.items()}
    defaults = _DEFAULTS.get(field, {})
    return {
        key: value
        for key, value in data.items()
        if not (
            (key in defaults and is_same(value, defaults[key]))
            or (key == "imagePullPolicy" and value == _pull_policy(data.get("image")))
        )
    }


def _as_number(value: Json) -> Json:
    number = quantity(value)
    return value if number is None else number


def _pull_policy(image: Json) -> str:
    """The default policy: `Always` for an image without a tag or digest, or with `latest`."""
    name = str(image).rpartition("/")[2]
    is_latest = "@" not in name and name.partition(":")[2] in ("", "latest")
    return "Always" if is_latest else "IfNotPresent"


_STORAGE = "storage.k8s.io"
_DEFINITION = ("apiextensions.k8s.io", CRD)


class _Change(NamedTuple):
    """The value of a field on each side, and the objects."""

    before: Json
    after: Json
    old: dict[str, Json]
    new: dict[str, Json]


def _differs(change: _Change) -> bool:
    return change.before != change.after


def _was_set(change: _Change) -> bool:
    return _differs(change) and change.before is not None


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


def _other_amounts(change: _Change) -> bool:
    return not are_stored_alike(change.before, change.after, "limits")


def _other_items(change: _Change) -> bool:
    before, after = ({*map(str, one if isinstance(one, list) else ())} for one in change[:2])
    return before != after


def _other_devices(change: _Change) -> bool:
    # Another version of the API has the fields of a request in other places.
    is_other = change.old.get("apiVersion") != change.new.get("apiVersion")
    return not is_other and _without_defaults(change.before) != _without_defaults(change.after)


def _without_defaults(value: Json) -> Json:
    """The requests of devices without what the API server fills in."""
    if isinstance(value, list):
        return [_without_defaults(one) for one in value]
    fields = value.items() if isinstance(value, dict) else ()
    rest = {key: _without_defaults(one) for key, one in fields if one not in _DEVICES.get(key, ())}
    return rest if isinstance(value, dict) else value


_DEVICES: dict[str, tuple[Json, ...]] = {
    "allocationMode": ("ExactCount", ""),
    "count": (0, 1),
    "operator": ("Equal", ""),
}


def _not_elastic(change: _Change) -> bool:
    """An indexed Job can change `completions` together with an equal `parallelism`."""
    is_indexed = value_at(change.new, ("spec", "completionMode")) == "Indexed"
    before, after = (
        # Without a parallelism too, the API server fills in 1.
        1 if number is None and parallelism is None else number
        for number, parallelism in (
            (change.before, value_at(change.old, ("spec", "parallelism"))),
            (change.after, value_at(change.new, ("spec", "parallelism"))),
        )
    )
    is_elastic = is_indexed and value_at(change.new, ("spec", "parallelism")) == after
    is_kept = change.before is None and change.after is None
    return before != after and not is_elastic and not is_kept


def _role(change: _Change) -> bool:
    roles = [value if isinstance(value, dict) else {} for value in change[:2]]
    before, after = ({"apiGroup": RBAC_GROUP, **role} for role in roles)
    return before != after


def _balancer(change: _Change) -> bool:
    types = [value_at(data, ("spec", "type")) for data in (change.old, change.new)]
    return _differs(change) and types == ["LoadBalancer", "LoadBalancer"]


def _storage_version(change: _Change) -> bool:
    return bool(_gone(change))


def _gone(change: _Change) -> list[Json]:
    """The names of the versions that are gone, and in which objects can be stored."""
    stored = [one for one in mappings_in(change.before) if one.get("storage") is True]
    names = [one.get("name") for one in mappings_in(change.after)]
    return [one.get("name") for one in stored if one.get("name") not in names]


def _to_on_delete(change: _Change) -> bool:
    """The API server keeps the rollingUpdate that it filled in, and OnDelete cannot have it."""
    strategy = mapping_at(change.new, ("spec", "updateStrategy"))
    return change.after == "OnDelete" != change.before and "rollingUpdate" not in strategy


class _Row(NamedTuple):
    """A field that cannot change; default: the value that an absent field has."""

    group_kind: GroupKind
    path: tuple[str, ...]
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
    _Row(("apps", "StatefulSet"), ("spec", "updateStrategy", "type"), _to_on_delete),
    # The CustomResourceDefinition of Argo Rollouts 1.10.
    *_rows("argoproj.io", "Rollout", "spec", "selector"),
    # batch/validation, ValidateJobSpecUpdate.
    *_rows("batch", "Job", "spec", ("completionMode", "NonIndexed"), "podFailurePolicy"),
    *_rows("batch", "Job", "spec", "backoffLimitPerIndex", "managedBy", "successPolicy"),
    _Row(("batch", "Job"), ("spec", "selector"), _both_set),
    _Row(("batch", "Job"), ("spec", "completions"), _not_elastic),
    # rbac/validation, ValidateRoleBindingUpdate.
    _Row((RBAC_GROUP, "RoleBinding"), ("roleRef",), _role),
    _Row((RBAC_GROUP, "ClusterRoleBinding"), ("roleRef",), _role),
    # core/validation: ValidateServiceUpdate, ValidatePersistentVolumeClaimUpdate.
    _Row(("", "Service"), ("spec", "clusterIP"), _address),
    _Row(("", "Service"), ("spec", "ipFamilies"), _both_set),
    _Row(("", "Service"), ("spec", "healthCheckNodePort"), _both_set),
    _Row(("", "Service"), ("spec", "loadBalancerClass"), _balancer),
    *_rows("", "PersistentVolume", "spec", "hostPath", "local", "nfs", "csi", "iscsi", "fc", "rbd"),
    *_rows("", "PersistentVolume", "spec", "cephfs", "awsElasticBlockStore", "gcePersistentDisk"),
    *_rows("", "PersistentVolume", "spec", "azureDisk", "azureFile"),
    *_rows("", "PersistentVolume", "spec", ("volumeMode", "Filesystem")),
    _Row(("", "PersistentVolume"), ("spec", "nodeAffinity"), _was_set),
    _Row(("", "ResourceQuota"), ("spec", "scopes"), _other_items),
    _Row(("", "PersistentVolumeClaim"), ("spec", "storageClassName"), _was_set),
    _Row(("", "PersistentVolumeClaim"), ("spec", "volumeName"), _both_set),
    _Row(("", "PersistentVolumeClaim"), ("spec", "resources", "requests", "storage"), _smaller),
    *_rows("", "PersistentVolumeClaim", "spec", "accessModes", "selector"),
    _Row(("", "PersistentVolumeClaim"), ("spec", "dataSource"), _both_set),
    _Row(("", "PersistentVolumeClaim"), ("spec", "dataSourceRef"), _both_set),
    _Row(("", "PersistentVolumeClaim"), ("spec", "resources", "limits"), _other_amounts),
    *_rows("", "PersistentVolumeClaim", "spec", ("volumeMode", "Filesystem")),
    *_rows("", "Secret", "", ("type", "Opaque")),
    # storage/validation, ValidateStorageClassUpdate.
    *_rows(_STORAGE, "StorageClass", "", "provisioner", "parameters"),
    *_rows(_STORAGE, "StorageClass", "", ("reclaimPolicy", "Delete")),
    *_rows(_STORAGE, "StorageClass", "", ("volumeBindingMode", "Immediate")),
    *_rows(_STORAGE, "VolumeAttributesClass", "", "driverName", "parameters"),
    *_rows(_STORAGE, "CSIDriver", "spec", ("attachRequired", True)),
    *_rows(_STORAGE, "CSIDriver", "spec", ("volumeLifecycleModes", ["Persistent"])),
    # scheduling/validation, ValidatePriorityClassUpdate.
    *_rows("scheduling.k8s.io", "PriorityClass", "", ("value", 0)),
    *_rows("scheduling.k8s.io", "PriorityClass", "", ("preemptionPolicy", "PreemptLowerPriority")),
    # node/validation, networking/validation and resource/validation.
    _Row(("resource.k8s.io", "ResourceClaim"), ("spec",), _other_devices),
    _Row(("resource.k8s.io", "ResourceClaimTemplate"), ("spec",), _other_devices),
    *_rows("node.k8s.io", "RuntimeClass", "", "handler"),
    *_rows("networking.k8s.io", "IngressClass", "spec", "controller"),
    *_rows("discovery.k8s.io", "EndpointSlice", "", "addressType"),
    # apiextensions/validation, for an established definition.
    *_rows(*_DEFINITION, "spec", "scope"),
    _Row(_DEFINITION, ("spec", "names", "kind")),
    _Row(_DEFINITION, ("spec", "versions"), _storage_version),
)
_ROWS_BY_KIND: dict[GroupKind, list[_Row]] = {}
for _row in _ROWS:
    _ROWS_BY_KIND.setdefault(_row.group_kind, []).append(_row)
_LONGEST_VALUE = 60
_CLAIM_TEMPLATES = ("spec", "volumeClaimTemplates")


def find_rejected_changes(
    group_kind: GroupKind, old: dict[str, Json], new: dict[str, Json], parts: Parts
) -> Iterator[Problem]:
    """The fields of an object that the API server does not let change, in the parts that differ."""
    for row in _ROWS_BY_KIND.get(group_kind, ()):
        if parts_at(parts, row.path[:1]) == {}:
            continue
        change = _Change(_value(old, row), _value(new, row), old, new)
        if row.is_rejected(change):
            texts = [str(value) for value in change[:2] if isinstance(value, (str, int)) and value]
            is_short = len(texts) == 2 and max(map(len, texts)) <= _LONGEST_VALUE
            values = f" from {texts[0]} to {texts[1]}" if is_short else ""
            fact = f"the field cannot change{values}"
            if row.is_rejected is _storage_version:
                names = [str(name) for name in _gone(change)]
                fact = f"the stored version {conjoined(names)} is missing"
            yield row.path, fact
    is_fixed = group_kind == ("apps", "StatefulSet") and parts_at(parts, _CLAIM_TEMPLATES) != {}
    if is_fixed and not are_stored_alike(_claims(old), _claims(new)):
        yield _CLAIM_TEMPLATES, "the field cannot change"


def _value(data: dict[str, Json], row: _Row) -> Json:
    """A null, an empty mapping and an empty list count as absent."""
    value = value_at(data, row.path)
    return row.default if value in (None, {}, []) else value


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
