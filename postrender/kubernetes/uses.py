"""What an object needs from other objects, by the names in its fields, as a table.

References to ConfigMaps and Secrets that postrender rewrites are in postrender.references.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from postrender.kubernetes.kinds import RBAC_GROUP, GroupKind, Identity
from postrender.records import NamedTuple
from postrender.yaml.paths import (
    Json,
    PatternTree,
    mapping_at,
    mappings_in,
    readable_path,
    value_at,
)

_CONFIG_ERROR = "New pods cannot start (CreateContainerConfigError)"
_MOUNT_ERROR = "New pods cannot mount the volume, and do not start"
_EMPTY = "Kubelet mounts an empty folder in place of the file"
_NOT_CREATED = "New pods cannot be created"
_PENDING = "New pods stay Pending"
_NO_LOGIN = "New pods cannot pull images for which the registry wants a login"
_NO_BACKEND = "Requests to this path fail"
_NO_RIGHTS = "The binding no longer grants the rights"
_NO_WEBHOOK = "Calls of the webhook fail, and with failurePolicy Fail so do the requests"
_INVALID_SPEC = "Argo Rollouts reports InvalidSpec, and replaces no pods"
_NO_SCALER = "The autoscaler no longer scales anything"
_NO_PORT = "The probe of new pods fails"
# The kinds of targets, each with its group.
TARGETS = {
    **dict.fromkeys(("ConfigMap", "Secret", "Service", "Container"), ""),
    **dict.fromkeys(("ServiceAccount", "PersistentVolumeClaim"), ""),
    **dict.fromkeys(("Role", "ClusterRole"), RBAC_GROUP),
    **dict.fromkeys(("AnalysisTemplate", "ClusterAnalysisTemplate"), "argoproj.io"),
    **dict.fromkeys(("Deployment", "StatefulSet", "ReplicaSet"), "apps"),
    "Rollout": "argoproj.io",
    "PriorityClass": "scheduling.k8s.io",
    "RuntimeClass": "node.k8s.io",
    "StorageClass": "storage.k8s.io",
    "IngressClass": "networking.k8s.io",
}
_GLOBAL = ("PriorityClass", "RuntimeClass", "StorageClass", "IngressClass", "ClusterRole")
WITH_KEYS = ("ConfigMap", "Secret", "Service")
_CONTAINERS = ("initContainers", "containers")
# The pattern of a name, the kind of its target, and what follows if the target is missing.
_Row = tuple[str, str, str]
_POD_ROWS: tuple[_Row, ...] = (
    ("serviceAccountName", "ServiceAccount", _NOT_CREATED),
    ("serviceAccount", "ServiceAccount", _NOT_CREATED),
    ("priorityClassName", "PriorityClass", _NOT_CREATED),
    ("runtimeClassName", "RuntimeClass", _NOT_CREATED),
    ("imagePullSecrets[].name", "Secret", _NO_LOGIN),
    ("volumes[].persistentVolumeClaim.claimName", "PersistentVolumeClaim", _PENDING),
    ("volumes[].configMap.name", "ConfigMap", _MOUNT_ERROR),
    ("volumes[].secret.secretName", "Secret", _MOUNT_ERROR),
    ("volumes[].projected.sources[].configMap.name", "ConfigMap", _MOUNT_ERROR),
    ("volumes[].projected.sources[].secret.name", "Secret", _MOUNT_ERROR),
    *(
        (f"{containers}[].{pattern}.name", kind, _CONFIG_ERROR)
        for containers in _CONTAINERS
        for pattern, kind in (
            ("envFrom[].configMapRef", "ConfigMap"),
            ("envFrom[].secretRef", "Secret"),
            ("env[].valueFrom.configMapKeyRef", "ConfigMap"),
            ("env[].valueFrom.secretKeyRef", "Secret"),
        )
    ),
)
_BINDING: tuple[_Row, ...] = (
    ("roleRef.name", "", _NO_RIGHTS),
    ("subjects[].name", "", _NO_RIGHTS),
)
_WEBHOOK: tuple[_Row, ...] = (("webhooks[].clientConfig.service.name", "Service", _NO_WEBHOOK),)
_ROUTE: tuple[_Row, ...] = (("spec.rules[].backendRefs[].name", "Service", _NO_BACKEND),)
_NO_HOST, _NO_DNS = "The hosts lose their certificate", "Its pods lose their names in the DNS"
_KIND_ROWS: dict[str, tuple[_Row, ...]] = {
    "Ingress": (
        ("spec.defaultBackend.service.name", "Service", _NO_BACKEND),
        ("spec.rules[].http.paths[].backend.service.name", "Service", _NO_BACKEND),
        ("spec.tls[].secretName", "Secret", _NO_HOST),
        ("spec.ingressClassName", "IngressClass", "No controller serves the Ingress"),
    ),
    "StatefulSet": (
        ("spec.serviceName", "Service", _NO_DNS),
        ("spec.volumeClaimTemplates[].spec.storageClassName", "StorageClass", _PENDING),
    ),
    "PersistentVolumeClaim": (
        ("spec.storageClassName", "StorageClass", "A new claim stays Pending"),
    ),
    "ServiceAccount": (("imagePullSecrets[].name", "Secret", _NO_LOGIN),),
    "HorizontalPodAutoscaler": (("spec.scaleTargetRef.name", "", _NO_SCALER),),
    "ScaledObject": (("spec.scaleTargetRef.name", "Deployment", _NO_SCALER),),
    "HTTPRoute": _ROUTE,
    "GRPCRoute": _ROUTE,
    "RoleBinding": _BINDING,
    "ClusterRoleBinding": _BINDING,
    "ValidatingWebhookConfiguration": _WEBHOOK,
    "MutatingWebhookConfiguration": _WEBHOOK,
    "APIService": (("spec.service.name", "Service", "Requests for its kinds fail"),),
    "Rollout": (
        ("spec.workloadRef.name", "", _INVALID_SPEC),
        ("spec.strategy.canary.canaryService", "Service", _INVALID_SPEC),
        ("spec.strategy.canary.stableService", "Service", _INVALID_SPEC),
        ("spec.strategy.blueGreen.activeService", "Service", _INVALID_SPEC),
        ("spec.strategy.blueGreen.previewService", "Service", _INVALID_SPEC),
        *(
            (f"spec.strategy.{step}.templates[].templateName", "AnalysisTemplate", _INVALID_SPEC)
            for step in (
                "canary.steps[].analysis",
                "canary.analysis",
                "blueGreen.prePromotionAnalysis",
                "blueGreen.postPromotionAnalysis",
            )
        ),
    ),
}


def _tree(rows: Iterable[_Row]) -> PatternTree:
    tree = PatternTree()
    for pattern, *row in rows:
        tree.add(pattern.replace("[]", ".[]").split("."), row)
    return tree


_POD_TREE = _tree(_POD_ROWS)
_TREES = {kind: _tree(rows) for kind, rows in _KIND_ROWS.items()}


class Use(NamedTuple):
    """What an object needs: another object, or a key or port of it; place: of the reference."""

    group_kind: GroupKind
    name: str
    key: str
    namespace: str | None
    place: str
    consequence: str


def uses_of(identity: Identity, data: dict[str, Json], templates: list[Json]) -> Iterator[Use]:
    """The uses of an object with pod templates. A place in a template begins in its spec."""
    if tree := _TREES.get(identity.kind):
        yield from _named(identity, data, tree)
    for template in templates:
        spec = mapping_at(template, ("spec",))
        yield from _named(identity, spec, _POD_TREE)
        yield from _container_uses(identity, spec)


def _named(identity: Identity, data: dict[str, Json], tree: PatternTree) -> Iterator[Use]:
    """The uses in fields. What is next to a name can name keys, or the kind of the target."""
    for path, name, (kind, consequence) in tree.find(data):
        around = mapping_at(data, path[:-1])
        kind = "ClusterAnalysisTemplate" if around.get("clusterScope") is True else kind
        kind = str(around.get("kind") or kind)
        if not isinstance(name, str) or around.get("optional") is True or kind not in TARGETS:
            continue
        namespace = around.get("namespace") or identity.namespace
        space = namespace if isinstance(namespace, str) and kind not in _GLOBAL else None
        last = max(
            (depth for depth, part in enumerate(path, 1) if isinstance(part, int)), default=0
        )
        place = re.sub(r"\[\d+\]\Z", "", readable_path(data, path[:last] or path))
        for key in _keys_at(around):
            yield Use((TARGETS[kind], kind), name, key, space, place, consequence)


def _keys_at(around: dict[str, Json]) -> list[str]:
    """The keys or ports next to a name, [""] if there are none."""
    port = around.get("port")
    parts = [around.get("key"), *(item.get("key") for item in mappings_in(around.get("items")))]
    parts += mapping_at(around, ("port",)).values() if isinstance(port, dict) else [port]
    return [str(part) for part in parts if isinstance(part, (str, int))] or [""]


def _container_uses(identity: Identity, spec: dict[str, Json]) -> Iterator[Use]:
    """The files of mounts, and the named ports that the container of a probe does not have."""
    volumes = {str(volume.get("name")): volume for volume in mappings_in(spec.get("volumes"))}
    sources = {
        name: next(_named(identity, {"volumes": [one]}, _POD_TREE), None)
        for name, one in volumes.items()
    }
    for field in _CONTAINERS:
        for container in mappings_in(spec.get(field)):
            name = container.get("name")
            place = f"{field}[name={name}]"
            for mount in mappings_in(container.get("volumeMounts")):
                path, source = mount.get("subPath"), sources.get(str(mount.get("name")))
                if isinstance(path, str) and path and source and not source.key:
                    where = f"{place}.volumeMounts[name={mount.get('name')}]"
                    first = path.strip("/").partition("/")[0]
                    yield source._replace(key=first, place=where, consequence=_EMPTY)
            ports = [port.get("name") for port in mappings_in(container.get("ports"))]
            for probe in ("livenessProbe", "readinessProbe", "startupProbe"):
                for handler in ("httpGet", "tcpSocket"):
                    port = value_at(container, (probe, handler, "port"))
                    if isinstance(port, str) and not port.isdigit() and port not in ports:
                        where = f"{place}.{probe}"
                        yield Use(("", "Container"), str(name), port, None, where, _NO_PORT)
