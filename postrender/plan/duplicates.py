"""ConfigMaps and Secrets that a stream defines twice.

Helm 3 cannot install a stream that defines an object twice, so postrender removes the repeated
definition. If the two definitions have different content, postrender reports an error.
"""

from __future__ import annotations

from postrender.errors import UserError
from postrender.inventory.build import Inventory
from postrender.inventory.model import Item, ItemKey
from postrender.krm.tool_annotations import own_annotations
from postrender.kubernetes.kinds import ObjectKey
from postrender.plan.namespaces import Resolver
from postrender.yaml.paths import Json, mapping_at


def find_duplicates(
    inventory: Inventory, resolver: Resolver
) -> tuple[frozenset[ItemKey], Inventory]:
    """Return the objects that repeat an earlier object, and the inventory without these objects.

    The function ignores hooks, attachers' objects and objects with generateName.
    Raises UserError if two objects have the same key and different content.
    """
    earlier_items: dict[ObjectKey, Item] = {}
    repeated: set[ItemKey] = set()
    for item in inventory.items:
        if item.content is None or item.is_hook or item.is_attacher or item.has_generated_name:
            continue
        key = resolver.key_of(item.identity)
        earlier = earlier_items.setdefault(key, item)
        if earlier is item:
            continue
        if _comparable(earlier, key.namespace) != _comparable(item, key.namespace):
            raise UserError(
                f"the input contains {item.identity} twice, with different content. The first "
                f"object is at {inventory.location_of(earlier)}",
                "Remove or rename one of the two objects",
                inventory.location_of(item),
            )
        repeated.add(item.key)
    kept = tuple(item for item in inventory.items if item.key not in repeated)
    return frozenset(repeated), inventory._replace(items=kept)


def _comparable(item: Item, namespace: str | None) -> dict[str, Json]:
    """Return the content with `namespace`, without the annotations of Helm 4, kustomize and kpt."""
    metadata = mapping_at(item.content, ("metadata",))
    annotations = own_annotations(item.annotations)
    comparable = {**metadata, "namespace": namespace, "annotations": annotations}
    return {**(item.content or {}), "metadata": comparable}
