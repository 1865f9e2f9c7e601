"""The search for originals whose new revision is already in the stream."""

from __future__ import annotations

from postrender.errors import UserError
from postrender.inventory.model import ItemKey
from postrender.plan.model import PlanContext


def find_replaced(context: PlanContext) -> frozenset[ItemKey]:
    """Return the originals whose new revision is already in the stream.

    Raises UserError if an object that is not a revision already has the name of a new revision.
    """
    resolver = context.resolver
    unrenamed = [
        decision.item for key, decision in context.decisions.items() if key not in context.names
    ]
    revisions = {
        resolver.certain_key_of(item.identity) for item in unrenamed if context.revision_of(item)
    }
    taken = {resolver.certain_key_of(item.identity): item for item in unrenamed}
    replaced = set()
    for item_key, name in context.names.items():
        item = context.decisions[item_key].item
        identity = item.identity
        key = resolver.certain_key_of(identity, name)
        if key in revisions:
            replaced.add(item_key)
        elif key in taken:
            raise UserError(
                f"postrender would rename {identity} to {name}, but the input already contains "
                f"{identity.kind}/{name} at {context.inventory.location_of(taken[key])}",
                f"Remove or rename {identity.kind}/{name}, or add the annotation "
                f"postrender/strategy: ignore to {identity}",
                context.inventory.location_of(item),
            )
    return frozenset(replaced)
