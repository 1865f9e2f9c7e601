"""Pins: references with a revision name that a person wrote into a pod template.

postrender leaves a pin unchanged, and a pin is not a reason to rename an object.

A pod template with a pin can get a render ID because of another reference. If postrender reads its
own output, postrender treats the pin as a rewritten reference, and passes the revision to the
attacher. postrender must not change its own output, so the first run also passes the revision.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

from postrender.inventory.model import Item
from postrender.kubernetes.kinds import GroupKind
from postrender.plan.links import Link, find_links
from postrender.plan.model import PlanContext


def find_attached_pins(context: PlanContext, links: Sequence[Link]) -> list[Link]:
    """Return each pin whose pod template has a render ID in the output.

    links: all references to objects of the stream.
    """
    pins = [link for link in links if link.is_pinned]
    pins += _pins_to_new_revisions(context)
    return [pin for pin in pins if _has_render_id_in_output(context, pin)]


def _pins_to_new_revisions(context: PlanContext) -> list[Link]:
    """Return the references in the input to the names of revisions that the plan creates."""
    candidates: dict[tuple[GroupKind, str], list[Item]] = defaultdict(list)
    for key, name in context.names.items():
        item = context.decisions[key].item
        candidates[item.identity.group_kind, name].append(item)
    links, _ = find_links(context.inventory, context.resolver.with_candidates(candidates))
    return links


def _has_render_id_in_output(context: PlanContext, pin: Link) -> bool:
    number, templates = pin.reference.template, pin.source.templates
    if number is None or not templates:
        return False
    return templates[number].has_render_id or any(
        context.revision_of(target) for target in context.targets(pin.source, number)
    )
