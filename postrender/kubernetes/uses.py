"""What an object needs from other objects, by the names in its fields, as a table.

References to ConfigMaps and Secrets that postrender rewrites are in postrender.references.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping

from postrender.kubernetes.kinds import RBAC_GROUP, GroupKind, Identity, is_built_in
from postrender.kubernetes.needs import NEEDED_KINDS
from postrender.kubernetes.parts import ANALYSES, ROUTES, parts_named_at, request_of
from postrender.records import NamedTuple
from postrender.yaml.paths import (
    Json,
    Parts,
    Path,
    PatternTree,
    item_path,
    mapping_at,
    mappings_in,
    nested_mappings,
    parts_at,
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
INVALID_SPEC = "Argo Rollouts reports InvalidSpec, and replaces no pods"
_NO_SCALER = "The autoscaler no longer scales anything"
_NO_PROJECT = "Argo CD does not sync the Application"
_NO_ANALYSIS = "The analysis cannot start"
_NO_PORT = "The probe of new pods fails"
_NO_HOOK = "The hook of new pods fails"
_NO_LISTENER = "The Gateway no longer serves the route"
_NO_METRIC = "The autoscaler cannot read the metric, and no longer scales anything"
_NOT_EXPANDED = "Kubernetes does not replace the variable, and the container gets its name"
# The kinds of targets, each with its group.
TARGETS = {
    **dict.fromkeys(("ConfigMap", "Secret", "Service", "Container"), ""),
    **dict.fromkeys(("ServiceAccount", "PersistentVolumeClaim"), ""),
    **dict.fromkeys(("Role", "ClusterRole"), RBAC_GROUP),
    **dict.fromkeys(("AnalysisTemplate", "ClusterAnalysisTemplate", "AppProject"), "argoproj.io"),
    **dict.fromkeys(("Deployment", "StatefulSet", "ReplicaSet"), "apps"),
    "Rollout": "argoproj.io",
    "PriorityClass": "scheduling.k8s.io",
    "RuntimeClass": "node.k8s.io",
    "StorageClass": "storage.k8s.io",
    **dict.fromkeys(("ResourceClaim", "ResourceClaimTemplate"), "resource.k8s.io"),
    "Ingress": "networking.k8s.io",
    "IngressClass": "networking.k8s.io",
    "Gateway": "gateway.networking.k8s.io",
    **dict.fromkeys(("DestinationRule", "VirtualService"), "networking.istio.io"),
    "WorkflowTemplate": "argoproj.io",
    "Kustomization": "kustomize.toolkit.fluxcd.io",
    "HelmRelease": "helm.toolkit.fluxcd.io",
    "ValidatingAdmissionPolicy": "admissionregistration.k8s.io",
}
_GLOBAL = (
    *("PriorityClass", "RuntimeClass", "StorageClass", "IngressClass", "ClusterRole"),
    "ValidatingAdmissionPolicy",
)
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
    ("volumes[].ephemeral.volumeClaimTemplate.spec.storageClassName", "StorageClass", _PENDING),
    ("resourceClaims[].resourceClaimName", "ResourceClaim", _PENDING),
    ("resourceClaims[].resourceClaimTemplateName", "ResourceClaimTemplate", _PENDING),
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
_ROUTE: tuple[_Row, ...] = (
    ("spec.rules[].backendRefs[].name", "Service", _NO_BACKEND),
    ("spec.parentRefs[].name", "Gateway", _NO_LISTENER),
)
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
    **dict.fromkeys(ROUTES, _ROUTE),
    "VirtualService": tuple(
        (f"spec.{way}[].route[].destination.host", "DestinationRule", "Requests of the route fail")
        for way in ("http", "tcp", "tls")
    ),
    "RoleBinding": _BINDING,
    "ClusterRoleBinding": _BINDING,
    "ValidatingWebhookConfiguration": _WEBHOOK,
    "MutatingWebhookConfiguration": _WEBHOOK,
    "ValidatingAdmissionPolicyBinding": (
        ("spec.policyName", "ValidatingAdmissionPolicy", "The binding no longer rejects anything"),
    ),
    **{
        kind: (("spec.dependsOn[].name", kind, "Flux does not apply the object"),)
        for kind in ("Kustomization", "HelmRelease")
    },
    "Application": (("spec.project", "AppProject", _NO_PROJECT),),
    "ApplicationSet": (("spec.template.spec.project", "AppProject", _NO_PROJECT),),
    **dict.fromkeys(
        ANALYSES, (("spec.templates[].templateName", "AnalysisTemplate", _NO_ANALYSIS),)
    ),
    "APIService": (("spec.service.name", "Service", "Requests for its kinds fail"),),
    "Rollout": (
        ("spec.workloadRef.name", "", INVALID_SPEC),
        ("spec.strategy.canary.canaryService", "Service", INVALID_SPEC),
        ("spec.strategy.canary.stableService", "Service", INVALID_SPEC),
        ("spec.strategy.blueGreen.activeService", "Service", INVALID_SPEC),
        ("spec.strategy.blueGreen.previewService", "Service", INVALID_SPEC),
        ("spec.strategy.canary.pingPong.pingService", "Service", INVALID_SPEC),
        ("spec.strategy.canary.pingPong.pongService", "Service", INVALID_SPEC),
        *(
            (f"spec.strategy.canary.trafficRouting.{router}", kind, INVALID_SPEC)
            for router, kind in (
                ("nginx.stableIngress", "Ingress"),
                ("nginx.stableIngresses[]", "Ingress"),
                ("alb.ingress", "Ingress"),
                ("alb.ingresses[]", "Ingress"),
                ("istio.virtualService.name", "VirtualService"),
                ("istio.virtualServices[].name", "VirtualService"),
            )
        ),
        (
            "spec.strategy.canary.steps[].experiment.analyses[].templateName",
            "AnalysisTemplate",
            "The step fails, and the rollout stops",
        ),
        *(
            (f"spec.strategy.{step}.templates[].templateName", "AnalysisTemplate", INVALID_SPEC)
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
    """The rows by the mapping around the name, or around the list of names."""
    tree = PatternTree()
    for pattern, *row in rows:
        *around, field = pattern.removesuffix("[]").replace("[]", ".[]").split(".")
        tree.add(around, (field, *row))
    return tree


_POD_TREE = _tree(_POD_ROWS)
_TREES = {kind: _tree(rows) for kind, rows in _KIND_ROWS.items()}


CONTAINER, VARIABLE = ("", "Container"), ("", "Variable")
# `$$(NAME)` is not replaced, and in a shell `$(date)` runs a program. Kubernetes defines the
# variables of Services.
_SERVICE_VARIABLE = r"[A-Z0-9_]+_(?:SERVICE_(?:HOST|PORT)|PORT_[0-9]+_(?:TCP|UDP|SCTP))"
_EXPANSION = rf"(?<!\$)\$\((?!{_SERVICE_VARIABLE})([A-Z_][A-Z0-9_]*)\)"  # rarely needed


class Use(NamedTuple):
    """What an object needs: another object, or a key or port of it.

    path: of the reference, or of the list item around it.
    depth: the number of parts of the path that lead to the spec of a pod template, or 0.
    fact: a clause that says more than that the target does not exist, or "".
    """

    group_kind: GroupKind
    name: str
    key: str
    namespace: str | None
    path: Path
    depth: int
    consequence: str
    fact: str = ""

    def place_in(self, data: dict[str, Json]) -> str:
        """The path as text, from the spec of the pod template on."""
        text = readable_path(mapping_at(data, self.path[: self.depth]), self.path[self.depth :])
        return re.sub(r"\[\d+\]\Z", "", text)


def uses_of(
    identity: Identity,
    data: dict[str, Json],
    templates: Iterable[tuple[Path, Json]],
    parts: Parts = None,
    *,
    with_objects: bool = True,
) -> Iterator[Use]:
    """The uses of an object.

    templates: its pod templates.
    parts: of the object, to find only uses that contain one, or are in one.
    with_objects: whether to find uses of whole objects, and not only of keys and ports.
    """
    if tree := _TREES.get(identity.kind):
        yield from _named(identity, data, (), tree, parts, with_objects=with_objects)
    if identity.kind == "HorizontalPodAutoscaler":
        yield from _metrics(identity, data)
    for start, _ in templates:
        path = (*start, "spec")
        inside = parts_at(parts, path)
        if inside != {}:
            yield from _named(identity, data, path, _POD_TREE, inside, with_objects=with_objects)
            yield from _container_uses(identity, data, path)


def _named(
    identity: Identity,
    data: dict[str, Json],
    start: Path,
    tree: PatternTree,
    parts: Parts = None,
    *,
    with_objects: bool = True,
) -> Iterator[Use]:
    """The uses in fields. What is next to a name can name keys, or the kind of the target."""
    for inner, around, (field, kind, consequence) in tree.find(value_at(data, start), parts):
        value = value_at(around, (field,))
        values = value if isinstance(value, list) else [value]
        names = [name for name in values if name and isinstance(name, str)]
        if not isinstance(around, dict):
            continue
        kind = "ClusterAnalysisTemplate" if around.get("clusterScope") is True else kind
        kind = str(around.get("kind") or kind)
        keys = parts_named_at(around, kind)
        if kind == "DestinationRule":  # which has another name than its host
            names = [_service_of(name, None)[0] for name in names] if keys else []
        is_wanted = keys or with_objects or kind in NEEDED_KINDS
        if around.get("optional") is True or kind not in TARGETS or not is_wanted:
            continue
        namespace = around.get("namespace") or identity.namespace
        space = namespace if isinstance(namespace, str) and kind not in _GLOBAL else None
        path = (*start, *(item_path(inner) or (*inner, field)))
        target = TARGETS[kind], kind
        for name in names:
            if kind == "VirtualService" and "." in name:  # of Istio: name.namespace
                name, _, space = name.removesuffix(".cluster.local").rpartition(".")
            for key in keys or [""]:
                yield Use(target, name, key, space, path, len(start), consequence)


# Custom kinds name other objects by convention: `issuerRef: {name: ca}`, `gateways: [public]`.
_SUFFIX = r"(?:Refs?|References?|Names?|s)\Z"
_OTHER_WORDS = {
    "parent": "gateway",
    "backend": "service",
    "host": "service",
    "authentication": "triggerauthentication",
    "templateref": "workflowtemplate",
}
FAILS = "The controller of the object cannot follow the reference"


def uses_by_convention(
    identity: Identity, data: dict[str, Json], kinds: Mapping[str, GroupKind]
) -> Iterator[Use]:
    """The uses of a custom kind in fields that have the name of a kind, outside of pod templates.

    A list such as `roles`, without `Ref` in its name, defines items more often than it names
    objects of Kubernetes. So there only custom kinds and Services count.
    kinds: the kinds to look for, by the name in lower case.
    """
    for path, around in () if is_built_in(identity.group) else nested_mappings(data):
        if path[:1] == ("metadata",) or "template" in path or path[-1:] == ("matchLabels",):
            continue
        for key, value in around.items():
            for kind, name, namespace, is_reference in _named_by(key, value):
                target = kinds.get(kind)
                if not target:
                    continue
                if kind == "service":
                    name, namespace = _service_of(name, namespace)
                elif is_built_in(target[0]) and not is_reference:
                    continue
                space = namespace if isinstance(namespace, str) else identity.namespace
                for part in (parts_named_at(value, target[1]) or [""]) if name else ():
                    yield Use(target, name, part, space, (*path, key), 0, FAILS)


def _metrics(identity: Identity, data: dict[str, Json]) -> Iterator[Use]:
    """The containers and the requests that the metrics of an autoscaler need."""
    target = mapping_at(data, ("spec", "scaleTargetRef"))
    kind, name = str(target.get("kind")), str(target.get("name"))
    for number, metric in enumerate(mappings_in(value_at(data, ("spec", "metrics")))):
        container = value_at(metric, ("containerResource", "container"))
        resource, fact = mapping_at(metric, ("resource",)), ""
        part = str(container) if container else ""
        if value_at(resource, ("target", "averageUtilization")) is not None:
            part = request_of(resource.get("name"))
            fact = f"a container of {kind}/{name} has no {part}"
        if part and kind in TARGETS:
            path = ("spec", "metrics", number)
            gk = TARGETS[kind], kind
            yield Use(gk, name, part, identity.namespace, path, 0, _NO_METRIC, fact)


def _named_by(key: str, value: Json) -> Iterator[tuple[str, str, Json, bool]]:
    """The kind in lower case, the name and the namespace in a field, and whether `key` says so."""
    word = re.sub(_SUFFIX, "", key).lower()
    word = _OTHER_WORDS.get(key.lower()) or _OTHER_WORDS.get(word, word)
    is_named = key.endswith(("Name", "Ref")) or key == "host"
    for one in value if isinstance(value, list) else [value]:
        if isinstance(one, dict):
            kind, name = one.get("kind"), one.get("name")
            if isinstance(name, str):
                is_reference = bool(kind) or "Ref" in key
                yield str(kind or word).lower(), name, one.get("namespace"), is_reference
        elif isinstance(one, str) and (is_named or isinstance(value, list)):
            yield word, one, None, is_named


def _service_of(host: str, namespace: Json) -> tuple[str, Json]:
    """The name and the namespace of the Service of a host; "" if it is outside of the cluster."""
    name, *others = host.split(".")
    return (name, (*others, namespace)[0]) if others[1:2] in ([], ["svc"]) else ("", None)


def _container_uses(identity: Identity, data: dict[str, Json], start: Path) -> Iterator[Use]:
    """The files of mounts, and the named ports that the container of a probe does not have."""
    spec = mapping_at(data, start)
    sources: dict[str, Use | None] | None = None
    for field in _CONTAINERS:
        for number, container in enumerate(mappings_in(spec.get(field))):
            path = (*start, field, number)
            for index, mount in enumerate(mappings_in(container.get("volumeMounts"))):
                file = mount.get("subPath")
                if not isinstance(file, str) or not file:
                    continue
                sources = _sources(identity, spec) if sources is None else sources
                source = sources.get(str(mount.get("name")))
                if source and not source.key:
                    yield source._replace(
                        key=file.strip("/").partition("/")[0],
                        path=(*path, "volumeMounts", index),
                        depth=len(start),
                        consequence=_EMPTY,
                    )
            name = str(container.get("name"))
            ports = [port.get("name") for port in mappings_in(container.get("ports"))]
            for where, handler, consequence in _handlers(container):
                port = value_at(handler, ("port",))
                if isinstance(port, str) and not port.isdigit() and port not in ports:
                    place = (*path, *where)
                    yield Use(CONTAINER, name, port, None, place, len(start), consequence)
            for where, variable in _undefined(container):
                place, fact = (*path, *where), f"$({variable}) names no variable of the container"
                consequence = _CONFIG_ERROR if "subPathExpr" in where else _NOT_EXPANDED
                place = item_path(place[:-1]) if "subPathExpr" in where else place
                yield Use(VARIABLE, name, variable, None, place, len(start), consequence, fact)


def _handlers(container: dict[str, Json]) -> Iterator[tuple[Path, Json, str]]:
    """What reads a port in a probe or a hook, with what follows if the port does not exist."""
    for probe in ("livenessProbe", "readinessProbe", "startupProbe"):
        for kind in ("httpGet", "tcpSocket") if container.get(probe) else ():
            yield (probe,), value_at(container, (probe, kind)), _NO_PORT
    for event in ("postStart", "preStop") if container.get("lifecycle") else ():
        yield ("lifecycle", event), value_at(container, ("lifecycle", event, "httpGet")), _NO_HOOK


def _undefined(container: dict[str, Json]) -> Iterator[tuple[Path, str]]:
    """The variables in texts that no earlier item of `env` defines, with the place of the text."""
    texts: list[tuple[Path, Json]] = []
    defined: set[str] = set()
    for number, variable in enumerate(mappings_in(container.get("env"))):
        value = variable.get("value")
        for name in _expanded(value):
            if name not in defined:
                yield ("env", number), name
        defined.add(str(variable.get("name")))
    for field in ("command", "args"):
        values = container.get(field)
        texts += [((field,), text) for text in values] if isinstance(values, list) else []
    for number, mount in enumerate(mappings_in(container.get("volumeMounts"))):
        texts.append((("volumeMounts", number, "subPathExpr"), mount.get("subPathExpr")))
    for path, text in texts:
        yield from ((path, name) for name in _expanded(text) if name not in defined)


def _expanded(text: Json) -> list[str]:
    return re.findall(_EXPANSION, text) if isinstance(text, str) and "$(" in text else []


def _sources(identity: Identity, spec: dict[str, Json]) -> dict[str, Use | None]:
    """The first use of a ConfigMap or Secret by each volume."""
    sources = {}
    for volume in mappings_in(spec.get("volumes")):
        found = _named(identity, {"volumes": [volume]}, (), _POD_TREE)
        sources[str(volume.get("name"))] = next(found, None)
    return sources
