"""What is never swept, and what is nobody's business: foreign owners, labels, edits."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.e2e.again import (
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
from tests.e2e.api import Api, Json
from tests.e2e.cluster import ControlPlane
from tests.e2e.looks import (
    MANAGED,
    UNUSED,
    age_marks,
    apply_attached,
    owners,
    revision_with,
    revisions,
    wait_for_attachers,
)
from tests.e2e.releases import Release, Values

# Replaces its template at once, and makes nothing that keeps the old one.
TEMPLATE: Json = {"name": "app", "kind": "PodTemplate", "envFrom": ["app-config"]}


def chart(greeting: str, *workloads: Json, **more: Any) -> Values:
    """Return values with one ConfigMap and some workloads."""
    config = {"app-config": {"greeting": greeting}}
    return {"configMaps": config, "workloads": [*workloads], **more}


def move_on(
    manifests: Release, api: Api, *, between: Callable[[Json], object] | None = None
) -> Json:
    """Apply greeting `old`, do something to its revision, apply `new`; return the last attacher."""
    apply_attached(api, lambda: manifests.apply(chart("old", TEMPLATE)))
    if between:
        between(revision_with(api, greeting="old"))
    return apply_attached(api, lambda: manifests.apply(chart("new", TEMPLATE)))


# Named, though nothing runs


def test_what_workloads_without_pods_name_is_not_swept(
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


def test_what_only_a_custom_path_names_is_not_swept(
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
    # It is in no later stream.
    pod = apply_attached(api, lambda: manifests.apply(chart("newer", TEMPLATE)))
    try_to_sweep(plane, api, pod)
    assert api.find("ConfigMap", name)


def test_what_only_an_ingress_annotation_names_any_more_is_not_swept(
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


def test_what_is_carried_in_the_stream_is_not_swept(
    manifests: Release, api: Api, plane: ControlPlane
) -> None:
    pod = move_on(manifests, api)
    old = revision_with(api, greeting="old")["metadata"]["name"]
    assert is_marked(revision_with(api, greeting="old"))
    retained = ("--emitted", f"configmap/{old}")
    try_to_sweep(plane, api, pod, *retained)
    assert not is_marked(revision_with(api, greeting="old"))
    # The history has let go of it.
    pass_grace_time(plane, api, pod)
    assert greetings(api) == ["new"]


def two_waves(greeting: str) -> Values:
    """Return values with a Deployment in sync wave 0 and one in wave 1, each with a ConfigMap."""
    wave = {"argocd.argoproj.io/sync-wave": "1"}
    first = {"name": "first", "kind": "Deployment", "volume": ["first-config"]}
    second = {"name": "second", "kind": "Deployment", "volume": ["second-config"]}
    config = {"greeting": greeting}
    return {
        "configMaps": {"first-config": config, "second-config": config},
        "workloads": [first, {**second, "annotations": wave}],
    }


def test_sync_waves_do_not_sweep_each_others_revisions(
    manifests: Release, api: Api, plane: ControlPlane
) -> None:
    manifests.apply(two_waves("hello"))
    done = wait_for_attachers(api, count=2)
    # Between the waves: the second one's workload is not there, its ConfigMap is.
    api.delete("Deployment", "second", "Orphan")
    for kind in ("ReplicaSet", "Pod"):
        for one in api.list(kind, labels="app=second"):
            api.delete(kind, one["metadata"]["name"], "Orphan")
    api.wait_for(lambda: not api.list("Pod", labels="app=second"), "nothing of wave 1 runs")
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
    found: list[str] = pod["spec"]["containers"][0]["args"]
    return found


# Others' owners, labels and annotations


def add_foreign_owner(api: Api, one: Json, *, controller: bool) -> None:
    """Make another program's ConfigMap an owner of a revision."""
    owner = api.create({"kind": "ConfigMap", "metadata": {"name": "foreign"}})
    add_owner(api, one, owner, controller=controller)


def add_owner(api: Api, one: Json, owner: Json, *, controller: bool = False) -> None:
    """Make any object an owner of a revision, as a field manager of another name."""
    reference = {"apiVersion": owner["apiVersion"], "kind": owner["kind"], "controller": controller}
    reference |= {key: owner["metadata"][key] for key in ("name", "uid")}
    change = {
        "metadata": {
            "ownerReferences": [reference],
            "labels": {"foreign": "label"},
            "annotations": {"foreign": "annotation"},
        }
    }
    path = api.path("ConfigMap", one["metadata"]["name"])
    content = "application/strategic-merge-patch+json"
    api.request("PATCH", f"{path}?fieldManager=foreign", change, content)


@pytest.mark.parametrize("controller", [False, True], ids=["owner", "controller"])
def test_a_foreign_owner_and_its_labels_outlive_every_run(
    manifests: Release, api: Api, plane: ControlPlane, controller: bool
) -> None:
    pod = move_on(
        manifests, api, between=lambda one: add_foreign_owner(api, one, controller=controller)
    )
    try_to_sweep(plane, api, pod)
    old = revision_with(api, greeting="old")
    assert owners(old) == ["ConfigMap/foreign", "PodTemplate/app"]
    assert [one.get("controller", False) for one in old["metadata"]["ownerReferences"]] == [
        False if one["kind"] == "PodTemplate" else controller
        for one in old["metadata"]["ownerReferences"]
    ]
    assert old["metadata"]["labels"]["foreign"] == "label"
    assert old["metadata"]["annotations"]["foreign"] == "annotation"


@pytest.mark.parametrize("kind", ["Widget", "Deployment"])
def test_a_revision_with_a_live_foreign_owner_is_not_swept(
    manifests: Release, api: Api, plane: ControlPlane, kind: str
) -> None:
    define_widgets(plane)
    manifests.apply(chart("x", {"name": "other", "kind": "Deployment", "replicas": 0}))
    if kind == "Deployment":
        owner = api.get("Deployment", "other")
    else:
        owner = api.create({"kind": kind, "metadata": {"name": "foreign"}})
    pod = move_on(manifests, api, between=lambda one: add_owner(api, one, owner))
    mark_as_unused(api, revision_with(api, greeting="old")["metadata"]["name"])
    try_to_sweep(plane, api, pod)
    assert greetings(api) == ["new", "old"]


# Edited by people


def test_a_config_map_that_a_person_edited_is_left_as_it_is(
    manifests: Release, api: Api, plane: ControlPlane
) -> None:
    manifests.config["immutable"] = False
    apply_attached(api, lambda: manifests.apply(chart("old", TEMPLATE)))
    edited = revision_with(api, greeting="old")["metadata"]["name"]
    manifests.kubectl("patch", "configmap", edited, "--patch", '{"data": {"greeting": "edited"}}')
    pod = apply_attached(api, lambda: manifests.apply(chart("new", TEMPLATE)))
    run = try_to_sweep(plane, api, pod)
    assert api.get("ConfigMap", edited)["data"] == {"greeting": "edited"}
    assert (
        f"ConfigMap/{edited} is unused, and kept: its content no longer fits its name" in run.text
    )


def test_a_config_map_without_our_label_is_nobodys_business(
    manifests: Release, api: Api, plane: ControlPlane
) -> None:
    marked = {"name": "manual", "annotations": {UNUSED: LONG_AGO}}
    before = api.create({"kind": "ConfigMap", "metadata": marked, "data": {"greeting": "hi"}})
    pod = move_on(manifests, api)
    try_to_sweep(plane, api, pod)
    assert api.get("ConfigMap", "manual") == before


def test_a_revision_whose_label_a_person_removed_is_left_alone(
    manifests: Release, api: Api, plane: ControlPlane
) -> None:
    pod = move_on(manifests, api)
    old = revision_with(api, greeting="old")["metadata"]["name"]
    before = api.patch("ConfigMap", old, {"metadata": {"labels": {MANAGED: None}}})
    before = api.patch("ConfigMap", old, {"metadata": {"annotations": {UNUSED: LONG_AGO}}})
    try_to_sweep(plane, api, pod)
    assert api.get("ConfigMap", old) == before


def test_a_revision_that_a_person_keeps_is_not_swept(
    manifests: Release, api: Api, plane: ControlPlane
) -> None:
    pod = move_on(manifests, api)
    old = revision_with(api, greeting="old")["metadata"]["name"]
    api.patch("ConfigMap", old, {"metadata": {"annotations": {"postrender/sweep": "false"}}})
    age_marks(api)
    attach_again(plane, pod)
    assert greetings(api) == ["new", "old"]
