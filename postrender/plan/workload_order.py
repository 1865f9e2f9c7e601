"""The order in which a plan reads workloads and ConfigMaps.

Helm and kustomize sort the objects of a stream differently. The attacher Job must not depend on the
tool, because a changed Job runs again. This order therefore depends only on the identities of
the objects.
"""

from __future__ import annotations

from postrender.inventory.model import Item


def item_order(item: Item) -> tuple[bool, str, str, str, str]:
    """Return the sort key of an object. Rollouts are first. Then the kind and name decide."""
    identity = item.identity
    is_other = identity.kind != "Rollout"
    namespace = identity.namespace or ""
    return is_other, identity.kind, identity.name, namespace, identity.group
