"""Risks of new pods that do not start."""

from __future__ import annotations

from collections.abc import Iterator

from postrender.diff.model import Risk
from postrender.diff.risks.facts import Facts
from postrender.diff.values import capitalised
from postrender.kubernetes.uses import INVALID_SPEC
from postrender.kubernetes.validation.checks import (
    ANALYSES,
    CONFIG_ERROR,
    IMAGE_NAME,
    MOUNT_ERROR,
    PODS,
    ROLLOUTS,
    START_ERROR,
)

NOT_STARTED = {
    PODS: "the API server rejects the new pods",
    **{
        judge: f"new pods do not start ({judge})"
        for judge in (IMAGE_NAME, CONFIG_ERROR, START_ERROR, MOUNT_ERROR)
    },
}


def find_invalid_pod(facts: Facts) -> Iterator[Risk]:
    """New pods do not start, although the API server accepts the workload.

    - An image ends with a blank: the API server rejects pods.
    - An image has two tags or a capital letter: `InvalidImageName`.
    - `runAsNonRoot` with the user 0, or a `resourceFieldRef` to a missing container:
      `CreateContainerConfigError`.
    - A memory limit below 1 MiB, such as `512m`: `StartError`.
    - An `emptyDir` with an unknown medium, such as `memory`: `FailedMount`.

    Source: `validateContainersOnlyForPod` in `pkg/apis/core/validation` of Kubernetes, and
    kubelet.
    """
    for judge, text in NOT_STARTED.items():
        for identity, path, fact in facts.rejections.get(judge, ()):
            yield Risk(identity, fact, capitalised(text), path)


_BY_ROLLOUTS = {
    ROLLOUTS: INVALID_SPEC,
    ANALYSES: "An analysis with this template ends with an error, and the rollout is aborted",
}


def find_invalid_rollout(facts: Facts) -> Iterator[Risk]:
    """Argo Rollouts reports `InvalidSpec` for a Rollout that the API server accepts.

    No pods are replaced. An example is a strategy with both `canary` and `blueGreen`.

    An analysis with an invalid metric, such as a `count` without an `interval`, aborts the
    rollout.

    Source: `pkg/apis/rollouts/validation` of Argo Rollouts 1.10.
    """
    for judge, consequence in _BY_ROLLOUTS.items():
        for identity, path, fact in facts.rejections.get(judge, ()):
            yield Risk(identity, fact, consequence, path)
