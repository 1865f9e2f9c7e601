"""A second autoscaler targets a workload, so neither scales.

KEDA makes an autoscaler of each ScaledObject.

Source: the horizontal controller of Kubernetes 1.27 and later.
"""

from __future__ import annotations

from collections.abc import Iterator

from postrender.diff.kinds import SCALERS, scaled_by
from postrender.diff.model import Risk
from postrender.diff.risks import Facts
from postrender.records import grouped

_CONSEQUENCE = "Autoscalers of the same pods do not scale (AmbiguousSelector)"


def find(facts: Facts) -> Iterator[Risk]:
    changed = {
        pair.identity: scaled_by(pair.new.data)[1]
        for pair in facts.changes
        if pair.new and pair.identity.kind in SCALERS
    }
    words = set(changed.values())
    before, after = (
        grouped(facts.scalers(words, is_new=is_new), lambda one: one[1]) if words else {}
        for is_new in (False, True)
    )
    for target, scalers in after.items():
        if len(scalers) > max(1, len(before.get(target, ()))):
            first, *others = sorted(
                (item.identity for item, _ in scalers), key=lambda one: one in changed
            )
            for identity in others:
                fact = f"{first} also scales {target[1]}/{target[2]}"
                yield Risk(identity, fact, _CONSEQUENCE, "spec.scaleTargetRef")
