"""What Argo Rollouts does not accept in a Rollout that the API server accepts.

Source: `pkg/apis/rollouts/validation` of Argo Rollouts 1.10, which also validates the pod template
as Kubernetes does.
"""

from __future__ import annotations

from collections.abc import Iterator

from postrender.kubernetes.kinds import ROLLOUT, GroupKind
from postrender.kubernetes.validation.checks import (
    Problem,
    Rows,
    between,
    deadline,
    exclusive,
    matching,
    needs,
    unique,
)
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


def _is_duration(text: str) -> bool:
    return text.isdigit() or (text[-1] in "smh" and not text.strip("0123456789.nuµmsh"))


_ROUTED = ("setCanaryScale", "setHeaderRoute", "setMirrorRoute")
_ACTIONS = ("setWeight", "pause", "analysis", "experiment", *_ROUTED, "plugin")


def _canary(value: Json) -> Iterator[str]:
    services = [value_at(value, (f"{name}Service",)) for name in ("canary", "stable")]
    traffic = mapping_at(value, ("trafficRouting",))
    if services[0] and services[0] == services[1]:
        yield "canaryService and stableService are the same"
    has_services = all(services) or mapping_at(value, ("pingPong",))
    if not has_services and {"nginx", "alb", "traefik"} & traffic.keys():
        yield "trafficRouting needs a canaryService and a stableService"
    if [value_at(value, (f"max{name}",)) for name in ("Surge", "Unavailable")] in (
        [0, 0],
        ["0%", "0%"],
    ):
        yield "maxSurge and maxUnavailable are both 0"
    for field in ("scaleDownDelaySeconds", "dynamicStableScale"):
        if not traffic and value_at(value, (field,)) not in (None, False):
            yield f"{field} needs trafficRouting"
    routes = {str(route.get("name")) for route in mappings_in(traffic.get("managedRoutes"))}
    for step in mappings_in(value_at(value, ("steps",))):
        for action in _ROUTED if not step.keys().isdisjoint(_ROUTED) else ():
            name = value_at(step, (action, "name"))
            if action in step and not traffic:
                yield f"the step {action} needs trafficRouting"
            elif isinstance(name, str) and name not in routes:
                yield f"the step {action} needs {name} in the managedRoutes of trafficRouting"


def _blue_green(value: Json) -> Iterator[str]:
    services = [value_at(value, (f"{name}Service",)) for name in ("active", "preview")]
    if services[0] == services[1]:
        yield "activeService and previewService are the same"


def _history(value: Json) -> Iterator[str]:
    kept = value_at(value, ("revisionHistoryLimit",))
    limit = value_at(value, ("strategy", "blueGreen", "scaleDownDelayRevisionLimit"))
    if isinstance(limit, int) and limit > (kept if isinstance(kept, int) else _HISTORY):
        yield f"scaleDownDelayRevisionLimit ({limit}) is above revisionHistoryLimit"


_HISTORY = 10  # the default


def _source(value: Json) -> Iterator[str]:
    # A template that only has what Argo Rollouts ignores, such as labels, is no second one.
    if mapping_at(value, ("workloadRef",)) and value_at(value, ("template", "spec", "containers")):
        yield "template and workloadRef are both set"


_ANALYSES = (
    *("canary.steps[].analysis", "canary.analysis"),
    *("blueGreen.prePromotionAnalysis", "blueGreen.postPromotionAnalysis"),
)
SPEC_ROWS: dict[GroupKind, Rows] = {
    ROLLOUT: (
        ("spec", deadline),
        ("spec", _source),
        ("spec", _history),
        ("spec.strategy.canary.pingPong", needs("pingService", "pongService")),
        ("spec.strategy", exclusive("canary", "blueGreen", is_needed=True)),
        ("spec.strategy.canary", _canary),
        ("spec.strategy.canary.steps[]", exclusive(*_ACTIONS, is_needed=True)),
        (
            "spec.strategy.canary.steps[].pause.duration",
            matching(_is_duration, "a duration"),
        ),
        *((f"spec.strategy.{one}.templates[]", needs("templateName")) for one in _ANALYSES),
        ("spec.strategy.blueGreen", _blue_green),
    )
}


def _metric(value: Json) -> Iterator[str]:
    """What ValidateMetric in `utils/analysis` of Argo Rollouts does not accept."""
    numbers = [value_at(value, (field,)) for field in ("count", *_LIMITS)]
    count, *limits = (one if isinstance(one, int) else 0 for one in numbers)
    if count > 1 and not value_at(value, ("interval",)):
        yield f"a count of {count} needs an interval"
    for field, limit in zip(_LIMITS, limits, strict=True):
        if 0 < count < limit:
            yield f"{field} ({limit}) is above the count ({count})"


_LIMITS = ("failureLimit", "inconclusiveLimit", "consecutiveSuccessLimit")
_PROVIDERS = (
    *("prometheus", "job", "web", "wavefront", "kayenta", "datadog", "newRelic", "cloudWatch"),
    *("graphite", "influxdb", "skywalking", "plugin"),
)
# What ends an analysis with an error, when it begins.
METRIC_ROWS: dict[GroupKind, Rows] = dict.fromkeys(
    (("argoproj.io", "AnalysisTemplate"), ("argoproj.io", "ClusterAnalysisTemplate")),
    (
        ("spec.metrics", unique("metric")),
        ("spec.metrics[]", _metric),
        ("spec.metrics[]", needs("name", "provider")),
        ("spec.metrics[].provider", exclusive(*_PROVIDERS, is_needed=True)),
        *(
            (f"spec.metrics[].{field}", matching(_is_duration, "a duration"))
            for field in ("interval", "initialDelay")
        ),
    ),
)
_WEIGHTS = PatternTree()
_WEIGHTS.add(parse_pattern("spec.strategy.canary.steps[].setWeight"), between(0, 100))


def find_invalid_weights(root: dict[str, Json], parts: Parts) -> Iterator[Problem]:
    """The weights above 100 of a Rollout without a limit of its own; parts: as in find_invalid."""
    if value_at(root, _MOST_WEIGHT) is None:
        is_limit_new = parts_at(parts, _MOST_WEIGHT) != {}
        for path, value, check in _WEIGHTS.find(root, None if is_limit_new else parts):
            yield from ((path, text) for text in check(value))
