"""The size of an output in Helm's release Secret.

A Secret can store at most 1 MiB. Helm 3 and 4 store the manifests and the chart in the Secret,
compressed with gzip and encoded as base64 (pkg/storage/driver).
"""

from __future__ import annotations

import gzip
import json
from collections import defaultdict
from collections.abc import Sequence

from postrender.errors import Finding, Location
from postrender.plan.build import Plan

_LIMIT = 1024 * 1024  # bytes
_WARN_AT = 0.75  # an output of at least this fraction of the limit is near the limit
# An output of fewer bytes is never near the limit, even if gzip does not compress the output.
# base64 encodes 3 bytes as 4 bytes.
_ALWAYS_FITS = _LIMIT * _WARN_AT * 3 / 4


def find_size(plan: Plan, output: Sequence[str]) -> Finding | None:
    """Return a finding if an output is near the limit of the release Secret, else None."""
    data = "".join(output).encode()
    if len(data) < _ALWAYS_FITS:
        return None
    size = len(gzip.compress(data, 9)) * 4 // 3
    if size < _LIMIT * _WARN_AT:
        return None
    largest = _largest_sentence(plan)
    fix = "Move large data out of the ConfigMaps"
    return Finding(
        code="release-size",
        problem=f"the manifests use about {size // 1024} of the 1024 KiB in Helm's release Secret, "
        f"which also stores the chart{largest}",
        fix="Lower history.keep, or move large data out of the ConfigMaps" if largest else fix,
        location=Location(plan.inventory.stream.source),
    )


def _largest_sentence(plan: Plan) -> str:
    """Return a period and a sentence about the base names with the largest retained revisions.

    Returns "" if the output does not have retained revisions.
    """
    sizes: dict[str, int] = defaultdict(int)
    for retained in plan.context.retained if plan.context else ():
        if retained.is_emitted:
            sizes[retained.revision.base_name] += len(json.dumps(retained.revision.content))
    largest = sorted(sizes.items(), key=lambda pair: -pair[1])[:3]
    names = ", ".join(f"{name} ({size // 1024} KiB uncompressed)" for name, size in largest)
    return f". The base names with the largest retained revisions are {names}" if names else ""
