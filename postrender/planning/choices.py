"""Everything that is decided about a stream before anything in it is edited."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from postrender.auto_mount import Mount
from postrender.inventory import Inventory
from postrender.items import BASE_NAME_ANNOTATION, MANAGED_LABEL, Item, ItemKey
from postrender.planning.decide import Decision
from postrender.planning.links import Link
from postrender.planning.resolve import Resolver
from postrender.settings import Settings


class Choices(NamedTuple):
    """Decisions and names, with what names what.

    decisions and names: by object (names only for those that are renamed); links: by the object
    that holds them; mounts: by the workload they go into.
    """

    inventory: Inventory
    settings: Settings
    resolver: Resolver
    decisions: Mapping[ItemKey, Decision]
    names: Mapping[ItemKey, str]
    links: Mapping[ItemKey, Sequence[Link]]
    mounts: Mapping[ItemKey, Sequence[Mount]]

    def targets(self, item: Item, template: int | None = None) -> list[Item]:
        """Return what an object's pod templates (or one of them) name or mount, in order."""
        named = [
            link.target
            for link in self.links.get(item.key, ())
            if link.reference.template is not None and template in (None, link.reference.template)
        ]
        mounted = [mount.item for mount in self.mounts.get(item.key, ())]
        return list({target.key: target for target in [*named, *mounted]}.values())

    def revision_of(self, item: Item) -> str:
        """Return the revision name of an object in the output, or nothing if it has none."""
        if item.key in self.names:
            return self.names[item.key]
        is_ours = MANAGED_LABEL in item.labels and BASE_NAME_ANNOTATION in item.annotations
        return item.identity.name if is_ours and not item.is_hook else ""
