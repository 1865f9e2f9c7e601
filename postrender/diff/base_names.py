"""Base names: how the objects of a preview or an explanation are called."""

from __future__ import annotations

from postrender.inventory.model import Item
from postrender.kubernetes.hashing import without_hash
from postrender.kubernetes.kinds import SECRET


def base_name_of(item: Item, *, is_revision: bool) -> str:
    """Return the base name of an object that has a revision name, else the name.

    is_revision: whether the name is known to end in the hash of the content. A Secret's name that
    looks like a revision name is always treated as one, because it must not be shown.
    """
    name = item.identity.name
    if item.is_revision:
        return item.base_name
    has_hash = is_revision or item.identity.group_kind == SECRET
    return (without_hash(name) if has_hash else "") or name
