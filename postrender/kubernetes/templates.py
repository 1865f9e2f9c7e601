"""The pod templates of a workload, and the workloadRef of a Rollout."""

from __future__ import annotations

from functools import cache

from postrender.kubernetes.kinds import WORKLOAD_KINDS, GroupKind, api_group
from postrender.yaml.paths import Json, Path, PatternTree, mapping_at

_ROLLOUT = ("argoproj.io", "Rollout")


@cache
def _template_tree(group_kind: GroupKind) -> PatternTree:
    """Return the pattern for the paths of a kind's pod templates, as a tree."""
    tree = PatternTree()
    workload = WORKLOAD_KINDS.get(group_kind)
    if workload and workload.template:
        tree.add(workload.template, None)
    return tree


def pod_templates(group_kind: GroupKind, data: Json) -> list[tuple[Path, Json]]:
    """Return the path and value of each pod template in an object.

    The result is [] for a Pod, which is itself a template, and for a kind without pod templates.
    """
    return [(path, template) for path, template, _ in _template_tree(group_kind).find(data)]


def workload_ref(group_kind: GroupKind, data: Json) -> tuple[GroupKind, str] | None:
    """Return the kind and name of the object in the field spec.workloadRef of a Rollout.

    The result is None for other kinds, and for a workloadRef without a kind or name.
    """
    if group_kind != _ROLLOUT:
        return None
    reference = mapping_at(data, ("spec", "workloadRef"))
    kind, name = reference.get("kind"), reference.get("name")
    if not isinstance(kind, str) or not isinstance(name, str):
        return None
    return (api_group(str(reference.get("apiVersion") or "apps/v1")), kind), name
