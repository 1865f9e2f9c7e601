"""Everything that is decided about a stream before anything in it is edited."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence

from postrender.config.settings import NOTHING, Settings
from postrender.inventory.build import Inventory
from postrender.inventory.model import Item, ItemKey
from postrender.plan.auto_mount import Mount
from postrender.plan.history import EarlierRevision
from postrender.plan.links import Link
from postrender.plan.namespaces import Resolver
from postrender.plan.strategy import StrategyDecision
from postrender.plan.workload_refs import find_rollouts
from postrender.startup.records import NamedTuple

# What becomes of an object of earlier outputs.
RETAIN, LAST_TIME, DROP, REPLACED = "carry", "carry for the last time", "drop", "replaced"


class Retained(NamedTuple):
    """What becomes of one object of earlier outputs, and why.

    what: CARRY; LAST_TIME, which is without Helm's `keep`; DROP; or REPLACED, an original whose
    name the stream has an object for; current: the object of the stream that took its place.
    """

    past: EarlierRevision
    what: str
    reason: str
    current: ItemKey | None

    @property
    def is_emitted(self) -> bool:
        """Whether it is in the output."""
        return self.what in (RETAIN, LAST_TIME)


class PlanContext(NamedTuple):
    """Decisions and names, with what names what.

    decisions and names: by object (names only for those that are renamed); links: by the object
    that holds them; mounts: by the workload they go into; named: by workload, the objects that its
    pod templates name or mount, each once a template (None for all of them); orders: the numbers
    of the objects that are renamed, where there is a history; carried: what becomes of the
    revisions in it.
    """

    inventory: Inventory
    settings: Settings
    resolver: Resolver
    decisions: Mapping[ItemKey, StrategyDecision]
    names: Mapping[ItemKey, str]
    links: Mapping[ItemKey, Sequence[Link]]
    mounts: Mapping[ItemKey, Sequence[Mount]]
    named: Mapping[ItemKey, Sequence[tuple[int | None, Item]]]
    orders: Mapping[ItemKey, int] = NOTHING
    retained: Sequence[Retained] = ()

    @property
    def retained_names(self) -> dict[ItemKey, list[str]]:
        """The carried revisions of each object that is renamed, newest first."""
        names: dict[ItemKey, list[str]] = defaultdict(list)
        for each in self.retained:
            if each.current and each.is_emitted and not each.past.is_original:
                names[each.current].append(each.past.identity.name)
        return names

    @property
    def rollouts(self) -> Mapping[ItemKey, Sequence[Item]]:
        """By workload, the Rollouts that take their pod template from it, if both can change."""
        return find_rollouts(
            [item for item in self.inventory.items if item.is_rewritable], self.resolver
        )

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
        return item.identity.name if item.is_revision and not item.is_hook else ""


def targets_by_workload(
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
