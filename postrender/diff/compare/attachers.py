"""The attacher's own objects compared: by their set, without the names that each render makes."""

from __future__ import annotations

from collections.abc import Sequence

from postrender.diff.compare.side import ComparedObject, Side
from postrender.kubernetes.annotations import GROUP_LABEL
from postrender.yaml.paths import Json, value_at

# What each render writes anew into the arguments of the Job, and the namespace that it stands in.
_PER_RENDER = ("--workload", "--emitted", "--namespace")
_CONTAINERS = ("spec", "template", "spec", "containers")


def comparable_attachers(
    old: Sequence[ComparedObject], new: Sequence[ComparedObject], old_side: Side, new_side: Side
) -> tuple[list[ComparedObject], list[ComparedObject]]:
    """Return the objects of both sides with those of attachers as they are compared.

    Where only one side is rendered they say nothing, and are left out.
    """
    is_told = old_side.is_rendered and new_side.is_rendered
    before, after = (
        [
            _by_set(each) if is_attacher(each) else each
            for each in objects
            if is_told or not is_attacher(each)
        ]
        for objects in (old, new)
    )
    return before, after


def is_attacher(each: ComparedObject) -> bool:
    """Tell whether a render appended an object."""
    return each.item is not None and each.item.is_attacher


def _by_set(each: ComparedObject) -> ComparedObject:
    """Return an attacher's object by the name of its set; its Job's name has a hash at its end."""
    item = each.item
    if each.identity.kind == "RoleBinding":
        _without_namespaces(each.data.get("subjects"))
    if item is None or each.identity.kind != "Job":
        return each
    identity = each.identity._replace(name=item.labels.get(GROUP_LABEL, each.identity.name))
    containers = value_at(each.data, _CONTAINERS)
    for container in containers if isinstance(containers, list) else ():
        if isinstance(container, dict) and isinstance(container.get("args"), list):
            container["args"] = _lasting(container["args"])
    return each._replace(identity=identity)


def _without_namespaces(subjects: Json) -> None:
    """Take away the namespace of subjects, which is that of the binding."""
    for subject in subjects if isinstance(subjects, list) else ():
        if isinstance(subject, dict):
            subject.pop("namespace", None)


def _lasting(arguments: list[Json]) -> list[Json]:
    """Return arguments without those that name revisions, and what follows them."""
    pairs = zip([None, *arguments], arguments, strict=False)
    return [
        argument
        for before, argument in pairs
        if before not in _PER_RENDER and argument not in _PER_RENDER
    ]
