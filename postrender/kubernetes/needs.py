"""What a Rollout needs in the objects that it names, and that these objects do not have.

Source: `pkg/apis/rollouts/validation/validation_references.go` and
`rollout/trafficrouting/istio` of Argo Rollouts 1.10.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator

from postrender.yaml.paths import Json, Path, mapping_at, mappings_in, value_at

# A Rollout, the path of the name in it, and the object.
_Needs = Callable[[dict[str, Json], Path, dict[str, Json]], Iterator[tuple[str, str]]]
# An argument in a metric of an analysis.
_ARGUMENT = r"\{\{\s*args\.([\w.-]+)\s*\}\}"
_CANARY = ("spec", "strategy", "canary")
_POD_HASH = "rollouts-pod-template-hash"  # Argo Rollouts adds this label to selectors


def unmet_needs(
    rollout: dict[str, Json], path: Path, target: dict[str, Json]
) -> Iterator[tuple[str, str]]:
    """What a Rollout does not find in an object: its name, and a fact with `{}` for the object.

    path: of the name of the object in the Rollout.
    """
    find = _NEEDS.get(str(target.get("kind")))
    if find:
        yield from find(rollout, path, target)


def needs_differ(old: dict[str, Json], new: dict[str, Json]) -> bool:
    """Whether what Rollouts need differs between two sides of an object."""
    kind = str(new.get("kind"))
    path = ("spec", "selector") if kind == "Service" else ("spec",)
    return kind in NEEDED_KINDS and value_at(old, path) != value_at(new, path)


def _of_analysis(
    rollout: dict[str, Json], path: Path, template: dict[str, Json]
) -> Iterator[tuple[str, str]]:
    if "templates" not in path:  # of an experiment
        return
    spec = mapping_at(template, ("spec",))
    given = value_at(rollout, (*path[: path.index("templates")], "args"))
    names = {str(arg.get("name")) for arg in mappings_in(given)}
    arguments = mappings_in(spec.get("args"))
    for argument in arguments:
        name = str(argument.get("name"))
        has_value = argument.get("value") is not None or bool(argument.get("valueFrom"))
        if not has_value and name not in names:
            yield name, f"the argument {name} of {{}} has no value"
    if path[: len(_CANARY) + 1] == (*_CANARY, "analysis"):
        return  # the rollout does not wait for this analysis
    metrics = mappings_in(spec.get("metrics"))
    for metric in metrics:
        if metric.get("interval") and metric.get("count") is None:
            name = str(metric.get("name"))
            yield name, f"the metric {name} of {{}} has no count, and never ends"
    used = set(re.findall(_ARGUMENT, json.dumps(metrics)))
    for name in sorted(used - {str(argument.get("name")) for argument in arguments}):
        yield name, f"a metric of {{}} uses the argument {name}, which {{}} does not have"


def _of_service(
    rollout: dict[str, Json], _: Path, service: dict[str, Json]
) -> Iterator[tuple[str, str]]:
    if mapping_at(rollout, ("spec", "workloadRef")):
        return
    labels = mapping_at(rollout, ("spec", "template", "metadata", "labels"))
    own = mapping_at(rollout, ("spec", "selector", "matchLabels"))
    if any(labels.get(label) != value for label, value in own.items()):
        return  # another risk is about the selector
    for label, value in mapping_at(service, ("spec", "selector")).items():
        if label != _POD_HASH and labels.get(label) != value:
            text = f"{label}: {value}"
            yield text, f"{{}} selects the label {text}, which the pods do not have"


def _of_virtual_service(
    rollout: dict[str, Json], path: Path, service: dict[str, Json]
) -> Iterator[tuple[str, str]]:
    """The HTTP routes that are missing, and their destinations."""
    canary = mapping_at(rollout, _CANARY)
    routes = mappings_in(value_at(service, ("spec", "http")))
    around = path[:-1] if path[-1] == "name" else path
    wanted = value_at(rollout, (*around, "routes"))
    by_name = {str(route.get("name")): route for route in reversed(routes)}
    names = list(map(str, wanted)) if isinstance(wanted, list) else []
    for name in names if routes else ():
        if name not in by_name:
            yield name, f"the route {name} of {{}} does not exist"
    chosen = [by_name[name] for name in names if name in by_name]
    if len(routes) > 1 and not names and not value_at(canary, ("trafficRouting", "managedRoutes")):
        yield "routes", f"{{}} has {len(routes)} routes, and the Rollout names none"
    elif not names:
        chosen = routes[:1]
    for route in chosen:
        found = [mapping_at(one, ("destination",)) for one in mappings_in(route.get("route"))]
        for destination in _destinations(canary, found):
            of_route = f"the route {route.get('name')} of {{}}" if route.get("name") else "{}"
            yield destination, f"{of_route} has no destination {destination}"


def _destinations(canary: dict[str, Json], found: list[dict[str, Json]]) -> Iterator[str]:
    """The Services or subsets of a canary that are not among the destinations of a route."""
    subsets = mapping_at(canary, ("trafficRouting", "istio", "destinationRule"))
    for field in ("canarySubsetName", "stableSubsetName"):
        if (name := subsets.get(field)) and all(one.get("subset") != name for one in found):
            yield f"with the subset {name}"
    hosts = {str(one.get("host")).partition(".")[0] for one in found}
    for field in () if subsets else ("canaryService", "stableService"):
        if (service := canary.get(field)) and service not in hosts:
            yield str(service)


def _of_ingress(
    rollout: dict[str, Json], path: Path, ingress: dict[str, Json]
) -> Iterator[tuple[str, str]]:
    canary = mapping_at(rollout, _CANARY)
    router = mapping_at(canary, path[len(_CANARY) : len(_CANARY) + 2])
    service = router.get("rootService") or canary.get("stableService")
    rules = mappings_in(value_at(ingress, ("spec", "rules")))
    backends = {
        value_at(one, ("backend", "service", "name"))
        for rule in rules
        for one in mappings_in(value_at(rule, ("http", "paths")))
    }
    if service and service not in backends:
        yield str(service), f"no path of {{}} leads to Service/{service}"


_NEEDS: dict[str, _Needs] = {
    "AnalysisTemplate": _of_analysis,
    "ClusterAnalysisTemplate": _of_analysis,
    "Service": _of_service,
    "VirtualService": _of_virtual_service,
    "Ingress": _of_ingress,
}
NEEDED_KINDS = frozenset(_NEEDS)
