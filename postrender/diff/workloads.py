"""The changes of workloads: the workloads that roll, and the causes.

A workload can roll only if its pod template, which contains revision names, differs between the
sides. To find the causes, this module compares the templates again, with base names instead of
revision names. Changes of referenced ConfigMaps and Secrets are causes too.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from functools import cache

from postrender.diff.contents import Compared
from postrender.diff.fields import find_field_changes
from postrender.diff.kinds import effect_of, pod_templates_of, template_path
from postrender.diff.model import (
    ADDED,
    CHANGED,
    CONFIG,
    ENDS,
    ENV,
    IMAGE,
    REMOVED,
    STARTS,
    STAYS,
    TEMPLATE,
    UNCHANGED,
    Cause,
    FieldChange,
    WorkloadChange,
)
from postrender.diff.normalise import (
    as_stored,
    changed_fields,
    content_fields,
    differing,
)
from postrender.diff.pairs import ComparedObject, Comparison, Pair
from postrender.diff.reads import Reads, Usages, paired_usages, read_key, template_usages
from postrender.diff.usages import MOUNTS, Target, Usage, UsageIndex
from postrender.kubernetes.kinds import POD, SECRET, GroupKind, Identity
from postrender.kubernetes.validation.updates import are_stored_alike
from postrender.records import NamedTuple
from postrender.yaml.paths import EVERY_ITEM, Json, value_at

# Only hostile manifests have longer names. An unbounded search would take quadratic time.
_NAME = r"\[name=([^\]]{1,253})\]"
_CONTAINER = r"\.(?:initContainers|containers|ephemeralContainers)" + _NAME
_ENV = ".env"
_IMAGE = re.compile(_CONTAINER + r"\.image\Z")
_ENV_LIST = re.compile(_CONTAINER + r"\.env\Z")
_ENV_VARIABLE = re.compile(_CONTAINER + r"\.env" + _NAME + r"(?:\.value|\.valueFrom)?\Z")
# The paths of a Pod that count as its pod template.
_IN_POD = re.compile(r"spec(?:[.\[]|\Z)")
_INDEX = re.compile(r"^\[\d+\]")

# The order of causes. Fields of the pod spec come first, because they decide what pods may do, such
# as hostPID. Labels and annotations come last, because nearly every chart release changes them.
_SPEC, _METADATA = "spec", "metadata"
_CAUSE_ORDER = (_SPEC, CONFIG, IMAGE, ENV, _METADATA)
_IN_METADATA = re.compile(r"(?:^|\.)metadata(?:[.\[]|\Z)")
_CONTENT_CHANGES = "content changes"


class KnownChanges(NamedTuple):
    """What decides the changes of workloads.

    contents: the changes of ConfigMaps and Secrets, by the index of the pair.
    """

    both: Comparison
    contents: Mapping[int, Compared]
    reads: Reads

    def read(self, before: Usage, after: Usage) -> Compared | None:
        """The change of what two usages lead to."""
        key = read_key(before, after)
        if key in self.reads:
            return self.reads[key]
        return self.contents.get(after.target) if isinstance(after.target, int) else None


class _Difference(NamedTuple):
    """The changes of a workload, or of the object that has its pod template.

    fields: outside of pod templates.
    causes: of the difference between the pod templates.
    is_in_template: whether these differ in more than revision names and notation.
    is_stored: whether the API server stores other ones, so that the workload can roll. It does not
        store nulls and empty lists.
    """

    fields: tuple[FieldChange, ...] = ()
    causes: tuple[Cause, ...] = ()
    is_in_template: bool = False
    is_stored: bool = False


def find_workload_change(pair: Pair, known: KnownChanges) -> WorkloadChange | None:
    """The change of a workload, None if nothing changes for the workload."""
    both = known.both
    if pair.both is None:
        effect = STARTS if pair.new else ENDS
        fields = content_fields(pair.newest.data, pair.one_sided, both.names.of_all)
        return WorkloadChange(pair.identity, pair.one_sided, effect, fields=fields)
    old, new = pair.both
    before, after = both.usages
    old_source, new_source = _source(old, before), _source(new, after)
    usages = template_usages(pair, both.usages)
    own = template = _difference(pair, usages, known)
    if new_source is not new or old_source is not old:
        source = Pair(old_source, new_source)
        usages = template_usages(source, both.usages)
        template = _difference(source, usages, known)
    # Without the pod template, find_undecided reports the workload.
    is_missing = before.missing_source(old) or after.missing_source(new)
    causes = () if is_missing else template.causes
    rollouts = after.rollouts.get(new.item.key, ()) if new.item else ()
    in_place = {} if new.is_hook else dict(_in_place(usages, known))
    if not (causes or own.fields or in_place):
        return None
    via = new_source.identity if new_source is not new else None
    return WorkloadChange(
        identity=pair.identity,
        change=CHANGED if own.fields or (own.is_in_template and not via) else UNCHANGED,
        effect=effect_of(old, new, causes, rollouts) if causes and template.is_stored else STAYS,
        causes=causes,
        via=via,
        in_place=tuple(in_place),
        is_mounted=any(in_place.values()),
        fields=own.fields,
    )


def _source(workload: ComparedObject, index: UsageIndex) -> ComparedObject:
    """The object that has the pod template: the workload, or the target of workloadRef."""
    return index.sources.get(workload.item.key, workload) if workload.item else workload


def _difference(pair: Pair, usages: Mapping[Target, Usages], known: KnownChanges) -> _Difference:
    if pair.parts == {}:
        return _Difference()
    names = known.both.names
    before, after = differing(pair)
    changes = changed_fields(before, after, names)
    kind = pair.identity.group_kind
    templates = _templates(kind, before), _templates(kind, after)
    if are_stored_alike(*templates):
        # A field above equal pod templates can change, for example if an AnalysisTemplate gets a
        # metric without a Job.
        inside = _template_fields(kind)
        fields = tuple(change for change in changes if not inside.match(change.path))
        causes = _ordered(_field_causes(change for change in changes if inside.match(change.path)))
        return _Difference(fields, causes, is_in_template=bool(causes))
    around = _template_fields(kind, with_parents=True)
    fields = tuple(change for change in changes if not around.match(change.path))
    config_causes = list(_config_causes(usages, known))
    subjects = {cause.subject.name for cause in config_causes if cause.subject}
    template_changes, field_changes = [], []
    for change in changes:
        moved = _moved_reference(change)
        bases = {names.of_all.get(name, name) for name in moved}
        # The causes already tell that a reference moves to another revision, or to another object.
        if not around.match(change.path) or (len(bases) == 1 and bases <= subjects):
            continue
        template_changes.append(change)
        if not moved or not moved <= subjects:
            field_changes.append(change)
    causes = _ordered([*config_causes, *_field_causes(field_changes)])
    causes = causes or _ordered(_causes_of_last_resort(pair.newest, *templates))
    return _Difference(fields, causes, bool(template_changes), is_stored=True)


def _ordered(causes: Iterable[Cause]) -> tuple[Cause, ...]:
    return tuple(sorted(causes, key=lambda cause: _CAUSE_ORDER.index(_rank_of(cause))))


def _rank_of(cause: Cause) -> str:
    if cause.kind != TEMPLATE:
        return cause.kind
    return _METADATA if cause.field and _IN_METADATA.search(cause.field.path) else _SPEC


def _causes_of_last_resort(
    workload: ComparedObject, old: list[Json], new: list[Json]
) -> Iterator[Cause]:
    """The causes for templates that differ only in a revision name in free text, or in notation."""
    parts = template_path(workload.identity.group_kind) or ()
    prefix = ".".join(part for part in parts if part != EVERY_ITEM)
    paths = [_INDEX.sub("", change.path) for change in find_field_changes(old, new)]
    for path in paths or [""]:
        change = FieldChange(path=f"{prefix}{path}", change=CHANGED, old=None, new=None)
        yield Cause(TEMPLATE, field=change)


@cache
def _template_fields(group_kind: GroupKind, *, with_parents: bool = False) -> re.Pattern[str]:
    """A pattern for the paths of fields in a pod template.

    with_parents: whether the pattern also matches the paths of the template's parent fields.
    """
    parts = template_path(group_kind)
    if not parts:
        return _IN_POD
    text = r"(?:[.\[]|\Z)"
    for number, part in reversed(list(enumerate(parts))):
        text = (r"\[[^\]]*\]" if part == EVERY_ITEM else rf"\.{re.escape(part)}") + text
        if with_parents and number:
            text = rf"(?:{text}|\Z)"
    return re.compile(text.removeprefix(r"\."))


def _templates(group_kind: GroupKind, data: dict[str, Json]) -> list[Json]:
    if group_kind == POD:
        # The API server accepts new labels and annotations of a Pod.
        return [as_stored({"spec": data.get("spec")})]
    return [as_stored(template) for _, template in pod_templates_of(group_kind, data)]


def _config_causes(usages: Mapping[Target, Usages], known: KnownChanges) -> Iterator[Cause]:
    for before, after in usages.values():
        subject = (after or before)[0].identity
        if not (before and after):
            reason = "reference added" if after else "reference removed"
            yield Cause(kind=CONFIG, subject=subject, reason=reason)
            continue
        keys: dict[str, dict[str, None]] = {}
        for old, new in paired_usages((before, after)):
            if old.version != new.version:
                read = known.read(old, new)
                reason = _reason(old, new, read)
                changed = keys.setdefault(reason, {})
                if read and reason.startswith(_CONTENT_CHANGES):
                    changed.update((key.key, None) for key in read.change.keys)
        for reason, changed_keys in keys.items():
            yield Cause(kind=CONFIG, subject=subject, reason=reason, keys=tuple(changed_keys))


def _reason(old: Usage, new: Usage, read: Compared | None) -> str:
    if read and read.is_rewritten:
        # Two workloads can reference two earlier revisions, which is not the same change.
        is_usual = read.old is None or new.identity.group_kind == SECRET
        return _CONTENT_CHANGES if is_usual else f"{_CONTENT_CHANGES} to that of {new.name}"
    if not isinstance(new.target, int) and new.used is None:
        return "the reference changes to a revision that is not in these manifests"
    change = read.change.change if read else UNCHANGED
    if change == REMOVED:
        return "removed, but the workload still references the name"
    if change == ADDED:
        return "added, but the workload already referenced the name"
    if old.name == new.name:
        return "the strategy changes"
    return "the name changes, but the content does not change"


def _in_place(
    usages: Mapping[Target, Usages], known: KnownChanges
) -> Iterator[tuple[Identity, bool]]:
    """The ConfigMaps and Secrets that change under the same name, and whether pods mount them."""
    for of_target in usages.values():
        changed = [
            after
            for before, after in paired_usages(of_target)
            if before.name == after.name
            and (read := known.read(before, after))
            and read.is_rewritten
        ]
        if changed:
            yield changed[0].identity, any(usage.label in MOUNTS for usage in changed)


def _moved_reference(change: FieldChange) -> set[str]:
    """The old and the new name, if a change is that of a reference."""
    old, new = change.old, change.new
    is_reference = change.path.endswith((".name", ".secretName"))
    return {old, new} if is_reference and isinstance(old, str) and isinstance(new, str) else set()


def _field_causes(changes: Iterable[FieldChange]) -> Iterator[Cause]:
    variables: dict[tuple[str, str], list[FieldChange]] = {}
    for change in _by_variable(changes):
        image = _IMAGE.search(change.path) if change.path.endswith(".image") else None
        variable = _ENV_VARIABLE.search(change.path) if _ENV in change.path else None
        if image and change.change == CHANGED:
            yield Cause(kind=IMAGE, container=image[1], old=change.old, new=change.new)
        elif variable:
            variables.setdefault((variable[1], variable[2]), []).append(change)
        else:
            yield Cause(TEMPLATE, field=change)
    for (container, name), parts in variables.items():
        old = _variable_value((part.path, part.old) for part in parts)
        new = _variable_value((part.path, part.new) for part in parts)
        yield Cause(kind=ENV, container=container, variable=name, old=old, new=new)


def _by_variable(changes: Iterable[FieldChange]) -> Iterator[FieldChange]:
    """The changes, with one change for each variable of an `env` that only one side has."""
    for change in changes:
        items = change.old if change.new is None else change.new
        is_list = change.path.endswith(_ENV) and _ENV_LIST.search(change.path)
        is_whole = is_list and change.change != CHANGED
        if not (is_whole and items and isinstance(items, list)):
            yield change
            continue
        for item in items:
            name = value_at(item, ("name",))
            old, new = (item, None) if change.new is None else (None, item)
            path = f"{change.path}[name={name}]"
            yield FieldChange(path=path, change=change.change, old=old, new=new)


def _variable_value(parts: Iterable[tuple[str, Json]]) -> Json:
    """A variable's value on one side, from changes of its `env` entry; None if absent."""
    for path, value in parts:
        if isinstance(value, dict) and path.endswith("]"):
            return value.get("value", value.get("valueFrom", ""))
        if value is not None:
            return value
    return None
