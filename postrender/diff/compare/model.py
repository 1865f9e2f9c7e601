"""The records of a comparison: the objects of each side, as applied."""

from __future__ import annotations

from collections.abc import Mapping

from postrender.errors import Finding, Location
from postrender.inventory.build import Inventory
from postrender.inventory.model import Item, ItemKey
from postrender.kubernetes.kinds import Identity, ObjectKey
from postrender.plan.model import PlanContext
from postrender.plan.namespaces import Resolver
from postrender.startup.records import NamedTuple
from postrender.yaml.paths import Json

# The roles of an object: CURRENT, EARLIER (an earlier revision) or ORIGINAL (next to its revision).
CURRENT, EARLIER, ORIGINAL = "current", "earlier", "original"


class ComparedObject(NamedTuple):
    """One object as applied.

    identity: with the base name;
    name: the name in the cluster;
    data: the whole object after the edits;
    item: the object in the inventory, None for a revision of the history;
    role: CURRENT, EARLIER or ORIGINAL;
    strategy: the strategy of a ConfigMap or Secret, else "";
    is_immutable: whether a ConfigMap or Secret is immutable after the edits. False for an original
    that a render keeps next to its revision, and for a revision of the history.
    """

    identity: Identity
    name: str
    data: dict[str, Json]
    item: Item | None
    role: str = CURRENT
    strategy: str = ""
    is_immutable: bool = False

    @property
    def is_hook(self) -> bool:
        """True if Helm or Argo CD runs the object as a hook."""
        return self.item is not None and self.item.is_hook

    @property
    def is_attacher(self) -> bool:
        """True if the object has the kind and the label of a part of an attacher."""
        return self.item is not None and self.item.is_attacher

    @property
    def is_content(self) -> bool:
        """True for a ConfigMap or Secret, except in an attacher."""
        return bool(self.strategy)

    @property
    def is_revised(self) -> bool:
        """True if the name in the cluster is the name of a revision."""
        return self.name != self.identity.name


class ExpectedAttachers(NamedTuple):
    """The attachers that a render of one side would append.

    objects: the objects, by key with the namespace as written;
    arguments: the Jobs' arguments that contain workloads or revisions, by namespace and attach
    group. Each argument is a pair: an option and its value, or an option and one revision.
    """

    objects: Mapping[ObjectKey, dict[str, Json]]
    arguments: Mapping[tuple[str | None, str], frozenset[tuple[str, str]]]


class Side(NamedTuple):
    """The objects that were read on one side.

    objects: all objects, with originals and retained revisions;
    by_item: the object of each item; if an item has a revision and an original, the revision;
    originals: the originals that stay, by item;
    context: None if the side has no ConfigMap and no Secret;
    is_rendered: whether postrender rendered the side;
    base_names: the base name of each revision name;
    secret_names: the part of base_names that must not be shown;
    written: each object of a rendered side as the side writes it, before any edit, by item; empty
    for a side that is not rendered;
    attachers: the attachers that a render of a rendered side would append; empty for a side that is
    not rendered;
    non_objects: the content that is not a Kubernetes object, with its location;
    findings: the findings of the plan.
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
    written: Mapping[ItemKey, dict[str, Json]]
    attachers: ExpectedAttachers
    non_objects: tuple[tuple[Json, Location], ...]
    findings: tuple[Finding, ...]

    @property
    def revisions(self) -> list[ComparedObject]:
        """The revisions of ConfigMaps and Secrets, current and earlier."""
        return [compared for compared in self.objects if compared.is_revised]

    def written_data(self, compared: ComparedObject) -> dict[str, Json]:
        """Return an object as it reaches the cluster.

        A side that is not rendered gets its edits. In a rendered side, an edit would hide a
        difference, and never reaches the cluster.
        """
        if compared.item is None:
            return compared.data
        return self.written.get(compared.item.key, compared.data)
