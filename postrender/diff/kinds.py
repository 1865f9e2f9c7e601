"""The kinds of workloads: where the pod template is, and which changes a kind accepts.

A custom kind counts as a workload if postrender.references.catalogue has the location of its pod
template; the catalogue then also decides the effect of a new one. The API server accepts only a few
changes of a Pod's spec and of a Job's pod template, and rejects all others.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from functools import cache

from postrender.diff.model import ADDED, IMAGE, NEXT_RUN, ROLLS, STAYS, Cause
from postrender.diff.pairs import ComparedObject
from postrender.inventory.model import Item
from postrender.kubernetes.kinds import WORKLOAD_KINDS, GroupKind, is_built_in
from postrender.references.catalogue import entry_of
from postrender.yaml.paths import Json, Path, PatternTree, matches_start, value_at

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


@cache
def template_path(group_kind: GroupKind) -> tuple[str, ...] | None:
    """Return a pattern for the paths of a kind's pod templates, None if the kind is not a workload.

    The pattern of a Pod is ().
    """
    template = _custom_template(group_kind)
    if template:
        return template.path
    return WORKLOAD_KINDS.get(group_kind)


def is_workload(compared: ComparedObject) -> bool:
    """Whether the kind of an object has pod templates."""
    return template_path(compared.identity.group_kind) is not None


@cache
def template_pattern(group_kind: GroupKind) -> PatternTree | None:
    """Return the tree of template_path(), None for a Pod or a kind without pod templates."""
    path = template_path(group_kind)
    if not path:
        return None
    tree = PatternTree()
    tree.add(path, None)
    return tree


def custom_effect(group_kind: GroupKind, data: dict[str, Json]) -> str:
    """Return the effect of a new pod template on an object of a custom kind.

    The result is NEXT_RUN, ROLLS or STAYS. The result is "" for any other kind, and for a kind
    without a pod template in the catalogue.
    """
    template = _custom_template(group_kind)
    if template is None:
        return ""
    if template.is_scheduled:
        return NEXT_RUN
    return ROLLS if template.rolls_if is None or template.rolls_if(data) else STAYS


def is_in_custom_template(item: Item, path: Path) -> bool:
    """Return whether a path of the document is in the pod template of a custom kind."""
    template = _custom_template(item.identity.group_kind)
    if template is None:
        return False
    inner = path[len(item.path) :]
    return len(inner) > len(template.path) and matches_start(inner, template.path)


@cache
def _custom_template(group_kind: GroupKind) -> Template | None:
    if group_kind in WORKLOAD_KINDS or is_built_in(group_kind[0]):
        return None
    entry = entry_of(group_kind)
    return entry.template if entry else None
