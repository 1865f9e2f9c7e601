"""A second autoscaler targets a workload, so neither scales.

KEDA makes an autoscaler of each ScaledObject.

Source: the horizontal controller of Kubernetes 1.27 and later.
"""

from __future__ import annotations

from collections.abc import Iterator

from postrender.diff.kinds import SCALERS, scaled_by
from postrender.diff.model import Risk
from postrender.diff.risks import Facts, Object

_CONSEQUENCE = "Autoscalers of the same pods do not scale (AmbiguousSelector)"


def find(facts: Facts) -> Iterator[Risk]:
    def target(scaler: Object) -> set[tuple[str, ...]]:
        namespace = facts.both.resolver.namespace_of(scaler.identity.namespace)
        return {(namespace or "", *scaled_by(scaler.data))}

    for identity, first, (_, kind, name) in facts.shared(SCALERS, target):
        fact = f"{first} also scales {kind}/{name}"
        yield Risk(identity, fact, _CONSEQUENCE, "spec.scaleTargetRef")
