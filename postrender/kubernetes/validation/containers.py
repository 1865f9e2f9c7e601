"""What the API server rejects in a container of a pod template."""

from __future__ import annotations

from collections.abc import Iterator

from postrender.kubernetes.validation.checks import (
    COUNT,
    PORT,
    USER,
    Check,
    Rows,
    between,
    exclusive,
    forbidden,
    label,
    matching,
    needs,
    one_of,
    port_name,
    quantity,
    requires,
    unique,
)
from postrender.text import is_image, shown
from postrender.yaml.paths import Json, mapping_at, mappings_in, value_at

HOST_FIELDS = ("hostNetwork", "hostPID", "hostIPC")
CONTAINERS = ("initContainers", "containers")


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


def relative(value: Json) -> Iterator[str]:
    """Why a path that must be inside of a volume is not."""
    path = value if isinstance(value, str) else ""
    if path.startswith("/") or ".." in path.split("/"):
        yield f"the path {shown(path)} is absolute or contains .."


def within(value: Json) -> Iterator[str]:
    """Why a path leaves its folder."""
    if isinstance(value, str) and ".." in value.split("/"):
        yield f"the path {shown(value)} contains .."


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
    amounts = {**requests, **limits}
    if "hugepages-" in "".join(amounts) and amounts.keys().isdisjoint(("cpu", "memory")):
        yield "hugepages need an amount of cpu or memory"
    for name, amount in amounts.items():
        is_huge = name.startswith("hugepages-")
        if "/" not in name and not is_huge and name not in _NATIVE:
            yield f"the resource {name} does not exist. A resource of a vendor has a domain"
        elif name not in _NATIVE and "kubernetes.io/" not in name:
            limit, request = quantity(limits.get(name)), quantity(requests.get(name, amount))
            if limit != request:
                yield f"the request of {name} needs an equal limit"
            elif not is_huge and limit is not None and limit % _ONE:
                yield f"the amount of {name} is not a whole number"


# The fields of the downward API: of each kind, only in variables, and only in volumes.
_OF_BOTH = "metadata.name metadata.namespace metadata.uid"
_OF_VARIABLE = (
    f"{_OF_BOTH} spec.host spec.nodeName spec.serviceAccountName "
    "status.hostIP status.hostIPs status.podIP status.podIPs"
)
OF_FILES = f"{_OF_BOTH} metadata.labels metadata.annotations"


def field_of(names: str) -> Check:
    """A check of a field of the downward API, which can name a label: `metadata.labels[KEY]`."""

    def is_valid(text: str) -> bool:
        path, bracket, _ = text.partition("['")
        return path in (("metadata.labels", "metadata.annotations") if bracket else names.split())

    return matching(is_valid, f"one of {', '.join(names.split())}, metadata.labels['KEY']")


def _is_header(text: str) -> bool:
    return text.isascii() and text.replace("-", "a").isalnum()


def resource_field(value: Json) -> Iterator[str]:
    """Why a resource is not one that the downward API has."""
    way, _, name = str(value).partition(".")
    is_known = name in _NATIVE[:3] or name.startswith("hugepages-")
    if isinstance(value, str) and value and not (way in ("limits", "requests") and is_known):
        yield f"the resource {shown(value)} is not one such as limits.cpu or requests.memory"


_DIVISORS = ("1", *(f"1{unit}" for unit in (*"kMGTPE", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei")))


def divisor(value: Json) -> Iterator[str]:
    """Why the unit of a resource is not one that the downward API has."""
    resource, unit = (value_at(value, (field,)) for field in ("resource", "divisor"))
    known = ("1", "1m") if str(resource).endswith("cpu") else _DIVISORS
    if quantity(unit) not in (None, 0, *map(quantity, known)):
        yield f"the divisor {shown(unit)} is not a unit such as 1, 1m of a cpu, or 1Mi"


def _propagation(value: Json) -> Iterator[str]:
    if value_at(value, ("securityContext", "privileged")) is not True:
        for mount in mappings_in(value_at(value, ("volumeMounts",))):
            if mount.get("mountPropagation") == "Bidirectional":
                yield f"the mount {mount.get('name')} is Bidirectional, which needs privileged"


_PROFILE = ("localhostProfile", "type: Localhost")
_SECONDS = ("initialDelaySeconds", "periodSeconds", "timeoutSeconds", "failureThreshold")
_HANDLERS = ("exec", "httpGet", "tcpSocket", "grpc")


_ADMIN = "CAP_SYS_ADMIN"  # not SYS_ADMIN, which the API server accepts


def _privileges(value: Json) -> Iterator[str]:
    fields = [value_at(value, (field,)) for field in ("privileged", "allowPrivilegeEscalation")]
    added = value_at(value, ("capabilities", "add"))
    names = added if isinstance(added, list) else []
    for is_there, what in ((fields[0] is True, "privileged"), (_ADMIN in names, _ADMIN)):
        if is_there and fields[1] is False:
            yield f"{what} needs allowPrivilegeEscalation"


def _once(value: Json) -> Iterator[str]:
    if value_at(value, ("successThreshold",)) not in (None, 0, 1):
        yield "the successThreshold of a probe that can restart a container must be 1"


# The profiles of a security context, of a pod or a container.
PROFILES = tuple(
    (f".{field}", requires(*pair))
    for field in ("seccompProfile", "appArmorProfile")
    for pair in (_PROFILE, _PROFILE[::-1])
)
PROBES = ("livenessProbe", "readinessProbe", "startupProbe")
_SOURCES = ("fieldRef", "resourceFieldRef", "configMapKeyRef", "secretKeyRef", "fileKeyRef")
_ACTS, _EVENTS = ("exec", "httpGet", "tcpSocket", "sleep"), ("postStart", "preStop")
CONTAINER_ROWS: Rows = (
    ("", needs("name", "image")),
    (".name", label),
    (".ports", unique("port")),
    (".ports[].containerPort", PORT),
    (".ports[].hostPort", between(0, 65_535)),
    (".ports[].name", port_name),
    (".env[]", _variable),
    (".env[].valueFrom.fieldRef.fieldPath", field_of(_OF_VARIABLE)),
    (".env[].valueFrom.resourceFieldRef.resource", resource_field),
    (".env[].valueFrom.resourceFieldRef", divisor),
    (".env[].valueFrom", exclusive(*_SOURCES, is_needed=True)),
    (".envFrom[]", exclusive("configMapRef", "secretRef", is_needed=True)),
    (".volumeMounts[]", needs("mountPath")),
    (".volumeDevices[]", needs("name", "devicePath")),
    (".volumeDevices[].devicePath", within),
    (".resizePolicy", unique("resize policy", "resourceName")),
    (".volumeMounts[]", exclusive("subPath", "subPathExpr")),
    (".volumeMounts[]", requires("recursiveReadOnly: IfPossible or Enabled", "readOnly: true")),
    *((f".volumeMounts[].{field}", relative) for field in ("subPath", "subPathExpr")),
    (".volumeMounts[].recursiveReadOnly", one_of("Disabled", "IfPossible", "Enabled")),
    (".restartPolicy", one_of("Always", "OnFailure", "Never")),
    (".resizePolicy[].resourceName", one_of("cpu", "memory")),
    (".resizePolicy[].restartPolicy", one_of("NotRequired", "RestartContainer")),
    (".resources", _resources),
    (".resources", _extended),
    *((f".{probe}", exclusive(*_HANDLERS, is_needed=True)) for probe in PROBES),
    (".readinessProbe.terminationGracePeriodSeconds", forbidden),
    *(
        (f".{probe}{path}", check)
        for probe in ("livenessProbe", "startupProbe")
        for path, check in (("", _once), (".terminationGracePeriodSeconds", between(1)))
    ),
    *(
        (f".{place}.{handler}.port", check)
        for place in (*PROBES, *(f"lifecycle.{event}" for event in _EVENTS))
        for handler in ("httpGet", "tcpSocket")
        for check in (PORT, port_name)
    ),
    *((f".{probe}.{field}", COUNT) for probe in PROBES for field in _SECONDS),
    *((f".{probe}.grpc.port", PORT) for probe in PROBES),
    *((f".lifecycle.{event}", exclusive(*_ACTS, is_needed=True)) for event in _EVENTS),
    *(
        (f".{handler}.{path}", check)
        for handler in (*PROBES, *(f"lifecycle.{event}" for event in _EVENTS))
        for path, check in (
            ("exec", needs("command")),
            ("httpGet", needs("port")),
            ("tcpSocket", needs("port")),
            ("grpc", needs("port")),
            ("httpGet.httpHeaders[].name", matching(_is_header, "a header")),
        )
    ),
    (".securityContext.runAsUser", USER),
    (".securityContext.runAsGroup", USER),
    (".securityContext", _privileges),
    *((f".securityContext{path}", check) for path, check in PROFILES),
    ("", _propagation),
)


def blank(value: Json) -> Iterator[str]:
    """Why the API server rejects the pods of an image."""
    if isinstance(value, str) and value != value.strip():
        yield f"the image {shown(value)} begins or ends with a blank"


def image(value: Json) -> Iterator[str]:
    """Why a text is not the name of an image."""
    # Flux and envsubst replace variables after postrender.
    is_text = isinstance(value, str) and value == value.strip() and "$" not in value
    if is_text and not is_image(str(value)):
        yield f"the image {shown(value)} is not the name of an image"


_LEAST = quantity("1Mi") or 0


def memory(value: Json) -> Iterator[str]:
    """Why a limit is too small for any container."""
    size = quantity(value)
    if size is not None and 0 < size < _LEAST:
        yield f"the memory {value} is less than 1Mi. The suffix m is for thousandths"
