"""The order in which a plan reads workloads and ConfigMaps, independent of the input's order.

Helm and kustomize sort the objects of a stream differently. A changed attacher Job runs
again, so its arguments and the name of its attach group must not depend on the tool.
"""

from __future__ import annotations

from postrender.inventory.model import Item


def item_order(item: Item) -> tuple[bool, str, str, str, str]:
    """Return the sort key of an object. Rollouts are first, then the order is by kind and name."""
    identity = item.identity
    is_other = identity.kind != "Rollout"
    namespace = identity.namespace or ""
    return is_other, identity.kind, identity.name, namespace, identity.group
