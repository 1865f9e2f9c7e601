"""The computation of revision names.

A reference rule can rewrite a name in the data of a ConfigMap. The hash of this ConfigMap covers
the rewritten data. Therefore, postrender first computes the names of the referenced revisions.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from postrender.errors import UserError
from postrender.inventory.build import Inventory
from postrender.inventory.model import ItemKey
from postrender.kubernetes.hashing import hashed_content
from postrender.plan.links import Link, reference_edits
from postrender.plan.numbering import RevisionNumbers
from postrender.plan.strategy import StrategyDecision
from postrender.yaml.edits import apply_edits


class _Namer:
    """The recursive computation of revision names.

    done: the computed revision names, by object.
    stack: the objects with unfinished names. Each name depends on the name of the next object.
    """

    __slots__ = ("decisions", "done", "inventory", "links", "numbers", "stack")

    def __init__(
        self,
        inventory: Inventory,
        decisions: Mapping[ItemKey, StrategyDecision],
        links: Mapping[ItemKey, Sequence[Link]],
        numbers: RevisionNumbers,
    ) -> None:
        self.inventory = inventory
        self.numbers = numbers
        self.decisions = decisions
        self.links = links
        self.done: dict[ItemKey, str] = {}
        self.stack: list[ItemKey] = []

    def name(self, key: ItemKey) -> str:
        if key not in self.done:
            if key in self.stack:
                self.refuse_cycle(key)
            self.stack.append(key)
            self.done[key] = self.new_name(self.decisions[key])
            self.stack.pop()
        return self.done[key]

    def new_name(self, decision: StrategyDecision) -> str:
        item = decision.item
        links = [link for link in self.links.get(item.key, ()) if link.target.key in self.decisions]
        data = item.content or {}
        if links:
            import copy

            names = {link.target.key: self.name(link.target.key) for link in links}
            data = copy.deepcopy(data)
            apply_edits(data, reference_edits(links, names), item.path)
        hashed = hashed_content(item.identity.group_kind, data, decision.is_immutable)
        return self.numbers.name(item, hashed)

    def refuse_cycle(self, key: ItemKey) -> None:
        cycle = [*self.stack[self.stack.index(key) :], key]
        objects = " -> ".join(str(self.decisions[member].item.identity) for member in cycle)
        raise UserError(
            f"these objects reference each other in a cycle: {objects}",
            "Remove the entry in `references` that matches the data of one of these objects",
            self.inventory.location_of(self.decisions[key].item),
        )


def name_revisions(
    inventory: Inventory,
    decisions: Sequence[StrategyDecision],
    links: Mapping[ItemKey, Sequence[Link]],
    numbers: RevisionNumbers,
) -> dict[ItemKey, str]:
    """Return the revision names of the objects to rename.

    decisions: the decisions for the objects to rename.
    links: the resolved references, by the object that has the reference.
    Raises UserError if the data of objects reference each other in a cycle.
    """
    by_item = {decision.item.key: decision for decision in decisions}
    namer = _Namer(inventory, by_item, links, numbers)
    return {key: namer.name(key) for key in by_item}
