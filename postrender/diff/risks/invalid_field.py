"""The new object is invalid, so the API server rejects the object.

- A name, label or key has a forbidden character, or is too long.
- A value has a wrong type, such as `true` in an annotation.
- A ConfigMap or Secret has more than 1,048,576 bytes, a Secret lacks a key of its type.
- A selector does not match the labels of its own pod template.
- A field does not exist. Helm 3 drops it, and nothing else accepts it.
- A field is missing or wrong, such as a port above 65,535.

Source: `postrender/kubernetes/validation`, which follows `pkg/apis/*/validation` of Kubernetes.
"""

from __future__ import annotations

from collections.abc import Iterator

from postrender.diff.model import Risk
from postrender.diff.risks import Facts, rejection
from postrender.kubernetes.validation.checks import API_SERVER, STRICT

REJECTS = True


def find(facts: Facts) -> Iterator[Risk]:
    for identity, path, fact in facts.rejections.get(API_SERVER, ()):
        yield rejection(facts, identity, fact, path)
    for identity, path, fact in facts.rejections.get(STRICT, ()):
        yield rejection(facts, identity, fact, path, helm=_HELM)
    before, after = (
        [
            item.identity
            for item in facts.objects((_CLASS,), is_new=is_new)
            if item.data.get("globalDefault") is True
        ]
        for is_new in (False, True)
    )
    ordered = sorted(after, key=lambda one: one not in before)
    for identity in ordered[1:]:
        if identity not in before:
            yield rejection(facts, identity, f"{ordered[0]} is the global default", "globalDefault")


_CLASS = "PriorityClass"
_HELM = "Helm 4 stops with an error, and Helm 3 drops the field"
