"""What the API server rejects in the pod template of a workload."""

from __future__ import annotations

from collections.abc import Iterator

from postrender.kubernetes.kinds import GroupKind
from postrender.kubernetes.validation.checks import (
    API_SERVER,
    CONFIG_ERROR,
    IMAGE_NAME,
    LIVE,
    MOUNT_ERROR,
    NEW,
    PODS,
    QUALIFIED,
    ROLLOUTS,
    SERVER_SIDE,
    START_ERROR,
    USER,
    Problem,
    Rows,
    address,
    between,
    exclusive,
    expression,
    forbidden,
    is_subdomain,
    label,
    matching,
    needs,
    one_of,
    quantity,
    repeated,
    requires,
    subdomain,
    unique,
)
from postrender.kubernetes.validation.containers import (
    CONTAINER_ROWS,
    CONTAINERS,
    HOST_FIELDS,
    OF_FILES,
    PROBES,
    PROFILES,
    blank,
    divisor,
    field_of,
    image,
    memory,
    relative,
    resource_field,
    within,
)
from postrender.kubernetes.validation.forms import POD_FORMS, form_rows
from postrender.yaml.paths import Json, Path, mapping_at, mappings_in, value_at

_CLAIMS = {"persistentVolumeClaim", "ephemeral"}


def across_containers(
    path: Path, pod: dict[str, Json], claims: list[dict[str, Json]], *, is_new: bool
) -> Iterator[Problem]:
    """The names that several containers of a new pod share, and mounts without a volume."""
    listed = mappings_in(pod.get("volumes"))
    named = {str(value_at(claim, ("metadata", "name"))) for claim in claims}
    volumes = named | {str(volume.get("name")) for volume in listed}
    blocks = named | {str(one.get("name")) for one in listed if not _CLAIMS.isdisjoint(one)}
    both = [(field, pod.get(field)) for field in CONTAINERS]
    # kubectl and Helm 3 merge two containers of one name in a list of a live object.
    names = [[str(one.get("name")) for one in mappings_in(containers)] for _, containers in both]
    distinct = (name for one in names for name in (one if is_new else dict.fromkeys(one)))
    for texts in (repeated("container", distinct), _host_ports(pod, is_new=is_new)):
        yield from (((*path, "containers"), text) for text in texts)
    if not mappings_in(pod.get("containers")):
        yield (*path, "containers"), "the pod has no containers"
    for field, containers in both:
        for place, container in enumerate(mappings_in(containers)):
            for mount in mappings_in(container.get("volumeMounts")):
                if str(mount.get("name")) not in volumes:
                    where = (*path, field, place, "volumeMounts")
                    yield where, f"the volume {mount.get('name')} does not exist"
            mounted = [one.get("name") for one in mappings_in(container.get("volumeMounts"))]
            for device in mappings_in(container.get("volumeDevices")):
                if device.get("name") in mounted:
                    where = (*path, field, place, "volumeDevices")
                    yield where, f"the volume {device.get('name')} is also in volumeMounts"
                if str(device.get("name")) not in blocks:
                    where = (*path, field, place, "volumeDevices")
                    yield where, f"the volume {device.get('name')} is not a claim"
            for port in mappings_in(container.get("ports")):
                host = port.get("hostPort") or port.get("containerPort")
                if pod.get("hostNetwork") is True and host != port.get("containerPort"):
                    where = (*path, field, place, "ports")
                    yield where, "with hostNetwork, a hostPort must be the containerPort"


def _host_ports(pod: dict[str, Json], *, is_new: bool) -> Iterator[str]:
    """The ports of a node that two ports of containers use."""
    used = {
        # kubectl and Helm 3 merge two ports of one number in a container of a live object.
        (number, place if is_new else str(port.get("containerPort"))): "/".join(
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
    if kind in _ALWAYS and policy not in (None, "", "Always"):
        yield where, f"a {kind} needs the value Always"
    if group_kind[0] == "batch" and policy not in ("OnFailure", "Never"):
        yield where, f"a {kind} needs the value OnFailure or Never"
    if kind == "Pod" and policy not in (None, "", "Always", "OnFailure", "Never"):
        yield where, f"the value {policy} is not one of Always, OnFailure, Never"
    if kind in _ALWAYS and pod.get("activeDeadlineSeconds") is not None:
        yield (*path, "activeDeadlineSeconds"), f"a {kind} cannot have a deadline for its pods"


def _toleration(value: Json) -> Iterator[str]:
    if not value_at(value, ("key",)) and value_at(value, ("operator",)) != "Exists":
        yield "a toleration without a key needs the operator Exists"


def _init_container(value: Json) -> Iterator[str]:
    if isinstance(value, dict) and value.get("restartPolicy") != "Always":
        extra = [field for field in (*PROBES, "lifecycle") if value.get(field) is not None]
        yield from (f"an init container cannot have a {field}" for field in extra)


def _volume(value: Json) -> Iterator[str]:
    volume = mapping_at(value, ())
    sources = [key for key in volume if key != "name" and volume[key] is not None]
    if len(sources) > 1:
        yield f"the volume has {len(sources)} types ({' and '.join(sources[:2])})"


def _is_sysctl(text: str) -> bool:
    return is_subdomain(text.replace("/", ".").replace("_", "-"))


def _paths(value: Json) -> Iterator[str]:
    """The files that two sources of a projected volume write."""
    files = [
        item.get("path")
        for source in mappings_in(value_at(value, ("sources",)))
        for one in source.values()
        for item in (mappings_in(value_at(one, ("items",))) or [mapping_at(one, ())])
    ]
    yield from repeated("file", files, "path")


def _containers(pod: dict[str, Json]) -> list[dict[str, Json]]:
    return [one for field in CONTAINERS for one in mappings_in(pod.get(field))]


def _pod(value: Json) -> Iterator[str]:
    pod = mapping_at(value, ())
    if pod.get("hostPID") is True and pod.get("shareProcessNamespace") is True:
        yield "hostPID and shareProcessNamespace are both true"
    servers = value_at(pod, ("dnsConfig", "nameservers"))
    if isinstance(servers, list) and len(servers) > _MOST_SERVERS:
        yield f"dnsConfig has {len(servers)} nameservers, and can have {_MOST_SERVERS}"
    yield from _system_settings(pod)
    yield from _shared_resources(pod) if pod.get("resources") else ()
    system = value_at(pod, ("os", "name"))
    for path in _LINUX_FIELDS if system == "windows" else ():
        if value_at(pod, tuple(path.split("."))) is not None:
            yield f"{path} cannot be set with os.name: windows"
    for one in (pod, *_containers(pod)) if system == "linux" else ():
        if value_at(one, ("securityContext", "windowsOptions")) is not None:
            yield "windowsOptions cannot be set with os.name: linux"
    for field in HOST_FIELDS if pod.get("hostUsers") is False else ():
        if pod.get(field) is True:
            yield f"{field} cannot be set with hostUsers: false"
    claims = {str(claim.get("name")) for claim in mappings_in(pod.get("resourceClaims"))}
    grace = pod.get("terminationGracePeriodSeconds")
    for container in _containers(pod):
        for claim in mappings_in(value_at(container, ("resources", "claims"))):
            if str(claim.get("name")) not in claims:
                yield f"the claim {claim.get('name')} is not one of the resourceClaims"
        unmasked = value_at(container, ("securityContext", "procMount")) == "Unmasked"
        if unmasked and pod.get("hostUsers") is not False:
            yield "procMount: Unmasked needs hostUsers: false"
        sleep = value_at(container, ("lifecycle", "preStop", "sleep", "seconds"))
        limit = 30 if grace is None else grace
        if isinstance(sleep, int) and isinstance(limit, int) and sleep > limit:
            yield f"preStop sleeps {sleep} s, longer than terminationGracePeriodSeconds ({limit})"


_MOST_SERVERS = 3
_LINUX_FIELDS = (
    *("hostPID", "hostIPC", "shareProcessNamespace", "securityContext.fsGroup"),
    *("securityContext.runAsUser", "securityContext.runAsGroup", "securityContext.sysctls"),
    *("securityContext.seLinuxOptions", "securityContext.seccompProfile"),
)
# The settings of namespaces that the pod shares with its node.
_SHARED = {"hostNetwork": ("net.",), "hostIPC": ("kernel.shm", "kernel.msg", "kernel.sem", "fs.mq")}


def _system_settings(pod: dict[str, Json]) -> Iterator[str]:
    for setting in mappings_in(value_at(pod, ("securityContext", "sysctls"))):
        name = str(setting.get("name")).replace("/", ".")
        for field, prefixes in _SHARED.items():
            if pod.get(field) is True and name.startswith(prefixes):
                yield f"the sysctl {name} cannot be set with {field}"


def _pod_resources(value: Json) -> Iterator[str]:
    names = {name for field in ("limits", "requests") for name in mapping_at(value, (field,))}
    for name in sorted(names - {"cpu", "memory"}):
        if not name.startswith("hugepages-"):
            yield f"the resources of a pod cannot have {name}"


def _shared_resources(pod: dict[str, Json]) -> Iterator[str]:
    """The amounts of a pod that are below those of its containers."""
    for way, shared in mapping_at(pod, ("resources",)).items():
        for name, text in mapping_at(shared, ()).items():
            amounts = [
                quantity(value_at(one, ("resources", way, name))) or 0
                for one in mappings_in(pod.get("containers"))
            ]
            needed = sum(amounts) if way == "requests" else max(amounts, default=0)
            if (own := quantity(text)) is not None and own < needed:
                yield f"the {way} of {name} of the pod ({text}) are below those of its containers"


_SOURCES = ("configMap", "secret", "downwardAPI")
_FILES = (*_SOURCES, "projected", *(f"projected.sources[].{source}" for source in _SOURCES))
_USERS = ("runAsUser", "runAsGroup", "fsGroup", "supplementalGroups[]")
_REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
_PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution[]"
_TERMS = [
    f"affinity.{kind}.{term}"
    for kind in ("podAffinity", "podAntiAffinity")
    for term in (f"{_REQUIRED}[]", f"{_PREFERRED}.podAffinityTerm")
]
_ROWS: Rows = (
    ("initContainers[]", _init_container),
    *((f"volumes[].{source}.defaultMode", between(0, 0o777)) for source in _FILES),
    *((f"volumes[].{source}.items[].mode", between(0, 0o777)) for source in _FILES),
    *((f"volumes[].{source}.items[].path", relative) for source in _FILES),
    *(
        (f"affinity.nodeAffinity.{term}.matchExpressions[]", check)
        for term, check in (
            (f"{_REQUIRED}.nodeSelectorTerms[]", expression("Gt", "Lt")),
            (f"{_PREFERRED}.preference", expression("Gt", "Lt", has_labels=False)),
        )
    ),
    *((term, needs("topologyKey")) for term in _TERMS),
    *(
        (f"{term}{path}", check)
        for term in _TERMS
        for path, check in ((".topologyKey", QUALIFIED), (".namespaces[]", label))
    ),
    *(
        (term, requires("matchLabelKeys", "labelSelector"))
        for term in (*_TERMS, "topologySpreadConstraints[]")
    ),
    (f"affinity.nodeAffinity.{_REQUIRED}", needs("nodeSelectorTerms")),
    *(
        (f"affinity.{kind}.{_PREFERRED}.weight", between(1, 100))
        for kind in ("nodeAffinity", "podAffinity", "podAntiAffinity")
    ),
    ("topologySpreadConstraints[]", needs("topologyKey", "whenUnsatisfiable", "maxSkew")),
    ("topologySpreadConstraints[].maxSkew", between(1)),
    (
        "topologySpreadConstraints[]",
        requires("minDomains", "whenUnsatisfiable: DoNotSchedule"),
    ),
    ("topologySpreadConstraints[].minDomains", between(1)),
    *((f"{field}[]{path}", check) for field in CONTAINERS for path, check in CONTAINER_ROWS),
    ("volumes[]", _volume),
    ("volumes[]", needs("name")),
    ("tolerations[]", _toleration),
    ("tolerations[]", exclusive("operator: Exists", "value")),
    ("tolerations[]", requires("tolerationSeconds", "effect: NoExecute")),
    ("tolerations[].key", QUALIFIED),
    ("serviceAccountName", subdomain),
    *((f"securityContext.{field}", USER) for field in _USERS),
    ("volumes[].name", label),
    ("volumes[].configMap", needs("name")),
    ("volumes[].secret", needs("secretName")),
    ("volumes[].persistentVolumeClaim", needs("claimName")),
    ("volumes[].hostPath", needs("path")),
    ("hostname", label),
    *((f"securityContext{path}", check) for path, check in PROFILES),
    ("os.name", one_of("linux", "windows")),
    (
        "volumes[].projected.sources[].serviceAccountToken.expirationSeconds",
        between(600, 2**32),
    ),
    ("volumes[].projected", _paths),
    ("volumes[].projected.sources[].serviceAccountToken", needs("path")),
    ("volumes[].projected.sources[].serviceAccountToken.path", relative),
    ("hostAliases[].ip", address),
    ("hostAliases[].hostnames[]", subdomain),
    ("dnsConfig.options[]", needs("name")),
    ("dnsConfig.nameservers[]", address),
    ("", requires("dnsPolicy: None", "dnsConfig.nameservers")),
    ("", _pod),
    ("resources", _pod_resources),
    ("ephemeralContainers", forbidden),
    ("activeDeadlineSeconds", between(1)),
    ("subdomain", label),
    ("readinessGates[].conditionType", QUALIFIED),
    ("schedulingGates[].name", QUALIFIED),
    ("securityContext.sysctls", unique("sysctl")),
    (
        "securityContext.sysctls[].name",
        matching(_is_sysctl, "the name of a sysctl"),
    ),
    *form_rows(POD_FORMS),
    ("volumes[].hostPath.path", within),
    ("volumes[].nfs", needs("server", "path")),
    ("volumes[].csi", needs("driver")),
    *(
        (f"volumes[].{source}.items[]{path}", check)
        for source in ("downwardAPI", "projected.sources[].downwardAPI")
        for path, check in (
            ("", exclusive("fieldRef", "resourceFieldRef", is_needed=True)),
            ("", needs("path")),
            (".fieldRef.fieldPath", field_of(OF_FILES)),
            (".resourceFieldRef", needs("containerName")),
            (".resourceFieldRef.resource", resource_field),
            (".resourceFieldRef", divisor),
        )
    ),
)


def _volumes(value: Json) -> Iterator[str]:
    types: dict[str, frozenset[str]] = {}
    for volume in mappings_in(value):
        name, kinds = str(volume.get("name")), frozenset(volume) - {"name"}
        if types.setdefault(name, kinds) != kinds:
            yield f"2 volumes have the name {name} and different types"


def _starts(value: Json) -> Iterator[str]:
    """What kubelet does not start."""
    pod = mapping_at(value, ())
    containers = _containers(pod)
    names = {str(one.get("name")) for one in containers}
    for container in containers:
        context = mapping_at(pod, ("securityContext",)) | mapping_at(
            container, ("securityContext",)
        )
        if context.get("runAsNonRoot") is True and context.get("runAsUser") == 0:
            yield f"the container {container.get('name')} has runAsNonRoot and the runAsUser 0"
        for variable in mappings_in(container.get("env")):
            source = value_at(variable, ("valueFrom", "resourceFieldRef", "containerName"))
            if source and str(source) not in names:
                name = variable.get("name")
                yield f"the container {source} of the variable {name} does not exist"


def _is_medium(text: str) -> bool:
    return text in ("Memory", "HugePages") or text.startswith("HugePages-")


_MEDIUM = matching(_is_medium, "Memory or HugePages")
_MEMORY, _PORT_KEYS = "resources.limits.memory", ("containerPort", "protocol")


def _priority(value: Json) -> Iterator[str]:
    if isinstance(value, dict) and value.get("priority") and not value.get("priorityClassName"):
        yield "a priority needs a priorityClassName"


# The checks of a pod, and who rejects the value in a built-in workload, and in a Rollout.
POD_TABLES: tuple[tuple[Rows, str, str], ...] = (
    (_ROWS, API_SERVER, ROLLOUTS),
    (
        (
            ("volumes", unique("volume")),
            ("topologySpreadConstraints", unique("constraint", "topologyKey", "whenUnsatisfiable")),
            *((f"{field}[].volumeMounts", unique("mount", "mountPath")) for field in CONTAINERS),
            *((f"{field}[].volumeDevices", unique("device", "devicePath")) for field in CONTAINERS),
        ),
        NEW,
        ROLLOUTS,
    ),
    # What kubectl cannot merge into a live object.
    ([("volumes", _volumes)], LIVE, ""),
    # The other lists of type "map" in the OpenAPI schema, with their keys.
    (
        (
            ("hostAliases", unique("alias", "ip")),
            ("imagePullSecrets", unique("Secret")),
            *((field, unique("container")) for field in CONTAINERS),
            *((f"{field}[].env", unique("variable")) for field in CONTAINERS),
            *((f"{field}[].ports", unique("port", *_PORT_KEYS)) for field in CONTAINERS),
        ),
        SERVER_SIDE,
        "",
    ),
    # The definition of a Rollout checks little: the lists of named items, and types.
    (
        [
            (f"{field}{path}", check)
            for field in CONTAINERS
            for path, check in (
                ("", unique("container")),
                ("[]", needs("name")),
                ("[].env", unique("variable")),
            )
        ],
        "",
        API_SERVER,
    ),
    # The API server accepts these in a workload (validateContainersOnlyForPod).
    ([(f"{field}[].image", blank) for field in CONTAINERS], PODS, PODS),
    ([("", _priority)], PODS, PODS),
    ([(f"{field}[].image", image) for field in CONTAINERS], IMAGE_NAME, IMAGE_NAME),
    ([("", _starts)], CONFIG_ERROR, CONFIG_ERROR),
    ([(f"{field}[].{_MEMORY}", memory) for field in CONTAINERS], START_ERROR, START_ERROR),
    # The API server does not look at the medium.
    ([("volumes[].emptyDir.medium", _MEDIUM)], MOUNT_ERROR, MOUNT_ERROR),
)
