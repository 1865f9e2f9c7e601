"""Rollbacks with Helm 3.22, which patches objects that the current release does not have.

Helm 3.22 computes the patch between the live object and the manifest. The patch therefore removes
everything that other programs added to the object.
"""

from __future__ import annotations

import pytest

from tests.e2e.api import Api
from tests.e2e.commands import LONG_AGO, is_marked
from tests.e2e.handmade import chart_of, config, job, reference, referenced_config_map, workload
from tests.e2e.lifecycle_checks import NothingIsLost, wait_until_owned
from tests.e2e.namespaces import hold_attachers, release_attachers
from tests.e2e.programs import version
from tests.e2e.queries import (
    GROUP_LABEL,
    apply_attached,
    marked,
    owners,
    referenced_config_maps,
    release_owners,
    revision_with,
    revisions,
    wait_for_phase,
)
from tests.e2e.releases import Release

pytestmark = [
    pytest.mark.parametrize("release", ["helm3"], indirect=True),
    pytest.mark.skipif(version("helm3") < (3, 22), reason="Helm 3.22 behaves in this way"),
]


def greeting(text: str, **values: object) -> dict[str, object]:
    return {"configMaps": {"app-config": {"greeting": text}}, **values}


# A workload that the API server rejects: its selector does not match its Pods.
INVALID = workload("Deployment", 1, selector={"matchLabels": {"app": "other"}})
INVALID["metadata"]["name"] = "invalid"


# Helm alone


def test_a_rollback_to_a_kept_config_map_removes_the_changes_of_others(
    helm: Release, api: Api
) -> None:
    helm.install(chart_of(config(1, keep=True), workload("Rollout", 1)))
    helm.upgrade(chart_of(config(2, keep=True), workload("Rollout", 2)))
    owner = api.create({"kind": "Secret", "metadata": {"name": "owner"}})
    before = api.get("ConfigMap", "config-1")
    additions = {
        "ownerReferences": [reference(owner)],
        "annotations": {"example.com/added": "yes"},
        "labels": {"added": "yes"},
    }
    api.patch("ConfigMap", "config-1", {"metadata": additions})
    helm.rollback(1)
    assert referenced_config_map(api, "Rollout") == "config-1"
    after = api.get("ConfigMap", "config-1")
    assert after["metadata"]["uid"] == before["metadata"]["uid"]
    assert owners(after) == []
    assert "example.com/added" not in after["metadata"]["annotations"]
    assert "added" not in after["metadata"].get("labels", {})
    assert after["metadata"]["annotations"] == before["metadata"]["annotations"]
    assert after["data"] == before["data"]


@pytest.mark.parametrize("is_selected", [False, True], ids=["usual", "manual selector"])
def test_a_rollback_to_a_job_that_exists(helm: Release, api: Api, is_selected: bool) -> None:
    """After a rejected upgrade the Job of the first release exists, and the manifest lacks it."""
    finished = job(1)
    if is_selected:
        finished["spec"]["manualSelector"] = True
        finished["spec"]["selector"] = {"matchLabels": {"job": "once"}}
        finished["spec"]["template"]["metadata"]["labels"]["job"] = "once"
    helm.install(chart_of(config(1), finished))
    api.wait_for(lambda: api.get("Job", "once")["status"].get("succeeded"), "the Job has ended")
    helm.upgrade(chart_of(config(1), INVALID), check=False)
    done = helm.rollback(1, check=False)
    if is_selected:
        assert done.returncode == 0
    else:
        assert "field is immutable" in done.stderr


# With postrender


@pytest.mark.parametrize("has_history", [False, True], ids=["alone", "with history"])
def test_the_attacher_restores_the_owners_after_a_rollback(
    release: Release, api: Api, has_history: bool
) -> None:
    release.config["attacher"]["group"] = "app"
    if has_history:
        release.arguments = [f"--previous=helm:{release.namespace}/{release.name}"]
        release.arguments += [f"--namespace={release.namespace}"]
    with NothingIsLost(api):
        apply_attached(api, lambda: release.install(greeting("one")))
        wait_for_phase(api, "Healthy")
        apply_attached(api, lambda: release.upgrade(greeting("two")))
        wait_for_phase(api, "Paused")
        name = revision_with(api, greeting="one")["metadata"]["name"]
        api.patch("ConfigMap", name, marked(LONG_AGO))
        apply_attached(api, lambda: release.rollback(1))
        wait_for_phase(api, "Healthy")
        revision = revision_with(api, greeting="one")
        assert not is_marked(revision)
        assert GROUP_LABEL in revision["metadata"]["labels"]
        assert revision["immutable"] is True
        assert release_owners(revision) == ["ServiceAccount/app-attach"]
        wait_until_owned(api)
        apply_attached(api, lambda: release.upgrade(greeting("three")))
        wait_until_owned(api)
    release.uninstall()
    api.wait_for(lambda: not revisions(api), "the uninstall leaves no revision")


def test_a_rollback_with_a_late_attacher_keeps_revisions(release: Release, api: Api) -> None:
    """The revision has no owner until the attacher runs, so the garbage collector ignores it."""
    release.config["attacher"]["group"] = "app"
    with NothingIsLost(api):
        apply_attached(api, lambda: release.install(greeting("one")))
        apply_attached(api, lambda: release.upgrade(greeting("two")))
        hold_attachers(api)
        release.rollback(1)
        wait_for_phase(api, "Healthy")
        assert owners(revision_with(api, greeting="one")) == []
        release_attachers(api)
        wait_until_owned(api)


def test_a_rollback_after_a_rejected_upgrade(release: Release, api: Api) -> None:
    """The finished Job of the first release still exists, and Helm patches the Job."""
    release.config["attacher"]["group"] = "app"
    with NothingIsLost(api):
        apply_attached(api, lambda: release.install(greeting("one")))
        wait_for_phase(api, "Healthy")
        rejected = release.upgrade(greeting("two", extra=[INVALID]), check=False)
        assert rejected.returncode != 0
        release.rollback(1)
        revision = revision_with(api, greeting="one")
        assert referenced_config_maps(api.get("Rollout", "app")) == {revision["metadata"]["name"]}
        wait_for_phase(api, "Healthy")
        assert owners(revision) == []
        apply_attached(api, lambda: release.upgrade(greeting("three")))
        assert "Rollout/app" in owners(revision_with(api, greeting="one"))
        # No workload has ever referenced the revision of the rejected release.
        assert release_owners(revision_with(api, greeting="two")) == ["ServiceAccount/app-attach"]
    release.uninstall()
    api.wait_for(lambda: not revisions(api), "the uninstall leaves no revision")


def test_an_atomic_upgrade_that_is_rejected(release: Release, api: Api) -> None:
    release.config["attacher"]["group"] = "app"
    with NothingIsLost(api):
        apply_attached(api, lambda: release.install(greeting("one")))
        wait_for_phase(api, "Healthy")
        done = release.upgrade(greeting("two", extra=[INVALID]), "--atomic", check=False)
        assert done.returncode != 0
        assert "field is immutable" not in done.stderr
        revision = revision_with(api, greeting="one")
        assert referenced_config_maps(api.get("Rollout", "app")) == {revision["metadata"]["name"]}
