"""The preview of a change: two streams are read, compared and redacted."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet

from postrender.config.settings import SEQUENCE, Settings
from postrender.diff.compare.attachers import comparable_attachers, is_attacher
from postrender.diff.compare.configmaps import (
    ComparedContent,
    Users,
    compare_content,
    compare_originals,
)
from postrender.diff.compare.fields import differing, find_field_changes, is_same
from postrender.diff.compare.model import CURRENT, ComparedObject, Side
from postrender.diff.compare.normalise import BaseNames, comparable
from postrender.diff.compare.pairs import (
    Duplicates,
    Pair,
    find_duplicates,
    find_pairs,
    sort_key,
)
from postrender.diff.compare.reference_graph import find_graph
from postrender.diff.compare.revisions import find_revisions
from postrender.diff.compare.selection import select_documents
from postrender.diff.compare.side import is_rendered, preview_settings, read_side
from postrender.diff.compare.undecided import find_undecided
from postrender.diff.compare.usages import Target, UsageIndex, index_usages, users_by_target
from postrender.diff.compare.workloads import Comparison, find_workload_change, is_workload
from postrender.diff.model import (
    ADDED,
    CHANGED,
    REMOVED,
    ContentChange,
    ObjectChange,
    Preview,
    WorkloadChange,
)
from postrender.diff.redact import redact
from postrender.errors import Location, UserError
from postrender.inventory.build import take_inventory
from postrender.kubernetes.kinds import Identity
from postrender.output.build import render
from postrender.plan.build import make_plan
from postrender.plan.history import NO_HISTORY, History, Manifest, Previous, read_history
from postrender.plan.namespaces import Resolver
from postrender.yaml.stream import Source, Stream, has_content


def compare(old: Stream, new: Stream, settings: Settings, context: int = 3) -> Preview:
    """Return the preview of the change from one stream to another, rendered or not.

    context: the number of lines around each change of text.
    Raises UserError for input that render rejects, and for a side without objects.
    """
    if _has_history(settings):
        indexes = [frozenset(range(len(stream.documents))) for stream in (old, new)]
        histories = [NO_HISTORY, _history_of(old, settings)]
    else:
        indexes = [frozenset(side) for side in select_documents(old, new, settings.namespace)]
        histories = [NO_HISTORY, NO_HISTORY]
    sides = [
        read_side(stream, sorted(selected), settings, history)
        for stream, selected, history in zip((old, new), indexes, histories, strict=True)
    ]
    for side, selected in zip(sides, indexes, strict=True):
        _check_objects(side, selected)
    return _compare(sides[0], sides[1], Resolver(settings.namespace), context)


def _check_objects(side: Side, selected: AbstractSet[int]) -> None:
    """Raise UserError for a side with content but without objects, such as a chart's values.

    selected: the indexes of the documents that were read.
    """
    documents = side.inventory.stream.documents
    left_out = [document for index, document in enumerate(documents) if index not in selected]
    has_other_content = any(has_content(document.text) for document in left_out)
    if side.undecided and not side.objects and not has_other_content:
        raise UserError(
            "the input has no Kubernetes objects",
            "Pass rendered manifests, such as the output of helm template or kustomize build",
            Location(side.inventory.stream.source),
        )


def _has_history(settings: Settings) -> bool:
    """Return whether the older side counts as the history of earlier outputs."""
    return bool(settings.history.previous) or settings.naming == SEQUENCE


def _history_of(stream: Stream, settings: Settings) -> History:
    """Return a stream as the history; a stream that is not rendered is rendered first."""
    side_settings = preview_settings(settings)
    if is_rendered(stream):
        # One source a document: the documents of several files have no marker between them.
        sources = tuple(
            Source(document.source, document.text.encode()) for document in stream.documents
        )
    else:
        plan = make_plan(take_inventory(stream, side_settings), side_settings)
        sources = (Source(stream.source, "".join(render(plan)).encode()),)
    return read_history(Previous((Manifest(stream.source, sources),)), side_settings)


def _compare(old: Side, new: Side, resolver: Resolver, context: int) -> Preview:
    duplicates = find_duplicates(old, resolver), find_duplicates(new, resolver)
    paired_objects = _paired_objects(old, duplicates[0]), _paired_objects(new, duplicates[1])
    pairs = find_pairs(*comparable_attachers(*paired_objects, old, new), resolver)
    old_usages = index_usages(old, new, pairs, is_new=False)
    new_usages = index_usages(new, old, pairs, is_new=True)
    names = BaseNames(
        of_all={**old.base_names, **new.base_names},
        of_secrets={**old.secret_names, **new.secret_names},
    )
    compared = _compared_contents(pairs, names, _users(pairs, old_usages, new_usages), context)
    contents = {number: content.change for number, content in compared.items()}
    rewritten = frozenset(number for number, content in compared.items() if content.is_rewritten)
    workloads, objects = _other_changes(
        pairs,
        Comparison(
            old=old_usages,
            new=new_usages,
            contents=contents,
            rewritten=rewritten,
            base_names=names,
        ),
    )
    changes = _changes(pairs, contents, workloads, objects)
    effects = {number: change.effect for number, change in workloads.items()}
    graph, connected = find_graph(pairs, old_usages, new_usages, changes, effects)
    originals = compare_originals(old, new, resolver, names, context)
    preview = Preview(
        old=old.inventory.stream.source,
        new=new.inventory.stream.source,
        contents=_sorted([*contents.values(), *originals]),
        workloads=tuple(workloads.values()),
        revisions=find_revisions(old, new, resolver, pairs, names.of_secrets, connected),
        objects=tuple(objects.values()),
        undecided=find_undecided(old, new, pairs, (old_usages, new_usages), connected, duplicates),
        graph=graph,
    )
    return redact(preview, names.of_secrets, has_base_names=True)


def _changes(
    pairs: Sequence[Pair],
    contents: Mapping[int, ContentChange],
    workloads: Mapping[int, WorkloadChange],
    objects: Mapping[int, ObjectChange],
) -> dict[int, str]:
    """Return the change of each pair that is reported, except for attachers."""
    reported: dict[int, ContentChange | WorkloadChange | ObjectChange]
    reported = {**contents, **workloads, **objects}
    return {
        number: change.change
        for number, change in reported.items()
        if not is_attacher(pairs[number].newest)
    }


def _paired_objects(side: Side, duplicates: Duplicates) -> list[ComparedObject]:
    """Return the objects of a side that are paired: the current ones, the last of duplicates."""
    replaced = {id(copy) for copies in duplicates.values() for copy in copies[:-1]}
    return [
        compared
        for compared in side.by_item.values()
        if compared.role == CURRENT and id(compared) not in replaced
    ]


def _compared_contents(
    pairs: Sequence[Pair], names: BaseNames, users: Mapping[Target, Users], context: int
) -> dict[int, ComparedContent]:
    """Return the ConfigMaps and Secrets that change, by the number of the pair."""
    return {
        number: content
        for number, pair in enumerate(pairs)
        if pair.newest.is_content and pair.identity.name
        if (content := compare_content(pair, names, users.get(number, Users()), context))
    }


def _other_changes(
    pairs: Sequence[Pair], comparison: Comparison
) -> tuple[dict[int, WorkloadChange], dict[int, ObjectChange]]:
    """Return the changes of workloads and of other objects, by the number of the pair."""
    workloads, objects = {}, {}
    for number, pair in enumerate(pairs):
        if pair.newest.is_content or not pair.identity.name:
            continue
        if is_workload(pair.newest) and not is_attacher(pair.newest):
            workload = find_workload_change(pair, comparison)
            if workload:
                workloads[number] = workload
        else:
            change = _object_change(pair, comparison.base_names)
            if change:
                objects[number] = change
    return workloads, objects


def _object_change(pair: Pair, names: BaseNames) -> ObjectChange | None:
    if pair.both is None:
        if is_attacher(pair.newest):
            return None  # it is added and removed with its workloads
        return ObjectChange(pair.identity, ADDED if pair.new else REMOVED)
    old, new = pair.both
    if is_same(old.data, new.data):
        return None
    before, after = differing(old.data, new.data)
    fields = find_field_changes(comparable(before, names), comparable(after, names))
    return ObjectChange(pair.identity, CHANGED, tuple(fields)) if fields else None


def _users(pairs: Sequence[Pair], old: UsageIndex, new: UsageIndex) -> dict[Target, Users]:
    """Return the workloads that reference each target, in order."""
    before, after = (
        _identities_by_target(pairs, index, is_new=is_new)
        for index, is_new in ((old, False), (new, True))
    )
    return {
        target: Users(
            all=tuple(sorted(before[target] | after[target], key=sort_key)),
            former=tuple(sorted(before[target] - after[target], key=sort_key)),
        )
        for target in {**before, **after}
    }


def _identities_by_target(
    pairs: Sequence[Pair], index: UsageIndex, *, is_new: bool
) -> defaultdict[Target, set[Identity]]:
    """Return the workloads of one side that reference each target."""
    identities = {
        compared.item.key: pair.identity
        for pair in pairs
        if (compared := pair.new if is_new else pair.old) and compared.item
    }
    by_target: defaultdict[Target, set[Identity]] = defaultdict(set)
    for target, keys in users_by_target(index).items():
        by_target[target] |= {identities[key] for key in keys if key in identities}
    return by_target


def _sorted(changes: Iterable[ContentChange]) -> tuple[ContentChange, ...]:
    return tuple(sorted(changes, key=lambda change: sort_key(change.identity)))
