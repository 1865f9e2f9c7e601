"""The names of attach groups, and their inventories.

A group's name is the value of the label postrender/attach-group. Its inventory is a ConfigMap with
what the attacher's Job has as arguments: with `attacher.mode: external`, render appends it instead
of the Job, and `postrender collect` reads it in the cluster. The label of an inventory is not
GROUP_LABEL, so attach never takes an inventory for an original.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from postrender.kubernetes.annotations import INVENTORY_LABEL
from postrender.kubernetes.hashing import JOB_HASH_LENGTH, sha256_hex
from postrender.kubernetes.kinds import CONFIG_MAP, MAX_LABEL_LENGTH, GroupKind, Identity
from postrender.yaml.paths import Json, value_at

# Many charts have objects with the release's name. The suffix prevents name conflicts.
SUFFIX = "-attach"
# A Job's name is the group name, a hyphen and a hash. Kubernetes permits at most 63 characters.
_MAX_LENGTH = MAX_LABEL_LENGTH - JOB_HASH_LENGTH - 1
_INVALID = "[^a-z0-9-]+"


def group_name_for_release(release: str) -> str:
    """A group name of at most 52 characters from the name of a release."""
    return _with_suffix(release.removesuffix(SUFFIX), release)


def group_name_for_workload(identity: Identity) -> str:
    """A group name of at most 52 characters from the identity of a workload."""
    kind = identity.kind.lower()
    return _with_suffix(f"{identity.name}-{kind}", f"{identity.kind}/{identity.name}")


def _with_suffix(name: str, hashed: str) -> str:
    """A name with the suffix. A name that is too long or invalid gets a hash of `hashed`."""
    full = f"{name}{SUFFIX}"
    is_valid = bool(name) and name == name.strip("-") and not re.search(_INVALID, name)
    if len(full) <= _MAX_LENGTH and is_valid:
        return full
    digest = sha256_hex(hashed)[:8]
    tail = f"-{digest}{SUFFIX}"
    valid = re.sub(_INVALID, "-", full.lower()).lstrip("-")
    return (valid[: _MAX_LENGTH - len(tail)].rstrip("-") + tail).lstrip("-")


_INVENTORY_SUFFIX = "-inventory"
_KEY = "arguments"


def inventory_name(group_name: str) -> str:
    """The name of the inventory of an attach group, at most 73 characters."""
    return group_name + _INVENTORY_SUFFIX


def group_of_inventory(name: str) -> str:
    """The attach group of an inventory with this name, or the name if an inventory has another."""
    return name.removesuffix(_INVENTORY_SUFFIX)


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
