"""What Argo Rollouts does not accept in objects that the API server accepts.

Source: `pkg/apis/rollouts/validation` and `utils/analysis` of Argo Rollouts 1.10, which also
validates the pod template as Kubernetes does.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from postrender.kubernetes.kinds import ROLLOUT, GroupKind
from postrender.kubernetes.validation.checks import (
    COUNT,
    Check,
    Missing,
    Problem,
    Rows,
    between,
    deadline,
    exclusive,
    matching,
    needs,
    requires,
    unique,
)
from postrender.text import conjoined
from postrender.yaml.paths import (
    Json,
    Parts,
    PatternTree,
    mapping_at,
    mappings_in,
    parse_pattern,
    parts_at,
    value_at,
)

_MOST_WEIGHT = ("spec", "strategy", "canary", "trafficRouting", "maxTrafficWeight")
_HISTORY = 10  # the default of revisionHistoryLimit


_DURATION = re.compile(r"[-+]?(?:0|(?:(?:\d+(?:\.\d*)?|\.\d+)(?:ns|us|µs|μs|ms|s|m|h))+)\Z")


def _is_duration(text: str) -> bool:
    return _DURATION.match(text) is not None


def _is_pause(text: str) -> bool:
    return text.isdecimal() or (_is_duration(text) and text[0] != "-")


def _spec(value: Json) -> Iterator[str]:
    # Argo Rollouts looks only at the labels and annotations, and replaces the rest.
    metadata = mapping_at(value, ("template", "metadata"))
    has_template = bool(metadata.get("labels") or metadata.get("annotations"))
    if mapping_at(value, ("workloadRef",)) and has_template:
        yield "template and workloadRef are both set"
    kept = value_at(value, ("revisionHistoryLimit",))
    limit = value_at(value, ("strategy", "blueGreen", "scaleDownDelayRevisionLimit"))
    if isinstance(limit, int) and limit > (kept if isinstance(kept, int) else _HISTORY):
        yield f"scaleDownDelayRevisionLimit ({limit}) is above revisionHistoryLimit"


def _different(*fields: str) -> Check:
    """A check of a mapping with the names of two Services."""

    def check(value: Json) -> Iterator[str]:
        names = [value_at(value, (field,)) for field in fields]
        if names[0] and names[0] == names[1]:
            yield f"{fields[0]} and {fields[1]} are the same"

    return check


def _surge(canary: Json) -> Iterator[str]:
    values = [value_at(canary, (f"max{field}",)) for field in ("Surge", "Unavailable")]
    if all(str(value) in ("0", "0%") for value in values):
        yield "maxSurge and maxUnavailable are both 0"


_NEED_SERVICES = {"smi", "apisix", "ambassador", "nginx", "appMesh", "traefik"}


def _services(canary: Json) -> Iterator[str]:
    has_pair = value_at(canary, ("pingPong",)) is not None
    routers = _routers(canary)
    # With a DestinationRule, Istio tells the pods apart by their labels.
    has_subsets = "istio" not in routers or bool(routers["istio"].get("destinationRule"))
    is_needed = not _NEED_SERVICES.isdisjoint(routers) or (
        not has_pair and ("alb" in routers or not has_subsets)
    )
    has_both = value_at(canary, ("canaryService",)) and value_at(canary, ("stableService",))
    if is_needed and not has_both:
        yield "trafficRouting needs a canaryService and a stableService"
    if has_pair and "alb" in routers and not routers["alb"].get("rootService"):
        yield "pingPong needs the rootService of alb"


def _routers(canary: Json) -> dict[str, dict[str, Json]]:
    """The fields of trafficRouting that are mappings: the routers."""
    traffic = mapping_at(canary, ("trafficRouting",))
    return {
        name: router
        for name, router in traffic.items()
        if isinstance(router, dict) and (router or name != "plugins")
    }


_MANAGED = ("setHeaderRoute", "setMirrorRoute")
# What only some of the routers in trafficRouting support.
_WEIGHT = "the weight of an experiment"
_SUPPORT = {
    "maxTrafficWeight": ("nginx", "plugins"),
    "pingPong": ("alb", "istio", "plugins"),
    "setHeaderRoute": ("istio", "alb", "apisix", "plugins"),
    "setMirrorRoute": ("istio", "plugins"),
    _WEIGHT: ("alb", "smi", "istio", "plugins"),
}


def _support(canary: Json) -> Iterator[str]:
    """What the routers do not support."""
    traffic = value_at(canary, ("trafficRouting",))
    steps = mappings_in(value_at(canary, ("steps",)))
    used = {action for step in steps for action in _MANAGED if step.get(action)}
    if value_at(traffic, ("maxTrafficWeight",)) is not None:
        used.add("maxTrafficWeight")
    if traffic is not None and value_at(canary, ("pingPong",)) is not None:
        used.add("pingPong")
    for step in steps:
        for template in mappings_in(value_at(step, ("experiment", "templates"))):
            if template.get("weight") is not None:
                used.add(_WEIGHT)
    for what in sorted(used):
        if _routers(canary).keys().isdisjoint(_SUPPORT[what]):
            yield f"{what} needs {conjoined(_SUPPORT[what], word='or')} in trafficRouting"
    if traffic is None and any(step.get("setCanaryScale") is not None for step in steps):
        yield "the step setCanaryScale needs trafficRouting"


def _routes(canary: Json) -> Iterator[str]:
    """The routes that steps need in trafficRouting."""
    traffic = mapping_at(canary, ("trafficRouting",))
    managed = {str(route.get("name")) for route in mappings_in(traffic.get("managedRoutes"))}
    for step in mappings_in(value_at(canary, ("steps",))) if traffic else ():
        for action in _MANAGED:
            name = value_at(step, (action, "name"))
            if isinstance(name, str) and name not in managed:
                yield f"the step {action} needs {name} in the managedRoutes of trafficRouting"
        for match in mappings_in(value_at(step, ("setHeaderRoute", "match"))):
            if "alb" in _routers(canary) and not value_at(match, ("headerValue", "exact")):
                yield "with alb, the step setHeaderRoute needs headerValue.exact"


# Argo Rollouts accepts another action besides one of these.
_EXCLUSIVE = ("setWeight", "pause", "analysis", "experiment")
_ACTIONS = (*_EXCLUSIVE, "setCanaryScale", *_MANAGED, "plugin")


def _step(value: Json) -> Iterator[str]:
    yield from exclusive(*_EXCLUSIVE)(value)
    if all(value_at(value, (action,)) is None for action in _ACTIONS):
        yield Missing(f"one of the fields {', '.join(_ACTIONS)} is missing")


_ANALYSES = (
    *("canary.steps[].analysis", "canary.analysis"),
    *("blueGreen.prePromotionAnalysis", "blueGreen.postPromotionAnalysis"),
)
_TRAFFIC = "spec.strategy.canary.trafficRouting"
_STEPS = "spec.strategy.canary.steps[]"
_REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
_PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"
_MATCH = exclusive("exact", "regex", "prefix", is_needed=True)
SPEC_ROWS: dict[GroupKind, Rows] = {
    ROLLOUT: (
        ("spec", deadline),
        ("spec", _spec),
        ("spec", needs("strategy")),
        *(
            (f"spec.{field}", COUNT)
            for field in ("replicas", "minReadySeconds", "revisionHistoryLimit")
        ),
        ("spec.progressDeadlineSeconds", COUNT),
        ("spec.strategy", exclusive("canary", "blueGreen", is_needed=True)),
        ("spec.strategy.blueGreen", _different("activeService", "previewService")),
        ("spec.strategy.canary", _different("canaryService", "stableService")),
        *(("spec.strategy.canary", check) for check in (_surge, _services, _support, _routes)),
        *(
            ("spec.strategy.canary", requires(field, "trafficRouting"))
            for field in ("scaleDownDelaySeconds", "dynamicStableScale: true")
        ),
        ("spec.strategy.canary", exclusive("scaleDownDelaySeconds", "dynamicStableScale: true")),
        ("spec.strategy.canary.pingPong", needs("pingService", "pongService")),
        ("spec.strategy.canary.pingPong", _different("pingService", "pongService")),
        *(
            (f"{_TRAFFIC}.{router}", exclusive(*fields, is_needed=True))
            for router, fields in {
                "nginx": ("stableIngress", "stableIngresses"),
                "alb": ("ingress", "ingresses"),
                "istio": ("virtualService", "virtualServices"),
            }.items()
        ),
        *(
            row
            for strategy in ("canary", "blueGreen")
            for path in [f"spec.strategy.{strategy}.antiAffinity"]
            for row in (
                (path, exclusive(_PREFERRED, _REQUIRED, is_needed=True)),
                (f"{path}.{_PREFERRED}.weight", between(1, 100)),
            )
        ),
        (_STEPS, _step),
        (f"{_STEPS}.pause.duration", matching(_is_pause, "a duration")),
        (f"{_STEPS}.setHeaderRoute.match[].headerValue", _MATCH),
        *((f"{_STEPS}.setMirrorRoute.match[].{field}", _MATCH) for field in ("method", "path")),
        *((f"spec.strategy.{one}.templates[]", needs("templateName")) for one in _ANALYSES),
    )
}


_LIMITS = ("failureLimit", "inconclusiveLimit", "consecutiveSuccessLimit", "consecutiveErrorLimit")


def _metric(value: Json) -> Iterator[str]:
    count = _number(value, "count")
    if count > 1 and not value_at(value, ("interval",)):
        yield f"a count of {count} needs an interval"
    failures, inconclusive, successes, errors = (_number(value, field) for field in _LIMITS)
    for field, limit, least in zip(
        _LIMITS, (failures, inconclusive, successes, errors), (-1, 0, 0, 0), strict=True
    ):
        if limit < least:
            yield f"{field} ({limit}) is below {least}"
    if failures == -1 and not successes:
        yield "failureLimit is -1, so the metric needs a consecutiveSuccessLimit"
    if 0 < count < max(failures, 0) + max(successes, 0):
        limits = "failureLimit and consecutiveSuccessLimit" if failures > 0 else _LIMITS[2]
        limits = limits if successes else _LIMITS[0]
        yield f"{limits} ({max(failures, 0) + successes}) is above the count ({count})"
    if 0 < count < inconclusive:
        yield f"{_LIMITS[1]} ({inconclusive}) is above the count ({count})"


_MOST_DIGITS = 10  # Python does not read thousands


def _number(metric: Json, field: str) -> int:
    """A number, also as text; 0 for anything else, such as an argument."""
    value = value_at(metric, (field,))
    if isinstance(value, str) and value.removeprefix("-").isdecimal():
        return int(value[:_MOST_DIGITS])
    return value if isinstance(value, int) else 0


def _metrics(value: Json) -> Iterator[str]:
    if not value_at(value, ("metrics",)) and not value_at(value, ("templates",)):
        yield Missing("the field metrics is missing")


def _plugins(value: Json) -> Iterator[str]:
    if isinstance(value, dict) and len(value) > 1:
        yield f"the metric has {len(value)} plugins, and can have one"


_PROVIDERS = (
    *("prometheus", "job", "web", "wavefront", "kayenta", "datadog", "newRelic", "cloudWatch"),
    *("graphite", "influxdb", "skywalking", "plugin"),
)
# What ends an analysis with an error, when it begins.
METRIC_ROWS: dict[GroupKind, Rows] = dict.fromkeys(
    (("argoproj.io", "AnalysisTemplate"), ("argoproj.io", "ClusterAnalysisTemplate")),
    (
        ("spec", _metrics),
        ("spec.metrics", unique("metric")),
        ("spec.metrics[]", _metric),
        ("spec.metrics[]", needs("name", "provider")),
        ("spec.metrics[].provider", exclusive(*_PROVIDERS, is_needed=True)),
        ("spec.metrics[].provider.plugin", _plugins),
        *(
            (f"spec.metrics[].{field}", matching(_is_duration, "a duration"))
            for field in ("interval", "initialDelay")
        ),
    ),
)
_WEIGHTS = PatternTree([(parse_pattern("spec.strategy.canary.steps[].setWeight"), between(0, 100))])


def find_invalid_weights(root: dict[str, Json], parts: Parts) -> Iterator[Problem]:
    """The weights above 100 of a Rollout without a limit of its own; parts: as in find_invalid."""
    if value_at(root, _MOST_WEIGHT) is None:
        is_limit_new = parts_at(parts, _MOST_WEIGHT) != {}
        for path, value, check in _WEIGHTS.find(root, None if is_limit_new else parts):
            yield from ((path, text) for text in check(value))
