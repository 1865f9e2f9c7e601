"""The originals that stay next to their revision, or whose new revision is in the stream."""

from __future__ import annotations

from postrender.errors import UserError
from postrender.inventory.model import ItemKey
from postrender.plan.model import PlanContext
from postrender.startup.records import NamedTuple


class Originals(NamedTuple):
    """The keys of originals; an original can be in both fields.

    kept: the originals that stay in the output next to their revision;
    replaced: the originals whose new revision is already in the stream.
    """

    kept: frozenset[ItemKey]
    replaced: frozenset[ItemKey]


def find_originals(context: PlanContext) -> Originals:
    """Return the kept and replaced originals.

    Raises UserError if an object that is not a revision already has the name of a new revision.
    """
    resolver = context.resolver
    unrenamed = [
        decision.item for key, decision in context.decisions.items() if key not in context.names
    ]
    revisions = {
        resolver.certain_key_of(item.identity, revision)
        for item in unrenamed
        if (revision := context.revision_of(item))
    }
    taken = {resolver.certain_key_of(item.identity): item for item in unrenamed}
    kept, replaced = set(), set()
    for item_key, name in context.names.items():
        decision = context.decisions[item_key]
        identity = decision.item.identity
        key = resolver.certain_key_of(identity, name)
        if decision.keep_reason:
            kept.add(item_key)
        if key in revisions:
            replaced.add(item_key)
        elif key in taken:
            raise UserError(
                f"postrender would rename {identity} to {name}, but another {identity.kind} at "
                f"{context.inventory.location_of(taken[key])} has that name",
                "Remove one of the two objects, or add the annotation postrender/strategy: ignore "
                f"to {identity}",
                context.inventory.location_of(decision.item),
            )
    return Originals(frozenset(kept), frozenset(replaced))
