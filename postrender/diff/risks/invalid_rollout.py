"""Argo Rollouts reports `InvalidSpec` for a Rollout that the API server accepts.

No pods are replaced. Examples are a strategy with both `canary` and `blueGreen`, or a step
with two actions.

An analysis with an invalid metric, such as a `count` without an `interval`, aborts the rollout.

Source: `pkg/apis/rollouts/validation` of Argo Rollouts 1.10.
"""

from __future__ import annotations

from collections.abc import Iterator

from postrender.diff.model import Risk
from postrender.diff.risks import Facts
from postrender.kubernetes.validation.checks import ANALYSES, ROLLOUTS

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
