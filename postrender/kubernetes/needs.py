"""What a Rollout needs in the objects that it names, and that these objects do not have.

Source: `pkg/apis/rollouts/validation/validation_references.go` and
`rollout/trafficrouting/istio` of Argo Rollouts 1.10.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence

from postrender.yaml.paths import Json, Path, mapping_at, mappings_in, value_at

# The path of the name of an object in a Rollout, what the object does not have, and a fact in which
# `{}` is the object.
Unmet = tuple[Path, str, str]
# A Rollout, the paths of the name in it, the object, and the others that a list of names has.
_Needs = Callable[
    [dict[str, Json], Sequence[Path], dict[str, Json], Sequence[dict[str, Json] | None]],
    Iterator[Unmet],
]
# An argument in a metric of an analysis.
_ARGUMENT = r"\{\{\s*args\.([\w.-]+)\s*\}\}"
_CANARY = ("spec", "strategy", "canary")
_BACKGROUND = (*_CANARY, "analysis")  # the rollout does not wait for this analysis
_POD_HASH = "rollouts-pod-template-hash"  # Argo Rollouts adds this label to selectors


def unmet_needs(
    rollout: dict[str, Json],
    paths: Sequence[Path],
    target: dict[str, Json],
    others: Sequence[dict[str, Json] | None] = (),
) -> Iterator[Unmet]:
    """What a Rollout does not find in an object that it names.

    paths: of the name of the object in the Rollout.
    others: the templates that the same analyses use too, None for one that is not in the input.
    """
    find = _NEEDS.get(str(target.get("kind")))
    if find:
        yield from find(rollout, paths, target, others)


def needs_differ(old: dict[str, Json], new: dict[str, Json]) -> bool:
    """Whether what Rollouts need differs between two sides of an object."""
    kind = str(new.get("kind"))
    path = ("spec", "selector") if kind == "Service" else ("spec",)
    return kind in NEEDED_KINDS and value_at(old, path) != value_at(new, path)


def _text_at(data: Json, path: Path) -> str:
    """The text at a path, "" for anything else."""
    value = value_at(data, path)
    return value if isinstance(value, str) else ""


def _of_analysis(
    rollout: dict[str, Json],
    paths: Sequence[Path],
    template: dict[str, Json],
    others: Sequence[dict[str, Json] | None],
) -> Iterator[Unmet]:
    arguments = _arguments(template)
    missing = {name for name, value in arguments.items() if value is None}
    elsewhere = {name: value for one in others if one for name, value in _arguments(one).items()}
    for path in paths:
        is_background = path[: len(_BACKGROUND)] == _BACKGROUND
        given = value_at(rollout, (*path[: path.index("templates")], "args"))
        names = {str(arg.get("name")) for arg in mappings_in(given)}
        lacking = missing - names
        if lacking and not is_background:
            # The templates of an analysis share their arguments.
            lacking = {name for name in lacking if elsewhere.get(name) is None}
            lacking = set() if None in others else lacking
        yield from ((path, name, f"the argument {name} of {{}} has no value") for name in lacking)
        missing -= lacking
    waiting = next((path for path in paths if path[: len(_BACKGROUND)] != _BACKGROUND), None)
    if waiting is None:
        return
    metrics = mappings_in(value_at(template, ("spec", "metrics")))
    for metric in metrics:
        if metric.get("interval") and not _has_count(metric, arguments):
            name = str(metric.get("name"))
            yield waiting, name, f"the metric {name} of {{}} has no count, and never ends"
    used = set(re.findall(_ARGUMENT, json.dumps(metrics)))
    for name in sorted(used - arguments.keys()):
        yield waiting, name, f"a metric of {{}} uses the argument {name}, which {{}} does not have"


def _arguments(template: dict[str, Json]) -> dict[str, Json]:
    """The arguments of a template with their values, None for one without a value."""
    return {
        str(argument.get("name")): argument.get("valueFrom") or argument.get("value")
        for argument in mappings_in(value_at(template, ("spec", "args")))
    }


def _has_count(metric: dict[str, Json], arguments: Mapping[str, Json]) -> bool:
    count = str(metric.get("count", 0))
    argument = re.fullmatch(_ARGUMENT, count)
    if argument:
        count = str(arguments.get(argument[1]))
    return count.isdecimal() and count.strip("0") != ""


def _of_service(
    rollout: dict[str, Json], paths: Sequence[Path], service: dict[str, Json], _: object
) -> Iterator[Unmet]:
    if mapping_at(rollout, ("spec", "workloadRef")):
        return
    labels = mapping_at(rollout, ("spec", "template", "metadata", "labels"))
    own = mapping_at(rollout, ("spec", "selector", "matchLabels"))
    if any(labels.get(label) != value for label, value in own.items()):
        return  # another risk is about the selector
    for label, value in mapping_at(service, ("spec", "selector")).items():
        if label != _POD_HASH and labels.get(label) != value:
            text = f"{label}: {value}"
            yield paths[0], text, f"{{}} selects the label {text}, which the pods do not have"


# The routes of a VirtualService: their field in a Rollout, and what they are called.
_ROUTES = {
    "http": ("routes", "route"),
    "tls": ("tlsRoutes", "TLS route"),
    "tcp": ("tcpRoutes", "TCP route"),
}


def _of_virtual_service(
    rollout: dict[str, Json], paths: Sequence[Path], service: dict[str, Json], _: object
) -> Iterator[Unmet]:
    """The routes that are missing, and their destinations."""
    canary = mapping_at(rollout, _CANARY)
    # The controller adds the managed routes itself.
    managed = {
        _route_key(route)
        for route in mappings_in(value_at(canary, ("trafficRouting", "managedRoutes")))
    }
    for way, (field, noun) in _ROUTES.items():
        by_key: dict[str, list[dict[str, Json]]] = {}
        routes = mappings_in(value_at(service, ("spec", way)))
        for route in routes:
            by_key.setdefault(_route_key(route, way), []).append(route)
        unmanaged = sum(_text_at(route, ("name",)) not in managed for route in routes)
        for path in paths if routes else ():
            around = path[:-1] if path[-1] == "name" else path
            wanted = value_at(rollout, (*around, field))
            wanted = wanted if isinstance(wanted, list) else []
            keys = [_route_key(one) if isinstance(one, dict) else str(one) for one in wanted]
            for key in dict.fromkeys(keys):
                if key not in by_key:
                    yield path, key, f"the {noun} {key} of {{}} does not exist"
            if not keys and unmanaged > 1:
                yield path, field, f"{{}} has {unmanaged} {noun}s, and the Rollout names none"
            found = [route for key in dict.fromkeys(keys) for route in by_key.get(key, ())[:1]]
            if not keys and (len(routes) == 1 or "" in by_key):
                found = [routes[0] if len(routes) == 1 else by_key[""][0]]
            for route in found:
                name = _route_key(route, way)
                of_route = f"the {noun} {name} of {{}}" if name else "{}"
                for destination in _missing_destinations(canary, route):
                    yield path, destination, f"{of_route} has no destination {destination}"


def _route_key(route: dict[str, Json], way: str = "") -> str:
    """What names a route: `x` of a HTTP route, and `443` or `443 a.example.com` of another."""
    if way == "http" or not (way or {"port", "sniHosts"} & route.keys()):
        return _text_at(route, ("name",))
    matches = mappings_in(route.get("match")) if way else [route]
    ports = {str(match.get("port") or "") for match in matches}
    names = [match.get("sniHosts") for match in matches]
    hosts = {str(host) for one in names if isinstance(one, list) for host in one}
    return " ".join(filter(None, ["/".join(sorted(ports)), *sorted(hosts)]))


def _missing_destinations(canary: dict[str, Json], route: dict[str, Json]) -> Iterator[str]:
    """The Services or subsets of a canary that are not among the destinations of a route."""
    found = [mapping_at(one, ("destination",)) for one in mappings_in(route.get("route"))]
    subsets = mapping_at(canary, ("trafficRouting", "istio", "destinationRule"))
    for field in ("canarySubsetName", "stableSubsetName"):
        name = _text_at(subsets, (field,))
        if name and all(one.get("subset") != name for one in found):
            yield f"with the subset {name}"
    hosts = {_text_at(one, ("host",)).partition(".")[0] for one in found}
    for field in () if subsets else ("canaryService", "stableService"):
        service = _text_at(canary, (field,))
        if service and service not in hosts:
            yield service


def _of_ingress(
    rollout: dict[str, Json], paths: Sequence[Path], ingress: dict[str, Json], _: object
) -> Iterator[Unmet]:
    backends = {
        _text_at(one, ("backend", "service", "name")) or _text_at(one, ("backend", "serviceName"))
        for rule in mappings_in(value_at(ingress, ("spec", "rules")))
        for one in mappings_in(value_at(rule, ("http", "paths")))
    }
    for path in paths:
        router = path[: len(_CANARY) + 2]
        service = _text_at(rollout, (*router, "rootService"))
        service = service or _text_at(rollout, (*_CANARY, "stableService"))
        if service and service not in backends:
            yield path, service, f"no path of {{}} leads to Service/{service}"


_NEEDS: dict[str, _Needs] = {
    "AnalysisTemplate": _of_analysis,
    "ClusterAnalysisTemplate": _of_analysis,
    "Service": _of_service,
    "VirtualService": _of_virtual_service,
    "Ingress": _of_ingress,
}
NEEDED_KINDS = frozenset(_NEEDS)
