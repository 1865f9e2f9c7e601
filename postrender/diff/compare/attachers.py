"""Objects of attachers in the form in which they are compared: without what each render writes."""

from __future__ import annotations

from collections.abc import Sequence

from postrender.diff.compare.model import ComparedObject, Side
from postrender.kubernetes.annotations import GROUP_LABEL
from postrender.yaml.paths import Json, value_at

# Arguments of the Job that every render writes again, and the namespace of the Job.
_PER_RENDER = ("--workload", "--emitted", "--namespace")
_CONTAINERS = ("spec", "template", "spec", "containers")


def comparable_attachers(
    old: Sequence[ComparedObject], new: Sequence[ComparedObject], old_side: Side, new_side: Side
) -> tuple[list[ComparedObject], list[ComparedObject]]:
    """Return the objects of both sides, with those of attachers in a comparable form.

    If only one side is rendered, the objects of attachers are left out.
    """
    has_attachers = old_side.is_rendered and new_side.is_rendered
    before, after = (
        [
            _comparable(compared) if is_attacher(compared) else compared
            for compared in objects
            if has_attachers or not is_attacher(compared)
        ]
        for objects in (old, new)
    )
    return before, after


def is_attacher(compared: ComparedObject) -> bool:
    """Return whether an object belongs to an attacher."""
    return compared.item is not None and compared.item.is_attacher


def _comparable(compared: ComparedObject) -> ComparedObject:
    """Return an attacher's object; a Job gets the name of its group, which ends in no hash."""
    item = compared.item
    if compared.identity.kind == "RoleBinding":
        _drop_namespaces(compared.data.get("subjects"))
    if item is None or compared.identity.kind != "Job":
        return compared
    name = item.labels.get(GROUP_LABEL, compared.identity.name)
    containers = value_at(compared.data, _CONTAINERS)
    for container in containers if isinstance(containers, list) else ():
        if isinstance(container, dict) and isinstance(container.get("args"), list):
            container["args"] = _stable_arguments(container["args"])
    return compared._replace(identity=compared.identity._replace(name=name))


def _drop_namespaces(subjects: Json) -> None:
    """Remove the namespace of each subject: it is the namespace of the RoleBinding."""
    for subject in subjects if isinstance(subjects, list) else ():
        if isinstance(subject, dict):
            subject.pop("namespace", None)


def _stable_arguments(arguments: list[Json]) -> list[Json]:
    """Return arguments without the options that every render writes again, and their values."""
    pairs = zip([None, *arguments], arguments, strict=False)
    return [
        argument
        for previous, argument in pairs
        if previous not in _PER_RENDER and argument not in _PER_RENDER
    ]
