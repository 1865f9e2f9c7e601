"""The revisions of each base name in their order: what was, and the number of what comes.

The numbers of a base name count up (annotation `postrender/revision-number`). The order of the text
would say nothing, because tools sort manifests. A content that returns is the newest again.
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
    """What was, by base: newest first, with numbers; naming: `hash` or `sequence`."""

    resolver: Resolver
    by_base: Mapping[ObjectKey, Sequence[EarlierRevision]] = NOTHING
    naming: str = ""

    def base_of(self, item: Item) -> ObjectKey:
        """Return the base that an object of the stream is of: its own, or as a revision."""
        namespace = self.resolver.effective_namespace(item.identity.namespace)
        return ObjectKey(item.identity.group_kind, namespace, item.base_name)

    def name(self, item: Item, content: Json) -> str:
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

    def _newest(self, item: Item) -> EarlierRevision | None:
        """Return the revision with the highest number."""
        earlier = self.by_base.get(self.base_of(item), ())
        revisions = [past for past in earlier if not past.is_original]
        return max(revisions, key=lambda past: past.order, default=None)


def number_revisions(history: History, resolver: Resolver, naming: str) -> RevisionNumbers:
    """Return the revisions of a history by base, newest first, each with a number of its own.

    Originals have the number 0.
    """
    groups: dict[ObjectKey, list[EarlierRevision]] = defaultdict(list)
    for past in history.earlier:
        namespace = resolver.effective_namespace(past.identity.namespace)
        groups[ObjectKey(past.identity.group_kind, namespace, past.base_name)].append(past)
    by_base = {base: tuple(_numbered(earlier)) for base, earlier in groups.items()}
    return RevisionNumbers(resolver, by_base, naming)


def _numbered(earlier: Sequence[EarlierRevision]) -> list[EarlierRevision]:
    """Return what was of one base name, newest first, each revision with a number of its own.

    What was current later is newer, whatever its number: a rollback renders nothing anew. What a
    release without --previous left without a number comes after those that have one.
    """
    numbered: list[EarlierRevision] = []
    order = 0
    for past in sorted(earlier, key=_by_number):
        if past.is_original:
            numbered.append(past)
        else:
            order = max(past.order, order + 1)
            numbered.append(past._replace(order=order))
    return sorted(numbered, key=lambda past: (past.last, past.order), reverse=True)


def _by_number(past: EarlierRevision) -> tuple[bool, int, int]:
    is_without = not past.order and past.last >= 0
    return is_without, past.order, past.last
