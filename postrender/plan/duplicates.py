"""The same ConfigMap twice in a stream: Helm 3 cannot install it, and which one wins is luck."""

from __future__ import annotations

from postrender.config.settings import Settings
from postrender.errors import UserError
from postrender.inventory.build import Inventory
from postrender.inventory.model import Item, ItemKey
from postrender.krm.tool_annotations import own_annotations
from postrender.yaml.paths import Json


def find_duplicates(
    inventory: Inventory, settings: Settings
) -> tuple[frozenset[ItemKey], Inventory]:
    """Return the objects that repeat an earlier one, and the inventory without them.

    Raises UserError where two objects have one identity and different content.
    """
    first: dict[tuple[str, str, str | None, str], Item] = {}
    repeated: set[ItemKey] = set()
    for item in inventory.items:
        if item.content is None or item.is_hook or item.is_attacher or item.has_generated_name:
            continue
        identity = item.identity
        namespace = identity.namespace or settings.namespace or None
        other = first.setdefault((identity.group, identity.kind, namespace, identity.name), item)
        if other is item:
            continue
        if _comparable(other, namespace) != _comparable(item, namespace):
            raise UserError(
                f"{identity} is defined twice, with different content. The first definition is at "
                f"{inventory.location_of(other)}",
                "Rename one of the two",
                inventory.location_of(item),
            )
        repeated.add(item.key)
    kept = tuple(item for item in inventory.items if item.key not in repeated)
    return frozenset(repeated), inventory._replace(items=kept)


def _comparable(item: Item, namespace: str | None) -> dict[str, Json]:
    """Return an object without what says only where it came from."""
    content = dict(item.content or {})
    metadata = content.get("metadata")
    metadata = dict(metadata) if isinstance(metadata, dict) else {}
    annotations = own_annotations(item.annotations)
    content["metadata"] = {**metadata, "namespace": namespace, "annotations": annotations}
    return content
