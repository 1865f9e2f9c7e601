"""Lists of a pod template in which each item has a name, such as `containers` and `env`."""

from __future__ import annotations

from postrender.yaml.paths import mappings_in

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from postrender.yaml.paths import Json


def merge_by_name(base: Json, own: Json, merge: Callable[[Json, Json], Json]) -> list[Json] | None:
    """Return the items of two lists, merged by name. The items of `base` are first.

    The result is None if `base` or `own` is not a list, or if an item does not have a name.
    merge: the function that merges two items with the same name, first the item of `base`.
    """
    if not (_are_all_named(base) and _are_all_named(own)):
        return None
    items = {item["name"]: item for item in mappings_in(own)}
    merged = [
        merge(item, items.pop(item["name"])) if item["name"] in items else item
        for item in mappings_in(base)
    ]
    return [*merged, *items.values()]


def _are_all_named(items: Json) -> bool:
    return isinstance(items, list) and all(
        isinstance(item, dict) and isinstance(item.get("name"), str) for item in items
    )
