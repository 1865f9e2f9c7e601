"""Argo Rollouts does not accept the new spec of a Rollout, which the API server accepts.

Argo Rollouts sets the phase `InvalidSpec`, and replaces no pods. Examples are a strategy with both
`canary` and `blueGreen`, a step with two actions, and an invalid pod template.

An analysis with an invalid metric, such as a `count` without an `interval`, aborts the rollout.

Source: `pkg/apis/rollouts/validation` of Argo Rollouts 1.10.
"""

from __future__ import annotations

from collections.abc import Iterator

from postrender.diff.model import Risk
from postrender.diff.risks import Facts
from postrender.kubernetes.validation import ANALYSES, ROLLOUTS

REJECTS = True
CODE = "invalid-rollout"
CONSEQUENCES = {
    ROLLOUTS: "Argo Rollouts reports InvalidSpec, and replaces no pods",
    ANALYSES: "An analysis with this template ends with an error, and the rollout is aborted",
}


def find(facts: Facts) -> Iterator[Risk]:
    for judge, consequence in CONSEQUENCES.items():
        for identity, path, fact in facts.rejections.get(judge, ()):
            yield Risk(identity, fact, consequence, path)
