"""The names of revisions, dependencies first.

Where a rule rewrites a name inside a ConfigMap's data, the content to hash is the one with the
new name in it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from postrender.errors import UserError
from postrender.inventory.build import Inventory
from postrender.inventory.model import ItemKey
from postrender.kubernetes.hashing import hashed_content
from postrender.plan.links import Link, follow_edits
from postrender.plan.numbering import RevisionNumbers
from postrender.plan.strategy import StrategyDecision
from postrender.yaml.edits import apply_edits
from postrender.yaml.paths import Json


class _Names:
    """Names found so far; `path` holds the objects whose names are being worked out."""

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
        self.path: list[ItemKey] = []

    def name(self, key: ItemKey) -> str:
        if key not in self.done:
            if key in self.path:
                self.refuse_cycle(key)
            self.path.append(key)
            self.done[key] = self.new_name(self.decisions[key])
            self.path.pop()
        return self.done[key]

    def new_name(self, decision: StrategyDecision) -> str:
        item = decision.item
        links = [link for link in self.links.get(item.key, ()) if link.target.key in self.decisions]
        content: Json = item.content
        if links:
            names = {link.target.key: self.name(link.target.key) for link in links}
            edits = follow_edits(links, names)
            import copy

            content = apply_edits(copy.deepcopy(content), edits, item.path)
        data = content if isinstance(content, dict) else {}
        hashed = hashed_content(item.identity.group_kind, data, decision.is_immutable)
        return self.numbers.name(item, hashed)

    def refuse_cycle(self, key: ItemKey) -> None:
        cycle = [*self.path[self.path.index(key) :], key]
        names = " -> ".join(str(self.decisions[each].item.identity) for each in cycle)
        raise UserError(
            f"each one's data names the next, so that none can be hashed first: {names}",
            "take one of the reference rules on their data away",
            self.inventory.location_of(self.decisions[key].item),
        )


def name_revisions(
    inventory: Inventory,
    decisions: Sequence[StrategyDecision],
    links: Mapping[ItemKey, Sequence[Link]],
    numbers: RevisionNumbers,
) -> dict[ItemKey, str]:
    """Return the revision names of the objects that are to be renamed.

    links: by source; lineages: what was before.

    Raises UserError where objects name one another in a circle.
    """
    by_item = {decision.item.key: decision for decision in decisions}
    names = _Names(inventory, by_item, links, numbers)
    return {decision.item.key: names.name(decision.item.key) for decision in decisions}
