"""The base names under which `postrender diff` and `postrender explain` show objects."""

from __future__ import annotations

from postrender.inventory.model import Item
from postrender.kubernetes.hashing import without_hash
from postrender.kubernetes.kinds import SECRET


def base_name_of(item: Item, *, is_revision: bool) -> str:
    """Return the base name of an object with a revision name, or the name of any other object.

    If the object has the label of a revision and the annotation `postrender/base-name`, the result
    is the value of the annotation. A Secret's name that ends like a revision name counts as a
    revision name, because an output must not show the hash.
    is_revision: the field `is_revision` of the plan's StrategyDecision for the object.
    """
    name = item.identity.name
    if item.is_revision:
        return item.base_name
    has_hash = is_revision or item.identity.group_kind == SECRET
    return (without_hash(name) if has_hash else "") or name
