"""The new object is invalid, so the API server rejects the object.

- A name, label or key has a forbidden character, or is too long.
- A value has a wrong type, such as `true` in an annotation.
- A ConfigMap or Secret has more than 1,048,576 bytes, a Secret lacks a key of its type.
- A selector does not match its own pod template.
- A field does not exist, which only Helm 3 accepts, and drops.
- A field is missing or wrong, such as a port above 65,535.

Source: `postrender/kubernetes/validation`, which follows `pkg/apis/*/validation` of Kubernetes.
"""

from __future__ import annotations

from collections.abc import Iterator

from postrender.diff.model import Risk
from postrender.diff.risks import Facts, Object, rejection
from postrender.kubernetes.validation.checks import API_SERVER, STRICT
from postrender.yaml.paths import mappings_in, value_at

REJECTS = True


def find(facts: Facts) -> Iterator[Risk]:
    for identity, path, fact in facts.rejections.get(API_SERVER, ()):
        yield rejection(facts, identity, fact, path)
    for identity, path, fact in facts.rejections.get(STRICT, ()):
        yield rejection(facts, identity, fact, path, helm=_HELM)
    for identity, first, _ in facts.shared(("PriorityClass",), _default):
        yield rejection(facts, identity, f"{first} is the global default", "globalDefault")
    for identity, first, (port,) in facts.shared(("Service",), _node_ports):
        yield rejection(facts, identity, f"{first} also has the nodePort {port}", "spec.ports")


def _default(priority: Object) -> set[tuple[str, ...]]:
    return {("globalDefault",)} if priority.data.get("globalDefault") is True else set()


def _node_ports(service: Object) -> set[tuple[str, ...]]:
    return {
        (str(port["nodePort"]),)
        for port in mappings_in(value_at(service.data, ("spec", "ports")))
        if port.get("nodePort")
    }


_HELM = "Helm 4 stops with an error, and Helm 3 drops the field"
