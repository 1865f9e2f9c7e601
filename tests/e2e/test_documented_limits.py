"""The limits in docs/reference/attach.md that no attacher can remove, and remedies for users."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from tests.e2e.api import Api, Json
from tests.e2e.cluster import ControlPlane
from tests.e2e.commands import attach_as, greetings, mark_as_unused
from tests.e2e.handmade import workload as handmade_workload
from tests.e2e.namespaces import hold_attachers, make_namespace, release_attachers
from tests.e2e.queries import (
    GROUP_LABEL,
    apply_attached,
    owners,
    referenced_config_maps,
    revision_with,
    revisions,
)
from tests.e2e.releases import Release, Values
from tests.rings import helm_3_in_matrix

WEB: Json = {"name": "web", "kind": "Deployment", "envFrom": ["web-config"]}
# A workload that the API server rejects: its selector does not match its Pods.
INVALID = handmade_workload("Deployment", 1, selector={"matchLabels": {"app": "other"}})
ATOMIC = {"helm3": "--atomic", "helm4": "--rollback-on-failure"}


def chart(greeting: str, *workloads: Json, **values: object) -> Values:
    config = {"app-config": None, "web-config": {"greeting": greeting}}
    return {"configMaps": config, "workloads": list(workloads or (WEB,)), **values}


@pytest.fixture
def other(plane: ControlPlane, namespace: str, tmp_path: Path) -> Release:
    """Return a second release for the same namespace."""
    return Release("helm3", plane, namespace, tmp_path / "other", name="other")


def test_a_failed_first_install_leaves_a_revision(
    release: Release, plane: ControlPlane, api: Api, tmp_path: Path
) -> None:
    """Helm deletes the release before any attacher runs. Only another release name is refused."""
    release.config["attacher"]["group"] = "app"
    broken = chart("one", extra=[INVALID])
    assert release.install(broken, ATOMIC[release.tool], check=False).returncode != 0
    [left] = revisions(api)
    assert owners(left) == []
    another = Release(release.tool, plane, api.namespace, tmp_path / "another", name="another")
    refused = another.install(chart("one"), check=False)
    assert "cannot be imported into the current release" in refused.stderr
    # The command in docs/reference/attach.md.
    release.kubectl("delete", "configmap", "-l", f"{GROUP_LABEL}=app-attach")
    apply_attached(api, lambda: another.install(chart("one")))
    another.uninstall()
    api.wait_for(lambda: not revisions(api), "the uninstall leaves no revision")


def test_the_same_release_imports_what_a_failed_install_left(release: Release, api: Api) -> None:
    broken = chart("one", extra=[INVALID])
    assert release.install(broken, ATOMIC[release.tool], check=False).returncode != 0
    release.install(chart("one"))
    # The attacher of the failed install may still run, with a token of the deleted ServiceAccount.
    # The revision then gets its owners from the attacher of the next change.
    apply_attached(api, lambda: release.upgrade(chart("two")))
    api.wait_for(
        lambda: all(
            "ReplicaSet" in str(owners(revision_with(api, greeting=greeting)))
            for greeting in ("one", "two")
        ),
        "both revisions are attached",
    )
    release.uninstall()
    api.wait_for(lambda: not revisions(api), "the uninstall leaves no revision")


def fill_quota(api: Api) -> None:
    """Allow no more ConfigMaps than the namespace has."""
    count = len(api.names("ConfigMap"))
    spec = {"hard": {"count/configmaps": str(count)}}
    quota = {"apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "full"}}
    api.create({**quota, "spec": spec})
    api.wait_for(
        lambda: api.get("ResourceQuota", "full").get("status", {}).get("used"), "the quota counts"
    )


def fill_with_unused(api: Api, apply: Callable[[Values], object]) -> None:
    """Leave an unused revision that was marked long ago, in a namespace without room."""
    for greeting in ("one", "two"):
        apply_attached(api, partial(apply, chart(greeting, {**WEB, "kind": "PodTemplate"})))
    mark_as_unused(api, revision_with(api, greeting="one")["metadata"]["name"])
    fill_quota(api)


def test_with_a_full_quota_kubectl_applies_twice(
    manifests: Release, api: Api, plane: ControlPlane
) -> None:
    """The attacher of the first apply deletes unused revisions, and reports the missing one."""
    manifests.config["attacher"]["group"] = "web"
    template = {**WEB, "kind": "PodTemplate"}
    fill_with_unused(api, manifests.apply)
    hold_attachers(api)
    before = set(api.names("Job"))
    done = manifests.apply(chart("three", template), check=False)
    assert "exceeded quota" in done.stderr
    [job] = set(api.names("Job")) - before
    container = api.get("Job", job)["spec"]["template"]["spec"]["containers"][0]
    api.delete("Job", job)
    release_attachers(api)
    # As the Job, but without waiting for 90 seconds.
    run = attach_as(plane, api, "web-attach", [*container["args"], "--timeout=3s"])
    assert run.code == 1
    assert "does not exist. Apply the manifests again" in run.text
    assert greetings(api) == ["two"], run.text
    apply_attached(api, lambda: manifests.apply(chart("three", template)))
    assert greetings(api) == ["three", "two"]


@helm_3_in_matrix
def test_with_a_full_quota_helm_succeeds_after_the_last_attacher_ran_again(
    release: Release, api: Api
) -> None:
    """Helm stops at the ConfigMap, so no attacher runs. The last Job can be replaced by itself."""
    release.config["attacher"]["group"] = "web"
    template = {**WEB, "kind": "PodTemplate"}
    fill_with_unused(api, release.upgrade)
    refused = release.upgrade(chart("three", template), check=False)
    assert "exceeded quota" in refused.stderr
    # The commands in docs/reference/attach.md.
    newest = ("-l", f"{GROUP_LABEL}=web-attach", "--sort-by=.metadata.creationTimestamp")
    name = release.kubectl("get", "job", *newest, "-o", "name").stdout.split()[-1]
    job = release.kubectl("get", name, "-o", "yaml").stdout
    apply_attached(api, lambda: release.kubectl("replace", "--force", "-f", "-", stdin=job))
    assert greetings(api) == ["two"], api.dump()
    apply_attached(api, lambda: release.upgrade(chart("three", template)))
    assert greetings(api) == ["three", "two"]


def test_another_release_that_references_a_revision_loses_the_revision(
    manifests: Release, other: Release, api: Api
) -> None:
    """L6 and L7: the manifests of the other release contain the name of the revision."""
    manifests.config["attacher"]["group"] = "web"
    text = manifests.render(manifests.template(chart("one")))
    apply_attached(api, lambda: manifests.apply(chart("one")))
    name = revision_with(api, greeting="one")["metadata"]["name"]
    pinned = {"name": "pinned", "kind": "Deployment", "envFrom": [name]}
    values = {"configMaps": {"app-config": None}, "workloads": [pinned]}
    other.postrender = False
    other.install(values)
    manifests.kubectl("delete", "-f", "-", stdin=text)
    api.wait_for(lambda: not revisions(api), "the revision is deleted with its release")
    assert referenced_config_maps(api.get("Deployment", "pinned")) == {name}


def test_a_copied_manifest_loses_its_owners_first(
    manifests: Release, plane: ControlPlane, api: Api, request: pytest.FixtureRequest
) -> None:
    """L8: in another namespace, the owners of the copy do not exist."""
    manifests.config["attacher"]["group"] = "web"
    apply_attached(api, lambda: manifests.apply(chart("one")))
    copy = revision_with(api, greeting="one")
    elsewhere = plane.api(make_namespace(plane.api(), request.node.name))
    metadata = {key: copy["metadata"][key] for key in ("name", "labels", "annotations")}
    owned = {**metadata, "ownerReferences": copy["metadata"]["ownerReferences"]}
    elsewhere.create({"kind": "ConfigMap", "metadata": owned, "data": copy["data"]})
    elsewhere.wait_for(lambda: not revisions(elsewhere), "the copy with owners is deleted")
    elsewhere.create({"kind": "ConfigMap", "metadata": metadata, "data": copy["data"]})
    elsewhere.create({"kind": "ConfigMap", "metadata": {**owned, "name": "second"}})
    elsewhere.wait_for(lambda: not elsewhere.find("ConfigMap", "second"), "the second is deleted")
    assert greetings(elsewhere) == ["one"]
    plane.api().delete("Namespace", elsewhere.namespace)
