"""The inventory of an attach group: a ConfigMap with what the attacher's Job has as arguments.

With `attacher.mode: external`, render appends it instead of the Job, and `postrender collect` reads
it in the cluster. The label is not GROUP_LABEL, so attach never takes an inventory for an original.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from postrender.kubernetes.annotations import INVENTORY_LABEL
from postrender.kubernetes.kinds import CONFIG_MAP, GroupKind
from postrender.yaml.paths import Json, value_at

_SUFFIX = "-inventory"
_KEY = "arguments"


def inventory_name(group_name: str) -> str:
    """The name of the inventory of an attach group, at most 73 characters."""
    return group_name + _SUFFIX


def is_inventory(group_kind: GroupKind, name: str, labels: Mapping[str, str]) -> bool:
    """Whether an object is an inventory, by its name and label."""
    group_name = labels.get(INVENTORY_LABEL, "")
    return group_kind == CONFIG_MAP and bool(group_name) and name == inventory_name(group_name)


def inventory_data(arguments: Iterable[str]) -> dict[str, Json]:
    """The field `data`, with one option for each line, such as `--group shop-attach`."""
    text = "".join(f"\n{word}" if word.startswith("--") else f" {word}" for word in arguments)
    return {_KEY: text.strip() + "\n"}


def inventory_arguments(data: Mapping[str, Json]) -> list[str] | None:
    """The arguments in an inventory, None without a text; data: the whole object."""
    text = value_at(data, ("data", _KEY))
    if not isinstance(text, str):
        return None
    return [word for line in text.splitlines() for word in line.split(" ", 1)]
