"""Only a server-side apply rejects the object: Helm 4, or Argo CD with `ServerSideApply=true`.

- Two items of a list have one key. `kubectl apply` and Helm 3 merge or keep both.
- A Deployment changes to `Recreate`, and keeps the `rollingUpdate` that the API server filled in.

Source: the list types in the OpenAPI schema of Kubernetes, and trials with Kubernetes 1.36.
"""

from __future__ import annotations

from collections.abc import Iterator

from postrender.diff.model import Risk
from postrender.diff.risks import Facts
from postrender.kubernetes.validation.checks import SERVER_SIDE
from postrender.yaml.paths import mapping_at

_CONSEQUENCE = (
    "A server-side apply (Helm 4, or Argo CD with the option ServerSideApply) rejects the object"
)


def find(facts: Facts) -> Iterator[Risk]:
    for identity, path, fact in facts.rejections.get(SERVER_SIDE, ()):
        other = "kubectl apply and Helm 3 can lose one of the two"
        yield Risk(identity, fact, f"{_CONSEQUENCE}. {other}", path)
    yield from _strategies(facts)


def _strategies(facts: Facts) -> Iterator[Risk]:
    for identity, *sides in facts.changed("spec", "strategy"):
        if identity.group_kind == ("apps", "Deployment"):
            old, new = (mapping_at(data, ("spec", "strategy")) for data in sides)
            is_new = new.get("type") == "Recreate" != old.get("type")
            is_left = "rollingUpdate" not in new and len(mapping_at(old, ("rollingUpdate",))) < 2
            if is_new and is_left:
                fact = "the strategy changes to Recreate, but the live object has a rollingUpdate"
                other = "kubectl apply and Helm 3 accept the change"
                yield Risk(identity, fact, f"{_CONSEQUENCE}. {other}", "spec.strategy")
