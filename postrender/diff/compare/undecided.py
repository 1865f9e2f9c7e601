"""What could not be told about a change, and what would help."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from collections.abc import Set as AbstractSet

from postrender.diff.compare.fields import is_same
from postrender.diff.compare.normalise import BaseNames, with_base_names
from postrender.diff.compare.pairs import Pair, Repeated
from postrender.diff.compare.side import ComparedObject, Side
from postrender.diff.compare.usages import UsageIndex
from postrender.diff.model import Undecided
from postrender.errors import Location
from postrender.kubernetes.kinds import Identity


def find_undecided(
    old: Side,
    new: Side,
    pairs: Sequence[Pair],
    named: tuple[UsageIndex, UsageIndex],
    touched: AbstractSet[int],
    names: BaseNames,
    repeated: tuple[Repeated, Repeated],
) -> tuple[Undecided, ...]:
    """Return what could not be told.

    named: what the objects of each side name; touched: the pairs that a change has to do with;
    repeated: what stands in each side more than once.
    """
    concerned = {pairs[number].identity for number in touched}
    found = [
        *old.undecided,
        *new.undecided,
        *_first_rendered(old, new),
        *(each for pair in pairs for each in _nameless(old, new, pair)),
        *_repeated(old, new, *repeated),
        *_unsettled(old, concerned, names),
        *_unsettled(new, concerned, names),
        *_unknown_templates(old, new, pairs, named),
    ]
    return tuple(dict.fromkeys(found))


def _first_rendered(old: Side, new: Side) -> Iterator[Undecided]:
    """Say what is left out where the older side is not rendered and may be what was applied.

    A newer one that is not rendered yet will be.
    """
    has_revisions = any(each.is_content and each.is_revised for each in old.objects)
    if not old.is_rendered and has_revisions and new.is_rendered:
        yield Undecided(
            old.inventory.stream.source,
            "it is compared as postrender would render it: if it was applied without, every "
            "workload that names a revised object rolls once more",
            "compare what was applied, if that is another thing",
        )


def _nameless(old: Side, new: Side, pair: Pair) -> Iterator[Undecided]:
    """Say where the API server makes the name: which of several it is cannot be told."""
    if pair.identity.name:
        return
    if pair.both and is_same(pair.both[0].data, pair.both[1].data):
        return
    side = new if pair.new else old
    yield Undecided(
        str(_place(side, pair.newest)),
        f"a {pair.identity.kind} without a name (generateName) cannot be told from others, and is "
        "not compared",
        "give it a name, or look at it yourself",
    )


def _repeated(old: Side, new: Side, before: Repeated, after: Repeated) -> Iterator[Undecided]:
    """Say what stands in the manifests several times, with other content each time."""
    for side, own, others in ((old, before, after), (new, after, before)):
        for key, objects in own.items():
            data = [each.data for each in objects]
            if all(is_same(data[0], each) for each in data):
                continue
            if is_same(data, [each.data for each in others.get(key, ())]):
                continue
            yield Undecided(
                str(_place(side, objects[-1])),
                f"another {objects[-1].identity} stands before it, and which of them counts "
                "depends on what applies them: this one is compared",
                "take out or rename one of them",
            )


def _unsettled(
    side: Side, concerned: AbstractSet[Identity], names: BaseNames
) -> Iterator[Undecided]:
    """Say which references may name an object whose namespace does not settle it.

    concerned: what a change has to do with; other references are as they were.
    """
    if side.context is None:
        return
    resolver = side.context.resolver
    concerned_names = {identity.name for identity in concerned}
    for each in side.main.values():
        for reference in each.item.references if each.item else ():
            item, name = each.item, side.base_names.get(reference.name, reference.name)
            if item is None or not (each.identity in concerned or name in concerned_names):
                continue
            if resolver.find(item, reference, reference.name):
                continue
            if resolver.is_ambiguous(item, reference, reference.name):
                location = side.inventory.location_of(item, reference.path, reference.line)
                shown = with_base_names(reference.name, names.of_secrets)
                yield Undecided(
                    str(location),
                    f"it names {reference.rule.target[1]}/{shown}, and of the two one has a "
                    "namespace and the other none",
                    "say which is the release's with --namespace",
                )


def _unknown_templates(
    old: Side, new: Side, pairs: Sequence[Pair], named: tuple[UsageIndex, UsageIndex]
) -> Iterator[Undecided]:
    """Say where a Rollout takes its pod template from what the manifests do not have."""
    for pair in pairs:
        if pair.new is None:
            continue
        for side, each, names in ((new, pair.new, named[1]), (old, pair.old, named[0])):
            if each and each.item and each.item.workload_ref and names.is_source_missing(each):
                kind, name = each.item.workload_ref
                yield Undecided(
                    str(_place(side, each)),
                    f"its pod template is that of {kind[1]}/{name}, which is not in these "
                    "manifests: whether it rolls is not known",
                    "compare manifests that have both",
                )
                break


def _place(side: Side, each: ComparedObject) -> Location:
    return (
        side.inventory.location_of(each.item)
        if each.item
        else Location(side.inventory.stream.source)
    )
