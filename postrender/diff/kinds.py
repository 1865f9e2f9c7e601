"""The kinds of workloads: where the pod template is, and which changes a kind accepts.

A custom kind is a workload if postrender.references.catalogue has the location of its pod template;
the catalogue then also decides the effect of a new one.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache

from postrender.diff.model import (
    ADDED,
    HOOK,
    IMAGE,
    NEXT_PODS,
    NEXT_RUN,
    NO_PODS,
    REFUSED,
    ROLLS,
    STAYS,
    Cause,
)
from postrender.diff.pairs import ComparedObject
from postrender.inventory.model import Item
from postrender.kubernetes.kinds import POD, WORKLOAD_KINDS, GroupKind, is_built_in
from postrender.yaml.paths import (
    EVERY_ITEM,
    Json,
    Path,
    PatternTree,
    mapping_at,
    matches_start,
    value_at,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from postrender.references.catalogue.model import Template

# The path of the tolerations of a Pod, or of one toleration.
_TOLERATION = re.compile(r"spec\.tolerations(?:\[[^\]]*\])?\Z")
# The paths of the fields of a suspended Job that can change.
_IN_SUSPENDED_JOB = re.compile(
    r"spec\.template\.(?:metadata\.(?:labels|annotations)"
    r"|spec\.(?:nodeSelector|tolerations|schedulingGates|affinity\.nodeAffinity))(?:[.\[]|\Z)"
)
# The parents of these fields, which can be added or removed as a whole, with the fields.
_PARENTS = {
    "spec.template.metadata": {"labels", "annotations"},
    "spec.template.spec.affinity": {"nodeAffinity"},
}

# The effect of a change of the pod template, by kind. For other kinds, see `effect_of`.
_EFFECTS = {
    ("batch", "Job"): REFUSED,
    ("", "Pod"): REFUSED,
    ("batch", "CronJob"): NEXT_RUN,
    ("argoproj.io", "AnalysisTemplate"): NEXT_RUN,
    ("argoproj.io", "ClusterAnalysisTemplate"): NEXT_RUN,
    ("argoproj.io", "AnalysisRun"): NEXT_RUN,
    ("argoproj.io", "Experiment"): NEXT_RUN,
    ("apps", "ReplicaSet"): NEXT_PODS,
    ("", "ReplicationController"): NEXT_PODS,
    ("", "PodTemplate"): NO_PODS,
}
# The kinds that set the replicas of a workload.
SCALERS = ("HorizontalPodAutoscaler", "ScaledObject")
# The values of spec.workloadRef.scaleDown with which Argo Rollouts removes the workload's pods.
_SCALES_DOWN = ("onsuccess", "progressively")


def effect_of(
    old: ComparedObject,
    new: ComparedObject,
    causes: Sequence[Cause],
    rollouts: Sequence[ComparedObject],
) -> str:
    """The effect on a workload whose pod template changes.

    causes: of the difference between the pod templates.
    rollouts: the Rollouts that use the new pod template.
    """
    kind = new.identity.group_kind
    if new.is_hook:
        return HOOK
    if _is_accepted(old, causes):
        return STAYS if old.identity.group_kind == POD else NEXT_RUN
    if kind in _EFFECTS:
        return _EFFECTS[kind]
    if value_at(new.data, ("spec", "updateStrategy", "type")) == "OnDelete":
        return NEXT_PODS
    template = _custom_template(kind)
    if template is None:
        return NO_PODS if _is_scaled_down(new, rollouts) else ROLLS
    if template.is_scheduled:
        return NEXT_RUN
    return ROLLS if template.rolls_if is None or template.rolls_if(new.data) else STAYS


def scaled_by(scaler: Json) -> tuple[str, str]:
    """The kind and the name of what an autoscaler scales. In KEDA, the default is a Deployment."""
    target = mapping_at(scaler, ("spec", "scaleTargetRef"))
    return str(target.get("kind") or "Deployment"), str(target.get("name"))


def _is_scaled_down(workload: ComparedObject, rollouts: Sequence[ComparedObject]) -> bool:
    """Whether a workload does not have pods, because Rollouts use its pod template."""
    if not rollouts:
        return False
    replicas = value_at(workload.data, ("spec", "replicas"))
    modes = [value_at(rollout.data, ("spec", "workloadRef", "scaleDown")) for rollout in rollouts]
    return (replicas == 0 and replicas is not False) or any(mode in _SCALES_DOWN for mode in modes)


def _is_accepted(old: ComparedObject, causes: Sequence[Cause]) -> bool:
    """Whether the API server accepts a change of a Pod, or of a Job that has not started."""
    if old.identity.group_kind == POD:
        return all(map(_is_accepted_in_pod, causes))
    is_suspended = value_at(old.data, ("spec", "suspend")) is True
    is_job = old.identity.group_kind == ("batch", "Job")
    return is_job and is_suspended and all(map(_is_accepted_in_job, causes))


def _is_accepted_in_pod(cause: Cause) -> bool:
    """Whether a change is a new image, an added toleration, or a lower activeDeadlineSeconds.

    The API server accepts no other (ValidatePodUpdate in Kubernetes 1.36).
    """
    if cause.kind == IMAGE:
        return True
    field = cause.field
    if field is None:
        return False
    if field.path == "spec.activeDeadlineSeconds" and isinstance(field.new, int):
        return field.old is None or (isinstance(field.old, int) and field.new < field.old)
    return field.change == ADDED and bool(_TOLERATION.match(field.path))


def _is_accepted_in_job(cause: Cause) -> bool:
    """Whether a change is about labels, annotations or fields for the scheduler.

    Before a suspended Job starts, the API server accepts these (validatePodTemplateUpdate in
    Kubernetes 1.34 to 1.36). Kubernetes 1.36 also accepts new resources of containers. Earlier
    versions do not, so these count as rejected.
    """
    field = cause.field
    if field is None:
        return False
    if field.path in _PARENTS:
        keys = _PARENTS[field.path]
        return all(_has_only(keys, value) for value in (field.old, field.new))
    return bool(_IN_SUSPENDED_JOB.match(field.path))


def _has_only(keys: set[str], value: Json) -> bool:
    return value is None or (isinstance(value, dict) and value.keys() <= keys)


@cache
def template_path(group_kind: GroupKind) -> tuple[str, ...] | None:
    """A pattern for the paths of a kind's pod templates: () for a Pod, None if it has none."""
    template = _custom_template(group_kind)
    if template:
        return template.path
    return WORKLOAD_KINDS.get(group_kind)


def is_workload(compared: ComparedObject) -> bool:
    """Whether an object has pod templates. That of an analysis can have a list without any."""
    kind = compared.identity.group_kind
    path = template_path(kind)
    return path is not None and (
        EVERY_ITEM not in path or bool(pod_templates_of(kind, compared.data))
    )


@cache
def _template_pattern(group_kind: GroupKind) -> PatternTree | None:
    """The tree of template_path(), None for a Pod or a kind without pod templates."""
    path = template_path(group_kind)
    return PatternTree([(path, None)]) if path else None


def pod_templates_of(group_kind: GroupKind, data: dict[str, Json]) -> list[tuple[Path, Json]]:
    """The path and value of each pod template in an object; a Pod is its own."""
    tree = _template_pattern(group_kind)
    if tree:
        return [(path, template) for path, template, _ in tree.find(data)]
    return [((), data)] if group_kind == POD else []


def is_in_custom_template(item: Item, path: Path) -> bool:
    """Whether a path of the document is in the pod template of a custom kind."""
    template = _custom_template(item.identity.group_kind)
    if template is None:
        return False
    inner = path[len(item.path) :]
    return len(inner) > len(template.path) and matches_start(inner, template.path)


@cache
def _custom_template(group_kind: GroupKind) -> Template | None:
    if group_kind in WORKLOAD_KINDS or is_built_in(group_kind[0]):
        return None
    from postrender.references.catalogue import entry_of  # large; only custom kinds need it

    entry = entry_of(group_kind)
    return entry.template if entry else None
