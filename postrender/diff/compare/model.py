"""What is compared: the objects of one side, as they will be applied."""

from __future__ import annotations

from collections.abc import Mapping

from postrender.diff.model import Undecided
from postrender.inventory.build import Inventory
from postrender.inventory.model import Item, ItemKey
from postrender.kubernetes.kinds import Identity
from postrender.plan.model import PlanContext
from postrender.plan.namespaces import Resolver
from postrender.startup.records import NamedTuple
from postrender.yaml.paths import Json

# The roles of an object. An original stays next to its revision.
CURRENT, EARLIER, ORIGINAL = "current", "earlier", "original"


class ComparedObject(NamedTuple):
    """One object as it will be applied.

    identity: with the base name;
    name: the name in the cluster;
    data: the whole object after the edits;
    item: the object in the inventory, None for a revision of the history;
    role: CURRENT, EARLIER or ORIGINAL;
    strategy: of a ConfigMap or Secret, else "";
    is_immutable: after the edits.
    """

    identity: Identity
    name: str
    data: dict[str, Json]
    item: Item | None
    role: str = CURRENT
    strategy: str = ""
    is_immutable: bool = False

    @property
    def is_content(self) -> bool:
        """True for a ConfigMap or Secret that can be revised."""
        return bool(self.strategy)

    @property
    def is_revised(self) -> bool:
        """True if the name in the cluster is the name of a revision."""
        return self.name != self.identity.name


class Side(NamedTuple):
    """The objects that were read on one side.

    objects: all of them, with originals and retained revisions;
    by_item: the object of each item; the revision if the original stays too;
    originals: the originals that stay, by item;
    context: None if the side has no object to revise;
    is_rendered: whether postrender rendered the side;
    base_names: the base name of each revision name;
    secret_names: the part of base_names that must not be shown;
    undecided: the content that is not a Kubernetes object.
    """

    inventory: Inventory
    objects: tuple[ComparedObject, ...]
    by_item: Mapping[ItemKey, ComparedObject]
    originals: Mapping[ItemKey, ComparedObject]
    context: PlanContext | None
    resolver: Resolver
    is_rendered: bool
    base_names: Mapping[str, str]
    secret_names: Mapping[str, str]
    undecided: tuple[Undecided, ...]
