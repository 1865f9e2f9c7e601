"""The name of an image is not valid, so no new pod starts.

The API server accepts the workload, and rejects its pods if the name ends with a blank. With two
tags or a capital letter, a pod stays in `InvalidImageName`.

Source: `validateContainersOnlyForPod` in `pkg/apis/core/validation` of Kubernetes.
"""

from __future__ import annotations

from collections.abc import Iterator

from postrender.diff.model import Risk
from postrender.diff.risks.facts import Facts
from postrender.kubernetes.validation import NODE


def find(facts: Facts) -> Iterator[Risk]:
    for identity, path, fact in facts.rejections.get(NODE, ()):
        yield Risk(identity, fact, "New pods do not start", path)
