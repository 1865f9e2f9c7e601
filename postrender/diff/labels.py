"""What a reference is called in a graph: by what of itself one object names another."""

from __future__ import annotations

from collections.abc import Sequence

from postrender.references.pods import POD_SPEC_PATTERNS
from postrender.yaml.paths import EVERY_ITEM, Path

AUTO_MOUNT = "auto-mount"
WORKLOAD_REF = "workloadRef"

# The most telling part of a path that goes through several of them stands first.
_POD_LABELS = {"projected": "projected", "envFrom": "envFrom", "env": "env", "volumes": "volume"}

# The fields that only say that a name follows: what is above them tells more.
_NAME_FIELDS = ("name", "secretName")


def label_of(path: Path) -> str:
    """Return by what a reference at a path names something, in a word.

    In pod specs, wherever they stand: `volume`, `projected`, `envFrom` or `env`. Elsewhere the last
    part of the path that is not just `name`: `resourceNames`, `tls`, `configMapRef`; of an
    annotation what follows its prefix.
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
