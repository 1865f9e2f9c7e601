"""The name and the number of each revision.

postrender numbers the revisions of a base name from 1 (annotation `postrender/revision-number`).
The order of revisions in manifests says nothing, because tools sort manifests. If a chart returns
to earlier content, the revision with this content gets the next number. With `naming: sequence`,
the name contains the number, so postrender creates another revision.

A reference rule can rewrite a name in the data of a ConfigMap. The hash covers the rewritten data,
so the names of the referenced revisions come first.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from postrender.config.settings import SEQUENCE, Settings
from postrender.errors import UserError
from postrender.inventory.build import Inventory
from postrender.inventory.model import ItemKey
from postrender.kubernetes.hashing import hashed_content, revision_name
from postrender.kubernetes.kinds import ObjectKey
from postrender.plan.history import EarlierRevision, History
from postrender.plan.links import Link, reference_edits
from postrender.plan.namespaces import Resolver
from postrender.plan.strategy import StrategyDecision
from postrender.records import grouped
from postrender.yaml.edits import apply_edits
from postrender.yaml.paths import Json


class RevisionNumbers:
    """The earlier revisions, with their numbers.

    by_base: the revisions and the original, newest first, by the key of the original.
    """

    __slots__ = ("by_base", "resolver", "settings")

    def __init__(
        self,
        resolver: Resolver,
        by_base: Mapping[ObjectKey, Sequence[EarlierRevision]],
        settings: Settings,
    ) -> None:
        self.resolver = resolver
        self.by_base = by_base
        self.settings = settings

    def base_of(self, decision: StrategyDecision) -> ObjectKey:
        return self.resolver.key_of(decision.item.identity, decision.base_name)

    def name(self, decision: StrategyDecision, content: dict[str, Json]) -> str:
        """The revision name of an object. content: the part of it to hash."""
        base_name = decision.base_name
        key = self.settings.hash_key_of(decision.item.identity)
        if self.settings.naming != SEQUENCE:
            return revision_name(base_name, content, key=key)
        highest = self._highest(decision)
        if highest:
            name = revision_name(base_name, content, highest.order, key)
            if name == highest.identity.name:
                return name
        return revision_name(base_name, content, highest.order + 1 if highest else 1, key)

    def number(self, decision: StrategyDecision, name: str) -> int:
        """The number of the revision `name` of an object in the new output."""
        highest = self._highest(decision)
        if highest is None:
            return 1
        return highest.order if highest.identity.name == name else highest.order + 1

    def _highest(self, decision: StrategyDecision) -> EarlierRevision | None:
        """The object's earlier revision with the highest number.

        After a Helm rollback, the newest revision in by_base can have a lower number.
        """
        earlier = self.by_base.get(self.base_of(decision), ())
        revisions = [revision for revision in earlier if not revision.is_original]
        return max(revisions, key=lambda revision: revision.order, default=None)


def number_revisions(history: History, resolver: Resolver, settings: Settings) -> RevisionNumbers:
    """The revisions of a history by base name, newest first.

    Each revision of a base name has a different number. Originals have the number 0.
    """
    groups = grouped(
        history.earlier, lambda revision: resolver.key_of(revision.identity, revision.base_name)
    )
    by_base = {base: tuple(_numbered(revisions)) for base, revisions in groups.items()}
    return RevisionNumbers(resolver, by_base, settings)


def _numbered(revisions: Sequence[EarlierRevision]) -> list[EarlierRevision]:
    """The revisions of one base name, newest first, with different numbers.

    The newest revision has the highest `last_current`, but because a Helm rollback does not change
    numbers, another one can have a higher number. Without --previous, postrender does not number
    revisions. Unnumbered revisions that were current get the highest numbers here.
    """
    numbered: list[EarlierRevision] = []
    order = 0
    for revision in sorted(revisions, key=_number_key):
        if revision.is_original:
            numbered.append(revision)
        else:
            order = max(revision.order, order + 1)
            numbered.append(revision._replace(order=order))
    return sorted(
        numbered, key=lambda revision: (revision.last_current, revision.order), reverse=True
    )


def _number_key(revision: EarlierRevision) -> tuple[bool, int, int]:
    has_no_number = not revision.order and revision.last_current >= 0
    return has_no_number, revision.order, revision.last_current


class _Namer:
    """The computation of revision names, those of the referenced objects first.

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
        self.stack: dict[ItemKey, Iterator[ItemKey]] = {}

    def name(self, key: ItemKey) -> str:
        # A chain of references can be longer than Python's stack.
        if key not in self.done:
            self.stack[key] = self.targets(key)
        while self.stack:
            last = next(reversed(self.stack))
            target = next(self.stack[last], None)
            if target is None:
                self.done[last] = self.new_name(self.decisions[last])
                del self.stack[last]
            elif target in self.stack:
                self.refuse_cycle(target)
            elif target not in self.done:
                self.stack[target] = self.targets(target)
        return self.done[key]

    def links_of(self, key: ItemKey) -> list[Link]:
        return [link for link in self.links.get(key, ()) if link.target.key in self.decisions]

    def targets(self, key: ItemKey) -> Iterator[ItemKey]:
        return (link.target.key for link in self.links_of(key))

    def new_name(self, decision: StrategyDecision) -> str:
        item = decision.item
        data = item.content
        links = self.links_of(item.key)
        if links:
            data = apply_edits(data, reference_edits(links, self.done), item.path)
        hashed = hashed_content(item.identity.group_kind, data, decision.is_immutable)
        return self.numbers.name(decision, hashed)

    def refuse_cycle(self, key: ItemKey) -> None:
        names = list(self.stack)
        cycle = [*names[names.index(key) :], key]
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
    """The revision names of the objects to rename.

    links: by the object that has the reference.
    Raises UserError if the data of objects reference each other in a cycle.
    """
    by_item = {decision.item.key: decision for decision in decisions}
    namer = _Namer(inventory, by_item, links, numbers)
    return {key: namer.name(key) for key in by_item}
