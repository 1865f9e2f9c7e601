"""What Argo Rollouts does not accept in a Rollout that the API server accepts.

Source: `pkg/apis/rollouts/validation` of Argo Rollouts 1.10, which also validates the pod template
as Kubernetes does.
"""

from __future__ import annotations

from collections.abc import Iterator

from postrender.kubernetes.kinds import ROLLOUT
from postrender.kubernetes.validation.checks import Problem, between, deadline, tree_of
from postrender.yaml.paths import Json, Parts, mapping_at, parts_at, value_at

_MOST_WEIGHT = ("spec", "strategy", "canary", "trafficRouting", "maxTrafficWeight")
_ACTIONS = [
    "setWeight",
    "pause",
    "setCanaryScale",
    "analysis",
    "experiment",
    "setHeaderRoute",
    "setMirrorRoute",
    "plugin",
]


def _step(value: Json) -> Iterator[str]:
    count = sum(action in value for action in _ACTIONS) if isinstance(value, dict) else 1
    if count != 1:
        yield f"the step has {count} actions, and needs one"


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


def _blue_green(value: Json) -> Iterator[str]:
    services = [value_at(value, (f"{name}Service",)) for name in ("active", "preview")]
    if services[0] == services[1]:
        yield "activeService and previewService are the same"


def _strategy(value: Json) -> Iterator[str]:
    count = sum(value_at(value, (name,)) is not None for name in ("canary", "blueGreen"))
    if count != 1:
        yield f"the strategy has {count} of canary and blueGreen, and needs one"


_ROWS = tree_of(
    (
        ("spec", deadline),
        ("spec.strategy", _strategy),
        ("spec.strategy.canary", _canary),
        ("spec.strategy.canary.steps[]", _step),
        ("spec.strategy.blueGreen", _blue_green),
    )
)
SPEC_ROWS = {ROLLOUT: _ROWS}
_WEIGHTS = tree_of([("spec.strategy.canary.steps[].setWeight", between(0, 100))])


def find_invalid_weights(root: dict[str, Json], parts: Parts) -> Iterator[Problem]:
    """The weights above 100 of a Rollout without a limit of its own; parts: as in find_invalid."""
    if value_at(root, _MOST_WEIGHT) is None:
        is_limit_new = parts_at(parts, _MOST_WEIGHT) != {}
        for path, value, check in _WEIGHTS.find(root, None if is_limit_new else parts):
            yield from ((path, text) for text in check(value))
