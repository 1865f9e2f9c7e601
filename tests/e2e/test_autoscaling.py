"""The effects of an autoscaler, which changes the number of pods at any time.

The tests change the number as the HPA and KEDA do, through the subresource `scale`.
"""

from __future__ import annotations

import pytest

from tests.e2e.api import Api
from tests.e2e.cluster import ControlPlane
from tests.e2e.commands import greetings, pass_grace_time
from tests.e2e.lifecycle_checks import NothingIsLost
from tests.e2e.queries import apply_attached, contents, wait_for_phase
from tests.e2e.releases import Release, Values

BYE: Values = {"configMaps": {"app-config": {"greeting": "bye"}}}
only_helm_4 = pytest.mark.parametrize("release", ["helm4"], indirect=True)


def scale(api: Api, replicas: int) -> None:
    """Set the number of pods of the Rollout."""
    path = f"{api.path('Rollout', 'app')}/scale"
    request = api.request("GET", path) | {"spec": {"replicas": replicas}}
    api.request("PUT", path, request)


@only_helm_4
def test_an_old_pod_that_is_added_during_a_canary_reads_the_old_content(
    release: Release, api: Api
) -> None:
    apply_attached(api, release.install)
    wait_for_phase(api, "Healthy")
    with NothingIsLost(api):
        apply_attached(api, lambda: release.upgrade(BYE))
        wait_for_phase(api, "Paused")
        scale(api, 4)
        expected = ["bye", "bye", "hello", "hello"]
        api.wait_for(lambda: contents(api) == expected, "both ReplicaSets have two pods")


@only_helm_4
def test_a_workload_without_pods_keeps_its_revision(
    release: Release, plane: ControlPlane, api: Api
) -> None:
    attacher = apply_attached(api, release.install)
    wait_for_phase(api, "Healthy")
    with NothingIsLost(api):
        scale(api, 0)
        api.wait_for(lambda: contents(api) == [], "the pods are deleted")
        pass_grace_time(plane, api, attacher)
        assert greetings(api) == ["hello"]
        scale(api, 1)
        api.wait_for(lambda: contents(api) == ["hello"], "a pod is back")
