"""The records of a comparison: the two sides, and the objects of each side."""

from __future__ import annotations

from collections.abc import Mapping

from postrender.errors import Finding, Location
from postrender.inventory.build import Inventory
from postrender.inventory.model import Item, ItemKey
from postrender.kubernetes.kinds import Identity, ObjectKey
from postrender.plan.model import PlanContext
from postrender.plan.namespaces import Resolver
from postrender.records import NamedTuple
from postrender.yaml.paths import Json

# The roles of an object. EARLIER is a retained or an older revision, ORIGINAL is an original next
# to its revision, and CURRENT is any other object.
CURRENT, EARLIER, ORIGINAL = "current", "earlier", "original"


class ComparedObject(NamedTuple):
    """One object of a side.

    identity: the identity with the base name.
    name: the name in the cluster.
    data: the whole object, with the plan's edits of references and pod templates. A ConfigMap or
    Secret that the plan renames still has the name, labels and annotations of the input.
    item: the object in the inventory, None for a revision that postrender adds from the history.
    role: CURRENT, EARLIER or ORIGINAL.
    strategy: the strategy of a ConfigMap or Secret, else "".
    is_immutable: whether a ConfigMap or Secret is immutable in the output. False for a revision
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
        """True if the name differs from the name in the identity, as for a revision."""
        return self.name != self.identity.name


class ExpectedAttachers(NamedTuple):
    """The attachers that postrender would append to one side.

    objects: the objects by key. The namespace in a key is the namespace in the manifests, None if
    absent.
    arguments: the workloads and revisions in the arguments of the Jobs, by the namespace in the
    manifests and the attach group. An example is (`--emitted`, `configmap/web-m567dfc6df`).
    """

    objects: Mapping[ObjectKey, dict[str, Json]]
    arguments: Mapping[tuple[str | None, str], frozenset[tuple[str, str]]]


class Side(NamedTuple):
    """One side of a comparison: the older or newer manifests, and facts from their plan.

    objects: all objects, including originals and retained revisions.
    by_item: the object of each item; if an item has a revision and an original, the revision.
    originals: the originals that stay next to their revisions, by item.
    context: the context of the plan, None as in PlanBasis.
    is_rendered: True for an output of postrender, False for an input.
    base_names: the base names, by revision name.
    secret_names: the base names, by the revision names to redact.
    written: the objects of an output without the edits of the plan, by item. Empty for an input.
    attachers: the attachers that postrender would append to an output again. Empty for an input.
    non_objects: each value that is not a Kubernetes object, with its location.
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
        """Return the data of an object for an exact comparison.

        If the side is an input, the result is `compared.data`. If the side is an output, the result
        does not have the plan's edits, because an edit could hide a difference.
        """
        if compared.item is None:
            return compared.data
        return self.written.get(compared.item.key, compared.data)
