"""The uses of other objects in the fields of an object."""

from __future__ import annotations

import pytest

from postrender.kubernetes.kinds import Identity
from postrender.kubernetes.uses import uses_of
from postrender.yaml.paths import Json


@pytest.mark.parametrize(("name", "expected"), [("web", ["web"]), (5, []), (None, []), ({}, [])])
def test_only_a_string_names_the_target(name: Json, expected: list[str]) -> None:
    target: Json = {"apiVersion": "apps/v1", "kind": "Deployment", "name": name}
    identity = Identity("autoscaling", "HorizontalPodAutoscaler", None, "web")
    uses = uses_of(identity, {"spec": {"scaleTargetRef": target}}, ())
    assert [use.name for use in uses] == expected
