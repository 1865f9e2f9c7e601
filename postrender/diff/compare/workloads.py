"""Which workloads roll, and because of what.

A workload rolls when its pod template differs as it is applied, that is with the names of revisions
in it. Why it does is told from the template by base names, and from the ConfigMaps behind them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache

from postrender.diff.compare.fields import differing, find_field_changes, is_same
from postrender.diff.compare.normalise import BaseNames, applied, comparable
from postrender.diff.compare.pairs import Pair
from postrender.diff.compare.side import ComparedObject
from postrender.diff.compare.usages import Target, Usage, UsageIndex
from postrender.diff.model import (
    ADDED,
    CHANGED,
    CONFIG,
    ENDS,
    ENV,
    HOOK,
    IMAGE,
    NEXT_PODS,
    NEXT_RUN,
    NO_PODS,
    REFUSED,
    REMOVED,
    ROLLS,
    STARTS,
    STAYS,
    TEMPLATE,
    UNCHANGED,
    Cause,
    ContentChange,
    FieldChange,
    WorkloadChange,
)
from postrender.inventory.examine import template_tree
from postrender.kubernetes.annotations import RENDER_ID_ANNOTATION
from postrender.kubernetes.kinds import WORKLOAD_KINDS, GroupKind, Identity
from postrender.startup.patterns import pattern
from postrender.startup.records import NamedTuple
from postrender.yaml.paths import EVERY_ITEM, Json, mapping_at, value_at

_CONTAINER = r"\.(?:initContainers|containers|ephemeralContainers)\[name=([^\]]+)\]"
_IMAGE = pattern(_CONTAINER + r"\.image\Z")
_ENVS = pattern(_CONTAINER + r"\.env\Z")
# A Pod is its own template.
_IN_POD = pattern(r"(?:spec|metadata\.(?:labels|annotations))(?:[.\[]|\Z)")
_NUMBER = pattern(r"^\[\d+\]")
_ENV = pattern(_CONTAINER + r"\.env\[name=([^\]]+)\](?:\.value|\.valueFrom)?\Z")

# What happens where the pod template of a kind changes; where none is named, new pods are made.
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
# Argo Rollouts scales the workload that a Rollout refers to down (spec.workloadRef.scaleDown).
_SCALES_DOWN = ("onsuccess", "progressively")


class Context(NamedTuple):
    """All that workloads are judged by.

    old and new: what the objects of each side name; contents: what changes of ConfigMaps and
    Secrets, by target; rewritten: those on both sides whose data differs.
    """

    old: UsageIndex
    new: UsageIndex
    contents: Mapping[Target, ContentChange]
    rewritten: frozenset[Target]
    base_names: BaseNames


class _Difference(NamedTuple):
    """How two workloads differ: outside of their pod templates, and why these differ.

    is_in_template: whether pod templates differ by base names too.
    """

    fields: tuple[FieldChange, ...]
    causes: tuple[Cause, ...]
    is_in_template: bool = False


def is_workload(each: ComparedObject) -> bool:
    """Tell whether an object has pod templates, or takes one from another."""
    return each.identity.group_kind in WORKLOAD_KINDS


def find_workload_change(pair: Pair, context: Context) -> WorkloadChange | None:
    """Return what happens to a workload, None where nothing does."""
    if pair.both is None:
        is_added = pair.new is not None
        change, effect = (ADDED, STARTS) if is_added else (REMOVED, ENDS)
        return WorkloadChange(pair.identity, change, effect)
    old, new = pair.both
    old_source, new_source = _source(old, context.old), _source(new, context.new)
    fields, causes, is_in_template = _difference(old, new, context)
    if context.old.is_source_missing(old) or context.new.is_source_missing(new):
        causes = ()  # whether it rolls is not known
    elif new_source is not new or old_source is not old:
        causes = _difference(old_source, new_source, context).causes
    in_place = () if _is_hook(new) else tuple(_in_place(old_source, new_source, context))
    if not (causes or fields or in_place):
        return None
    via = new_source.identity if new_source is not new else None
    return WorkloadChange(
        pair.identity,
        CHANGED if fields or (is_in_template and not via) else UNCHANGED,
        _effect(new, context) if causes else STAYS,
        causes,
        via,
        in_place,
        fields,
    )


def _source(each: ComparedObject, names: UsageIndex) -> ComparedObject:
    """Return the workload whose pod template an object has: its own, or that of workloadRef."""
    return names.behind.get(each.item.key, each) if each.item else each


def _is_hook(each: ComparedObject) -> bool:
    return each.item is not None and each.item.is_hook


def _effect(each: ComparedObject, context: Context) -> str:
    """Return what a change of its pod template does to a workload."""
    if _is_hook(each):
        return HOOK
    usual = _EFFECTS.get(each.identity.group_kind)
    if usual:
        return usual
    if value_at(each.data, ("spec", "updateStrategy", "type")) == "OnDelete":
        return NEXT_PODS
    return NO_PODS if _is_scaled_down(each, context) else ROLLS


def _is_scaled_down(each: ComparedObject, context: Context) -> bool:
    """Tell whether a workload is there only for Rollouts to take its pod template."""
    rollouts = context.new.rollouts.get(each.item.key, ()) if each.item else ()
    if not rollouts:
        return False
    replicas = value_at(each.data, ("spec", "replicas"))
    ways = [value_at(rollout.data, ("spec", "workloadRef", "scaleDown")) for rollout in rollouts]
    return (replicas == 0 and replicas is not False) or any(way in _SCALES_DOWN for way in ways)


def _difference(old: ComparedObject, new: ComparedObject, context: Context) -> _Difference:
    names = context.base_names
    before, after = differing(old.data, new.data)
    changes = find_field_changes(comparable(before, names), comparable(after, names))
    kind = new.identity.group_kind
    templates = _templates(kind, before), _templates(kind, after)
    if is_same(templates[0], templates[1]):
        # What may hold a pod template holds none then: a metric of another kind that is added.
        within = _template_inside(kind)
        return _Difference(tuple(each for each in changes if not within.match(each.path)), ())
    touches = _template_touched(kind)
    fields = tuple(change for change in changes if not touches.match(change.path))
    inside = [change for change in changes if touches.match(change.path)]
    configs = list(_config_causes(_named_by(old, new, context), context))
    causes = [*configs, *_field_causes(_without_references(inside, configs))]
    causes = causes or list(_unspoken(new, *templates))
    ordered = tuple(sorted(causes, key=lambda cause: _ORDER.index(cause.kind)))
    return _Difference(fields, ordered, bool(inside))


def _unspoken(each: ComparedObject, old: list[Json], new: list[Json]) -> Iterator[Cause]:
    """Yield where pod templates differ that are the same by base names, and as they are read.

    That is a revision's name in free text, or what only the render id sees: `env: []` or none.
    """
    pattern = WORKLOAD_KINDS[each.identity.group_kind].template
    prefix = ".".join(part for part in pattern if part != EVERY_ITEM)
    paths = [_NUMBER.sub("", change.path) for change in find_field_changes(old, new)]
    for path in [path for path in paths if RENDER_ID_ANNOTATION not in path] or [""]:
        yield Cause(TEMPLATE, field=FieldChange(f"{prefix}{path}", CHANGED, None, None))


_ORDER = (CONFIG, IMAGE, ENV, TEMPLATE)


@cache
def _template_inside(group_kind: GroupKind) -> re.Pattern[str]:
    """Return what matches the paths of fields in a pod template."""
    pattern = WORKLOAD_KINDS[group_kind].template
    parts = (r"\[[^\]]*\]" if part == EVERY_ITEM else rf"(?:\A|\.){part}" for part in pattern)
    return re.compile("".join(parts) + r"(?:[.\[]|\Z)") if pattern else _IN_POD


@cache
def _template_touched(group_kind: GroupKind) -> re.Pattern[str]:
    """Return what matches the paths of fields in a pod template, or of what holds one."""
    pattern = WORKLOAD_KINDS[group_kind].template
    if not pattern:
        return _IN_POD
    text = r"(?:[.\[]|\Z)"
    for number, part in reversed(list(enumerate(pattern))):
        own = r"\[[^\]]*\]" if part == EVERY_ITEM else re.escape(part)
        dot = r"\." if number and part != EVERY_ITEM else ""
        text = f"{dot}{own}{text}"
        text = f"(?:{text}|\\Z)" if number else text
    return re.compile(text)


def _templates(group_kind: GroupKind, data: dict[str, Json]) -> list[Json]:
    """Return the pod templates in a workload's data as the API server has them."""
    tree = template_tree(group_kind)
    if tree is None:
        metadata = mapping_at(data, ("metadata",))
        named = {key: metadata.get(key) for key in ("labels", "annotations")}
        return [applied({"metadata": named, "spec": data.get("spec")})]
    return [applied(template) for _, template, _ in tree.find(data)]


def _named_by(
    old: ComparedObject, new: ComparedObject, context: Context
) -> dict[Target, tuple[list[Usage], list[Usage]]]:
    """Return what the pod templates of a workload name, by target: before and after."""
    named: dict[Target, tuple[list[Usage], list[Usage]]] = {}
    for side, (each, names) in enumerate(((old, context.old), (new, context.new))):
        for one in names.by_item.get(each.item.key, ()) if each.item else ():
            if one.is_in_template:
                named.setdefault(one.target, ([], []))[side].append(one)
    return named


def _config_causes(
    named: Mapping[Target, tuple[list[Usage], list[Usage]]], context: Context
) -> Iterator[Cause]:
    for target, (before, after) in named.items():
        versions = {one.version for one in before}, {one.version for one in after}
        if versions[0] == versions[1]:
            continue
        what = _what_of(before, after, target, context)
        change = context.contents.get(target)
        keys = tuple(each.key for each in change.keys) if change and what == _CONTENT else ()
        yield Cause(CONFIG, (after or before)[0].identity, what=what, keys=keys)


_CONTENT = "its content changes"


def _what_of(
    before: Sequence[Usage], after: Sequence[Usage], target: Target, context: Context
) -> str:
    if not before:
        return "it is named now"
    if not after:
        return "it is no longer named"
    if target in context.rewritten:
        return _CONTENT
    if not isinstance(target, int):
        return "another revision of it is named, which is not in these manifests"
    content = context.contents.get(target)
    if content and content.change == REMOVED:
        return "it is removed, and still named"
    if content and content.change == ADDED:
        return "it is added, and was named before"
    if {one.name for one in before} == {one.name for one in after}:
        return "its strategy changes"
    return "another name for the same content"


def _in_place(old: ComparedObject, new: ComparedObject, context: Context) -> Iterator[Identity]:
    """Yield what changes under a name that stays, as the workload names it."""
    for target, (before, after) in _named_by(old, new, context).items():
        change = context.contents.get(target)
        if change is None or target not in context.rewritten:
            continue
        if {one.name for one in before} & {one.name for one in after}:
            yield change.identity


def _without_references(
    changes: Iterable[FieldChange], configs: Iterable[Cause]
) -> Iterator[FieldChange]:
    """Yield changes but for those that only say that another ConfigMap is named."""
    names = {cause.subject.name for cause in configs if cause.subject}
    for change in changes:
        if not (_is_name(change) and {change.old, change.new} <= names):
            yield change


def _is_name(change: FieldChange) -> bool:
    is_text = isinstance(change.old, str) and isinstance(change.new, str)
    return is_text and change.path.endswith((".name", ".secretName"))


def _field_causes(changes: Iterable[FieldChange]) -> Iterator[Cause]:
    variables: dict[tuple[str, str], list[FieldChange]] = {}
    for change in _each_variable(changes):
        image, variable = _IMAGE.search(change.path), _ENV.search(change.path)
        if image and change.change == CHANGED:
            yield Cause(IMAGE, container=image[1], old=change.old, new=change.new)
        elif variable:
            variables.setdefault((variable[1], variable[2]), []).append(change)
        else:
            yield Cause(TEMPLATE, field=change)
    for (container, name), own in variables.items():
        old = _value_of((change.path, change.old) for change in own)
        new = _value_of((change.path, change.new) for change in own)
        yield Cause(ENV, container=container, what=name, old=old, new=new)


def _each_variable(changes: Iterable[FieldChange]) -> Iterator[FieldChange]:
    """Yield changes, those of a whole `env` one by one."""
    for change in changes:
        items = change.old if change.new is None else change.new
        is_whole = _ENVS.search(change.path) and change.change != CHANGED
        if not is_whole or not isinstance(items, list):
            yield change
            continue
        for item in items:
            name = value_at(item, ("name",))
            old, new = (item, None) if change.new is None else (None, item)
            yield FieldChange(f"{change.path}[name={name}]", change.change, old, new)


def _value_of(changes: Iterable[tuple[str, Json]]) -> Json:
    """Return what a variable is on one side, of changes of the whole of it or of its parts."""
    for path, value in changes:
        if isinstance(value, dict) and path.endswith("]"):
            return value.get("value", value.get("valueFrom", ""))
        if value is not None:
            return value
    return None
