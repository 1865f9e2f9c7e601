"""The label of a reference in a graph: the kind of field that holds the name.

The base names under which `postrender diff` and `postrender explain` show objects.
"""

from __future__ import annotations

from collections.abc import Sequence

from postrender.inventory.model import Item
from postrender.kubernetes.hashing import without_hash
from postrender.kubernetes.kinds import SECRET
from postrender.references.built_in import POD_SPEC_PATTERNS
from postrender.yaml.paths import EVERY_ITEM, Path

AUTO_MOUNT = "auto-mount"
WORKLOAD_REF = "workloadRef"

# The label of a reference in a pod spec, by a part of the path. If a path has several of these
# parts, the part that is first in this dict decides.
_POD_LABELS = {"projected": "projected", "envFrom": "envFrom", "env": "env", "volumes": "volume"}

# For a reference in one of these fields, the label is the name of the parent field.
_NAME_FIELDS = ("name", "secretName")


def label_of(path: Path) -> str:
    """Return the label of a reference at a path.

    For a volume or variable of a pod, the label is `volume`, `projected`, `envFrom` or `env`. For
    an annotation, the label is the key without its prefix. For any other path, the label is the
    last key except `name` and `secretName`, such as `tls` or `imagePullSecrets`.
    """
    pattern = tuple(EVERY_ITEM if isinstance(part, int) else part for part in path)
    for start in range(len(pattern)):
        if pattern[start:] in _LABELS:
            return _LABELS[pattern[start:]]
    return _last_part(pattern)


def _last_part(pattern: Sequence[str]) -> str:
    parts = [part for part in pattern if part != EVERY_ITEM]
    while len(parts) > 1 and parts[-1] in _NAME_FIELDS:
        parts.pop()
    return parts[-1].rpartition("/")[2] if parts else ""


def _pod_label(pattern: Sequence[str]) -> str:
    labels = (label for part, label in _POD_LABELS.items() if part in pattern)
    return next(labels, _last_part(pattern))


_LABELS = {pattern: _pod_label(pattern) for pattern, _ in POD_SPEC_PATTERNS}


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
