"""The revisions of each base name, in their order, and the number of the next revision.

The revisions of a base name are numbered upwards (annotation `postrender/revision-number`). Their
order in the manifests means nothing, because tools sort manifests. Content that returns becomes
the newest revision again.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence

from postrender.config.settings import NOTHING, SEQUENCE
from postrender.inventory.model import Item
from postrender.kubernetes.hashing import revision_name
from postrender.kubernetes.kinds import ObjectKey
from postrender.plan.history import EarlierRevision, History
from postrender.plan.namespaces import Resolver
from postrender.startup.records import NamedTuple
from postrender.yaml.paths import Json


class RevisionNumbers(NamedTuple):
    """The earlier revisions, newest first, by the key of their original.

    naming: `hash` or `sequence`.
    """

    resolver: Resolver
    by_base: Mapping[ObjectKey, Sequence[EarlierRevision]] = NOTHING
    naming: str = ""

    def base_of(self, item: Item) -> ObjectKey:
        """Return the key of an object under its base name."""
        return self.resolver.key_of(item.identity, item.base_name)

    def name(self, item: Item, content: Json) -> str:
        """Return the revision name of an object; content: the part of the object to hash."""
        base_name = item.identity.name
        if self.naming != SEQUENCE:
            return revision_name(base_name, content)
        newest = self._newest(item)
        if newest:
            name = revision_name(base_name, content, newest.order)
            if name == newest.identity.name:
                return name
        return revision_name(base_name, content, newest.order + 1 if newest else 1)

    def order(self, item: Item, name: str) -> int:
        """Return the number of an object's revision; name: the revision name."""
        newest = self._newest(item)
        if newest is None:
            return 1
        return newest.order if newest.identity.name == name else newest.order + 1

    def _newest(self, item: Item) -> EarlierRevision | None:
        """Return the revision with the highest number."""
        earlier = self.by_base.get(self.base_of(item), ())
        revisions = [revision for revision in earlier if not revision.is_original]
        return max(revisions, key=lambda revision: revision.order, default=None)


def number_revisions(history: History, resolver: Resolver, naming: str) -> RevisionNumbers:
    """Return the revisions of a history, newest first, each with a different number.

    Originals have the number 0.
    """
    groups: dict[ObjectKey, list[EarlierRevision]] = defaultdict(list)
    for revision in history.earlier:
        groups[resolver.key_of(revision.identity, revision.base_name)].append(revision)
    by_base = {base: tuple(_numbered(revisions)) for base, revisions in groups.items()}
    return RevisionNumbers(resolver, by_base, naming)


def _numbered(revisions: Sequence[EarlierRevision]) -> list[EarlierRevision]:
    """Return the revisions of one base name, newest first, each with a different number.

    A revision that was current later is newer, whatever its number is: a rollback does not render
    again. Revisions without a number, which a render without --previous created, get higher numbers
    than the others.
    """
    numbered: list[EarlierRevision] = []
    order = 0
    for revision in sorted(revisions, key=_by_number):
        if revision.is_original:
            numbered.append(revision)
        else:
            order = max(revision.order, order + 1)
            numbered.append(revision._replace(order=order))
    return sorted(
        numbered, key=lambda revision: (revision.last_current, revision.order), reverse=True
    )


def _by_number(revision: EarlierRevision) -> tuple[bool, int, int]:
    has_no_number = not revision.order and revision.last_current >= 0
    return has_no_number, revision.order, revision.last_current
