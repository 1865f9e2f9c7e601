"""What formats say in common: the summary line, groups of equal risks, the changes of an object."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from postrender.diff.fields import SCHEMA
from postrender.diff.model import (
    ADDED,
    CHANGED,
    DELETED,
    DROPPED,
    NEW,
    NO_PODS,
    REMOVED,
    ROLLS,
    STAYS,
    SUPERSEDED,
    UNCHANGED,
    ContentChange,
    FieldChange,
    Preview,
    RevisionChange,
    Risk,
)
from postrender.diff.texts import without_items
from postrender.diff.values import (
    MARKS,
    Description,
    Forms,
    Style,
    braced,
    counted,
    describe_field,
    text_of,
)
from postrender.diff.words import CHANGES, EFFECTS, LOST, NOUNS, OUTSIDE_DATA
from postrender.records import grouped
from postrender.text import conjoined
from postrender.yaml.paths import Json


def is_metadata_only(content: ContentChange) -> bool:
    """Whether a ConfigMap or Secret changes but its data does not."""
    is_outside = content.fields or (content.parts and "data" not in content.parts)
    return content.change == CHANGED and bool(is_outside) and not content.keys


def shown_revisions(preview: Preview) -> list[RevisionChange]:
    """The revisions that the change drops, or that lose all owners.

    What happens to every other revision follows from its ConfigMap or Secret.
    """
    return [
        revision
        for revision in preview.revisions
        if revision.lost_owners or revision.change == DROPPED
    ]


def group_risks(risks: Iterable[Risk]) -> list[list[Risk]]:
    """Groups of risks with one consequence, in the given order."""
    return list(grouped(risks, lambda risk: (risk.code, risk.consequence)).values())


METADATA_ONLY = Forms(f"changes {OUTSIDE_DATA.one}", f"change {OUTSIDE_DATA.many}")
_NO_ROLL = Forms("changes but does not roll", "change but do not roll")
_IN_PLACE = Forms("reads new content but does not roll", "read new content but do not roll")


def summary_line(preview: Preview) -> str:
    """The summary of a preview as one line without a final period.

    Example: `2 risks; 1 Rollout rolls, 2 ConfigMaps change, 1 new revision; 3 other objects change`
    """
    main = [*_workloads(preview), *_contents(preview), *_revisions(preview)]
    rest = _other_objects(preview)
    if not main and not rest:
        main = _revisions_with_status(preview, (SUPERSEDED,))
    clauses = [", ".join(group) for group in (main, rest) if group]
    if not clauses and not preview.undecided:
        clauses = [f"no changes in {conjoined(preview.only)}" if preview.only else "no changes"]
    if count := len(preview.risks):
        clauses.insert(0, counted(count, NOUNS["risks"].one))
    if preview.undecided:
        clauses.append(counted(len(preview.undecided), "undecided part"))
    return "; ".join(clauses)


def _workloads(preview: Preview) -> list[str]:
    # ROLLS is first, because ROLLS is the most frequent effect. The rest has the order of EFFECTS.
    counts = {effect: Counter[str]() for effect in (ROLLS, *EFFECTS)}
    in_place = Counter[str]()
    templates = {workload.via for workload in preview.workloads}
    for workload in preview.workloads:
        if workload.effect == NO_PODS and workload.identity in templates:
            continue  # another workload in the preview has the pods
        is_unchanged = workload.effect == STAYS and workload.change == UNCHANGED
        counter = in_place if is_unchanged and workload.in_place else counts[workload.effect]
        counter[workload.identity.kind] += 1
    clauses = [
        _clause(kinds, _NO_ROLL if effect == STAYS else EFFECTS[effect].verb)
        for effect, kinds in counts.items()
        if kinds
    ]
    return [*clauses, _clause(in_place, _IN_PLACE)] if in_place else clauses


def _contents(preview: Preview) -> list[str]:
    verbs = [CHANGES[change] for change in (CHANGED, ADDED, REMOVED, UNCHANGED)]
    verbs.insert(1, METADATA_ONLY)
    counts = {verb: Counter[str]() for verb in verbs}
    for content in preview.contents:
        verb = METADATA_ONLY if is_metadata_only(content) else CHANGES[content.change]
        counts[verb][content.identity.kind] += 1
    return [_clause(kinds, verb) for verb, kinds in counts.items() if kinds]


def _revisions(preview: Preview) -> list[str]:
    lost = sum(1 for revision in preview.revisions if revision.lost_owners)
    clauses = [f"Kubernetes deletes {lost:,} {LOST.of(lost)}"] if lost else []
    fates = (content.fate for content in preview.contents)
    if deleted := sum(1 for fate in fates if fate and fate.outcome == DELETED):
        clauses.append(f"the apply deletes {deleted:,} {LOST.of(deleted)}")
    return clauses + _revisions_with_status(preview, (NEW, DROPPED))


def _revisions_with_status(preview: Preview, statuses: Iterable[str]) -> list[str]:
    counts = Counter(revision.change for revision in preview.revisions)
    return [counted(counts[status], f"{status} revision") for status in statuses if counts[status]]


def _other_objects(preview: Preview) -> list[str]:
    counts = Counter(change.change for change in preview.objects)
    clauses: list[str] = []
    for change in (CHANGED, ADDED, REMOVED):
        if count := counts[change]:
            subject = f"{count:,}" if clauses else counted(count, "other object")
            clauses.append(f"{subject} {CHANGES[change].of(count)}")
    return clauses


def _clause(kinds: Counter[str], verb: Forms) -> str:
    subject = conjoined([counted(count, kind) for kind, count in kinds.items()])
    return f"{subject} {verb.of(sum(kinds.values()))}"


# The keys of a schema that are not names of properties.
_KEYWORDS = ("", "properties", "items", "additionalProperties")
# The number of characters up to which a schema shows its properties with more of their paths, and
# the number of properties up to which it shows more than the first part.
_LONGEST_SCHEMA, _MAX_PROPERTIES = 250, 30

_LABELS = "metadata.labels"
# A value whose start braces can share.
_WORD = re.compile(r"[^\s,{}]+\Z")
# From this number on, added or removed fields of list items are one entry.
_MANY_FIELDS = 4
_SHORT_VALUE = 120


def describe_object(fields: Iterable[FieldChange], style: Style) -> Iterator[Description]:
    """The changes of an object's fields, in which each schema of a custom kind is one entry."""
    others, schemas = split_schemas(fields)
    labels: dict[str, list[FieldChange]] = {}
    alike: dict[tuple[str, str], list[FieldChange]] = {}
    for field in others:
        start, mark, label = field.path.partition(_LABELS)
        if mark and label:
            labels.setdefault(start + mark, []).append(field)
        else:
            alike.setdefault((field.change, without_items(field).path), []).append(field)
    for (change, path), group in alike.items():
        values = [field.new if change == ADDED else field.old for field in group]
        if len(group) < _MANY_FIELDS or change == CHANGED or not all(map(_is_scalar, values)):
            yield from (describe_field(field, style) for field in group)
            continue
        head = f"{style.code(path)} {change} ({len(group):,} times):"
        texts = [text_of(value) for value in values]
        if all(map(_WORD.match, texts)):
            yield Description(head, (style.code(braced(texts)),))
        else:
            yield Description(head, (", ".join(map(style.code, texts)),))
    for path, changes in schemas.items():
        yield Description(f"{style.code(path)}: {_describe_schema(changes, style)}")
    for path, group in labels.items():
        yield _describe_labels(path, group, style)


def _describe_labels(path: str, fields: Sequence[FieldChange], style: Style) -> Description:
    """All labels in one line, because nearly every chart release changes some."""
    if len(fields) == 1:
        return describe_field(fields[0], style)
    names = (field.path.removeprefix(path) for field in fields)
    named = (name[2:-2] if name.startswith('["') else name[1:] for name in names)
    heads = [
        describe_field(field._replace(path=name), style).head
        for name, field in zip(named, fields, strict=True)
    ]
    return Description(f"{style.code(path)}: {'; '.join(heads)}")


def _is_scalar(value: Json) -> bool:
    return value is not None and not isinstance(value, (dict, list))


def split_schemas(
    fields: Iterable[FieldChange],
) -> tuple[list[FieldChange], dict[str, list[FieldChange]]]:
    """The changes outside of schemas of custom kinds, and those inside, by path of the schema.

    A few small changes of a schema count as outside.
    """
    others: list[FieldChange] = []
    schemas: dict[str, list[FieldChange]] = {}
    for field in fields:
        version, mark, _ = field.path.partition(SCHEMA)
        group = schemas.setdefault(version + mark, []) if mark else others
        group.append(field)
    for path, changes in list(schemas.items()):
        values = (value for field in changes for value in (field.old, field.new))
        if len(changes) < _MANY_FIELDS and all(len(text_of(one)) <= _SHORT_VALUE for one in values):
            others += schemas.pop(path)
    return others, schemas


def _describe_schema(changes: Iterable[FieldChange], style: Style) -> str:
    """The properties that change in a schema, with the number of their changes.

    A schema has thousands of lines, most of them descriptions.
    """
    paths = [
        (
            MARKS[field.change],
            [part for part in field.path.partition(SCHEMA)[2].split(".") if part not in _KEYWORDS],
        )
        for field in changes
    ]
    for depth in (4, 3, 2):
        counts = Counter((mark, ".".join(path[:depth])) for mark, path in paths)
        if sum(len(path) for _, path in counts) <= _LONGEST_SCHEMA:
            break
    if len(counts) > _MAX_PROPERTIES:
        counts = Counter((mark, ".".join(path[:1])) for mark, path in paths)
    by_mark: dict[str, list[str]] = {}
    for (mark, path), count in counts.items():
        by_mark.setdefault(mark, []).append(f"{path} ({count:,} times)" if count > 1 else path)
    return "; ".join(f"{mark} {style.code(braced(names))}" for mark, names in by_mark.items())
