"""What the levels of pod security forbid."""

from __future__ import annotations

from typing import Any

import pytest

from postrender.kubernetes.validation.security import find_violations

# The least that the level `restricted` needs.
RESTRICTED: dict[str, Any] = {
    "allowPrivilegeEscalation": False,
    "capabilities": {"drop": ["ALL"]},
    "runAsNonRoot": True,
    "seccompProfile": {"type": "RuntimeDefault"},
}
BASELINE: list[tuple[dict[str, Any], dict[str, Any], str]] = [
    ({"hostPID": True}, {}, "hostPID is true"),
    ({"volumes": [{"name": "a", "hostPath": {"path": "/"}}]}, {}, "the volume a is a hostPath"),
    ({}, {"privileged": True}, "is privileged"),
    ({}, {"capabilities": {"add": ["NET_ADMIN"]}}, "adds the capability NET_ADMIN"),
    ({}, {"procMount": "Unmasked"}, "has a procMount"),
    ({}, {"seccompProfile": {"type": "Unconfined"}}, "has the seccompProfile Unconfined"),
]


def violations(pod: dict[str, Any], context: dict[str, Any], level: str) -> list[str]:
    container: dict[str, Any] = {"name": "app", "securityContext": context}
    return list(find_violations({**pod, "containers": [container]}, level))


@pytest.mark.parametrize(("pod", "context", "fact"), BASELINE)
def test_each_level_but_privileged_forbids_it(
    pod: dict[str, Any], context: dict[str, Any], fact: str
) -> None:
    own = {**RESTRICTED, **context}
    for level in ("baseline", "restricted"):
        assert any(fact in one for one in violations(pod, own, level))
    assert not violations(pod, own, "privileged")


@pytest.mark.parametrize("field", RESTRICTED)
def test_the_level_restricted_needs_each_field(field: str) -> None:
    context = {key: value for key, value in RESTRICTED.items() if key != field}
    assert len(violations({}, context, "restricted")) == 1
    assert not violations({}, context, "baseline")
    assert not violations({}, RESTRICTED, "restricted")


def test_a_field_of_the_pod_counts_for_its_containers() -> None:
    shared = {key: RESTRICTED[key] for key in ("runAsNonRoot", "seccompProfile")}
    own = {key: value for key, value in RESTRICTED.items() if key not in shared}
    assert not violations({"securityContext": shared}, own, "restricted")
