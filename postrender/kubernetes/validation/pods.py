"""What the API server rejects in the pod template of a workload."""

from __future__ import annotations

from collections.abc import Iterator

from postrender.kubernetes.kinds import GroupKind
from postrender.kubernetes.validation.checks import (
    COUNT,
    PORT,
    Check,
    Problem,
    between,
    expression,
    label,
    needs,
    number,
    port_name,
    quantity,
    quantity_text,
    repeated,
    selected,
    subdomain,
    tree_of,
    unique,
)
from postrender.kubernetes.validation.values import pod_rows
from postrender.text import is_image, shown
from postrender.yaml.paths import Json, Path, mapping_at, mappings_in, value_at


def across_containers(
    path: Path, pod: dict[str, Json], claims: list[dict[str, Json]], *, is_new: bool
) -> Iterator[Problem]:
    """The names that several containers of a new pod share, and mounts without a volume."""
    volumes = {str(volume.get("name")) for volume in mappings_in(pod.get("volumes"))}
    volumes |= {str(value_at(claim, ("metadata", "name"))) for claim in claims}
    both = [(field, pod.get(field)) for field in ("initContainers", "containers")]
    # kubectl and Helm 3 merge two containers of one name in a list of a live object.
    names = [[one.get("name") for one in mappings_in(containers)] for _, containers in both]
    listed = (name for one in names for name in (one if is_new else dict.fromkeys(one)))
    for texts in (repeated("container", listed), _host_ports(pod, is_new=is_new)):
        yield from (((*path, "containers"), text) for text in texts)
    if not mappings_in(pod.get("containers")):
        yield (*path, "containers"), "the pod has no containers"
    for field, containers in both:
        for place, container in enumerate(mappings_in(containers)):
            for mount in mappings_in(container.get("volumeMounts")):
                if str(mount.get("name")) not in volumes:
                    where = (*path, field, place, "volumeMounts")
                    yield where, f"the volume {mount.get('name')} does not exist"
            for port in mappings_in(container.get("ports")):
                host = port.get("hostPort") or port.get("containerPort")
                if pod.get("hostNetwork") is True and host != port.get("containerPort"):
                    where = (*path, field, place, "ports")
                    yield where, "with hostNetwork, a hostPort must be the containerPort"


def _host_ports(pod: dict[str, Json], *, is_new: bool) -> Iterator[str]:
    """The ports of a node that two ports of containers use."""
    used = {
        # kubectl and Helm 3 merge two ports of one number in a container of a live object.
        (number, place if is_new else port.get("containerPort")): "/".join(
            str(one) for one in (port.get("hostIP"), host, port.get("protocol") or "TCP") if one
        )
        for number, container in enumerate(mappings_in(pod.get("containers")))
        for place, port in enumerate(mappings_in(container.get("ports")))
        if (host := port.get("hostPort"))
    }
    return repeated("port", used.values(), "hostPort")


_ALWAYS = (
    "Rollout",
    "Deployment",
    "DaemonSet",
    "StatefulSet",
    "ReplicaSet",
    "ReplicationController",
)


def restart_policy(group_kind: GroupKind, path: Path, pod: dict[str, Json]) -> Iterator[Problem]:
    """A restart policy or a deadline that the kind of the workload does not accept."""
    policy, where, kind = pod.get("restartPolicy"), (*path, "restartPolicy"), group_kind[1]
    if kind in _ALWAYS and policy not in (None, "Always"):
        yield where, f"a {kind} needs the value Always"
    if group_kind[0] == "batch" and policy not in ("OnFailure", "Never"):
        yield where, f"a {kind} needs the value OnFailure or Never"
    if kind in _ALWAYS and pod.get("activeDeadlineSeconds") is not None:
        yield (*path, "activeDeadlineSeconds"), f"a {kind} cannot have a deadline for its pods"


def _toleration(value: Json) -> Iterator[str]:
    key, operator = (value_at(value, (field,)) for field in ("key", "operator"))
    if not key and operator != "Exists":
        yield "a toleration without a key needs the operator Exists"
    if operator == "Exists" and value_at(value, ("value",)):
        yield "a toleration with the operator Exists has a value"
    seconds, effect = (value_at(value, (field,)) for field in ("tolerationSeconds", "effect"))
    if seconds is not None and effect != "NoExecute":
        yield "tolerationSeconds needs the effect NoExecute"


def _variable(value: Json) -> Iterator[str]:
    variable = value if isinstance(value, dict) else {}
    name, source = variable.get("name"), variable.get("valueFrom")
    if name in (None, "") or "=" in str(name):
        yield "the name of the variable is missing, or has a ="
    if source is not None and variable.get("value") not in (None, ""):
        yield f"the variable {name} has both a value and valueFrom"
    for field in ("configMapKeyRef", "secretKeyRef"):
        reference = value_at(source, (field,))
        if isinstance(reference, dict) and not reference.get("key"):
            yield f"the {field} of {name} has no key"


def _relative(value: Json) -> Iterator[str]:
    path = value if isinstance(value, str) else ""
    if path.startswith("/") or ".." in path.split("/"):
        yield f"the path {shown(path)} is absolute or contains .."


def _init_container(value: Json) -> Iterator[str]:
    if isinstance(value, dict) and value.get("restartPolicy") != "Always":
        extra = [field for field in (*_PROBES, "lifecycle") if value.get(field) is not None]
        yield from (f"an init container cannot have a {field}" for field in extra)


def _volume(value: Json) -> Iterator[str]:
    sources = [key for key in value if key != "name"] if isinstance(value, dict) else []
    if len(sources) > 1:
        yield f"the volume has {len(sources)} types ({' and '.join(sources[:2])})"


def _resources(value: Json) -> Iterator[str]:
    limits = mapping_at(value, ("limits",))
    for name, requested in mapping_at(value, ("requests",)).items():
        request, limit = quantity(requested), quantity(limits.get(name))
        if request is not None and limit is not None and request > limit:
            yield f"the request of {name} ({requested}) is above the limit ({limits[name]})"


_ONE = quantity(1) or 0
# The resources of a container without a domain, besides hugepages.
_NATIVE = ("cpu", "memory", "ephemeral-storage", "storage")


def _extended(value: Json) -> Iterator[str]:
    """The API server wants an equal limit for each request of hugepages and extended resources."""
    requests, limits = (mapping_at(value, (field,)) for field in ("requests", "limits"))
    for name, amount in {**requests, **limits}.items():
        is_huge = name.startswith("hugepages-")
        if "/" not in name and not is_huge and name not in _NATIVE:
            yield f"the resource {name} does not exist. A resource of a vendor has a domain"
        elif name not in _NATIVE and "kubernetes.io/" not in name:
            limit, request = quantity(limits.get(name)), quantity(requests.get(name, amount))
            if limit != request:
                yield f"the request of {name} needs an equal limit"
            elif not is_huge and limit is not None and limit % _ONE:
                yield f"the amount of {name} is not a whole number"


_FIELDS = (
    "metadata.name metadata.namespace metadata.uid metadata.labels metadata.annotations "
    "spec.nodeName spec.serviceAccountName status.hostIP status.hostIPs status.podIP status.podIPs"
)


def _field(value: Json) -> Iterator[str]:
    name = str(value).partition("[")[0]
    if isinstance(value, str) and value and name not in _FIELDS.split():
        yield f"the field {shown(value)} is not one of {', '.join(_FIELDS.split())}"


def _resource_field(value: Json) -> Iterator[str]:
    way, _, name = str(value).partition(".")
    is_known = name in _NATIVE[:3] or name.startswith("hugepages-")
    if isinstance(value, str) and value and not (way in ("limits", "requests") and is_known):
        yield f"the resource {shown(value)} is not one such as limits.cpu or requests.memory"


def _mount(value: Json) -> Iterator[str]:
    if value_at(value, ("subPath",)) and value_at(value, ("subPathExpr",)):
        yield "subPath and subPathExpr are both set"


def _propagation(value: Json) -> Iterator[str]:
    if value_at(value, ("securityContext", "privileged")) is not True:
        for mount in mappings_in(value_at(value, ("volumeMounts",))):
            if mount.get("mountPropagation") == "Bidirectional":
                yield f"the mount {mount.get('name')} is Bidirectional, which needs privileged"


def _profile(value: Json) -> Iterator[str]:
    has_path = bool(value_at(value, ("localhostProfile",)))
    if has_path != (value_at(value, ("type",)) == "Localhost"):
        yield "localhostProfile and the type Localhost need each other"


def _domains(value: Json) -> Iterator[str]:
    least = value_at(value, ("minDomains",))
    if least is not None and value_at(value, ("whenUnsatisfiable",)) == "ScheduleAnyway":
        yield "minDomains needs whenUnsatisfiable: DoNotSchedule"
    elif isinstance(least, int) and least < 1:
        yield "minDomains is not at least 1"


def _paths(value: Json) -> Iterator[str]:
    """The files that two sources of a projected volume write."""
    files = [
        item.get("path")
        for source in mappings_in(value_at(value, ("sources",)))
        for one in source.values()
        for item in (mappings_in(value_at(one, ("items",))) or [mapping_at(one, ())])
    ]
    yield from repeated("file", files, "path")


def _address(value: Json) -> Iterator[str]:
    from ipaddress import ip_address  # rarely needed

    try:
        ip_address(str(value))
    except ValueError:
        yield f"the value {shown(value)} is not an IP address"


def _pod(value: Json) -> Iterator[str]:
    pod = mapping_at(value, ())
    if pod.get("hostPID") is True and pod.get("shareProcessNamespace") is True:
        yield "hostPID and shareProcessNamespace are both true"
    if pod.get("dnsPolicy") == "None" and not value_at(pod, ("dnsConfig", "nameservers")):
        yield "the dnsPolicy None needs nameservers in dnsConfig"
    claims = [claim.get("name") for claim in mappings_in(pod.get("resourceClaims"))]
    grace = pod.get("terminationGracePeriodSeconds")
    for container in (*mappings_in(pod.get("initContainers")), *mappings_in(pod.get("containers"))):
        for claim in mappings_in(value_at(container, ("resources", "claims"))):
            if claim.get("name") not in claims:
                yield f"the claim {claim.get('name')} is not one of the resourceClaims"
        sleep = value_at(container, ("lifecycle", "preStop", "sleep", "seconds"))
        limit = 30 if grace is None else grace
        if isinstance(sleep, int) and isinstance(limit, int) and sleep > limit:
            yield f"preStop sleeps {sleep} s, longer than terminationGracePeriodSeconds ({limit})"


_SECONDS = ("initialDelaySeconds", "periodSeconds", "timeoutSeconds", "failureThreshold")
_HANDLERS = ("exec", "httpGet", "tcpSocket", "grpc")


def _hook(value: Json) -> Iterator[str]:
    if isinstance(value, dict) and not value:
        yield "the hook has no handler, such as exec"


_ADMIN = "CAP_SYS_ADMIN"  # not SYS_ADMIN, which the API server accepts


def _privileges(value: Json) -> Iterator[str]:
    fields = [value_at(value, (field,)) for field in ("privileged", "allowPrivilegeEscalation")]
    added = value_at(value, ("capabilities", "add"))
    names = added if isinstance(added, list) else []
    for is_there, what in ((fields[0] is True, "privileged"), (_ADMIN in names, _ADMIN)):
        if is_there and fields[1] is False:
            yield f"{what} needs allowPrivilegeEscalation"


def _once(value: Json) -> Iterator[str]:
    if value_at(value, ("successThreshold",)) not in (None, 1):
        yield "the successThreshold of a probe that can restart a container must be 1"


def _probe(value: Json) -> Iterator[str]:
    if isinstance(value, dict):
        count = sum(handler in value for handler in _HANDLERS)
        if count != 1:
            yield f"the probe has {count} handlers, and needs one of {', '.join(_HANDLERS)}"


_PROBES = ("livenessProbe", "readinessProbe", "startupProbe")
_CONTAINER_ROWS: tuple[tuple[str, Check], ...] = (
    ("", needs("name", "image")),
    (".name", label),
    (".ports", unique("port")),
    (".ports[].containerPort", PORT),
    (".ports[].hostPort", between(0, 65_535)),
    (".ports[].name", port_name),
    (".env[]", _variable),
    (".env[].valueFrom.fieldRef.fieldPath", _field),
    (".env[].valueFrom.resourceFieldRef.resource", _resource_field),
    (".volumeMounts[]", needs("mountPath")),
    (".volumeMounts[]", _mount),
    (".volumeMounts[].subPath", _relative),
    (".resources", _resources),
    (".resources", _extended),
    (".resources.limits.*", quantity_text),
    (".resources.requests.*", quantity_text),
    *((f".{probe}", _probe) for probe in _PROBES),
    *((f".{probe}", _once) for probe in ("livenessProbe", "startupProbe")),
    *(
        (f".{probe}.{handler}.port", check)
        for probe in _PROBES
        for handler in ("httpGet", "tcpSocket")
        for check in (PORT, port_name)
    ),
    *((f".{probe}.{field}", COUNT) for probe in _PROBES for field in _SECONDS),
    *((f".{probe}.grpc.port", check) for probe in _PROBES for check in (PORT, number)),
    (".lifecycle.postStart", _hook),
    (".lifecycle.preStop", _hook),
    (".securityContext.runAsUser", COUNT),
    (".securityContext", _privileges),
    (".securityContext.seccompProfile", _profile),
    (".securityContext.appArmorProfile", _profile),
    ("", _propagation),
)
_CONTAINERS = ("initContainers", "containers")
_FILES = ("configMap", "secret", "downwardAPI", "projected", "projected.sources[].configMap")
_REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
_PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution[]"
_TERMS = [
    f"affinity.{kind}.{term}"
    for kind in ("podAffinity", "podAntiAffinity")
    for term in (f"{_REQUIRED}[]", f"{_PREFERRED}.podAffinityTerm")
]
POD_ROWS = tree_of(
    (
        ("initContainers[]", _init_container),
        *((f"volumes[].{source}.defaultMode", between(0, 0o777)) for source in _FILES),
        *((f"volumes[].{source}.items[].mode", between(0, 0o777)) for source in _FILES),
        *((f"volumes[].{source}.items[].path", _relative) for source in _FILES),
        *(
            (f"affinity.nodeAffinity.{term}.matchExpressions[]", expression("Gt", "Lt"))
            for term in (f"{_REQUIRED}.nodeSelectorTerms[]", f"{_PREFERRED}.preference")
        ),
        *((term, needs("topologyKey")) for term in _TERMS),
        *(
            (f"{term}.labelSelector.matchExpressions[]", expression())
            for term in (*_TERMS, "topologySpreadConstraints[]")
        ),
        *(
            (f"affinity.{kind}.{_PREFERRED}.weight", between(1, 100))
            for kind in ("nodeAffinity", "podAffinity", "podAntiAffinity")
        ),
        ("topologySpreadConstraints[]", needs("topologyKey", "whenUnsatisfiable", "maxSkew")),
        ("topologySpreadConstraints[].maxSkew", between(1)),
        ("topologySpreadConstraints[]", _domains),
        *((f"{field}[]{path}", check) for field in _CONTAINERS for path, check in _CONTAINER_ROWS),
        ("volumes[]", _volume),
        ("volumes[]", needs("name")),
        ("nodeSelector.*", selected),
        ("tolerations[]", _toleration),
        ("serviceAccountName", subdomain),
        ("securityContext.runAsUser", COUNT),
        ("volumes[].name", label),
        ("volumes[].configMap", needs("name")),
        ("volumes[].secret", needs("secretName")),
        ("volumes[].persistentVolumeClaim", needs("claimName")),
        ("volumes[].hostPath", needs("path")),
        ("hostname", label),
        ("securityContext.seccompProfile", _profile),
        ("securityContext.appArmorProfile", _profile),
        ("volumes[].emptyDir.sizeLimit", quantity_text),
        (
            "volumes[].projected.sources[].serviceAccountToken.expirationSeconds",
            between(600, 2**32),
        ),
        ("volumes[].projected", _paths),
        ("volumes[].ephemeral.volumeClaimTemplate.spec", needs("accessModes", "resources")),
        ("hostAliases[].ip", _address),
        ("", _pod),
        *pod_rows(),
    )
)


def _volumes(value: Json) -> Iterator[str]:
    types: dict[str, frozenset[str]] = {}
    for volume in mappings_in(value):
        name, kinds = str(volume.get("name")), frozenset(volume) - {"name"}
        if types.setdefault(name, kinds) != kinds:
            yield f"2 volumes have the name {name} and different types"


# What kubectl cannot merge into a live object.
LIVE_POD_ROWS = tree_of([("volumes", _volumes)])
NEW_POD_ROWS = tree_of(
    (
        ("volumes", unique("volume")),
        ("topologySpreadConstraints", unique("constraint", "topologyKey", "whenUnsatisfiable")),
        *((f"{field}[].volumeMounts", unique("mount", "mountPath")) for field in _CONTAINERS),
        *((f"{field}[].volumeDevices", unique("device", "devicePath")) for field in _CONTAINERS),
    )
)
# The other lists of type "map" in the OpenAPI schema, with their keys.
REPEATED_ROWS = tree_of(
    (
        ("hostAliases", unique("alias", "ip")),
        ("imagePullSecrets", unique("Secret")),
        *((field, unique("container")) for field in _CONTAINERS),
        *((f"{field}[].env", unique("variable")) for field in _CONTAINERS),
        *(
            (f"{field}[].ports", unique("port", "containerPort", "protocol"))
            for field in _CONTAINERS
        ),
    )
)
# The definition of a Rollout checks little: the lists of named items, and types.
ROLLOUT_ROWS = tree_of(
    (f"{field}{path}", check)
    for field in _CONTAINERS
    for path, check in (
        ("", unique("container")),
        ("[]", needs("name")),
        ("[].env", unique("variable")),
    )
)


def _image(value: Json) -> Iterator[str]:
    # Flux and envsubst replace variables after postrender.
    if isinstance(value, str) and not is_image(value) and "$" not in value:
        is_blank = value != value.strip()
        what = "begins or ends with a blank" if is_blank else "is not the name of an image"
        yield f"the image {shown(value)} {what}"


# The API server accepts such an image in a workload (validateContainersOnlyForPod).
IMAGE_ROWS = tree_of((f"{field}[].image", _image) for field in _CONTAINERS)
