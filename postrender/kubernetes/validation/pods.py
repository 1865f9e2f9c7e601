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
    one_of,
    port_name,
    quantity,
    quantity_text,
    repeated,
    selected,
    subdomain,
    tree_of,
    unique,
)
from postrender.text import shown
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
        for number, container in enumerate(mappings_in(containers)):
            for mount in mappings_in(container.get("volumeMounts")):
                if str(mount.get("name")) not in volumes:
                    where = (*path, field, number, "volumeMounts")
                    yield where, f"the volume {mount.get('name')} does not exist"
            for port in mappings_in(container.get("ports")):
                host = port.get("hostPort") or port.get("containerPort")
                if pod.get("hostNetwork") is True and host != port.get("containerPort"):
                    where = (*path, field, number, "ports")
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


_SECONDS = ("initialDelaySeconds", "periodSeconds", "timeoutSeconds", "failureThreshold")
_HANDLERS = ("exec", "httpGet", "tcpSocket", "grpc")


def _hook(value: Json) -> Iterator[str]:
    if isinstance(value, dict) and not value:
        yield "the hook has no handler, such as exec"


def _privileges(value: Json) -> Iterator[str]:
    fields = [value_at(value, (field,)) for field in ("privileged", "allowPrivilegeEscalation")]
    if fields == [True, False]:
        yield "privileged needs allowPrivilegeEscalation"


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
    (".imagePullPolicy", one_of("Always", "IfNotPresent", "Never")),
    (".ports", unique("port")),
    (".ports[].containerPort", PORT),
    (".ports[].hostPort", between(0, 65_535)),
    (".ports[].name", port_name),
    (".ports[].protocol", one_of("TCP", "UDP", "SCTP")),
    (".env[]", _variable),
    (".volumeMounts[]", needs("mountPath")),
    (".volumeMounts[].subPath", _relative),
    (".resources", _resources),
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
    (".lifecycle.postStart", _hook),
    (".lifecycle.preStop", _hook),
    (".securityContext.runAsUser", COUNT),
    (".securityContext", _privileges),
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
        (
            "topologySpreadConstraints[].whenUnsatisfiable",
            one_of("DoNotSchedule", "ScheduleAnyway"),
        ),
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
        ("dnsPolicy", one_of("ClusterFirst", "ClusterFirstWithHostNet", "Default", "None")),
    )
)


def _volumes(value: Json) -> Iterator[str]:
    types: dict[str, frozenset[str]] = {}
    for volume in mappings_in(value):
        name, kinds = str(volume.get("name")), frozenset(volume) - {"name"}
        if types.setdefault(name, kinds) != kinds:
            yield f"2 volumes have the name {name} and different types"


_CONSTRAINTS = unique("constraint", "topologyKey", "whenUnsatisfiable")
# What kubectl cannot merge into a live object.
LIVE_POD_ROWS = tree_of([("volumes", _volumes)])
NEW_POD_ROWS = tree_of(
    (
        ("volumes", unique("volume")),
        ("topologySpreadConstraints", _CONSTRAINTS),
        *((f"{field}[].volumeMounts", unique("mount", "mountPath")) for field in _CONTAINERS),
        *((f"{field}[].volumeDevices", unique("device", "devicePath")) for field in _CONTAINERS),
    )
)
# The lists of type "map" in the OpenAPI schema, with their keys.
REPEATED_ROWS = tree_of(
    (f"spec.{path}", check)
    for path, check in (
        ("volumes", unique("volume")),
        ("topologySpreadConstraints", _CONSTRAINTS),
        ("hostAliases", unique("alias", "ip")),
        ("imagePullSecrets", unique("Secret")),
        *(
            (f"{field}{inner}", check)
            for field in _CONTAINERS
            for inner, check in (
                ("", unique("container")),
                ("[].env", unique("variable")),
                ("[].ports", unique("port", "containerPort", "protocol")),
                ("[].volumeMounts", unique("mount", "mountPath")),
                ("[].volumeDevices", unique("device", "devicePath")),
            )
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
