"""The parts of objects that other objects name: keys, ports, listeners, containers and more."""

from __future__ import annotations

from postrender.kubernetes.kinds import DATA_FIELDS
from postrender.yaml.paths import Json, mapping_at, mappings_in, value_at

ROUTES = ("HTTPRoute", "GRPCRoute", "TCPRoute", "TLSRoute", "UDPRoute")
_SCALED = ("Deployment", "StatefulSet", "ReplicaSet", "Rollout")
ANALYSES = ("AnalysisTemplate", "ClusterAnalysisTemplate")
# The kinds that have keys, ports or other parts with names, each with the kinds that name one; ()
# for every kind.
USERS_OF_PARTS: dict[str, tuple[str, ...]] = {
    "ConfigMap": (),
    "Secret": (),
    "Service": (
        *("Ingress", *ROUTES, "APIService"),
        *("ValidatingWebhookConfiguration", "MutatingWebhookConfiguration"),
    ),
    "Gateway": ROUTES,
    "DestinationRule": ("VirtualService",),
    "WorkflowTemplate": ("Workflow", "CronWorkflow", "WorkflowTemplate"),
    **dict.fromkeys(_SCALED, ("HorizontalPodAutoscaler",)),
}
# Where the name of a part is, next to the name of the object.
_PART_FIELDS = {
    **dict.fromkeys(("ConfigMap", "Secret"), ("key", "items", "valuesKey")),
    "Service": ("port",),
    "Gateway": ("sectionName", "port"),
    "DestinationRule": ("subset",),
    "WorkflowTemplate": ("template",),
}


def parts_named_at(around: Json, kind: str) -> list[str]:
    """The keys, ports or other parts that are named next to the name of an object of a kind."""
    parts: list[Json] = []
    for field in _PART_FIELDS.get(kind, ()):
        value = value_at(around, (field,))
        parts += [item.get("key") for item in mappings_in(value)]
        if isinstance(value, dict):
            parts += value.values()
        else:
            parts += value if isinstance(value, list) else [value]
    return [str(part) for part in parts if isinstance(part, (str, int))]


def parts_of(data: dict[str, Json]) -> set[str]:
    """The parts of an object: keys, the names and numbers of ports, containers and more."""
    parts = {key for field in DATA_FIELDS if field in data for key in mapping_at(data, (field,))}
    spec = mapping_at(data, ("spec",))
    if not spec:
        return parts
    for field in ("ports", "listeners", "subsets", "templates"):
        for item in mappings_in(spec.get(field)):
            parts |= {str(item.get("port")), str(item.get("name"))}
    containers = mappings_in(value_at(spec, ("template", "spec", "containers")))
    resources = [mapping_at(container, ("resources",)) for container in containers]
    requested = [
        {name for field in ("requests", "limits") for name in mapping_at(one, (field,))}
        for one in resources
    ]
    shared = set.intersection(*requested) if requested else set()
    return parts | {str(one.get("name")) for one in containers} | set(map(request_of, shared))


def written_keys(data: dict[str, Json]) -> set[str] | None:
    """The keys of the Secret that an ExternalSecret or SealedSecret writes, None if unknown."""
    spec, template = mapping_at(data, ("spec",)), ("target", "template")
    if data.get("kind") == "SealedSecret":
        return {*mapping_at(spec, ("encryptedData",)), *mapping_at(spec, ("template", "data"))}
    is_known = not spec.get("dataFrom") and not value_at(spec, (*template, "templateFrom"))
    if data.get("kind") != "ExternalSecret" or not is_known:
        return None
    keys = set(mapping_at(spec, (*template, "data")))
    if not keys or value_at(spec, (*template, "mergePolicy")) == "Merge":
        keys |= {str(item.get("secretKey")) for item in mappings_in(spec.get("data"))}
    return keys


def request_of(resource: Json) -> str:
    """The part of a workload whose containers all request a resource."""
    return f"request of {resource}"
