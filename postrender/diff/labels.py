"""The label of a reference in a graph: the kind of field that holds the name."""

from __future__ import annotations

from collections.abc import Sequence

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
