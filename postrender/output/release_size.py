"""Whether Helm can store an output: a release is a Secret, which holds 1 MiB at most.

Helm 3 and 4 store base64 of gzip of a release (pkg/storage/driver), which is more than its
manifests: the chart is in it as well.
"""

from __future__ import annotations

import gzip
import json
from collections import defaultdict
from collections.abc import Sequence

from postrender.errors import Finding, Location
from postrender.plan.build import Plan

_LIMIT = 1024 * 1024
_WARN_AT = 0.75
# What is smaller than that is never near the limit, however badly it packs.
_ALWAYS_FITS = _LIMIT * _WARN_AT * 3 / 4


def find_size(plan: Plan, output: Sequence[str]) -> Finding | None:
    """Return a finding where an output is near what Helm can store, None where it is not."""
    data = "".join(output).encode()
    if len(data) < _ALWAYS_FITS:
        return None
    size = len(gzip.compress(data, 9)) * 4 // 3
    if size < _LIMIT * _WARN_AT:
        return None
    return Finding(
        "release-size",
        f"these manifests take about {size // 1024} KiB in Helm's release Secret, which holds 1024 "
        f"with the chart; earlier revisions in it: {_costliest(plan)}",
        "lower history.keep, or take what is large out of the ConfigMaps",
        Location(plan.inventory.stream.source),
    )


def _costliest(plan: Plan) -> str:
    sizes: dict[str, int] = defaultdict(int)
    for retained in plan.context.retained if plan.context else ():
        if retained.is_emitted:
            sizes[retained.past.base_name] += len(json.dumps(retained.past.content))
    largest = sorted(sizes.items(), key=lambda pair: -pair[1])[:3]
    listed = (f"{name} ({size // 1024} KiB unpacked)" for name, size in largest)
    return ", ".join(listed) or "none"
