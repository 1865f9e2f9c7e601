"""What Argo Rollouts does not accept in a Rollout that the API server accepts.

Source: `pkg/apis/rollouts/validation` of Argo Rollouts 1.10, which also validates the pod template
as Kubernetes does.
"""

from __future__ import annotations

from collections.abc import Iterator

from postrender.kubernetes.kinds import ROLLOUT
from postrender.kubernetes.validation.checks import Problem, between, deadline, tree_of
from postrender.kubernetes.validation.pods import (
    NEW_POD_ROWS,
    POD_ROWS,
    across_containers,
    restart_policy,
)
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
_WEIGHTS = tree_of([("spec.strategy.canary.steps[].setWeight", between(0, 100))])


def find_invalid_spec(root: dict[str, Json], parts: Parts = None) -> Iterator[Problem]:
    """The values of a Rollout for which Argo Rollouts reports InvalidSpec.

    parts: as in find_invalid.
    """
    has_limit = value_at(root, _MOST_WEIGHT) is not None
    is_limit_new = parts_at(parts, _MOST_WEIGHT) != {}
    weights = [] if has_limit else _WEIGHTS.find(root, None if is_limit_new else parts)
    for path, value, check in (*_ROWS.find(root, parts), *weights):
        yield from ((path, text) for text in check(value))
    template = value_at(root, ("spec", "template"))
    path = ("spec", "template", "spec")
    inside = parts_at(parts, path)
    if isinstance(template, dict) and inside != {}:
        pod = mapping_at(template, ("spec",))
        for inner, value, check in (
            *POD_ROWS.find(pod, inside),
            *NEW_POD_ROWS.find(pod, inside),
        ):
            yield from (((*path, *inner), text) for text in check(value))
        yield from across_containers(path, pod, [], is_new=True)
        yield from restart_policy(ROLLOUT, path, pod)
