"""A release deletes the release owner, while pods use a revision or an original."""

from __future__ import annotations

import pytest

from tests.e2e.api import Api
from tests.e2e.cluster import ControlPlane
from tests.e2e.commands import adopt, define_widgets
from tests.e2e.lifecycle_checks import NothingIsLost
from tests.e2e.queries import all_owners, apply_attached, revision_with
from tests.e2e.releases import Release, Values
from tests.e2e.test_attacks import assert_survives
from tests.e2e.test_release_owner import DEPLOYMENT, chart, workload
from tests.e2e.test_sharing import WIDGET_PATH, widget
from tests.rings import helm_3_in_matrix


@pytest.fixture
def shared(release: Release, plane: ControlPlane) -> Values:
    """Return a chart in which a Widget also uses the ConfigMap, so that no run sweeps it."""
    define_widgets(plane)
    release.config["references"] = [{"kind": "Widget", "path": WIDGET_PATH}]
    release.config["attacher"]["group"] = "app"
    return chart(DEPLOYMENT, extra=[widget("web-config")])


@helm_3_in_matrix
def test_the_attacher_is_switched_off(release: Release, api: Api, shared: Values) -> None:
    apply_attached(api, lambda: release.install(shared))
    with NothingIsLost(api):
        release.arguments = ["--no-attacher"]
        release.upgrade(shared)
        assert_survives(api, revision_with(api, greeting="one"))


@helm_3_in_matrix
def test_revisions_of_later_releases_stay_without_an_attacher(
    release: Release, api: Api, shared: Values
) -> None:
    apply_attached(api, lambda: release.install(shared))
    release.arguments = ["--no-attacher"]
    with NothingIsLost(api):
        for greeting in ("two", "three"):
            release.upgrade(chart(DEPLOYMENT, extra=[widget("web-config")], greeting=greeting))
    for greeting in ("one", "two", "three"):
        assert_survives(api, revision_with(api, greeting=greeting))


@helm_3_in_matrix
def test_the_group_changes(release: Release, api: Api, shared: Values) -> None:
    apply_attached(api, lambda: release.install(shared))
    with NothingIsLost(api):
        release.config["attacher"]["group"] = "shop"
        apply_attached(api, lambda: release.upgrade(shared))
        assert_survives(api, revision_with(api, greeting="one"))
    owners = all_owners(revision_with(api, greeting="one"))
    assert {"Deployment/web", "ServiceAccount/shop-attach"} <= set(owners)


@helm_3_in_matrix
def test_a_release_is_rolled_back_during_a_rollout(
    release: Release, api: Api, shared: Values
) -> None:
    apply_attached(api, lambda: release.install(shared))
    paused = {**DEPLOYMENT, "image": "app:2", "spec": {"paused": True}}
    with NothingIsLost(api):
        release.postrender = False
        release.upgrade({**shared, "workloads": [paused]})
        assert_survives(api, revision_with(api, greeting="one"))


@helm_3_in_matrix
def test_a_release_is_rolled_back_after_an_adoption(
    release: Release, api: Api, plane: ControlPlane, shared: Values
) -> None:
    release.postrender = False
    release.install(shared)
    release.postrender = True
    adopt(plane, api, release.render(release.template(shared)))
    apply_attached(api, lambda: release.upgrade(shared))
    with NothingIsLost(api):
        release.postrender = False
        release.upgrade(shared)
        assert_survives(api, api.get("ConfigMap", "web-config"))


def test_a_rollback_to_another_kind_of_workload_keeps_the_adopted_original(
    release: Release, api: Api, plane: ControlPlane
) -> None:
    release.config["attacher"]["group"] = "app"
    release.postrender = False
    release.install(chart(DEPLOYMENT))
    release.postrender = True
    adopt(plane, api, release.render(release.template(chart(DEPLOYMENT))))
    apply_attached(api, lambda: release.upgrade(chart(workload("Rollout"))))
    with NothingIsLost(api):
        release.rollback(1)
        assert_survives(api, api.get("ConfigMap", "web-config"))


@helm_3_in_matrix
def test_an_adopted_original_is_deleted_with_its_workload_and_applied_again(
    release: Release, api: Api, plane: ControlPlane
) -> None:
    release.config["attacher"]["group"] = "app"
    release.postrender = False
    release.install(chart(DEPLOYMENT))
    release.postrender = True
    adopt(plane, api, release.render(release.template(chart(DEPLOYMENT))))
    apply_attached(api, lambda: release.upgrade(chart(DEPLOYMENT)))
    assert "ServiceAccount/app-attach" not in all_owners(api.get("ConfigMap", "web-config"))
    api.delete("Deployment", "web")
    api.wait_for(lambda: not api.list("ReplicaSet"), "the ReplicaSets are deleted")
    changed = chart({**DEPLOYMENT, "image": "app:2"})
    apply_attached(api, lambda: release.upgrade(changed))
    with NothingIsLost(api):
        release.postrender = False
        release.upgrade(chart(DEPLOYMENT))
        assert_survives(api, api.get("ConfigMap", "web-config"))
