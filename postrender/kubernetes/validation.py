"""What the API server rejects in a new object, as tables: names, labels, types and values.

Source: `pkg/apis/*/validation` and `apimachinery/pkg/util/validation` of Kubernetes. Each row was
tried with an API server of Kubernetes 1.36. The tables leave out what only some versions reject.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from ipaddress import ip_network

from postrender.kubernetes.kinds import (
    CONTENT_KINDS,
    DATA_FIELDS,
    MAX_CONTENT_SIZE,
    RBAC_GROUP,
    GroupKind,
    content_size,
    group_kind_of,
    is_built_in,
    pod_templates,
)
from postrender.kubernetes.quantities import quantity
from postrender.text import shown
from postrender.yaml.paths import Json, Path, PatternTree, mapping_at, mappings_in, value_at

# The path and a clause about the value there.
Problem = tuple[Path, str]
_Check = Callable[[Json], Iterable[str]]

_ROLLOUT = ("argoproj.io", "Rollout")
_LABEL_TEXT = re.compile(r"[-a-z0-9]+\Z")
_LABEL_VALUE = re.compile(r"[-._a-zA-Z0-9]{0,63}\Z")
_CONTENT_KEY = re.compile(r"[-._a-zA-Z0-9]{1,253}\Z")
_PORT_NAME = re.compile(r"[-a-z0-9]{1,15}\Z")
_MAX_ANNOTATIONS = 262_144
_NOT_A_STRING = "is not a string, and needs quotes"


def find_invalid(root: dict[str, Json]) -> Iterator[Problem]:
    """The values of an object for which the API server rejects a new object.

    A custom resource has only rules about names, labels and, if it is a Rollout, types.
    """
    group_kind = group_kind_of(root)
    if group_kind is None:
        return
    yield from _name(group_kind, root)
    parts: list[tuple[Path, Json]] = [((), root), *pod_templates(group_kind, root)]
    for path, part in parts:
        yield from _labels((*path, "metadata"), mapping_at(part, ("metadata",)))
    if not (is_built_in(group_kind[0]) or group_kind == _ROLLOUT):
        return
    if group_kind[1] != "CustomResourceDefinition":
        yield from _types(root)
    if group_kind[0] == "" and group_kind[1] in CONTENT_KINDS:
        yield from _content(group_kind[1], root)
    for path, value, check in _TREES.get(group_kind, _NO_ROWS).find(root):
        yield from ((path, text) for text in check(value))
    pods = [((*path, "spec"), mapping_at(part, ("spec",))) for path, part in parts[1:]]
    if group_kind == ("", "Pod"):
        pods = [(("spec",), mapping_at(root, ("spec",)))]
    for path, pod in pods:
        rows = _ROLLOUT_ROWS if group_kind == _ROLLOUT else _POD_ROWS
        for inner, value, check in rows.find(pod):
            yield from (((*path, *inner), text) for text in check(value))
        if group_kind != _ROLLOUT:
            claims = mappings_in(value_at(root, ("spec", "volumeClaimTemplates")))
            yield from _across_containers(path, pod, claims)
            yield from _restart_policy(group_kind, path, pod)
    if group_kind[0] == "apps" and pods:
        yield from _selector(root)


# ------------------------------------------------------------------------------ names and metadata

# The longest name of a kind, and whether the name has no dots.
_NAMES = {
    ("", "Service"): (63, True),
    ("", "Namespace"): (63, True),
    ("apps", "StatefulSet"): (63, True),
    ("batch", "Job"): (63, False),
    ("batch", "CronJob"): (52, False),
}
# Kinds of these groups have other names.
_OTHER_NAMES = ("certificates.k8s.io", "openshift.io")


def _name(group_kind: GroupKind, root: dict[str, Json]) -> Iterator[Problem]:
    name, path = value_at(root, ("metadata", "name")), ("metadata", "name")
    if not isinstance(name, str) or not name or group_kind[0].endswith(_OTHER_NAMES):
        return
    if group_kind[0] == RBAC_GROUP:
        if name in (".", "..") or "/" in name or "%" in name:
            yield path, "the name cannot be a part of a URL"
        return
    limit, is_label = _NAMES.get(group_kind, (253, False))
    if len(name) > limit:
        yield path, f"the name has {len(name)} characters, and can have {limit}"
    elif not (_is_label if is_label else _is_subdomain)(name):
        yield path, "the name has a character that its kind does not allow"
    elif group_kind[1] == "PriorityClass" and name.startswith("system-"):
        yield path, "only Kubernetes can use the prefix system-"
    names = mapping_at(root, ("spec", "names"))
    expected = f"{names.get('plural')}.{value_at(root, ('spec', 'group'))}"
    if group_kind[1] == "CustomResourceDefinition" and names and name != expected:
        yield path, f"the name is not {expected}"


def _is_label(text: str) -> bool:
    return bool(_LABEL_TEXT.match(text)) and not text.startswith("-") and not text.endswith("-")


def _is_subdomain(text: str) -> bool:
    return all(map(_is_label, text.split(".")))


def _labels(path: Path, metadata: dict[str, Json]) -> Iterator[Problem]:
    for field in ("labels", "annotations"):
        for key, value in mapping_at(metadata, (field,)).items():
            where = (*path, field, key)
            prefix, slash, name = key.rpartition("/")
            prefix = prefix.lower() if field == "annotations" else prefix
            is_prefix = not slash or _is_subdomain(prefix)
            if not (is_prefix and name and _is_label_value(name)):
                yield where, f"the key of the {field.removesuffix('s')} is not valid"
            if value is not None and not isinstance(value, str):
                yield where, _needs_quotes(value)
            elif field == "labels" and not _is_label_value(value or ""):
                yield where, "the value of the label is longer than 63 or has a wrong character"
    texts = [str(text) for item in mapping_at(metadata, ("annotations",)).items() for text in item]
    if sum(map(len, texts)) > _MAX_ANNOTATIONS:
        yield (*path, "annotations"), f"the annotations have more than {_MAX_ANNOTATIONS:,} bytes"


def _is_label_value(text: str) -> bool:
    return bool(_LABEL_VALUE.match(text)) and (not text or (text[0] + text[-1]).isalnum())


def _needs_quotes(value: Json) -> str:
    return f"the value {shown(value)} {_NOT_A_STRING}"


# ------------------------------------------------------------------------------------------- types


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split(" "))


# The fields that have one type in every built-in kind and in a Rollout.
_STRINGS = _words(
    "name namespace image serviceAccountName mountPath subPath host schedule key operator "
    "effect claimName secretName storageClassName topologyKey protocol restartPolicy "
    "imagePullPolicy clusterIP path pathType priorityClassName nodeName volumeName "
    "workingDir timeZone"
)
_STRING_LISTS = _words(
    "args command values verbs apiGroups resourceNames nonResourceURLs finalizers "
    "accessModes hosts policyTypes"
)
_STRING_MAPS = _words("labels annotations matchLabels nodeSelector stringData data binaryData")
_NUMBERS = _words(
    "replicas containerPort hostPort nodePort revisionHistoryLimit "
    "terminationGracePeriodSeconds minReplicas maxReplicas completions parallelism "
    "backoffLimit periodSeconds timeoutSeconds failureThreshold successThreshold "
    "initialDelaySeconds minReadySeconds partition runAsUser progressDeadlineSeconds "
    "ttlSecondsAfterFinished activeDeadlineSeconds defaultMode runAsGroup fsGroup number"
)
_BOOLEANS = _words(
    "hostNetwork hostPID hostIPC suspend paused readOnly optional immutable privileged stdin "
    "tty allowPrivilegeEscalation readOnlyRootFilesystem runAsNonRoot "
    "automountServiceAccountToken allowVolumeExpansion"
)
# The lists whose items have a string in `value`.
_WITH_VALUES = ("env", "tolerations", "httpHeaders")


def _types(root: dict[str, Json]) -> Iterator[Problem]:
    pending: list[tuple[Path, Json]] = [((key,), root[key]) for key in root if key != "metadata"]
    pending += [(("metadata", "name"), value_at(root, ("metadata", "name")))]
    while pending:
        path, value = pending.pop()
        field = path[-1]
        yield from ((path, text) for text in _type(path, value))
        if isinstance(value, dict) and field not in _STRING_MAPS:
            pending += [((*path, key), inner) for key, inner in value.items()]
        elif isinstance(value, list) and field not in _STRING_LISTS:
            pending += [((*path, number), inner) for number, inner in enumerate(value)]


def _type(path: Path, value: Json) -> Iterator[str]:
    field = path[-1]
    if value is None or not isinstance(field, str):
        return
    scalars = [value] if not isinstance(value, (dict, list)) else []
    is_value = field == "value" and len(path) > 2 and path[-3] in _WITH_VALUES
    if field in _STRINGS or is_value:
        yield from (_needs_quotes(one) for one in scalars if not isinstance(one, str))
    elif field in _STRING_LISTS and isinstance(value, list):
        yield from (_needs_quotes(one) for one in value if not isinstance(one, (str, type(None))))
    elif field in _STRING_MAPS and isinstance(value, dict) and field not in ("labels",):
        yield from (
            f"the value {_NOT_A_STRING}" if field in DATA_FIELDS else _needs_quotes(one)
            for one in value.values()
            if not isinstance(one, (str, type(None)))
        )
    elif field in _NUMBERS:
        is_number = isinstance(value, int) or (isinstance(value, float) and value.is_integer())
        if not is_number or isinstance(value, bool):
            yield f"the value {shown(value)} is not a whole number"
    elif field in _BOOLEANS and scalars and not isinstance(value, bool):
        yield f"the value {shown(value)} is not true or false"


def _content(kind: str, root: dict[str, Json]) -> Iterator[Problem]:
    """The data of a ConfigMap or Secret. The texts about a Secret do not name a key."""
    counts = Counter(key for field in ("data", "binaryData") for key in mapping_at(root, (field,)))
    for field in DATA_FIELDS:
        for key, value in mapping_at(root, (field,)).items():
            what = "a key" if kind == "Secret" else f"the key {key}"
            if not _CONTENT_KEY.match(key) or key == "." or key.startswith(".."):
                yield (field,), f"{what} has a character that a key cannot have, or is too long"
            is_binary = field == "binaryData" or (field == "data" and kind == "Secret")
            if is_binary and isinstance(value, str) and not _is_base64(value):
                yield (field,), f"the value of {what} is not base64"
            if counts[key] > 1 and field == "data":
                yield (field,), f"{what} is in data and in binaryData"
    if content_size(root) > MAX_CONTENT_SIZE:
        yield (), f"the content has more than {MAX_CONTENT_SIZE:,} bytes"
    needed = _SECRET_KEYS.get(str(root.get("type")), ()) if kind == "Secret" else ()
    present = {key for field in DATA_FIELDS for key in mapping_at(root, (field,))}
    if missing := [key for key in needed if key not in present]:
        yield ("type",), f"a Secret of this type needs the key {missing[0]}"


def _is_base64(text: str) -> bool:
    return bool(_BASE64.match("".join(text.split()).rstrip("=")))


_BASE64 = re.compile(r"[A-Za-z0-9+/]*\Z")
_SECRET_KEYS = {
    "kubernetes.io/tls": ("tls.crt", "tls.key"),
    "kubernetes.io/dockerconfigjson": (".dockerconfigjson",),
    "kubernetes.io/dockercfg": (".dockercfg",),
    "kubernetes.io/ssh-auth": ("ssh-privatekey",),
}


# -------------------------------------------------------------------------------------------- pods


def _across_containers(
    path: Path, pod: dict[str, Json], claims: list[dict[str, Json]]
) -> Iterator[Problem]:
    volumes = {str(volume.get("name")) for volume in mappings_in(pod.get("volumes"))}
    volumes |= {str(value_at(claim, ("metadata", "name"))) for claim in claims}
    both = [(field, pod.get(field)) for field in ("initContainers", "containers")]
    names = [
        container.get("name") for _, containers in both for container in mappings_in(containers)
    ]
    yield from (((*path, "containers"), text) for text in _repeated("container", names))
    if not mappings_in(pod.get("containers")):
        yield (*path, "containers"), "the pod has no containers"
    for field, containers in both:
        for number, container in enumerate(mappings_in(containers)):
            for mount in mappings_in(container.get("volumeMounts")):
                if str(mount.get("name")) not in volumes:
                    where = (*path, field, number, "volumeMounts")
                    yield where, f"the volume {mount.get('name')} does not exist"


_ALWAYS = ("Deployment", "DaemonSet", "StatefulSet", "ReplicaSet", "ReplicationController")


def _restart_policy(group_kind: GroupKind, path: Path, pod: dict[str, Json]) -> Iterator[Problem]:
    policy = pod.get("restartPolicy")
    if group_kind[1] in _ALWAYS and policy not in (None, "Always"):
        yield (*path, "restartPolicy"), f"the value is not Always, as a {group_kind[1]} needs"
    if group_kind[0] == "batch" and policy not in ("OnFailure", "Never"):
        yield (
            (*path, "restartPolicy"),
            f"the value is not OnFailure or Never, as a {group_kind[1]} needs",
        )


def _selector(root: dict[str, Json]) -> Iterator[Problem]:
    selector, path = mapping_at(root, ("spec", "selector")), ("spec", "selector")
    wanted = mapping_at(selector, ("matchLabels",))
    labels = mapping_at(root, ("spec", "template", "metadata", "labels"))
    if not wanted and not mappings_in(selector.get("matchExpressions")):
        yield path, "the selector is missing or empty"
    elif any(labels.get(key) != value for key, value in wanted.items()):
        yield path, "the selector does not match the labels of the pod template"


def _repeated(noun: str, names: Iterable[Json]) -> Iterator[str]:
    for name, count in Counter(str(name) for name in names if name is not None).items():
        if count > 1:
            yield f"{count} {noun}s have the name {name}"


def _unique(noun: str, key: str = "name") -> _Check:
    return lambda items: _repeated(noun, (item.get(key) for item in mappings_in(items)))


def _needs(*fields: str) -> _Check:
    def check(value: Json) -> Iterator[str]:
        if isinstance(value, dict):
            missing = (field for field in fields if value.get(field) in (None, ""))
            yield from (f"the field {field} is missing" for field in missing)

    return check


def _one_of(*values: str) -> _Check:
    def check(value: Json) -> Iterator[str]:
        if isinstance(value, str) and value and value not in values:
            yield f"the value {shown(value)} is not one of {', '.join(values)}"

    return check


def _between(low: int, high: int | None = None) -> _Check:
    def check(value: Json) -> Iterator[str]:
        if isinstance(value, int) and (value < low or (high is not None and value > high)):
            limit = f"from {low:,} to {high:,}" if high is not None else f"at least {low:,}"
            yield f"the value {value:,} is not {limit}"

    return check


def _text(pattern: re.Pattern[str], what: str) -> _Check:
    def check(value: Json) -> Iterator[str]:
        if isinstance(value, str) and not pattern.match(value):
            yield f"the value {shown(value)} is not {what}"

    return check


def _string(value: Json) -> Iterator[str]:
    if value is not None and not isinstance(value, str):
        yield _needs_quotes(value)


def _label(value: Json) -> Iterator[str]:
    if isinstance(value, str) and not (_is_label(value) and len(value) <= 63):
        yield "the name has a character that a name cannot have, or is longer than 63"


def _subdomain(value: Json) -> Iterator[str]:
    if isinstance(value, str) and value and not _is_subdomain(value):
        yield f"the value {shown(value)} is not the name of an object"


def _selected(value: Json) -> Iterator[str]:
    if value is not None and not isinstance(value, str):
        yield _needs_quotes(value)
    elif isinstance(value, str) and not _is_label_value(value):
        yield f"the value {shown(value)} cannot be the value of a label"


def _toleration(value: Json) -> Iterator[str]:
    key, operator = (value_at(value, (field,)) for field in ("key", "operator"))
    if not key and operator != "Exists":
        yield "a toleration without a key needs the operator Exists"
    if operator == "Exists" and value_at(value, ("value",)):
        yield "a toleration with the operator Exists has a value"


def _port_name(value: Json) -> Iterator[str]:
    is_valid = isinstance(value, str) and _PORT_NAME.match(value) and not value.isdigit()
    if isinstance(value, str) and not is_valid:
        yield f"the value {shown(value)} is not the name of a port, which has at most 15 characters"


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


def _mount(value: Json) -> Iterator[str]:
    path = str(value_at(value, ("subPath",)) or "")
    if path.startswith("/") or ".." in path.split("/"):
        yield f"the subPath {shown(path)} is absolute or contains .."


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


_QUANTITY = re.compile(r"[+]?[\d.]+([numkMGTPE]|[KMGTPE]i|[eE][-+]?\d+)?\Z")


def _quantity(value: Json) -> Iterator[str]:
    if isinstance(value, (bool, str)) and not _QUANTITY.match(str(value)):
        yield f"the value {shown(value)} is not a quantity, such as 500m or 1Gi"


_HANDLERS = ("exec", "httpGet", "tcpSocket", "grpc")


def _once(value: Json) -> Iterator[str]:
    if value_at(value, ("successThreshold",)) not in (None, 1):
        yield "the successThreshold of a probe that can restart a container must be 1"


def _probe(value: Json) -> Iterator[str]:
    if isinstance(value, dict):
        count = sum(handler in value for handler in _HANDLERS)
        if count != 1:
            yield f"the probe has {count} handlers, and needs one of {', '.join(_HANDLERS)}"


def _tree(rows: Iterable[tuple[str, _Check]]) -> PatternTree:
    tree = PatternTree()
    for path, check in rows:
        tree.add(path.replace("[]", ".[]").strip(".").split("."), check)
    return tree


_NO_ROWS = PatternTree()
_PORT = _between(1, 65_535)
_COUNT = _between(0)
_PROBES = ("livenessProbe", "readinessProbe", "startupProbe")
_CONTAINER_ROWS: tuple[tuple[str, _Check], ...] = (
    ("", _needs("name", "image")),
    (".name", _label),
    (".imagePullPolicy", _one_of("Always", "IfNotPresent", "Never")),
    (".ports", _unique("port")),
    (".ports[].containerPort", _PORT),
    (".ports[].hostPort", _between(0, 65_535)),
    (".ports[].name", _port_name),
    (".ports[].protocol", _one_of("TCP", "UDP", "SCTP")),
    (".env[]", _variable),
    (".volumeMounts", _unique("mount", "mountPath")),
    (".volumeMounts[]", _needs("mountPath")),
    (".volumeMounts[]", _mount),
    (".resources", _resources),
    (".resources.limits.*", _quantity),
    (".resources.requests.*", _quantity),
    *((f".{probe}", _probe) for probe in _PROBES),
    *((f".{probe}", _once) for probe in ("livenessProbe", "startupProbe")),
    *(
        (f".{probe}.{handler}.port", check)
        for probe in _PROBES
        for handler in ("httpGet", "tcpSocket")
        for check in (_PORT, _port_name)
    ),
    (".securityContext.runAsUser", _COUNT),
)
_CONTAINERS = ("initContainers", "containers")
_POD_ROWS = _tree(
    (
        *((f"{field}[]{path}", check) for field in _CONTAINERS for path, check in _CONTAINER_ROWS),
        ("volumes", _unique("volume")),
        ("volumes[]", _volume),
        ("volumes[]", _needs("name")),
        ("nodeSelector.*", _selected),
        ("tolerations[]", _toleration),
        ("serviceAccountName", _subdomain),
        ("securityContext.runAsUser", _COUNT),
        ("volumes[].name", _label),
        ("dnsPolicy", _one_of("ClusterFirst", "ClusterFirstWithHostNet", "Default", "None")),
    )
)
# The definition of a Rollout checks little: the lists of named items, and types.
_ROLLOUT_ROWS = _tree(
    (f"{field}{path}", check)
    for field in _CONTAINERS
    for path, check in (
        ("", _unique("container")),
        ("[]", _needs("name")),
        ("[].env", _unique("variable")),
    )
)


# ------------------------------------------------------------------------------------------- kinds


def _both(first: str, second: str) -> _Check:
    def check(value: Json) -> Iterator[str]:
        if (
            isinstance(value, dict)
            and value.get(first) is not None
            and value.get(second) is not None
        ):
            yield f"{first} and {second} are both set"

    return check


def _share(most: int) -> _Check:
    """A number of pods, or a percentage that is not above `most`."""

    def check(value: Json) -> Iterator[str]:
        number = str(value).removesuffix("%")
        is_share = str(value).endswith("%") and number.isdecimal() and int(number[:9]) <= most
        if value is not None and not is_share and not (isinstance(value, int) and value >= 0):
            yield f"the value {shown(value)} is not a number or a percentage of pods"

    return check


def _deployment(value: Json) -> Iterator[str]:
    rolling = mapping_at(value, ("rollingUpdate",))
    if value_at(value, ("type",)) == "Recreate" and rolling:
        yield "the strategy Recreate cannot have rollingUpdate"
    if [rolling.get(field) for field in ("maxSurge", "maxUnavailable")] in ([0, 0], ["0%", "0%"]):
        yield "maxSurge and maxUnavailable are both 0"


def _deadline(value: Json) -> Iterator[str]:
    ready, limit = (value_at(value, (f,)) for f in ("minReadySeconds", "progressDeadlineSeconds"))
    limit = 600 if limit is None else limit
    if isinstance(ready, int) and isinstance(limit, int) and ready >= limit:
        yield f"minReadySeconds ({ready}) is not below progressDeadlineSeconds ({limit})"


def _daemon_set(value: Json) -> Iterator[str]:
    surge, unavailable = (value_at(value, (field,)) for field in ("maxSurge", "maxUnavailable"))
    is_set = [
        one not in (0, "0%") for one in (surge or 0, 1 if unavailable is None else unavailable)
    ]
    if is_set[0] == is_set[1]:
        both = "both more than 0" if is_set[0] else "both 0"
        yield f"maxSurge and maxUnavailable are {both} (without a value, maxUnavailable is 1)"


def _stateful_set(value: Json) -> Iterator[str]:
    if value_at(value, ("type",)) == "OnDelete" and value_at(value, ("rollingUpdate",)):
        yield "the strategy OnDelete cannot have rollingUpdate"


_FIELD = re.compile(r"[-*/,?\w]+\Z")


def _schedule(value: Json) -> Iterator[str]:
    if isinstance(value, str) and not value.startswith("@"):
        fields = value.split()
        if len(fields) != 5 or not all(map(_FIELD.match, fields)):
            yield f"the schedule {shown(value)} does not have five fields"
        elif any(int(number) > 59 for number in re.findall(r"\d{1,9}", value)):
            yield f"the schedule {shown(value)} has a number above 59"


def _autoscaler(value: Json) -> Iterator[str]:
    low, high = (value_at(value, (f"{end}Replicas",)) for end in ("min", "max"))
    low = 1 if low is None else low
    if isinstance(low, int) and isinstance(high, int) and low > high:
        yield f"minReplicas ({low}) is above maxReplicas ({high})"
    kinds = [metric.get("type") for metric in mappings_in(value_at(value, ("metrics",)))]
    if low == 0 and not {"Object", "External"}.intersection(map(str, kinds)):
        yield "minReplicas is 0, without a metric of the type Object or External"


def _service(value: Json) -> Iterator[str]:
    kind, ports = value_at(value, ("type",)), mappings_in(value_at(value, ("ports",)))
    if kind == "ExternalName":
        if not value_at(value, ("externalName",)):
            yield "the field externalName is missing"
        return
    is_headless = value_at(value, ("clusterIP",)) == "None"
    if is_headless and kind in ("NodePort", "LoadBalancer"):
        yield f"a {kind} cannot have the clusterIP None"
    if not ports and not is_headless:
        yield "the Service has no ports"
    if len(ports) > 1 and not all(port.get("name") for port in ports):
        yield "one of several ports has no name"
    numbers = Counter((port.get("protocol") or "TCP", str(port.get("port"))) for port in ports)
    yield from (f"the port {number} is there twice" for (_, number), n in numbers.items() if n > 1)
    if value_at(value, ("externalTrafficPolicy",)) and kind not in ("NodePort", "LoadBalancer"):
        yield "externalTrafficPolicy needs the type NodePort or LoadBalancer"


def _network(value: Json) -> Iterator[str]:
    try:
        if isinstance(value, str) and "/" in value:
            ip_network(value, strict=False)
            return
    except ValueError:
        pass
    if isinstance(value, str):
        yield f"the value {shown(value)} is not a network, such as 10.0.0.0/8"


def _ingress_path(value: Json) -> Iterator[str]:
    path, kind = (value_at(value, (field,)) for field in ("path", "pathType"))
    if kind in ("Exact", "Prefix") and not str(path or "").startswith("/"):
        yield "the path does not begin with /"
    backend = mapping_at(value, ("backend",))
    if not backend.get("service") and not backend.get("resource"):
        yield "the backend has no service"
    service = backend.get("service")
    port = mapping_at(service, ("port",))
    if isinstance(service, dict) and len([key for key in port if port[key] is not None]) != 1:
        yield "the backend needs a name or a number of a port"


def _ingress(value: Json) -> Iterator[str]:
    if not value_at(value, ("rules",)) and not value_at(value, ("defaultBackend",)):
        yield "the Ingress has neither rules nor a defaultBackend"


_PEERS = ("ipBlock", "podSelector", "namespaceSelector")


def _peer(value: Json) -> Iterator[str]:
    fields = [key for key in _PEERS if value_at(value, (key,)) is not None]
    if not fields or ("ipBlock" in fields and len(fields) > 1):
        yield "a peer needs either an ipBlock or selectors"


def _host(value: Json) -> Iterator[str]:
    if isinstance(value, str) and value:
        name = value.removeprefix("*.")
        if not _is_subdomain(name) or name.replace(".", "").isdigit():
            yield f"the value {shown(value)} is not the name of a host"


def _cluster_rule(value: Json) -> Iterator[str]:
    if value_at(value, ("nonResourceURLs",)):
        yield "a Role cannot have nonResourceURLs"


def _versions(value: Json) -> Iterator[str]:
    count = sum(version.get("storage") is True for version in mappings_in(value))
    if count != 1:
        yield f"{count} versions have storage: true, and exactly one must have it"


def _subject(value: Json) -> Iterator[str]:
    if value_at(value, ("kind",)) == "ServiceAccount":
        yield from _needs("namespace")(value)


def _rule(value: Json) -> Iterator[str]:
    if isinstance(value, dict) and not value.get("verbs"):
        yield "the rule has no verbs"
    elif isinstance(value, dict) and not value.get("apiGroups") and value.get("resources"):
        yield "the rule has no apiGroups"


_ACCESS_MODES = ("ReadWriteOnce", "ReadOnlyMany", "ReadWriteMany", "ReadWriteOncePod")
_ROWS: dict[GroupKind, tuple[tuple[str, _Check], ...]] = {
    ("apps", "Deployment"): (
        ("spec.replicas", _COUNT),
        ("spec.revisionHistoryLimit", _COUNT),
        ("spec.strategy", _deployment),
        ("spec.strategy.type", _one_of("RollingUpdate", "Recreate")),
        ("spec.strategy.rollingUpdate.maxUnavailable", _share(100)),
        ("spec.strategy.rollingUpdate.maxSurge", _share(10**9)),
        ("spec", _deadline),
    ),
    ("apps", "StatefulSet"): (
        ("spec.replicas", _COUNT),
        ("spec.updateStrategy", _stateful_set),
        ("spec.updateStrategy.type", _one_of("RollingUpdate", "OnDelete")),
        ("spec.updateStrategy.rollingUpdate.partition", _COUNT),
        ("spec.podManagementPolicy", _one_of("OrderedReady", "Parallel")),
    ),
    ("apps", "DaemonSet"): (
        ("spec.updateStrategy.rollingUpdate", _daemon_set),
        ("spec.updateStrategy.type", _one_of("RollingUpdate", "OnDelete")),
    ),
    ("apps", "ReplicaSet"): (("spec.replicas", _COUNT),),
    ("batch", "CronJob"): (
        ("spec.schedule", _schedule),
        ("spec.concurrencyPolicy", _one_of("Allow", "Forbid", "Replace")),
    ),
    ("", "Service"): (
        ("spec", _service),
        ("spec.selector.*", _selected),
        ("spec.type", _one_of("ClusterIP", "NodePort", "LoadBalancer", "ExternalName")),
        ("spec.sessionAffinity", _one_of("None", "ClientIP")),
        ("spec.ports", _unique("port")),
        ("spec.ports[].name", _label),
        ("spec.ports[].port", _PORT),
        ("spec.ports[].targetPort", _PORT),
        ("spec.ports[].targetPort", _port_name),
        ("spec.ports[].protocol", _one_of("TCP", "UDP", "SCTP")),
    ),
    ("", "PersistentVolumeClaim"): (
        ("spec", _needs("accessModes", "resources")),
        ("spec.resources", _needs("requests")),
        ("spec.resources.requests", _needs("storage")),
        (
            "spec.accessModes[]",
            _one_of("ReadWriteOnce", "ReadOnlyMany", "ReadWriteMany", "ReadWriteOncePod"),
        ),
        ("spec.resources.requests.storage", _quantity),
    ),
    ("scheduling.k8s.io", "PriorityClass"): (("value", _between(-(2**31), 1_000_000_000)),),
    ("autoscaling", "HorizontalPodAutoscaler"): (
        ("spec", _autoscaler),
        ("spec", _needs("maxReplicas")),
        ("spec.maxReplicas", _between(1)),
        ("spec.scaleTargetRef", _needs("kind", "name")),
    ),
    ("policy", "PodDisruptionBudget"): (
        ("spec", _both("minAvailable", "maxUnavailable")),
        ("spec.minAvailable", _share(100)),
        ("spec.maxUnavailable", _share(100)),
    ),
    ("networking.k8s.io", "NetworkPolicy"): (
        ("spec.policyTypes[]", _one_of("Ingress", "Egress")),
        ("spec.ingress[].from[].ipBlock.cidr", _network),
        ("spec.egress[].to[].ipBlock.cidr", _network),
        ("spec.ingress[].from[]", _peer),
        ("spec.egress[].to[]", _peer),
        ("spec.ingress[].ports[].port", _PORT),
        ("spec.egress[].ports[].port", _PORT),
    ),
    ("networking.k8s.io", "Ingress"): (
        ("spec", _ingress),
        ("spec.rules[].host", _host),
        ("spec.rules[].http.paths[]", _needs("pathType")),
        ("spec.rules[].http.paths[]", _ingress_path),
        (
            "spec.rules[].http.paths[].pathType",
            _one_of("Exact", "Prefix", "ImplementationSpecific"),
        ),
    ),
    (RBAC_GROUP, "ClusterRole"): (("rules[]", _rule),),
    (RBAC_GROUP, "Role"): (("rules[]", _rule), ("rules[]", _cluster_rule)),
    ("storage.k8s.io", "StorageClass"): (("parameters.*", _string),),
    ("apiextensions.k8s.io", "CustomResourceDefinition"): (
        ("spec.versions", _versions),
        ("spec.versions[]", _needs("schema")),
    ),
    (RBAC_GROUP, "ClusterRoleBinding"): (
        ("subjects[]", _subject),
        ("roleRef.kind", _one_of("ClusterRole")),
    ),
}
_TREES = {group_kind: _tree(rows) for group_kind, rows in _ROWS.items()}
