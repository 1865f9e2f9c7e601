"""The name of an image is not valid, so no new pod starts.

The API server accepts the workload, and rejects its pods if the name ends with a blank. With two
tags or a capital letter, a pod stays in `InvalidImageName`.

Source: `validateContainersOnlyForPod` in `pkg/apis/core/validation` of Kubernetes.
"""

from __future__ import annotations

from collections.abc import Iterator

from postrender.config.settings import is_image
from postrender.diff.model import Risk
from postrender.diff.risks.facts import Facts
from postrender.kubernetes.kinds import group_kind_of, pod_templates
from postrender.kubernetes.validation.checks import Problem
from postrender.text import shown
from postrender.yaml.paths import Json, mapping_at, mappings_in

_LISTS = ("initContainers", "containers")
# Flux and envsubst replace variables after postrender.
_VARIABLE = "$"


def find(facts: Facts) -> Iterator[Risk]:
    for identity, path, fact in facts.new_problems(_problems):
        yield Risk(identity, fact, "New pods do not start", path)


def _problems(data: dict[str, Json], *_others: object) -> Iterator[Problem]:
    group_kind = group_kind_of(data)
    for path, _ in pod_templates(group_kind, data) if group_kind else ():
        spec = mapping_at(data, (*path, "spec"))
        for field in _LISTS:
            for index, container in enumerate(mappings_in(spec.get(field))):
                image = container.get("image")
                if isinstance(image, str) and not is_image(image) and _VARIABLE not in image:
                    fact = f"the image {shown(image)} is not the name of an image"
                    yield (*path, "spec", field, index, "image"), fact
