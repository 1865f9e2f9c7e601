"""References to revision names that a person wrote into pod templates (pins).

postrender leaves a pin unchanged, and a pin is not a reason to rename an object. The pod template
of a pin may have a render ID in the output, because of another reference. A second render of the
output then treats the pin as a rewritten reference. The first render therefore also passes the
pin's revision to the attacher.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

from postrender.inventory.model import Item
from postrender.kubernetes.kinds import GroupKind
from postrender.plan.links import Link, find_links
from postrender.plan.model import PlanContext


def find_attached_pins(context: PlanContext, links: Sequence[Link]) -> list[Link]:
    """Return the pins in pod templates that have a render ID in the output.

    links: all references to objects of the stream.
    """
    pins = [link for link in links if link.is_pinned]
    pins += _pins_to_new_revisions(context)
    return [pin for pin in pins if _gets_render_id(context, pin)]


def _pins_to_new_revisions(context: PlanContext) -> list[Link]:
    """Return the references to the revisions that this render creates."""
    candidates: dict[tuple[GroupKind, str], list[Item]] = defaultdict(list)
    for key, name in context.names.items():
        item = context.decisions[key].item
        candidates[item.identity.group_kind, name].append(item)
    resolver = context.resolver._replace(candidates=candidates)
    links, _ = find_links(context.inventory, resolver)
    return links


def _gets_render_id(context: PlanContext, pin: Link) -> bool:
    """Return whether the pod template of a pin has a render ID, or gets one in this render."""
    number, templates = pin.reference.template, pin.source.templates
    if number is None or not templates:
        return False
    return templates[number].has_render_id or any(
        context.revision_of(target) for target in context.targets(pin.source, number)
    )
