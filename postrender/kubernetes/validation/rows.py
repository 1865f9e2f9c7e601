"""What the API server rejects in the objects of one kind, as a table."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise

from postrender.kubernetes.kinds import RBAC_GROUP, GroupKind
from postrender.kubernetes.validation.checks import (
    ONE,
    PORT,
    QUALIFIED,
    Check,
    Rows,
    address,
    base64,
    between,
    deadline,
    exclusive,
    expression,
    forbidden,
    is_label,
    is_subdomain,
    label,
    matching,
    needs,
    one_of,
    port_name,
    quantity,
    repeated,
    requires,
    selected,
    some_of,
    subdomain,
    unique,
)
from postrender.kubernetes.validation.containers import CONTAINERS
from postrender.kubernetes.validation.values import MODES, SECURITY_LABEL, rows_of
from postrender.text import shown
from postrender.yaml.paths import Json, mapping_at, mappings_in, value_at


def _share(most: int) -> Check:
    """A number of pods, or a percentage that is not above `most`."""

    def check(value: Json) -> Iterator[str]:
        number = str(value).removesuffix("%")
        is_share = str(value).endswith("%") and number.isdecimal() and int(number[:9]) <= most
        if value is not None and not is_share and not (isinstance(value, int) and value >= 0):
            yield f"the value {shown(value)} is not a number or a percentage of pods"

    return check


def _deployment(value: Json) -> Iterator[str]:
    rolling = mapping_at(value, ("rollingUpdate",))
    if [rolling.get(field) for field in ("maxSurge", "maxUnavailable")] in ([0, 0], ["0%", "0%"]):
        yield "maxSurge and maxUnavailable are both 0"


def _daemon_set(value: Json) -> Iterator[str]:
    surge, unavailable = (value_at(value, (field,)) for field in ("maxSurge", "maxUnavailable"))
    is_set = [
        one not in (0, "0%") for one in (surge or 0, 1 if unavailable is None else unavailable)
    ]
    if is_set[0] == is_set[1]:
        both = "both more than 0" if is_set[0] else "both 0"
        yield f"maxSurge and maxUnavailable are {both} (without a value, maxUnavailable is 1)"


# The numbers of each field in robfig/cron; a day of the week is at most 6.
_FIELDS = ((0, 59), (0, 23), (1, 31), (1, 12), (0, 6))
_NAMES = {
    12: ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"],
    6: ["sun", "mon", "tue", "wed", "thu", "fri", "sat"],
}
_RANGE = r"(?:[*?]|([a-z]+|\d{1,9})(?:-([a-z]+|\d{1,9}))?)(?:/0*[1-9]\d*)?\Z"
_DESCRIPTORS = ["@yearly", "@annually", "@monthly", "@weekly", "@daily", "@midnight", "@hourly"]


def _schedule(value: Json) -> Iterator[str]:
    if not isinstance(value, str):
        return
    fields = value.split()
    if value.startswith("@"):
        if value not in _DESCRIPTORS and not value.startswith("@every "):
            yield f"the value {shown(value)} is not one of {', '.join(_DESCRIPTORS)}"
    elif len(fields) != len(_FIELDS):
        yield f"the schedule {shown(value)} does not have five fields"
    else:
        for field, (low, high) in zip(fields, _FIELDS, strict=True):
            if not all(_is_range(part, low, high) for part in field.split(",") if part):
                yield f"the field {field} of the schedule has a number outside of {low} to {high}"


def _is_range(text: str, low: int, high: int) -> bool:
    match = re.match(_RANGE, text.lower())
    names = {name: low + number for number, name in enumerate(_NAMES.get(high, ()))}
    ends = [end for end in match.groups() if end] if match else [""]
    numbers = [int(end) if end.isdigit() else names.get(end, -1) for end in ends]
    return all(low <= number <= high for number in numbers) and numbers == sorted(numbers)


def _time_zone(value: Json) -> Iterator[str]:
    if isinstance(value, str):
        from zoneinfo import ZoneInfo  # rarely needed

        try:
            ZoneInfo("Etc/UTC")  # this machine can lack the data
        except (KeyError, ValueError, OSError):
            return
        try:
            ZoneInfo(value)
        except (KeyError, ValueError, OSError):
            yield f"the time zone {shown(value)} does not exist"


def _autoscaler(value: Json) -> Iterator[str]:
    low, high = (value_at(value, (f"{end}Replicas",)) for end in ("min", "max"))
    low = 1 if low is None else low
    if isinstance(low, int) and isinstance(high, int) and low > high:
        yield f"minReplicas ({low}) is above maxReplicas ({high})"
    kinds = [metric.get("type") for metric in mappings_in(value_at(value, ("metrics",)))]
    if low == 0 and not {"Object", "External"}.intersection(map(str, kinds)):
        yield "minReplicas is 0, without a metric of the type Object or External"


# The types of metrics, each with the values of which a target has exactly one.
_METRICS = {
    "Resource": ("resource", "averageUtilization", "averageValue"),
    "ContainerResource": ("containerResource", "averageUtilization", "averageValue"),
    "Pods": ("pods", "averageValue"),
    "Object": ("object", "value", "averageValue"),
    "External": ("external", "value", "averageValue"),
}


def _metric(value: Json) -> Iterator[str]:
    kind = str(value_at(value, ("type",)))
    source, *values = _METRICS.get(kind, ("",))
    target = mapping_at(value, (source, "target"))
    if source and not mapping_at(value, (source,)):
        yield f"a metric of the type {kind} needs the field {source}"
    elif source and sum(target.get(field) is not None for field in values) != 1:
        yield f"the target of the metric needs {' or '.join(values)}"


def _service(value: Json) -> Iterator[str]:
    kind, ports = value_at(value, ("type",)), mappings_in(value_at(value, ("ports",)))
    if kind == "ExternalName":
        return
    is_headless = value_at(value, ("clusterIP",)) == "None"
    if not ports and not is_headless:
        yield "the field ports is missing"
    if len(ports) > 1 and not all(port.get("name") for port in ports):
        yield "one of several ports has no name"
    if kind in (None, "ClusterIP") and any(port.get("nodePort") for port in ports):
        yield "a nodePort needs the type NodePort or LoadBalancer"


def _host_name(value: Json) -> Iterator[str]:
    if isinstance(value, str) and value and not is_subdomain(value.removesuffix(".")):
        yield f"the value {shown(value)} is not the name of a host"


def _node_port(value: Json) -> Iterator[str]:
    # The range is an option of the API server.
    if isinstance(value, int) and value and not 30_000 <= value <= 32_767:
        yield f"the node port {value} is not from 30000 to 32767, the range of most clusters"


def _network(value: Json) -> Iterator[str]:
    from ipaddress import ip_network  # rarely needed

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
    text = str(path or "")
    if kind in ("Exact", "Prefix") and not text.startswith("/"):
        yield "the path does not begin with /"
    elif kind in ("Exact", "Prefix") and (bad := _BAD_PATH.search(text)):
        yield f"the path contains {bad[0]}"


_BAD_PATH = re.compile(r"//|/\.\.?(?:/|\Z)|%2[fF]")


def _backend(value: Json) -> Iterator[str]:
    yield from exclusive("service", "resource", is_needed=True)(value)
    service = value_at(value, ("service",))
    port = mapping_at(service, ("port",))
    if isinstance(service, dict) and len([key for key in port if port[key] is not None]) != 1:
        yield "the backend needs a name or a number of a port"


def _class(value: Json) -> Iterator[str]:
    annotation = value_at(value, ("metadata", "annotations", "kubernetes.io/ingress.class"))
    if annotation not in (None, value_at(value, _CLASS) or annotation):
        yield "ingressClassName and the annotation kubernetes.io/ingress.class differ"


_CLASS = ("spec", "ingressClassName")


def _exceptions(value: Json) -> Iterator[str]:
    from ipaddress import ip_network

    block = value if isinstance(value, dict) else {}
    excepted = block.get("except")
    for text in excepted if isinstance(excepted, list) else ():
        try:
            outer, inner = (ip_network(str(one), strict=False) for one in (block["cidr"], text))
            is_inside = (outer.version, outer.network_address) == (
                inner.version,
                inner.supernet(new_prefix=outer.prefixlen).network_address,
            )
        except (KeyError, ValueError):
            is_inside = False
        if not is_inside or outer == inner:
            yield f"the exception {shown(text)} is not a part of the network"


def _ports(value: Json) -> Iterator[str]:
    port, last = (value_at(value, (field,)) for field in ("port", "endPort"))
    if last is not None and not (isinstance(port, int) and isinstance(last, int) and port <= last):
        yield f"the endPort {last} needs a port that is a number, and not above the endPort"


_PEERS = ("ipBlock", "podSelector", "namespaceSelector")


def _peer(value: Json) -> Iterator[str]:
    fields = [key for key in _PEERS if value_at(value, (key,)) is not None]
    if not fields or ("ipBlock" in fields and len(fields) > 1):
        yield "a peer needs either an ipBlock or selectors"


def _host(value: Json) -> Iterator[str]:
    if isinstance(value, str) and value:
        name = value.removeprefix("*.")
        if not is_subdomain(name) or name.replace(".", "").isdigit():
            yield f"the value {shown(value)} is not the name of a host"


def _versions(value: Json) -> Iterator[str]:
    count = sum(version.get("storage") is True for version in mappings_in(value))
    if count != 1:
        yield f"{count} versions have storage: true, and exactly one must have it"


def _size(value: Json) -> Iterator[str]:
    if quantity(value) == 0:
        yield "the size is 0"


def _rule(value: Json) -> Iterator[str]:
    if isinstance(value, dict) and not value.get("verbs"):
        yield "the rule has no verbs"
    elif isinstance(value, dict) and not value.get("apiGroups") and value.get("resources"):
        yield "the rule has no apiGroups"
    yield from exclusive("resources", "nonResourceURLs")(value)


_WEBHOOKS = (
    ("admissionregistration.k8s.io", "ValidatingWebhookConfiguration"),
    ("admissionregistration.k8s.io", "MutatingWebhookConfiguration"),
)


def _reviews(value: Json) -> Iterator[str]:
    if isinstance(value, list) and value and not {"v1", "v1beta1"}.intersection(map(str, value)):
        yield "the versions contain neither v1 nor v1beta1"


def _alone(item: str) -> Check:
    def check(value: Json) -> Iterator[str]:
        items = value if isinstance(value, list) else []
        # The API server counts `*`, and accepts ReadWriteOncePod twice.
        if item in items and len(items if item == "*" else dict.fromkeys(map(str, items))) > 1:
            yield f"the list has {item} and other items"

    return check


_CLIENT: tuple[tuple[str, Check], ...] = (
    ("", exclusive("url", "service", is_needed=True)),
    (
        ".url",
        matching(
            lambda text: re.match(r"https://[^/?#@]+(?:/[^?#]*)?\Z", text) is not None,
            "https://HOST",
        ),
    ),
    (".service", needs("name", "namespace")),
    (".service.port", PORT),
    (".service.path", matching(lambda text: text.startswith("/"), "a path that begins with /")),
    (".caBundle", base64),
)
_RULES: tuple[tuple[str, Check], ...] = (
    ("", needs("operations", "apiGroups", "apiVersions", "resources")),
    *((f".{field}", _alone("*")) for field in ("operations", "apiGroups", "apiVersions")),
)
_COUNTED = (
    *("pods", "resourcequotas", "services", "replicationcontrollers", "secrets", "configmaps"),
    *("persistentvolumeclaims", "services.nodeports", "services.loadbalancers"),
)
_AMOUNTS = ["cpu", "memory", "ephemeral-storage"]
_QUOTAS = {
    *(*_COUNTED, "requests.storage", *_AMOUNTS),
    *(f"{way}.{name}" for way in ("requests", "limits") for name in _AMOUNTS),
}


def _quota(value: Json) -> Iterator[str]:
    for name, amount in value.items() if isinstance(value, dict) else ():
        if "/" not in name and "hugepages-" not in name and name not in _QUOTAS:
            yield f"the resource {name} does not exist"
        is_count = name in _COUNTED or name.startswith("count/")
        number = quantity(amount) if is_count else None
        if number is not None and number % ONE:
            yield f"the number of {name} ({amount}) is not a whole number"


def _scopes(value: Json) -> Iterator[str]:
    scopes = value_at(value, ("scopes",))
    is_of_pods = isinstance(scopes, list) and {*map(str, scopes)} - {"VolumeAttributesClass"}
    for name in mapping_at(value, ("hard",)) if is_of_pods else ():
        if name in (*_COUNTED[1:], "requests.storage"):
            yield f"a quota with scopes cannot count {name}"


def _actions(value: Json) -> Iterator[str]:
    if isinstance(value, list) and {"Deny", "Warn"} <= set(map(str, value)):
        yield "Deny and Warn are both set"


def _endpoints(value: Json) -> Iterator[str]:
    if value_at(value, ("addressType",)) in ("IPv4", "IPv6"):
        for endpoint in mappings_in(value_at(value, ("endpoints",))):
            addresses = endpoint.get("addresses")
            for one in addresses if isinstance(addresses, list) else ():
                yield from address(one)


def _exit_codes(value: Json) -> Iterator[str]:
    values = value_at(value, ("values",))
    values = values if isinstance(values, list) else []
    if value_at(value, ("operator",)) == "In" and 0 in values:
        yield "the exit code 0 cannot be a failure"
    yield from repeated("value", values, "exit code")


def _not_empty(value: Json) -> Iterator[str]:
    if value == []:
        yield "the list is empty"


RATIO = "maxLimitRequestRatio"
_VERSION = matching(
    lambda text: re.match(r"(latest|v1\.\d+)\Z", text) is not None,
    "latest or a version such as v1.34",
)


def _limits(value: Json) -> Iterator[str]:
    names = ("min", "defaultRequest", "default", "max")
    for resource in {key: None for name in names for key in mapping_at(value, (name,))}:
        sizes = [(name, quantity(value_at(value, (name, resource)))) for name in names]
        known = [(name, size) for name, size in sizes if size is not None]
        for (low, least), (high, most) in pairwise(known):
            if least > most:
                yield f"the {low} of {resource} is above the {high}"
    for resource, ratio in mapping_at(value, (RATIO,)).items():
        number = quantity(ratio)
        if number is not None and number < ONE:
            yield f"the {RATIO} of {resource} is below 1"


def _schema(value: Json) -> Iterator[str]:
    from postrender.kubernetes.validation.schemas import find_rejected_schemas  # rarely needed

    return find_rejected_schemas(value)


_BINDING: tuple[tuple[str, Check], ...] = (
    ("subjects[]", exclusive("kind: ServiceAccount", "apiGroup")),
    ("subjects[].apiGroup", one_of(RBAC_GROUP)),
    ("roleRef.apiGroup", one_of(RBAC_GROUP)),
)


def _job(value: Json) -> Iterator[str]:
    """The limits of an indexed Job, and the containers that its failure policy names."""
    job = mapping_at(value, ())
    numbers = [
        ("parallelism", job.get("parallelism"), _MOST_INDEXES),
        *(
            ("succeededCount", rule.get("succeededCount"), job.get("completions"))
            for rule in mappings_in(value_at(job, ("successPolicy", "rules")))
        ),
    ]
    for what, number, most in numbers if job.get("completionMode") == "Indexed" else ():
        if isinstance(number, int) and isinstance(most, int) and number > most:
            yield f"{what} ({number:,}) is above {most:,}"
    pod = mapping_at(job, ("template", "spec"))
    names = [one.get("name") for field in CONTAINERS for one in mappings_in(pod.get(field))]
    for rule in mappings_in(value_at(job, ("podFailurePolicy", "rules"))):
        name = value_at(rule, ("onExitCodes", "containerName"))
        if name is not None and name not in names:
            yield f"the container {name} of podFailurePolicy does not exist"


_MOST_INDEXES = 100_000
_JOBS: tuple[tuple[str, Check], ...] = (
    ("", requires("backoffLimitPerIndex", "completionMode: Indexed")),
    ("", requires("successPolicy", "completionMode: Indexed")),
    ("", requires("completionMode: Indexed", "completions")),
    ("", requires("maxFailedIndexes", "backoffLimitPerIndex")),
    ("", _job),
    (".successPolicy", needs("rules")),
    ("", requires("podFailurePolicy", "template.spec.restartPolicy: Never")),
    ("", exclusive("podFailurePolicy", "podReplacementPolicy: TerminatingOrFailed")),
    (".podFailurePolicy.rules[]", exclusive("onExitCodes", "onPodConditions", is_needed=True)),
    (".podFailurePolicy.rules[].onExitCodes", needs("operator", "values")),
    (".podFailurePolicy.rules[].onExitCodes", _exit_codes),
)
_ROWS: dict[GroupKind, tuple[tuple[str, Check], ...]] = {
    ("apps", "Deployment"): (
        ("spec.strategy", _deployment),
        ("spec.strategy", exclusive("type: Recreate", "rollingUpdate")),
        ("spec.strategy.rollingUpdate.maxUnavailable", _share(100)),
        ("spec.strategy.rollingUpdate.maxSurge", _share(10**9)),
        ("spec", deadline),
    ),
    ("apps", "StatefulSet"): (
        ("spec.updateStrategy", exclusive("type: OnDelete", "rollingUpdate")),
    ),
    ("apps", "DaemonSet"): (("spec.updateStrategy.rollingUpdate", _daemon_set),),
    ("batch", "Job"): tuple((f"spec{path}", check) for path, check in _JOBS),
    ("batch", "CronJob"): (
        *((f"spec.jobTemplate.spec{path}", check) for path, check in _JOBS),
        ("spec.schedule", _schedule),
        ("spec.timeZone", _time_zone),
    ),
    ("", "Service"): (
        ("spec", _service),
        ("spec", requires("type: ExternalName", "externalName")),
        ("spec", exclusive("clusterIP: None", "type: NodePort or LoadBalancer")),
        ("spec.selector.*", selected),
        ("spec.ports", unique("port")),
        ("spec.ports", unique("port", "nodePort", "protocol")),
        ("spec.ports[].name", label),
        ("spec.ports[].port", PORT),
        ("spec.ports[].targetPort", PORT),
        ("spec.ports[].targetPort", port_name),
        ("spec.ports[].nodePort", _node_port),
        ("spec.ports[].appProtocol", QUALIFIED),
        ("spec.externalName", _host_name),
        ("spec", requires("externalTrafficPolicy", "type: NodePort or LoadBalancer")),
        ("spec", requires("healthCheckNodePort", "externalTrafficPolicy: Local")),
        ("spec", requires("loadBalancerSourceRanges", "type: LoadBalancer")),
        ("spec", requires("loadBalancerClass", "type: LoadBalancer")),
        ("spec", requires("allocateLoadBalancerNodePorts", "type: LoadBalancer")),
        ("spec", exclusive("ipFamilyPolicy: SingleStack", "ipFamilies.1")),
        ("spec.externalIPs[]", address),
        ("spec.loadBalancerSourceRanges[]", lambda value: _network(str(value).strip())),
    ),
    ("", "PersistentVolumeClaim"): (
        ("spec", needs("accessModes", "resources")),
        ("spec.resources", needs("requests")),
        ("spec.resources.requests", needs("storage")),
        ("spec.resources.requests.storage", _size),
        ("spec.accessModes", _alone("ReadWriteOncePod")),
    ),
    ("", "PersistentVolume"): (
        ("spec", needs("capacity", "accessModes")),
        ("spec", requires("local", "nodeAffinity")),
        ("spec.accessModes", _alone("ReadWriteOncePod")),
    ),
    ("scheduling.k8s.io", "PriorityClass"): (("value", between(-(2**31), 1_000_000_000)),),
    ("autoscaling", "HorizontalPodAutoscaler"): (
        ("spec", _autoscaler),
        ("spec", needs("maxReplicas")),
        ("spec.maxReplicas", between(1)),
        ("spec.scaleTargetRef", needs("kind", "name")),
        ("spec.metrics[]", _metric),
        *((f"spec.behavior.scale{way}.policies", _not_empty) for way in ("Up", "Down")),
    ),
    ("policy", "PodDisruptionBudget"): (
        ("spec", exclusive("minAvailable", "maxUnavailable")),
        ("spec.minAvailable", _share(100)),
        ("spec.maxUnavailable", _share(100)),
    ),
    ("networking.k8s.io", "NetworkPolicy"): (
        *(
            (f"spec.{way}[].{path}", check)
            for way, peers in (("ingress", "from"), ("egress", "to"))
            for path, check in (
                (f"{peers}[].ipBlock.cidr", _network),
                (f"{peers}[].ipBlock", _exceptions),
                (f"{peers}[]", _peer),
                ("ports[].port", PORT),
                ("ports[].port", port_name),
                ("ports[]", _ports),
            )
        ),
    ),
    ("networking.k8s.io", "Ingress"): (
        ("spec", some_of("rules", "defaultBackend")),
        ("spec.rules[].host", _host),
        ("spec.tls[].hosts[]", _host),
        ("spec.tls[].secretName", subdomain),
        ("spec.rules[].http.paths[]", needs("pathType")),
        ("spec.rules[].http.paths[]", _ingress_path),
        ("spec.rules[].http.paths[].backend", _backend),
        ("spec.defaultBackend", _backend),
    ),
    ("networking.k8s.io", "IngressClass"): (
        ("spec.parameters", needs("kind", "name")),
        ("spec.parameters", requires("scope: Namespace", "namespace")),
        ("spec.parameters", requires("namespace", "scope: Namespace")),
    ),
    (RBAC_GROUP, "ClusterRole"): (
        ("rules[]", _rule),
        ("aggregationRule", needs("clusterRoleSelectors")),
    ),
    (RBAC_GROUP, "Role"): (("rules[]", _rule), ("rules[].nonResourceURLs", forbidden)),
    ("storage.k8s.io", "StorageClass"): (("", needs("provisioner")),),
    ("discovery.k8s.io", "EndpointSlice"): (
        ("", _endpoints),
        ("endpoints[]", needs("addresses")),
        ("ports[].name", matching(is_label, "the name of a port")),
        ("ports", unique("port")),
    ),
    ("apiregistration.k8s.io", "APIService"): (
        ("spec", exclusive("caBundle", "insecureSkipTLSVerify: true")),
        ("spec.caBundle", base64),
        ("spec", needs("groupPriorityMinimum", "versionPriority")),
    ),
    ("admissionregistration.k8s.io", "ValidatingAdmissionPolicy"): (
        ("spec", needs("matchConstraints")),
        ("spec", some_of("validations", "auditAnnotations")),
        ("spec.matchConstraints", needs("resourceRules")),
        *((f"spec.matchConstraints.resourceRules[]{path}", check) for path, check in _RULES),
        ("spec.validations[]", needs("expression")),
    ),
    ("admissionregistration.k8s.io", "ValidatingAdmissionPolicyBinding"): (
        ("spec", needs("policyName", "validationActions")),
        ("spec.validationActions", _actions),
    ),
    ("apiextensions.k8s.io", "CustomResourceDefinition"): (
        ("spec.versions", _versions),
        ("spec.versions", unique("version")),
        ("spec.versions[]", needs("schema")),
        ("spec.versions[].schema", needs("openAPIV3Schema")),
        ("spec.versions[].schema.openAPIV3Schema", _schema),
        ("spec.versions[].schema.openAPIV3Schema.type", one_of("object")),
        ("spec.versions[].schema.openAPIV3Schema.nullable", forbidden),
        ("spec.versions[].subresources.scale", needs("specReplicasPath", "statusReplicasPath")),
        ("spec.preserveUnknownFields", forbidden),
        *((f"spec.names.{field}", label) for field in ("plural", "singular", "shortNames[]")),
        ("spec.conversion", requires("strategy: Webhook", "webhook.clientConfig")),
        ("spec.conversion.webhook", needs("conversionReviewVersions")),
        *((f"spec.conversion.webhook.clientConfig{path}", check) for path, check in _CLIENT),
        ("spec.conversion.webhook.conversionReviewVersions", _reviews),
        ("spec.versions[].additionalPrinterColumns[]", needs("name", "type", "jsonPath")),
        (
            "spec.versions[].additionalPrinterColumns[].jsonPath",
            matching(lambda text: text.startswith("."), "a path that begins with a period"),
        ),
    ),
    (RBAC_GROUP, "ClusterRoleBinding"): (
        ("subjects[]", requires("kind: ServiceAccount", "namespace")),
        *_BINDING,
    ),
    (RBAC_GROUP, "RoleBinding"): _BINDING,
    ("", "LimitRange"): (
        ("spec.limits[]", _limits),
        ("spec.limits", unique("limit", "type")),
        *(
            ("spec.limits[]", exclusive("type: Pod", field))
            for field in ("default", "defaultRequest")
        ),
    ),
    ("", "Namespace"): tuple((f'{SECURITY_LABEL}{mode}-version"]', _VERSION) for mode in MODES),
    ("", "ResourceQuota"): (("spec.hard", _quota), ("spec", _scopes)),
    **dict.fromkeys(
        _WEBHOOKS,
        (
            ("webhooks[]", needs("admissionReviewVersions", "sideEffects", "clientConfig")),
            ("webhooks[].timeoutSeconds", between(1, 30)),
            *((f"webhooks[].clientConfig{path}", check) for path, check in _CLIENT),
            *((f"webhooks[].rules[]{path}", check) for path, check in _RULES),
            ("webhooks[].admissionReviewVersions", _reviews),
            ("webhooks[].matchConditions[]", needs("name", "expression")),
            (
                "webhooks[].name",
                matching(lambda text: text.count(".") > 1, "a name of three parts"),
            ),
        ),
    ),
}
_SELECTORS = {
    **{
        ("apps", kind): "spec.selector"
        for kind in ("Deployment", "StatefulSet", "DaemonSet", "ReplicaSet")
    },
    ("policy", "PodDisruptionBudget"): "spec.selector",
    ("networking.k8s.io", "NetworkPolicy"): "spec.podSelector",
}
# For a live object, kubectl and Helm 3 merge two items with one key.
NEW_KIND_ROWS: dict[GroupKind, Rows] = {
    ("", "Service"): [("spec.ports", unique("port", "port", "protocol"))],
    ("admissionregistration.k8s.io", "ValidatingAdmissionPolicy"): [
        ("spec.matchConditions", unique("condition")),
    ],
    **dict.fromkeys(
        _WEBHOOKS,
        (
            ("webhooks", unique("webhook")),
            ("webhooks[].matchConditions", unique("condition")),
        ),
    ),
}
ADDED_KIND_ROWS: dict[GroupKind, Rows] = {("networking.k8s.io", "Ingress"): [("", _class)]}


def kind_rows(group_kind: GroupKind) -> Iterator[tuple[str, Check]]:
    """The rows of a kind."""
    yield from _ROWS.get(group_kind, ())
    yield from rows_of(group_kind)
    if path := _SELECTORS.get(group_kind):
        yield f"{path}.matchExpressions[]", expression()
