"""The records of a comparison: the objects of each side, as in the output of postrender."""

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

# The roles of an object. EARLIER is a retained revision, ORIGINAL an original next to its revision,
# and CURRENT any other object.
CURRENT, EARLIER, ORIGINAL = "current", "earlier", "original"


class ComparedObject(NamedTuple):
    """One object as in the output of postrender ("as applied").

    identity: the identity with the base name;
    name: the name in the cluster;
    data: the whole object as applied;
    item: the object in the inventory, None for a revision that postrender adds from the history;
    role: CURRENT, EARLIER or ORIGINAL;
    strategy: the strategy of a ConfigMap or Secret, else "";
    is_immutable: whether a ConfigMap or Secret is immutable as applied. False for a revision
    from the history.
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
        """True if the kind and the label of the object mark a part of an attacher."""
        return self.item is not None and self.item.is_attacher

    @property
    def is_content(self) -> bool:
        """True for a ConfigMap or Secret that is not a part of an attacher."""
        return bool(self.strategy)

    @property
    def is_revised(self) -> bool:
        """True if the name in the cluster is the name of a revision."""
        return self.name != self.identity.name


class ExpectedAttachers(NamedTuple):
    """The attachers that postrender would append to one side.

    objects: the objects, by key with the namespace in the manifests (None if absent);
    arguments: the arguments of the Jobs, by this namespace and the attach group. Each argument is a
    pair: (`--workload`, one workload) or (`--emitted`, one revision).
    """

    objects: Mapping[ObjectKey, dict[str, Json]]
    arguments: Mapping[tuple[str | None, str], frozenset[tuple[str, str]]]


class Side(NamedTuple):
    """One side of a comparison: the older or newer manifests, and facts from their plan.

    objects: all objects, including originals and retained revisions;
    by_item: the object of each item; if an item has a revision and an original, the revision;
    originals: the originals that stay next to their revisions, by item;
    context: the context of the plan, None if the side and its history have no ConfigMap or Secret;
    is_rendered: True for an output of postrender, False for an input;
    base_names: the base name of each revision name;
    secret_names: the part of base_names that `redact` replaces;
    written: the objects without the edits of the plan, by item; empty if the side is an input;
    attachers: the attachers that postrender would append again; empty if the side is an input;
    non_objects: each value that is not a Kubernetes object, with its location;
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
        """The revisions of ConfigMaps and Secrets, with the roles CURRENT and EARLIER."""
        return [compared for compared in self.objects if compared.is_revised]

    def written_data(self, compared: ComparedObject) -> dict[str, Json]:
        """Return an object in the form that reaches the cluster.

        If the side is an input, the result has the edits of the plan. If the side is an output, the
        result does not have these edits, because an edit would hide a difference.
        """
        if compared.item is None:
            return compared.data
        return self.written.get(compared.item.key, compared.data)
