"""Argo Rollouts does not accept the new spec of a Rollout, which the API server accepts.

Argo Rollouts sets the phase `InvalidSpec`, and replaces no pods. Examples are a strategy with both
`canary` and `blueGreen`, a step with two actions, and an invalid pod template.

Source: `pkg/apis/rollouts/validation` of Argo Rollouts 1.10.
"""

from __future__ import annotations

from collections.abc import Iterator

from postrender.diff.model import Risk
from postrender.diff.risks.facts import Facts
from postrender.kubernetes.validation import ROLLOUTS

REJECTS = True
CODE = "invalid-rollout"


def find(facts: Facts) -> Iterator[Risk]:
    for identity, path, fact in facts.rejections.get(ROLLOUTS, ()):
        consequence = "Argo Rollouts reports InvalidSpec, and replaces no pods"
        yield Risk(identity, fact, consequence, path)
