"""New pods do not start, although the API server accepts the workload.

- An image ends with a blank: the API server rejects the pods.
- An image has two tags or a capital letter: `InvalidImageName`.
- `runAsNonRoot` with the user 0, or a `resourceFieldRef` to a missing container:
  `CreateContainerConfigError`.
- A memory limit below 1 MiB, such as `512m`: `StartError`.
- An `emptyDir` with an unknown medium, such as `memory`: `FailedMount`.

Source: `validateContainersOnlyForPod` in `pkg/apis/core/validation` of Kubernetes, and kubelet.
"""

from __future__ import annotations

from collections.abc import Iterator

from postrender.diff.model import Risk
from postrender.diff.risks import Facts
from postrender.diff.values import capitalised
from postrender.kubernetes.validation.checks import (
    CONFIG_ERROR,
    IMAGE_NAME,
    MOUNT_ERROR,
    PODS,
    START_ERROR,
)

CONSEQUENCES = {
    PODS: "the API server rejects the new pods",
    **{
        judge: f"new pods do not start ({judge})"
        for judge in (IMAGE_NAME, CONFIG_ERROR, START_ERROR, MOUNT_ERROR)
    },
}


def find(facts: Facts) -> Iterator[Risk]:
    for judge, text in CONSEQUENCES.items():
        for identity, path, fact in facts.rejections.get(judge, ()):
            yield Risk(identity, fact, capitalised(text), path)
