"""A sign that a program reads an object by its name, and the evidence in which rules find signs."""

from __future__ import annotations

from collections.abc import Sequence

from postrender.errors import Location
from postrender.inventory.build import Inventory
from postrender.inventory.model import Item
from postrender.plan.by_name.mentions import Mention
from postrender.plan.links import Link
from postrender.records import NamedTuple


class Evidence(NamedTuple):
    """What the rules of this package search for signs.

    renamed: the objects that postrender would rename.
    """

    inventory: Inventory
    mentions: Sequence[Mention]
    links: Sequence[Link]
    renamed: Sequence[Item]


class Sign(NamedTuple):
    """A sign that a program reads an object by a name that postrender does not rewrite.

    target: the object that the program reads.
    reason: a clause for a message, such as `Role/app has the name in resourceNames`.
    source: the object in which the rule found the sign.
    is_write: whether the program has permission to change the object.
    """

    target: Item
    reason: str
    source: Item
    location: Location
    is_write: bool = False


def sign_of(evidence: Evidence, mention: Mention, target: Item, reason: str) -> Sign:
    """The sign that one of the targets of a mention is read by name."""
    item = mention.item
    return Sign(
        target=target,
        reason=reason,
        source=item,
        location=evidence.inventory.location_of(item, (*item.path, *mention.path), mention.line),
    )
