"""Only a server-side apply rejects the object: Helm 4, or Argo CD with `ServerSideApply=true`.

- Two items of a list have the same key, such as two variables of one name. `kubectl apply` and
  Helm 3 merge items of a live object, or keep both of a new one.
- A live Deployment changes to the strategy `Recreate`, and keeps the `rollingUpdate` that the API
  server has filled in.

Source: the list types in the OpenAPI schema of Kubernetes, and trials with Kubernetes 1.36.
"""

from __future__ import annotations

from collections.abc import Iterator

from postrender.diff.model import Risk
from postrender.diff.risks.facts import Facts
from postrender.kubernetes.validation import find_invalid, find_repeated
from postrender.kubernetes.validation.checks import Problem
from postrender.yaml.paths import Json, Parts, mapping_at

_CONSEQUENCE = (
    "A server-side apply (Helm 4, or Argo CD with the option ServerSideApply) rejects the object"
)


def find(facts: Facts) -> Iterator[Risk]:
    for identity, path, fact in facts.new_problems(_repeated):
        other = "kubectl apply and Helm 3 can lose one of the two"
        yield Risk(identity, fact, f"{_CONSEQUENCE}. {other}", path)
    yield from _strategies(facts)


def _repeated(data: dict[str, Json], parts: Parts, is_new: bool) -> Iterator[Problem]:
    """The repeated items, without those for which every apply fails."""
    if found := list(find_repeated(data, parts)):
        invalid = set(find_invalid(data, parts, is_new=is_new))
        yield from (problem for problem in found if problem not in invalid)


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
