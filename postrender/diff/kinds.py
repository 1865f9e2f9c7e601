"""The changes of Pods and Jobs that the API server accepts.

The API server rejects all other changes of a Pod's spec and of a Job's pod template.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from postrender.diff.compare.model import ComparedObject
from postrender.diff.model import ADDED, IMAGE, NEXT_RUN, STAYS, Cause
from postrender.kubernetes.kinds import GroupKind
from postrender.startup.patterns import pattern
from postrender.yaml.paths import Json, value_at

# The path of the tolerations of a Pod, or of one toleration.
_TOLERATION = pattern(r"spec\.tolerations(?:\[[^\]]*\])?\Z")
# The paths of the fields of a suspended Job that can change.
_IN_SUSPENDED_JOB = pattern(
    r"spec\.template\.(?:metadata\.(?:labels|annotations)"
    r"|spec\.(?:nodeSelector|tolerations|schedulingGates|affinity\.nodeAffinity))(?:[.\[]|\Z)"
)
# The parents of these fields, which can be added or removed as a whole, with the fields.
_PARENTS = {
    "spec.template.metadata": {"labels", "annotations"},
    "spec.template.spec.affinity": {"nodeAffinity"},
}


def effect_of_accepted(old: ComparedObject, causes: Sequence[Cause]) -> str | None:
    """Return the effect of a change of a Pod or Job, None if the API server rejects the change.

    old: the object before the change; None is also returned for other kinds.
    causes: the causes of the difference between the pod templates.
    """
    effect_of = _EFFECTS.get(old.identity.group_kind)
    return effect_of(old, causes) if effect_of else None


def _effect_on_pod(_: ComparedObject, causes: Sequence[Cause]) -> str | None:
    return STAYS if all(map(_is_accepted_in_pod, causes)) else None


def _effect_on_job(old: ComparedObject, causes: Sequence[Cause]) -> str | None:
    is_suspended = value_at(old.data, ("spec", "suspend")) is True
    return NEXT_RUN if is_suspended and all(map(_is_accepted_in_job, causes)) else None


def _is_accepted_in_pod(cause: Cause) -> bool:
    """Return whether the API server accepts a change of a Pod.

    The accepted changes are new images, added tolerations, and a new or lower
    activeDeadlineSeconds (source: ValidatePodUpdate in Kubernetes 1.36).
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
    """Return whether the API server accepts a change of a suspended Job that has not started.

    The accepted changes are labels, annotations and fields for the scheduler (source:
    validatePodTemplateUpdate in Kubernetes 1.34 to 1.36). Kubernetes 1.36 also accepts new
    resources of containers. Earlier versions do not, so these count as rejected.
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


_EFFECTS: Mapping[GroupKind, Callable[[ComparedObject, Sequence[Cause]], str | None]] = {
    ("", "Pod"): _effect_on_pod,
    ("batch", "Job"): _effect_on_job,
}
