"""What the API server rejects in Services, Ingresses and network policies."""

from __future__ import annotations

import re
from collections.abc import Iterator

from postrender.kubernetes.kinds import GroupKind
from postrender.kubernetes.validation.checks import (
    PORT,
    QUALIFIED,
    Rows,
    address,
    between,
    exclusive,
    is_label,
    is_subdomain,
    label,
    matching,
    needs,
    port_name,
    repeated,
    requires,
    some_of,
    subdomain,
    unique,
)
from postrender.text import shown
from postrender.yaml.paths import Json, mapping_at, mappings_in, value_at


def _service(value: Json) -> Iterator[str]:
    kind, ports = value_at(value, ("type",)), mappings_in(value_at(value, ("ports",)))
    spec = mapping_at(value, ())
    if not spec.get("externalIPs"):
        yield from _IS_EXTERNAL(value)
    if spec.get("healthCheckNodePort") and spec.get("externalTrafficPolicy") != "Local":
        yield "healthCheckNodePort needs externalTrafficPolicy: Local"
    if kind == "ExternalName":
        return
    is_headless = value_at(value, ("clusterIP",)) == "None"
    if not ports and not is_headless:
        yield "the field ports is missing"
    if len(ports) > 1 and not all(port.get("name") for port in ports):
        yield "one of several ports has no name"
    if kind in (None, "ClusterIP") and any(port.get("nodePort") for port in ports):
        yield "a nodePort needs the type NodePort or LoadBalancer"


_IS_EXTERNAL = requires("externalTrafficPolicy", "type: NodePort or LoadBalancer")


def _host_name(value: Json) -> Iterator[str]:
    if isinstance(value, str) and value and not is_subdomain(value.removesuffix(".")):
        yield f"the value {shown(value)} is not the name of a host"


def _node_port(value: Json) -> Iterator[str]:
    # The range is an option of the API server.
    if isinstance(value, int) and value > 0 and not 30_000 <= value <= 32_767:
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
    if isinstance(service, dict) and len([key for key in port if port[key]]) != 1:
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
    if isinstance(value, str) and value and not is_subdomain(value.removeprefix("*.")):
        yield f"the value {shown(value)} is not the name of a host"


def _host_of_rule(value: Json) -> Iterator[str]:
    yield from _host(value)
    parts = str(value).split(".")
    if len(parts) == 4 and all(re.match(r"\d{1,3}\Z", one) and int(one) < 256 for one in parts):
        yield f"the value {shown(value)} is an address, and not the name of a host"


def _endpoints(value: Json) -> Iterator[str]:
    if value_at(value, ("addressType",)) in ("IPv4", "IPv6"):
        for endpoint in mappings_in(value_at(value, ("endpoints",))):
            addresses = endpoint.get("addresses")
            for one in addresses if isinstance(addresses, list) else ():
                yield from address(one)


def _families(value: Json) -> Iterator[str]:
    yield from repeated("family", value if isinstance(value, list) else ())


NETWORK_ROWS: dict[GroupKind, Rows] = {
    ("", "Service"): (
        ("spec", _service),
        ("spec", requires("type: ExternalName", "externalName")),
        ("spec", exclusive("clusterIP: None", "type: NodePort or LoadBalancer")),
        ("spec.ports", unique("port")),
        ("spec.ports", unique("port", "nodePort", "protocol")),
        ("spec.ports[].name", label),
        ("spec.ports[].port", PORT),
        ("spec.ports[].targetPort", between(0, 65_535)),
        ("spec.ports[].targetPort", port_name),
        ("spec.ports[].nodePort", _node_port),
        ("spec.ports[].appProtocol", QUALIFIED),
        ("spec.externalName", _host_name),
        ("spec", requires("loadBalancerSourceRanges", "type: LoadBalancer")),
        ("spec", requires("loadBalancerClass", "type: LoadBalancer")),
        ("spec", requires("allocateLoadBalancerNodePorts", "type: LoadBalancer")),
        ("spec", exclusive("ipFamilyPolicy: SingleStack", "ipFamilies.1")),
        ("spec.ipFamilies", _families),
        ("spec.externalIPs[]", address),
        ("spec.loadBalancerSourceRanges[]", lambda value: _network(str(value).strip())),
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
        ("spec.rules[].host", _host_of_rule),
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
    ("discovery.k8s.io", "EndpointSlice"): (
        ("", _endpoints),
        ("endpoints[]", needs("addresses")),
        ("ports[].name", matching(is_label, "the name of a port")),
        ("ports", unique("port")),
    ),
}
ADDED_NETWORK_ROWS: dict[GroupKind, Rows] = {("networking.k8s.io", "Ingress"): [("", _class)]}
