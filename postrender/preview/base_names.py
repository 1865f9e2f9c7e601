"""By what name an object is known in a preview: without the hash of a revision."""

from __future__ import annotations

from postrender.items import Item
from postrender.objects import SECRET
from postrender.revision import without_hash


def base_name_of(item: Item, *, is_revision: bool) -> str:
    """Return the base name of an object that bears a revision's name, or its name.

    is_revision: whether its name is that of its content, whoever named it. A Secret's name that
    looks like one is taken for one: it is not to be shown.
    """
    name = item.identity.name
    if item.is_revision:
        return item.base_name
    has_hash = is_revision or item.identity.group_kind == SECRET
    return (without_hash(name) if has_hash else "") or name
