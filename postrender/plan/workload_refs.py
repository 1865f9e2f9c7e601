"""Rollouts that use the pod template of another workload (spec.workloadRef, Argo Rollouts)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

from postrender.inventory.model import Item, ItemKey
from postrender.kubernetes.kinds import GroupKind
from postrender.plan.namespaces import Resolver


def find_rollouts(items: Sequence[Item], resolver: Resolver) -> dict[ItemKey, list[Item]]:
    """Return, by workload, the Rollouts that use the workload's pod template."""
    referring = [(item, item.workload_ref) for item in items if item.workload_ref]
    candidates: dict[tuple[GroupKind, str], list[Item]] = defaultdict(list)
    for item in items if referring else ():
        candidates[item.identity.group_kind, item.identity.name].append(item)
    rollouts: dict[ItemKey, list[Item]] = defaultdict(list)
    for rollout, target in referring:
        for workload in resolver.find_in_namespace(
            rollout.identity.namespace, candidates.get(target, ())
        ):
            rollouts[workload.key].append(rollout)
    return rollouts
