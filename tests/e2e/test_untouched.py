"""Objects that are never deleted, and changes that are preserved: foreign owners, labels, edits."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.e2e.api import Api, Json
from tests.e2e.cluster import ControlPlane
from tests.e2e.commands import (
    LONG_AGO,
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
    UNUSED,
    age_marks,
    apply_attached,
    marked,
    owners,
    revision_with,
    revisions,
    wait_for_attachers,
)
from tests.e2e.releases import Release, Values

# A kind whose template is replaced at once, without an object that keeps the old template.
TEMPLATE: Json = {"name": "app", "kind": "PodTemplate", "envFrom": ["app-config"]}


def chart(greeting: str, *workloads: Json, **fields: Any) -> Values:
    """Return values with one ConfigMap and some workloads."""
    config = {"app-config": {"greeting": greeting}}
    return {"configMaps": config, "workloads": [*workloads], **fields}


def move_on(
    manifests: Release, api: Api, *, between: Callable[[Json], object] | None = None
) -> Json:
    """Apply greeting `old`, change its revision, apply `new`; return the last attacher."""
    apply_attached(api, lambda: manifests.apply(chart("old", TEMPLATE)))
    if between:
        between(revision_with(api, greeting="old"))
    return apply_attached(api, lambda: manifests.apply(chart("new", TEMPLATE)))


# Referenced without running Pods


def test_revisions_of_workloads_without_pods_are_not_deleted(
    manifests: Release, api: Api, plane: ControlPlane
) -> None:
    kinds: list[Json] = [
        {"kind": "CronJob"},
        {"kind": "StatefulSet", "replicas": 0},
        {"kind": "Deployment", "replicas": 0, "spec": {"paused": True}},
    ]
    names = [kind["kind"].lower() for kind in kinds]
    workloads = [
        {"name": name, "envFrom": [f"{name}-config"], **kind}
        for name, kind in zip(names, kinds, strict=True)
    ]
    config = {f"{name}-config": {"greeting": name} for name in names}
    values = {"configMaps": {"app-config": None, **config}, "workloads": workloads}
    pod = apply_attached(api, lambda: manifests.apply(values))
    assert not any(map(is_marked, revisions(api)))
    try_to_sweep(plane, api, pod)
    assert greetings(api) == sorted(names)
    assert not any(map(is_marked, revisions(api)))


def test_a_revision_referenced_only_by_a_custom_path_is_not_deleted(
    manifests: Release, api: Api, plane: ControlPlane
) -> None:
    define_widgets(plane)
    manifests.config["references"] = [{"kind": "Widget", "path": "spec.config"}]
    widget = {"apiVersion": "e2e.example.com/v1", "kind": "Widget", "metadata": {"name": "one"}}
    widget |= {"spec": {"config": "widget-config"}}
    values = chart("new", TEMPLATE, extra=[widget])
    values = {**values, "configMaps": {**values["configMaps"], "widget-config": {"greeting": "w"}}}
    pod = apply_attached(api, lambda: manifests.apply(values))
    name = api.get("Widget", "one")["spec"]["config"]
    mark_as_unused(api, name)
    try_to_sweep(plane, api, pod)
    assert api.find("ConfigMap", name)
    # The reference is in no later stream.
    pod = apply_attached(api, lambda: manifests.apply(chart("newer", TEMPLATE)))
    try_to_sweep(plane, api, pod)
    assert api.find("ConfigMap", name)


def test_a_revision_referenced_only_by_an_ingress_annotation_is_not_deleted(
    manifests: Release, api: Api, plane: ControlPlane
) -> None:
    backend = {"service": {"name": "app", "port": {"number": 80}}}
    ingress = {
        "apiVersion": "networking.k8s.io/v1",
        "kind": "Ingress",
        "metadata": {
            "name": "app",
            "annotations": {"nginx.ingress.kubernetes.io/custom-headers": "app-config"},
        },
        "spec": {"defaultBackend": backend},
    }
    apply_attached(api, lambda: manifests.apply(chart("old", TEMPLATE, extra=[ingress])))
    pod = apply_attached(api, lambda: manifests.apply(chart("new", TEMPLATE)))
    mark_as_unused(api, revision_with(api, greeting="old")["metadata"]["name"])
    try_to_sweep(plane, api, pod)
    assert greetings(api) == ["new", "old"]


def test_a_retained_revision_is_not_deleted(
    manifests: Release, api: Api, plane: ControlPlane
) -> None:
    pod = move_on(manifests, api)
    old = revision_with(api, greeting="old")["metadata"]["name"]
    assert is_marked(revision_with(api, greeting="old"))
    retained = ("--emitted", f"configmap/{old}")
    try_to_sweep(plane, api, pod, *retained)
    assert not is_marked(revision_with(api, greeting="old"))
    # The revision is no longer in the retained history.
    pass_grace_time(plane, api, pod)
    assert greetings(api) == ["new"]


def two_waves(greeting: str) -> Values:
    """Return values with a Deployment in wave 0 and another in wave 1, each with a ConfigMap."""
    wave = {"argocd.argoproj.io/sync-wave": "1"}
    first = {"name": "first", "kind": "Deployment", "volume": ["first-config"]}
    second = {"name": "second", "kind": "Deployment", "volume": ["second-config"]}
    config = {"greeting": greeting}
    return {
        "configMaps": {"first-config": config, "second-config": config},
        "workloads": [first, {**second, "annotations": wave}],
    }


def test_sync_waves_do_not_delete_each_others_revisions(
    manifests: Release, api: Api, plane: ControlPlane
) -> None:
    manifests.apply(two_waves("hello"))
    done = wait_for_attachers(api, count=2)
    # Between the waves, the second workload does not exist, but its ConfigMap does.
    api.delete("Deployment", "second", "Orphan")
    for kind in ("ReplicaSet", "Pod"):
        for obj in api.list(kind, labels="app=second"):
            api.delete(kind, obj["metadata"]["name"], "Orphan")
    api.wait_for(lambda: not api.list("Pod", labels="app=second"), "no Pod of wave 1 runs")
    [first] = [pod for pod in done if "Deployment/first@" in " ".join(args_of(pod))]
    try_to_sweep(plane, api, first)
    assert len(greetings(api)) == 2
    # Wave 1 is applied.
    manifests.kubectl("delete", "job", "--all")
    apply_attached(api, lambda: manifests.apply(two_waves("hello")))
    for pod in wait_for_attachers(api, count=2):
        try_to_sweep(plane, api, pod)
    assert len(greetings(api)) == 2
    assert_owned_by_the_rule(api)


def args_of(pod: Json) -> list[str]:
    """Return the args of an attacher Pod."""
    arguments: list[str] = pod["spec"]["containers"][0]["args"]
    return arguments


# Foreign owners, labels and annotations


def add_foreign_owner(api: Api, revision: Json, *, controller: bool) -> None:
    """Make another program's ConfigMap an owner of a revision."""
    owner = api.create({"kind": "ConfigMap", "metadata": {"name": "foreign"}})
    add_owner(api, revision, owner, controller=controller)


def add_owner(api: Api, revision: Json, owner: Json, *, controller: bool = False) -> None:
    """Make an object an owner of a revision, with another field manager."""
    reference = {"apiVersion": owner["apiVersion"], "kind": owner["kind"], "controller": controller}
    reference |= {key: owner["metadata"][key] for key in ("name", "uid")}
    change = {
        "metadata": {
            "ownerReferences": [reference],
            "labels": {"foreign": "label"},
            "annotations": {"foreign": "annotation"},
        }
    }
    path = api.path("ConfigMap", revision["metadata"]["name"])
    content = "application/strategic-merge-patch+json"
    api.request("PATCH", f"{path}?fieldManager=foreign", change, content)


@pytest.mark.parametrize("controller", [False, True], ids=["owner", "controller"])
def test_a_foreign_owner_and_its_labels_outlive_every_run(
    manifests: Release, api: Api, plane: ControlPlane, controller: bool
) -> None:
    pod = move_on(
        manifests, api, between=lambda obj: add_foreign_owner(api, obj, controller=controller)
    )
    try_to_sweep(plane, api, pod)
    old = revision_with(api, greeting="old")
    assert owners(old) == ["ConfigMap/foreign", "PodTemplate/app"]
    assert [
        reference.get("controller", False) for reference in old["metadata"]["ownerReferences"]
    ] == [controller and obj["kind"] == "ConfigMap" for obj in old["metadata"]["ownerReferences"]]
    assert old["metadata"]["labels"]["foreign"] == "label"
    assert old["metadata"]["annotations"]["foreign"] == "annotation"


@pytest.mark.parametrize("kind", ["Widget", "Deployment"])
def test_a_revision_with_a_live_foreign_owner_is_not_deleted(
    manifests: Release, api: Api, plane: ControlPlane, kind: str
) -> None:
    define_widgets(plane)
    manifests.apply(chart("x", {"name": "other", "kind": "Deployment", "replicas": 0}))
    if kind == "Deployment":
        owner = api.get("Deployment", "other")
    else:
        owner = api.create({"kind": kind, "metadata": {"name": "foreign"}})
    pod = move_on(manifests, api, between=lambda revision: add_owner(api, revision, owner))
    mark_as_unused(api, revision_with(api, greeting="old")["metadata"]["name"])
    try_to_sweep(plane, api, pod)
    assert greetings(api) == ["new", "old"]


# Edits by people


def test_a_config_map_edited_by_a_person_is_unchanged(
    manifests: Release, api: Api, plane: ControlPlane
) -> None:
    manifests.config["immutable"] = False
    apply_attached(api, lambda: manifests.apply(chart("old", TEMPLATE)))
    edited = revision_with(api, greeting="old")["metadata"]["name"]
    manifests.kubectl("patch", "configmap", edited, "--patch", '{"data": {"greeting": "edited"}}')
    pod = apply_attached(api, lambda: manifests.apply(chart("new", TEMPLATE)))
    run = try_to_sweep(plane, api, pod)
    assert api.get("ConfigMap", edited)["data"] == {"greeting": "edited"}
    assert f"attach keeps the unused ConfigMap/{edited}, because the content does not" in run.text


def test_a_config_map_without_our_label_is_ignored(
    manifests: Release, api: Api, plane: ControlPlane
) -> None:
    metadata = {"name": "manual", "annotations": {UNUSED: LONG_AGO}}
    before = api.create({"kind": "ConfigMap", "metadata": metadata, "data": {"greeting": "hi"}})
    pod = move_on(manifests, api)
    try_to_sweep(plane, api, pod)
    assert api.get("ConfigMap", "manual") == before


def test_a_revision_whose_label_a_person_removed_is_ignored(
    manifests: Release, api: Api, plane: ControlPlane
) -> None:
    pod = move_on(manifests, api)
    old = revision_with(api, greeting="old")["metadata"]["name"]
    before = api.patch("ConfigMap", old, {"metadata": {"labels": {GROUP_LABEL: None}}})
    before = api.patch("ConfigMap", old, marked(LONG_AGO))
    try_to_sweep(plane, api, pod)
    assert api.get("ConfigMap", old) == before


def test_a_revision_that_a_person_keeps_is_not_deleted(
    manifests: Release, api: Api, plane: ControlPlane
) -> None:
    pod = move_on(manifests, api)
    old = revision_with(api, greeting="old")["metadata"]["name"]
    for value, kept in {"false": ["new", "old"], None: ["new"]}.items():
        api.patch("ConfigMap", old, {"metadata": {"annotations": {"postrender/prune": value}}})
        age_marks(api)
        attach_again(plane, pod)
        assert greetings(api) == kept
