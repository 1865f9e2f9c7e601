"""How new pods replace the pods of a workload: `3 pods · canary 5 % → waits for you → 100 %`.

The text has no words from the manifests, only their numbers. A value of a wrong type counts as
absent, or is left out.

Source: the Deployment, StatefulSet and CronJob controllers of Kubernetes 1.36, and the rollout
controller of Argo Rollouts 1.10.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping

from postrender.diff.model import (
    ENDS,
    NEXT_PODS,
    NEXT_RUN,
    REFUSED,
    ROLLS,
    STAYS,
    Risk,
    WorkloadChange,
)
from postrender.diff.pairs import ComparedObject
from postrender.diff.risks.facts import Facts
from postrender.diff.risks.limits import NO_PODS
from postrender.diff.risks.rejected import NOT_STARTED
from postrender.diff.values import counted
from postrender.kubernetes.annotations import keeper_of
from postrender.kubernetes.kinds import POD, ROLLOUT, Identity, is_built_in
from postrender.kubernetes.uses import INVALID_SPEC
from postrender.kubernetes.validation.checks import PODS
from postrender.records import grouped
from postrender.yaml.paths import Json, mapping_at, mappings_in, value_at

_PAUSABLE = (("apps", "Deployment"), ROLLOUT)
_STATEFUL_SET = ("apps", "StatefulSet")
_REPLICATED = (*_PAUSABLE, _STATEFUL_SET)
_DURATION = re.compile(r"\d{1,9}(?:ms|s|m|h)?\Z")
_EQUAL = "the API server stores an equal pod template"
_RESUMED = "a change that waited before can roll now"
_STEPS = {
    "analysis": "analysis",
    "experiment": "experiment",
    "setCanaryScale": "number of canary pods",
    "setHeaderRoute": "route by header",
    "setMirrorRoute": "mirrored traffic",
    "plugin": "plugin",
}

# The bounds of an autoscaler, by the kind and the identity of its target.
_Scalers = Mapping[Identity, str]


def with_replacements(
    workloads: Mapping[int, WorkloadChange], facts: Facts, rejections: Iterable[Risk]
) -> dict[int, WorkloadChange]:
    """The workloads with the effect and the replacement that their strategy gives.

    rejections: by the API server or, with other codes, by Argo Rollouts, or of the new pods.
    """
    found = grouped(rejections, lambda risk: risk.code)
    by_rollouts = found.pop("invalid-rollout", ())
    without_pods = [risk for risk in found.pop("refused-pods", ()) if risk.consequence == NO_PODS]
    refused = {risk.identity for risks in found.values() for risk in risks}
    pairs = {pair.identity: pair for pair in facts.pairs}
    unstartable = {
        identity: judge
        for judge in reversed(NOT_STARTED)  # the API server decides first
        for identity, _, _ in facts.rejections.get(judge, ())
    }
    unstartable |= {risk.identity: PODS for risk in without_pods}
    scalers = _scalers(facts, workloads.values())
    result = {}
    for number, workload in workloads.items():
        pair = pairs.get(workload.identity)
        if workload.identity in refused:
            workload = workload._replace(effect=REFUSED)
        elif pair and workload.effect == ENDS:
            workload = workload._replace(replacement=_after_the_end(pair.newest.data))
        elif pair and pair.both and not pair.newest.is_hook:
            effect, text = _replacement(workload, *pair.both, scalers.get(workload.identity, ""))
            if effect == ROLLS and (judge := unstartable.get(workload.identity)):
                text = " · ".join(filter(None, (text, NOT_STARTED[judge])))
                # A StatefulSet or DaemonSet deletes an old pod first.
                is_kept = workload.identity.group_kind in _PAUSABLE and "Recreate" not in text
                effect = STAYS if judge == PODS and is_kept else effect
            workload = workload._replace(effect=effect, replacement=text)
        result[number] = workload
    return without_invalid(result, by_rollouts)


def without_invalid(
    workloads: Mapping[int, WorkloadChange], risks: Iterable[Risk]
) -> dict[int, WorkloadChange]:
    """The workloads, where a Rollout with an invalid spec or reference does not roll."""
    invalid = {risk.identity for risk in risks if risk.consequence == INVALID_SPEC}
    text = "Argo Rollouts does not accept the spec"
    return {
        number: workload._replace(effect=STAYS, replacement=text)
        if workload.identity in invalid and workload.effect == ROLLS
        else workload
        for number, workload in workloads.items()
    }


def _after_the_end(data: dict[str, Json]) -> str:
    if keeper := keeper_of(data):
        return f"{keeper} keeps the object"
    claims = value_at(data, ("spec", "volumeClaimTemplates"))
    policy = value_at(data, ("spec", "persistentVolumeClaimRetentionPolicy", "whenDeleted"))
    return "the claims of its pods are kept" if claims and policy != "Delete" else ""


def _scalers(facts: Facts, workloads: Iterable[WorkloadChange]) -> _Scalers:
    """The bounds of the autoscalers of workloads that have replicas."""
    targets = {
        (facts.namespace_of(one.identity), one.identity.kind, one.identity.name): one.identity
        for one in workloads
        if one.identity.group_kind in _REPLICATED
    }
    found = {}
    names = [name for _, _, name in targets]
    for item, target in facts.scalers(names) if names else ():
        if identity := targets.get(target):
            spec = mapping_at(item.data, ("spec",))
            low, high = (spec.get(f"{end}Replicas") for end in ("min", "max"))
            if item.identity.kind == "ScaledObject":
                low, high = spec.get("minReplicaCount", 0), spec.get("maxReplicaCount", 100)
            bounds = _count(low, 1), _count(high, 0)
            is_known = bounds[0] is not None and bounds[1]
            found[identity] = f"{bounds[0]:,} to {bounds[1]:,} pods" if is_known else "pods"
    return found


def _replacement(
    workload: WorkloadChange, old: ComparedObject, new: ComparedObject, scaler: str
) -> tuple[str, str]:
    kind, effect = workload.identity.group_kind, workload.effect
    spec = mapping_at(new.data, ("spec",))
    if effect == NEXT_RUN and spec.get("suspend") is True:
        return effect, "suspended: no run before it is resumed"
    if effect == NEXT_PODS and value_at(spec, ("updateStrategy", "type")) == "OnDelete":
        return effect, "OnDelete: a pod changes when you delete the pod"
    if effect == STAYS:
        return effect, _without_roll(workload, mapping_at(old.data, ("spec",)), spec, scaler)
    if effect != ROLLS:
        return effect, ""
    if kind in _PAUSABLE and spec.get("paused") is True:
        return STAYS, "paused: the change waits until the workload is resumed"
    if kind == ("apps", "DaemonSet"):
        return effect, "one pod on each node"
    if kind not in _REPLICATED:
        return effect, ""
    replicas = _count(spec.get("replicas"), 1)
    if replicas == 0:
        return NEXT_PODS, "0 pods"
    pods = "" if replicas is None else counted(replicas, "pod")
    steps = [f"{scaler}, set by an autoscaler" if scaler else pods]
    if kind == _STATEFUL_SET:
        partition = _partition(spec)
        if partition and replicas is not None and not scaler and partition >= replicas:
            return STAYS, f"partition {partition:,} of {replicas:,}: no pod changes"
        steps += _ordinals(spec, partition, replicas, scaler)
    elif value_at(spec, ("strategy", "type")) == "Recreate":
        steps.append("Recreate: all old pods stop first")
    elif kind == ROLLOUT:
        steps += filter(None, [_canary(spec), _blue_green(spec)])
        effect = STAYS if _waits_first(spec) else effect
    return effect, " · ".join(filter(None, steps))


def _without_roll(
    workload: WorkloadChange, old: dict[str, Json], new: dict[str, Json], scaler: str
) -> str:
    """The remark about a workload whose pods stay, or ""."""
    kind = workload.identity.group_kind
    if workload.causes:
        return _EQUAL if kind == ROLLOUT or (kind != POD and is_built_in(kind[0])) else ""
    is_resumed = old.get("paused") is True and new.get("paused") is not True
    if (kind in _PAUSABLE and is_resumed) or (
        kind == _STATEFUL_SET and _partition(new) < _partition(old)
    ):
        return _RESUMED
    if scaler and any(field.path == "spec.replicas" for field in workload.fields):
        return f"an autoscaler sets the replicas again after the apply: {scaler}"
    return ""


def _count(value: Json, default: int) -> int | None:
    """A number of pods, None for what is no such number."""
    if value is None:
        return default
    is_count = isinstance(value, int) and not isinstance(value, bool) and value >= 0
    return value if is_count and isinstance(value, int) else None


def _partition(spec: dict[str, Json]) -> int:
    return _count(value_at(spec, ("updateStrategy", "rollingUpdate", "partition")), 0) or 0


def _ordinals(
    spec: dict[str, Json], partition: int, replicas: int | None, scaler: str
) -> Iterator[str]:
    """The pods that a partition lets change. A partition counts from the first ordinal."""
    if not partition:
        return
    start = _count(value_at(spec, ("ordinals", "start")), 0) or 0
    first = start + partition
    last = start + (replicas or 0) - 1
    if scaler or replicas is None:
        ordinals = f"ordinals from {first:,}"
    else:
        ordinals = f"ordinal {first:,}" if first == last else f"ordinals {first:,} to {last:,}"
    yield f"partition {partition:,}: only {ordinals}"


def _canary(spec: dict[str, Json]) -> str:
    """The steps of a canary, "" for a rolling update."""
    steps = mappings_in(value_at(spec, ("strategy", "canary", "steps")))
    if not steps:
        return ""
    words = [_step(step) for step in steps]
    return "canary " + " → ".join(words if words[-1] == "100 %" else [*words, "100 %"])


def _waits_first(spec: dict[str, Json]) -> bool:
    """Whether a canary has no pods before a person promotes the Rollout."""
    for step in mappings_in(value_at(spec, ("strategy", "canary", "steps"))):
        if "pause" in step and value_at(step, ("pause", "duration")) is None:
            return True
        if "pause" not in step and step.get("setWeight") != 0:
            break
    return False


def _step(step: dict[str, Json]) -> str:
    if "setWeight" in step:
        weight = _count(step["setWeight"], 0)
        return "another weight" if weight is None else f"{weight} %"
    if "pause" in step:
        duration = value_at(step, ("pause", "duration"))
        return "waits for you" if duration is None else f"waits {_duration(duration)}"
    return next((words for key, words in _STEPS.items() if key in step), "another step")


def _duration(value: Json) -> str:
    text = str(value)
    if isinstance(value, bool) or not _DURATION.match(text):
        return "for some time"
    return f"{text} s" if text.isdigit() else text


def _blue_green(spec: dict[str, Json]) -> str:
    strategy = value_at(spec, ("strategy", "blueGreen"))
    if not isinstance(strategy, dict):
        return ""
    steps = ["blue-green: new pods start next to the old pods"]
    if strategy.get("prePromotionAnalysis"):
        steps.append("analysis")
    seconds = _count(strategy.get("autoPromotionSeconds"), 0)
    if strategy.get("autoPromotionEnabled") is False:
        steps.append("waits for you")
    elif seconds:
        steps.append(f"waits {seconds} s")
    steps.append("all traffic moves")
    if strategy.get("postPromotionAnalysis"):
        steps.append("analysis")
    return " → ".join(steps)
