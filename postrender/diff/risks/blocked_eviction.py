"""A PodDisruptionBudget begins to block every eviction, so drains of nodes wait.

- It has `maxUnavailable: 0`, or a `minAvailable` of all replicas, or of an autoscaler's minimum.
- A second budget selects the same pods.

Source: `registry/core/pod/rest/eviction.go` of Kubernetes, and its disruption controller.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from math import inf

from postrender.diff.kinds import SCALERS, pod_templates_of, scaled_by
from postrender.diff.model import Risk
from postrender.diff.risks import Facts
from postrender.diff.selectors import LabelKey, candidates, is_selected, label_keys, words_of
from postrender.kubernetes.kinds import Identity
from postrender.yaml.paths import Json, mapping_at, parts_at, value_at

_BUDGET = ("PodDisruptionBudget",)
_SCALED = ("Deployment", "StatefulSet", "ReplicaSet", "Rollout")
_WAITS = "The API server refuses to evict the pods, so drains of nodes wait"
_MOST = 1_000  # workloads of a budget
_PATHS = (("spec", "replicas"), ("spec", "template", "metadata"))
_LEAST = {"HorizontalPodAutoscaler": "minReplicas", "ScaledObject": "minReplicaCount"}

# The labels of a workload's pods, its replicas, and the workload.
_Pods = tuple[dict[str, str], int, Identity]


def find(facts: Facts) -> Iterator[Risk]:
    words = set(_words(facts))
    if words:
        before, after = (_blocked(facts, words, is_new=is_new) for is_new in (False, True))
        for (identity, path), fact in after.items():
            if (identity, path) not in before:
                yield Risk(identity, fact, _WAITS, path)


def _words(facts: Facts) -> Iterator[str]:
    """Words of which each budget has one that can begin to block."""
    for pair in facts.changes:
        kind, data = pair.identity.kind, pair.new.data if pair.new else {}
        if kind in _BUDGET and data:
            yield from words_of(_selector(data))
        elif kind in _SCALED and any(parts_at(pair.parts, path) != {} for path in _PATHS):
            for labels in _labels(pair.identity, data):
                yield from labels.values()
        elif kind in SCALERS and data:
            yield scaled_by(data)[1]


def _blocked(
    facts: Facts, words: Collection[str], *, is_new: bool
) -> dict[tuple[Identity, str], str]:
    """Why the budgets of one side refuse evictions, by the budget and the path of the reason."""
    budgets = list(facts.objects(_BUDGET, is_new=is_new, words=words))
    pods = _pods(facts, {word for one in budgets for word in words_of(_selector(one.data))}, is_new)
    found: dict[tuple[Identity, str], str] = {}
    first: dict[Identity, Identity] = {}
    by_selector: dict[tuple[str | None, str], tuple[list[Identity], float]] = {}
    for identity, data in budgets:
        selector, space = _selector(data), facts.both.resolver.namespace_of(identity.namespace)
        key = space, repr(selector)
        if key not in by_selector:
            by_selector[key] = _selected(pods, space, selector)
            for workload in by_selector[key][0]:
                first.setdefault(workload, identity)
        workloads, count = by_selector[key]
        path, fact = _reason(mapping_at(data, ("spec",)), count)
        if fact:
            found[identity, path] = fact
        shared = next((workload for workload in workloads if first[workload] != identity), None)
        if shared:
            found[identity, "spec.selector"] = f"{first[shared]} also selects the pods of {shared}"
    return found


def _selected(
    pods: Mapping[LabelKey, Sequence[_Pods]], space: str | None, selector: dict[str, Json]
) -> tuple[list[Identity], float]:
    """The workloads that a selector matches, and their replicas; infinity if there are too many."""
    possible = candidates(pods, space, mapping_at(selector, ("matchLabels",)))
    selected = [one for one in possible[:_MOST] if is_selected(selector, one[0])]
    is_whole = len(possible) <= _MOST
    count = sum(replicas for _, replicas, _ in selected) if is_whole else inf
    return [workload for *_, workload in selected], count


def _pods(facts: Facts, words: Collection[str], is_new: bool) -> dict[LabelKey, list[_Pods]]:
    """The pods of one side."""
    workloads = list(facts.objects(_SCALED, is_new=is_new, words=words)) if words else []
    names = {one.identity.name for one in workloads}
    least = {
        target: value_at(item.data, ("spec", _LEAST[item.identity.kind]))
        for item, target in (facts.scalers(names, is_new=is_new) if names else ())
    }
    found: defaultdict[LabelKey, list[_Pods]] = defaultdict(list)
    for identity, data in workloads:
        space = facts.both.resolver.namespace_of(identity.namespace)
        replicas = value_at(data, ("spec", "replicas"))
        replicas = least.get((space, identity.kind, identity.name), replicas)
        for labels in _labels(identity, data):
            count = replicas if isinstance(replicas, int) else 1
            for key in label_keys(space, labels):
                found[key].append((labels, count, identity))
    return found


def _labels(identity: Identity, data: dict[str, Json]) -> Iterator[dict[str, str]]:
    for _, template in pod_templates_of(identity.group_kind, data):
        labels = mapping_at(template, ("metadata", "labels"))
        yield {str(key): str(value) for key, value in labels.items()}


def _selector(budget: dict[str, Json]) -> dict[str, Json]:
    return mapping_at(budget, ("spec", "selector"))


def _reason(spec: dict[str, Json], pods: float) -> tuple[str, str]:
    """The path and the fact of a budget that leaves no pod to evict; "" for any other."""
    least, most = spec.get("minAvailable"), spec.get("maxUnavailable")
    if pods and least == "100%":
        return "spec.minAvailable", "minAvailable is 100%"
    if pods and isinstance(least, int) and least >= pods:
        return "spec.minAvailable", f"minAvailable is {least}, and there are {pods} replicas"
    if pods and most in (0, "0%"):
        return "spec.maxUnavailable", f"maxUnavailable is {most}"
    return "", ""
