"""Two streams compared: the preview of a change, built in one pass over both."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from collections.abc import Set as AbstractSet

from postrender.config.settings import SEQUENCE, Settings
from postrender.diff.compare.attachers import comparable_attachers, is_attacher
from postrender.diff.compare.configmaps import Compared, Users, compare_content, compare_originals
from postrender.diff.compare.fields import differing, find_field_changes, is_same
from postrender.diff.compare.normalise import BaseNames, comparable
from postrender.diff.compare.pairs import Pair, Repeated, find_pairs, find_repeated, order_of
from postrender.diff.compare.reference_graph import find_graph
from postrender.diff.compare.revisions import find_revisions
from postrender.diff.compare.selection import select_documents
from postrender.diff.compare.side import (
    MAIN,
    ComparedObject,
    Side,
    is_rendered,
    preview_settings,
    read_side,
)
from postrender.diff.compare.undecided import find_undecided
from postrender.diff.compare.usages import Target, UsageIndex, index_usages, users_by_target
from postrender.diff.compare.workloads import Context, find_workload_change, is_workload
from postrender.diff.model import (
    ADDED,
    CHANGED,
    REMOVED,
    ContentChange,
    ObjectChange,
    Preview,
    WorkloadChange,
)
from postrender.errors import Location, UserError
from postrender.inventory.build import take_inventory
from postrender.kubernetes.kinds import Identity
from postrender.output.build import render
from postrender.plan.build import make_plan
from postrender.plan.history import NO_HISTORY, History, Manifest, Previous, read_history
from postrender.yaml.stream import Source, Stream, has_content


def compare(old: Stream, new: Stream, settings: Settings, context: int = 3) -> Preview:
    """Return what will change between two streams, rendered or not.

    context: how many lines stand around each change of text.
    Raises UserError for what render refuses, on either side, and for a side without any object.
    """
    if _has_history(settings):
        indexes = [frozenset(range(len(stream.documents))) for stream in (old, new)]
        histories = [NO_HISTORY, _history_of(old, settings)]
    else:
        indexes = [frozenset(each) for each in select_documents(old, new, settings.namespace)]
        histories = [NO_HISTORY, NO_HISTORY]
    sides = [
        read_side(stream, sorted(basis), settings, history)
        for stream, basis, history in zip((old, new), indexes, histories, strict=True)
    ]
    for side, basis in zip(sides, indexes, strict=True):
        _check_objects(side, basis)
    return _compare(sides[0], sides[1], settings.namespace, context)


def _check_objects(side: Side, basis: AbstractSet[int]) -> None:
    """Refuse a side that has content and no object: values of a chart, most often.

    chosen: the documents of it that were read.
    """
    documents = side.inventory.stream.documents
    others = [each for index, each in enumerate(documents) if index not in basis]
    if side.undecided and not side.objects and not any(has_content(each.text) for each in others):
        raise UserError(
            "no Kubernetes object in it",
            "name rendered manifests: what helm template or kustomize build writes",
            Location(side.inventory.stream.source),
        )


def _has_history(settings: Settings) -> bool:
    """Tell whether what was applied before counts: then the older side is that."""
    return bool(settings.history.previous) or settings.naming == SEQUENCE


def _history_of(stream: Stream, settings: Settings) -> History:
    """Return what a stream is as a history; one that is not rendered yet, as it would have been."""
    own = preview_settings(settings)
    if is_rendered(stream):
        # Each document by itself: those of several files have no marker between them.
        sources = tuple(Source(each.source, each.text.encode()) for each in stream.documents)
    else:
        text = "".join(render(make_plan(take_inventory(stream, own), own)))
        sources = (Source(stream.source, text.encode()),)
    return read_history(Previous((Manifest(stream.source, sources),)), own)


def _compare(old: Side, new: Side, namespace: str, context: int) -> Preview:
    repeated = find_repeated(old, namespace), find_repeated(new, namespace)
    mains = _mains(old, repeated[0]), _mains(new, repeated[1])
    pairs = find_pairs(*comparable_attachers(*mains, old, new), namespace)
    before = index_usages(old, new, pairs, is_new=False)
    after = index_usages(new, old, pairs, is_new=True)
    names = BaseNames(
        {**old.base_names, **new.base_names}, {**old.secret_names, **new.secret_names}
    )
    users = _users(pairs, before, after)
    compared: dict[Target, Compared] = {
        number: found
        for number, pair in enumerate(pairs)
        if pair.newest.is_content and pair.identity.name
        if (found := compare_content(pair, names, users.get(number, Users()), context))
    }
    contents = {number: each.change for number, each in compared.items()}
    rewritten = frozenset(number for number, each in compared.items() if each.is_rewritten)
    judged = Context(before, after, contents, rewritten, names)
    workloads, objects = _others(pairs, judged)
    changes = {number: each.change for number, each in contents.items() if isinstance(number, int)}
    changes |= {number: each.change for number, each in workloads.items()}
    changes |= {
        number: each.change
        for number, each in objects.items()
        if not is_attacher(pairs[number].newest)
    }
    effects = {number: each.effect for number, each in workloads.items()}
    graph, touched = find_graph(pairs, before, after, changes, effects)
    originals = compare_originals(old, new, namespace, names, context)
    return Preview(
        old.inventory.stream.source,
        new.inventory.stream.source,
        _sorted([*contents.values(), *originals]),
        tuple(workloads.values()),
        find_revisions(old, new, namespace, pairs, names, touched),
        tuple(objects.values()),
        find_undecided(old, new, pairs, (before, after), touched, names, repeated),
        graph,
    )


def _mains(side: Side, repeated: Repeated) -> list[ComparedObject]:
    """Return what is paired: all objects but originals, earlier revisions and what is repeated."""
    replaced = {id(each) for objects in repeated.values() for each in objects[:-1]}
    mains = side.main.values()
    return [each for each in mains if each.role == MAIN and id(each) not in replaced]


def _others(
    pairs: Sequence[Pair], context: Context
) -> tuple[dict[int, WorkloadChange], dict[int, ObjectChange]]:
    workloads, objects = {}, {}
    for number, pair in enumerate(pairs):
        if pair.newest.is_content or not pair.identity.name:
            continue
        if is_workload(pair.newest) and not is_attacher(pair.newest):
            workload = find_workload_change(pair, context)
            if workload:
                workloads[number] = workload
        else:
            change = _object_change(pair, context.base_names)
            if change:
                objects[number] = change
    return workloads, objects


def _object_change(pair: Pair, names: BaseNames) -> ObjectChange | None:
    if pair.both is None:
        if is_attacher(pair.newest):
            return None  # it comes and goes with the workloads that it is for
        return ObjectChange(pair.identity, ADDED if pair.new else REMOVED)
    old, new = pair.both
    if is_same(old.data, new.data):
        return None
    before, after = differing(old.data, new.data)
    fields = find_field_changes(comparable(before, names), comparable(after, names))
    return ObjectChange(pair.identity, CHANGED, tuple(fields)) if fields else None


def _users(pairs: Sequence[Pair], old: UsageIndex, new: UsageIndex) -> dict[Target, Users]:
    """Return the workloads that name each target, in order."""
    before: dict[Target, set[Identity]] = defaultdict(set)
    after: dict[Target, set[Identity]] = defaultdict(set)
    for names, users, is_new in ((old, before, False), (new, after, True)):
        identities = {
            each.item.key: pair.identity
            for pair in pairs
            if (each := pair.new if is_new else pair.old) and each.item
        }
        for target, keys in users_by_target(names).items():
            users[target] |= {identities[key] for key in keys if key in identities}
    return {
        target: Users(
            tuple(sorted(before[target] | after[target], key=order_of)),
            tuple(sorted(before[target] - after[target], key=order_of)),
        )
        for target in {**before, **after}
    }


def _sorted(changes: Iterable[ContentChange]) -> tuple[ContentChange, ...]:
    return tuple(sorted(changes, key=lambda change: order_of(change.identity)))
