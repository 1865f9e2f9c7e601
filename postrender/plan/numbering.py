"""The revisions of each base name in their order: what was, and the number of what comes.

Revisions of a base name count up (annotation `postrender/revision-number`), because tools sort manifests
anew, so that the order of the text tells nothing. A content that comes back is the newest again.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence

from postrender.config.settings import NOTHING, SEQUENCE
from postrender.inventory.model import Item
from postrender.kubernetes.hashing import revision_name
from postrender.kubernetes.kinds import GroupKind
from postrender.plan.history import History, Past
from postrender.plan.namespaces import Resolver
from postrender.startup.records import NamedTuple

Base = tuple[GroupKind, str | None, str]


class Lineages(NamedTuple):
    """What was, by base: newest first, with numbers; naming: `hash` or `sequence`."""

    resolver: Resolver
    by_base: Mapping[Base, Sequence[Past]] = NOTHING
    naming: str = ""

    def base_of(self, item: Item) -> Base:
        """Return the base that an object of the stream is of: its own, or as a revision."""
        home = self.resolver.home_of(item.identity.namespace)
        return item.identity.group_kind, home, item.base_name

    def name(self, item: Item, content: object) -> str:
        """Return the revision name of an object; content: what its hash covers."""
        base_name = item.identity.name
        if self.naming != SEQUENCE:
            return revision_name(base_name, content)
        newest = self._newest(item)
        if newest:
            same = revision_name(base_name, content, newest.order)
            if same == newest.identity.name:
                return same
        return revision_name(base_name, content, newest.order + 1 if newest else 1)

    def order(self, item: Item, name: str) -> int:
        """Return the number of an object's revision, whose name is known."""
        newest = self._newest(item)
        if newest is None:
            return 1
        return newest.order if newest.identity.name == name else newest.order + 1

    def _newest(self, item: Item) -> Past | None:
        """Return the revision with the highest number."""
        pasts = self.by_base.get(self.base_of(item), ())
        revisions = [past for past in pasts if not past.is_original]
        return max(revisions, key=lambda past: past.order, default=None)


def find_lineages(history: History, resolver: Resolver, naming: str) -> Lineages:
    """Return the revisions of a history by base, newest first, each with a number of its own.

    Originals have the number 0.
    """
    groups: dict[Base, list[Past]] = defaultdict(list)
    for past in history.pasts:
        home = resolver.home_of(past.identity.namespace)
        groups[past.identity.group_kind, home, past.base_name].append(past)
    by_base = {base: tuple(_numbered(pasts)) for base, pasts in groups.items()}
    return Lineages(resolver, by_base, naming)


def _numbered(pasts: Sequence[Past]) -> list[Past]:
    """Return what was of one base name, newest first, each revision with a number of its own.

    What was current later is newer, whatever its number: a rollback renders nothing anew. What a
    release without --previous left without a number comes after those that have one.
    """
    numbered: list[Past] = []
    order = 0
    for past in sorted(pasts, key=_by_number):
        if past.is_original:
            numbered.append(past)
        else:
            order = max(past.order, order + 1)
            numbered.append(past._replace(order=order))
    return sorted(numbered, key=lambda past: (past.last, past.order), reverse=True)


def _by_number(past: Past) -> tuple[bool, int, int]:
    is_without = not past.order and past.last >= 0
    return is_without, past.order, past.last
