"""Shared ConfigMaps, namespaces and releases: no release affects the revisions of another."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.e2e.api import Api, Json
from tests.e2e.cluster import ControlPlane
from tests.e2e.commands import (
    assert_owned_by_the_rule,
    attach_again,
    define_widgets,
    greetings,
    is_marked,
    mark_as_unused,
    pass_grace_time,
    try_to_sweep,
)
from tests.e2e.queries import (
    GROUP_LABEL,
    apply_attached,
    assert_nothing_is_missing,
    contents,
    owners,
    revision_with,
)
from tests.e2e.releases import Release, Values
from tests.rings import helm_3_in_matrix


def two_users(greeting: str) -> Values:
    """Return values with two Deployments that reference the same ConfigMap."""
    blue = {"name": "blue", "kind": "Deployment", "volume": ["app-config"]}
    return {
        "configMaps": {"app-config": {"greeting": greeting}},
        "workloads": [blue, {**blue, "name": "green"}],
    }


def single_workload(name: str, greeting: str, kind: str = "Deployment") -> Values:
    """Return values with a workload and its ConfigMap, both with this name."""
    return {
        "configMaps": {"app-config": None, f"{name}-config": {"greeting": greeting}},
        "workloads": [{"name": name, "kind": kind, "envFrom": [f"{name}-config"]}],
    }


@pytest.fixture
def other(plane: ControlPlane, namespace: str, tmp_path: Path) -> Release:
    """Return a second release of the chart, for the same namespace."""
    return Release("helm3", plane, namespace, tmp_path / "other", name="other")


def test_a_config_map_of_two_workloads_stays_if_one_workload_is_deleted(
    manifests: Release, api: Api
) -> None:
    apply_attached(api, lambda: manifests.apply(two_users("hello")))
    blue, green = (api.names("ReplicaSet", f"app={name}")[0] for name in ("blue", "green"))
    assert owners(revision_with(api, greeting="hello")) == sorted(
        ["Deployment/blue", "Deployment/green", f"ReplicaSet/{blue}", f"ReplicaSet/{green}"]
    )
    api.delete("Deployment", "blue")
    # The garbage collector removes the references to deleted objects.
    api.wait_for(
        lambda: (
            owners(revision_with(api, greeting="hello"))
            == ["Deployment/green", f"ReplicaSet/{green}"]
        ),
        "green is the only owner",
    )
    assert_nothing_is_missing(api)


def test_a_workload_keeps_a_revision_that_another_workload_no_longer_uses(
    manifests: Release, api: Api, plane: ControlPlane
) -> None:
    apply_attached(api, lambda: manifests.apply(two_users("old")))
    api.wait_for(lambda: contents(api, "app in (blue, green)") == ["old"] * 4, "all run")
    values = two_users("old")
    # Green gets its own ConfigMap; blue is unchanged.
    green = {**values["workloads"][1], "volume": ["green-config"]}
    config = {**values["configMaps"], "green-config": {"greeting": "new"}}
    values = {"configMaps": config, "workloads": [values["workloads"][0], green]}
    pod = apply_attached(api, lambda: manifests.apply(values))
    try_to_sweep(plane, api, pod)
    assert greetings(api) == ["new", "old"]
    assert_owned_by_the_rule(api)


@helm_3_in_matrix
def test_releases_in_one_namespace_manage_only_their_own_revisions(
    release: Release, other: Release, api: Api, plane: ControlPlane
) -> None:
    apply_attached(api, lambda: release.install(single_workload("blue", "blue old")))
    pod = apply_attached(
        api, lambda: other.install(single_workload("green", "green", "PodTemplate"))
    )
    # Unused revisions of blue, one of which green's attacher finds marked since long ago.
    leave_unused(api, "blue left", "blue-deployment-attach")
    leave_unused(api, "green left", "green-podtemplate-attach")
    run = attach_again(plane, pod)
    assert run.code == 0, run.text
    assert greetings(api) == ["blue left", "blue old", "green"]
    release.uninstall()
    api.wait_for(lambda: greetings(api) == ["blue left", "green"], "blue's is collected")
    assert not is_marked(revision_with(api, greeting="green"))


def leave_unused(api: Api, greeting: str, group_name: str) -> None:
    """Create a ConfigMap of an attach group that has been marked as unused since long ago."""
    name = greeting.replace(" ", "-")
    metadata = {"name": name, "labels": {GROUP_LABEL: group_name}}
    api.create({"kind": "ConfigMap", "metadata": metadata, "data": {"greeting": greeting}})
    mark_as_unused(api, name)


def strip_role(api: Api, name: str, plural: str) -> None:
    """Remove the permission to read a kind from a Role."""
    rules = api.get("Role", name)["rules"]
    for rule in rules:
        rule["resources"] = [item for item in rule["resources"] if item != plural]
    api.patch("Role", name, {"rules": [rule for rule in rules if rule["resources"]]})


def test_an_attacher_that_cannot_read_a_kind_does_not_delete_revisions(
    manifests: Release, other: Release, api: Api, plane: ControlPlane
) -> None:
    apply_attached(api, lambda: other.apply(single_workload("green", "green", "StatefulSet")))
    apply_attached(api, lambda: manifests.apply(single_workload("blue", "blue old", "PodTemplate")))
    pod = apply_attached(
        api, lambda: manifests.apply(single_workload("blue", "blue new", "PodTemplate"))
    )
    # A StatefulSet of the other release is the only user of a revision of this one.
    name = revision_with(api, greeting="blue old")["metadata"]["name"]
    use = {"name": "app", "image": "app", "envFrom": [{"configMapRef": {"name": name}}]}
    template = {"template": {"spec": {"containers": [use]}}}
    api.patch("StatefulSet", "green", {"spec": {"replicas": 0, **template}})
    mark_as_unused(api, name)
    strip_role(api, "blue-podtemplate-attach", "statefulsets")
    strip_role(api, "blue-podtemplate-attach", "controllerrevisions")
    run = attach_again(plane, pod)
    assert run.code == 0
    assert (
        "cannot list controllerrevisions and statefulsets (HTTP status 403), so this run does not "
        "delete revisions" in run.text
    )
    assert greetings(api) == ["blue new", "blue old", "green"]
    assert not is_marked(revision_with(api, greeting="green"))


def test_an_attacher_that_cannot_read_a_kind_does_not_remove_its_owners(
    manifests: Release, api: Api, plane: ControlPlane
) -> None:
    apply_attached(api, lambda: manifests.apply(single_workload("blue", "old", "CronJob")))
    manifests.kubectl("create", "job", "run", "--from=cronjob/blue")
    pod = apply_attached(api, lambda: manifests.apply(single_workload("blue", "new", "CronJob")))
    assert owners(revision_with(api, greeting="old")) == ["CronJob/blue", "Job/run"]
    strip_role(api, "blue-cronjob-attach", "jobs")
    run = attach_again(plane, pod)
    assert run.code == 0
    assert "cannot list jobs (HTTP status 403)" in run.text
    assert owners(revision_with(api, greeting="old")) == ["CronJob/blue", "Job/run"]


def widget(config: str) -> Json:
    """Return a custom object with a pod spec that references a ConfigMap."""
    container = {"name": "app", "envFrom": [{"configMapRef": {"name": config}}]}
    spec = {"podSpec": {"containers": [container]}}
    return {
        "apiVersion": "e2e.example.com/v1",
        "kind": "Widget",
        "metadata": {"name": "one"},
        "spec": spec,
    }


WIDGET_PATH = "spec.podSpec.containers[].envFrom[].configMapRef.name"


def test_a_custom_kind_keeps_a_revision_that_a_workload_no_longer_uses(
    manifests: Release, api: Api, plane: ControlPlane
) -> None:
    define_widgets(plane)
    manifests.config["references"] = [{"kind": "Widget", "path": WIDGET_PATH}]
    values = {**single_workload("blue", "old", "PodTemplate"), "extra": [widget("blue-config")]}
    apply_attached(api, lambda: manifests.apply(values))
    name = revision_with(api, greeting="old")["metadata"]["name"]
    [container] = api.get("Widget", "one")["spec"]["podSpec"]["containers"]
    assert container["envFrom"][0]["configMapRef"]["name"] == name
    # From now on another release owns the Widget, which still references the old revision.
    pod = apply_attached(
        api, lambda: manifests.apply(single_workload("blue", "new", "PodTemplate"))
    )
    assert not is_marked(revision_with(api, greeting="old"))
    try_to_sweep(plane, api, pod)
    assert greetings(api) == ["new", "old"]


def test_a_pod_of_a_custom_kind_keeps_its_revision(
    manifests: Release, api: Api, plane: ControlPlane
) -> None:
    define_widgets(plane)
    apply_attached(api, lambda: manifests.apply(single_workload("blue", "old", "PodTemplate")))
    name = revision_with(api, greeting="old")["metadata"]["name"]
    # A controller of a kind that attach does not know runs a Pod with the revision.
    owner = api.create(widget(name))
    reference = {"apiVersion": owner["apiVersion"], "kind": "Widget", "controller": True}
    reference |= {key: owner["metadata"][key] for key in ("name", "uid")}
    metadata = {"name": "of-widget", "ownerReferences": [reference]}
    spec = widget(name)["spec"]["podSpec"]
    spec["containers"][0]["image"] = "app"
    api.create({"kind": "Pod", "metadata": metadata, "spec": spec})
    pod = apply_attached(
        api, lambda: manifests.apply(single_workload("blue", "new", "PodTemplate"))
    )
    try_to_sweep(plane, api, pod)
    assert greetings(api) == ["new", "old"]
    api.delete("Pod", "of-widget")
    api.wait_for(lambda: not api.find("Pod", "of-widget"), "the Pod is deleted")
    pass_grace_time(plane, api, pod)
    assert greetings(api) == ["new"]
