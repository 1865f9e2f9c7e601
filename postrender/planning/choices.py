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
    that holds them; mounts: by the workload they go into; named: by workload, the objects that its
    pod templates name or mount, each once a template (None for all of them).
    """

    inventory: Inventory
    settings: Settings
    resolver: Resolver
    decisions: Mapping[ItemKey, Decision]
    names: Mapping[ItemKey, str]
    links: Mapping[ItemKey, Sequence[Link]]
    mounts: Mapping[ItemKey, Sequence[Mount]]
    named: Mapping[ItemKey, Sequence[tuple[int | None, Item]]]

    def targets(self, item: Item, template: int | None = None) -> list[Item]:
        """Return what an object's pod templates (or one of them) name or mount, in order."""
        named = self.named.get(item.key, ())
        if template is not None and len(item.templates) > 1:
            named = [pair for pair in named if pair[0] in (None, template)]
        return [target for _, target in named]

    def revision_of(self, item: Item) -> str:
        """Return the revision name of an object in the output, or nothing if it has none."""
        if item.key in self.names:
            return self.names[item.key]
        is_ours = MANAGED_LABEL in item.labels and BASE_NAME_ANNOTATION in item.annotations
        return item.identity.name if is_ours and not item.is_hook else ""


def find_named(
    links: Mapping[ItemKey, Sequence[Link]], mounts: Mapping[ItemKey, Sequence[Mount]]
) -> dict[ItemKey, list[tuple[int | None, Item]]]:
    """Return, by workload, the objects that its pod templates name or mount."""
    found: dict[ItemKey, dict[tuple[int | None, ItemKey], Item]] = {}
    for key, own in links.items():
        for link in own:
            template = link.reference.template
            if template is not None:
                found.setdefault(key, {})[template, link.target.key] = link.target
    for key, group in mounts.items():
        for mount in group:
            found.setdefault(key, {})[None, mount.item.key] = mount.item
    return {
        key: [(template, target) for (template, _), target in targets.items()]
        for key, targets in found.items()
    }
