"""The parts of a comparison that stay open, each with a fix."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from collections.abc import Set as AbstractSet

from postrender.diff.compare.fields import is_same
from postrender.diff.compare.model import ComparedObject, Side
from postrender.diff.compare.pairs import Duplicates, Pair
from postrender.diff.compare.usages import UsageIndex
from postrender.diff.model import Undecided
from postrender.errors import Location
from postrender.kubernetes.kinds import Identity


def find_undecided(
    old: Side,
    new: Side,
    pairs: Sequence[Pair],
    usages: tuple[UsageIndex, UsageIndex],
    connected: AbstractSet[int],
    duplicates: tuple[Duplicates, Duplicates],
) -> tuple[Undecided, ...]:
    """Return the parts of a comparison that stay open.

    usages and duplicates: of each side;
    connected: the pairs that the change affects.
    """
    identities = {pairs[number].identity for number in connected}
    undecided = [
        *old.undecided,
        *new.undecided,
        *_unrendered(old, new),
        *(item for pair in pairs for item in _without_name(old, new, pair)),
        *_duplicates(old, new, *duplicates),
        *_ambiguous_references(old, identities),
        *_ambiguous_references(new, identities),
        *_missing_templates(old, new, pairs, usages),
    ]
    return tuple(dict.fromkeys(undecided))


def _unrendered(old: Side, new: Side) -> Iterator[Undecided]:
    """Yield a note if only the older side is unrendered: it may have been applied like that.

    A newer side that is unrendered is expected, because it has not been applied yet.
    """
    has_revisions = any(compared.is_content and compared.is_revised for compared in old.objects)
    if not old.is_rendered and has_revisions and new.is_rendered:
        yield Undecided(
            location=old.inventory.stream.source,
            problem="the older side is not rendered and is compared as postrender would render it; "
            "if it was applied without postrender, every workload that uses a revised object rolls "
            "once more",
            fix="Compare the manifests that were applied",
        )


def _without_name(old: Side, new: Side, pair: Pair) -> Iterator[Undecided]:
    """Yield a note if an object without a name (generateName) may have changed."""
    if pair.identity.name:
        return
    if pair.both and is_same(pair.both[0].data, pair.both[1].data):
        return
    side = new if pair.new else old
    kind = pair.identity.kind
    yield Undecided(
        location=str(_location(side, pair.newest)),
        problem=f"the {kind} has a generateName instead of a name, so it cannot be matched with "
        "the other side and is not compared",
        fix=f"Give the {kind} a name, or compare it yourself",
    )


def _duplicates(old: Side, new: Side, before: Duplicates, after: Duplicates) -> Iterator[Undecided]:
    """Yield a note for each object that a side defines several times with other content."""
    for side, duplicates, other_side in ((old, before, after), (new, after, before)):
        for key, objects in duplicates.items():
            data = [compared.data for compared in objects]
            if all(is_same(data[0], copy) for copy in data):
                continue
            if is_same(data, [compared.data for compared in other_side.get(key, ())]):
                continue
            yield Undecided(
                location=str(_location(side, objects[-1])),
                problem=f"{objects[-1].identity} is defined {len(objects)} times, and the last "
                "definition is compared; the tool that applies the manifests may use another one",
                fix="Remove or rename the other definitions",
            )


def _ambiguous_references(side: Side, identities: AbstractSet[Identity]) -> Iterator[Undecided]:
    """Yield a note for each reference that may mean an object in another namespace.

    identities: the objects that the change affects; other references do not change.
    """
    if side.context is None:
        return
    resolver = side.context.resolver
    names = {identity.name for identity in identities}
    for compared in side.by_item.values():
        item = compared.item
        for reference in item.references if item else ():
            base_name = side.base_names.get(reference.name, reference.name)
            if item is None or not (compared.identity in identities or base_name in names):
                continue
            if resolver.find(item, reference, reference.name):
                continue
            if resolver.is_ambiguous(item, reference, reference.name):
                location = side.inventory.location_of(item, reference.path, reference.line)
                yield Undecided(
                    location=str(location),
                    problem=f"the reference to {reference.rule.target[1]}/{reference.name} is "
                    "ambiguous, because only one of the two objects has a namespace",
                    fix="Set the release namespace with --namespace",
                )


def _missing_templates(
    old: Side, new: Side, pairs: Sequence[Pair], usages: tuple[UsageIndex, UsageIndex]
) -> Iterator[Undecided]:
    """Yield a note for each Rollout whose pod template is not in the manifests."""
    for pair in pairs:
        if pair.new is None:
            continue
        for side, compared, index in ((new, pair.new, usages[1]), (old, pair.old, usages[0])):
            if compared is None or compared.item is None or compared.item.workload_ref is None:
                continue
            if index.is_source_missing(compared):
                kind, name = compared.item.workload_ref
                yield Undecided(
                    location=str(_location(side, compared)),
                    problem=f"{compared.identity} uses the pod template of {kind[1]}/{name}, which "
                    "is not in these manifests, so a restart cannot be predicted",
                    fix="Compare manifests that have both objects",
                )
                break


def _location(side: Side, compared: ComparedObject) -> Location:
    if compared.item:
        return side.inventory.location_of(compared.item)
    return Location(side.inventory.stream.source)
