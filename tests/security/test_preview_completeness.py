"""A preview reports every difference that a cluster would notice."""

from __future__ import annotations

import copy
import json
from typing import Any

import pytest

from postrender.diff.formats import REPORTERS
from postrender.diff.model import Preview
from postrender.diff.values import WRITTEN_DIFFERENTLY, Terminal
from tests.diff.reporters import check_shows
from tests.effort import examples
from tests.manifests import Obj
from tests.security.preview_mutations import (
    bases,
    compare_objects,
    mutations,
    untold,
)

COUNT = examples(1200)
LABELS = {"app.kubernetes.io/component": "attacher", "postrender/attach-group": "x"}
POD = {"containers": [{"name": "x", "image": "evil:1"}], "hostPID": True}


@pytest.mark.random_inputs
def test_every_mutation_is_reported() -> None:
    missed = [
        (mutation.name, parts)
        for mutation, _ in zip(mutations(seed=20), range(COUNT), strict=False)
        if (parts := untold(mutation))
    ]
    assert not missed


def test_a_cluster_role_that_loses_one_of_two_revisions_is_reported() -> None:
    """Two namespaces have a ConfigMap of this name, so the role has two revisions."""
    tried = 0
    for name, objects in bases():
        roles = [number for number, obj in enumerate(objects) if obj.get("kind") == "ClusterRole"]
        for number in roles if name == "reference-cluster-role" else ():
            for position in range(1, len(objects[number]["rules"][0]["resourceNames"])):
                changed = copy.deepcopy(objects)
                del changed[number]["rules"][0]["resourceNames"][position]
                assert compare_objects(objects, changed).has_changes
                tried += 1
    assert tried == 2


def test_a_role_that_loses_the_original_is_reported() -> None:
    """Also if an object in another namespace comes, so that both sides know other namespaces."""
    old = base("reference-role-with-configmaps")
    new = copy.deepcopy(old)
    role = next(
        data for data in new if data["kind"] == "Role" and data["metadata"]["name"] == "shop"
    )
    role["rules"][0]["resourceNames"].remove("shop-config")
    job = copy.deepcopy(attacher("Job", new, "shop-deployment-attach"))
    job["metadata"]["namespace"] = "elsewhere"
    for changed in (new, [*new, job]):
        assert "shop" in {change.identity.name for change in compare_objects(old, changed).objects}


def test_a_wrong_type_of_immutable_is_reported() -> None:
    old = base()
    revision = next(data for data in old if data["kind"] == "ConfigMap")
    revision["immutable"] = False
    new = copy.deepcopy(old)
    next(data for data in new if data["kind"] == "ConfigMap")["immutable"] = {"x": "y"}
    [content] = compare_objects(old, new).contents
    assert content.fields[0].path.startswith("immutable")


def test_a_preview_of_equal_manifests_has_no_changes() -> None:
    assert len(bases()) > 250  # which compares each of them with itself


def base(name: str = "attacher-hook-mode") -> list[Obj]:
    return copy.deepcopy(dict(bases())[name])


def attacher(kind: str, objects: list[Obj], group: str = "shop-rollout-attach") -> Obj:
    return next(
        data
        for data in objects
        if data["kind"] == kind and data["metadata"]["name"].startswith(group)
    )


def new_objects(kind: str, group: str) -> Obj:
    """Return a hostile object with the label of an attacher."""
    labels = {**LABELS, "postrender/attach-group": group}
    metadata = {"name": f"{group}-0123456789" if kind == "Job" else "x", "labels": labels}
    version = "v1" if kind == "ServiceAccount" else "rbac.authorization.k8s.io/v1"
    if kind == "Job":
        template = {"metadata": {"labels": labels}, "spec": POD}
        return {
            "apiVersion": "batch/v1",
            "kind": kind,
            "metadata": metadata,
            "spec": {"template": template},
        }
    data: Obj = {"apiVersion": version, "kind": kind, "metadata": metadata}
    if kind == "Role":
        data["rules"] = [{"apiGroups": ["*"], "resources": ["*"], "verbs": ["*"]}]
    if kind == "RoleBinding":
        data["roleRef"] = {"kind": "ClusterRole", "name": "cluster-admin"}
        data["subjects"] = [{"kind": "User", "name": "evil"}]
    return data


KINDS = ["Job", "Role", "RoleBinding", "ServiceAccount"]


def check_all_formats(preview: Preview, name: str) -> None:
    """Check that every complete format shows an object, and that none claims "no changes"."""
    assert preview.has_changes
    for form, reporter in REPORTERS.items():
        text = reporter.render(preview, Terminal(200, False))
        assert "o changes" not in text.replace("No changes.</p>", ""), form
        check_shows(form, text, name)
        if form == "json":
            assert json.loads(text)["hasChanges"] is True


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("group", ["x", "shop-rollout-attach"])
def test_an_added_object_with_the_labels_of_an_attacher_is_reported(kind: str, group: str) -> None:
    old = base()
    added = new_objects(kind, group)
    preview = compare_objects(old, [*old, added])
    check_all_formats(preview, preview.objects[0].identity.name)
    check_all_formats(compare_objects([*old, added], old), preview.objects[0].identity.name)


@pytest.mark.parametrize("kind", KINDS)
def test_a_removed_object_of_an_attacher_is_reported(kind: str) -> None:
    old = base()
    removed = attacher(kind, old)
    preview = compare_objects(old, [data for data in old if data is not removed])
    check_all_formats(preview, "shop-rollout-attach")


def test_an_object_next_to_unrendered_manifests_is_reported() -> None:
    old = [data for data in base() if data["kind"] == "Rollout"]
    preview = compare_objects(old, [*old, new_objects("Job", "x")])
    check_all_formats(preview, "x")


@pytest.mark.parametrize(
    ("kind", "path", "value"),
    [
        ("Job", ("spec", "template", "spec", "containers", 0, "image"), "evil:1"),
        ("Job", ("spec", "template", "spec", "hostPID"), True),
        ("Job", ("spec", "template", "spec", "containers", 0, "args", 4), "Rollout/x@0123456789=x"),
        ("Job", ("metadata", "name"), "shop-rollout-attach-0123456789"),
        ("Job", ("spec", "selector", "matchLabels", "postrender/attach-job"), "x"),
        ("RoleBinding", ("subjects", 0, "namespace"), "elsewhere"),
        ("Role", ("rules", 0, "verbs", 0), "*"),
        ("ServiceAccount", ("metadata", "ownerReferences"), [{"kind": "Pod", "name": "x"}]),
        ("ConfigMap", ("metadata", "ownerReferences"), [{"kind": "Pod", "name": "x", "uid": "x"}]),
        ("ConfigMap", ("metadata", "annotations", "postrender/unused-since"), "2000-01-01"),
        ("ConfigMap", ("metadata", "annotations", "helm.sh/resource-policy"), "delete"),
        ("ConfigMap", ("metadata", "labels", "postrender/attach-group"), "x"),
        ("Rollout", ("metadata", "annotations", "postrender/render-id"), "0123456789"),
        ("Rollout", ("metadata", "uid"), "x"),
        ("Rollout", ("metadata", "finalizers"), ["x"]),
        ("Rollout", ("metadata", "labels"), None),
        ("Rollout", ("spec", "replicas"), None),
    ],
)
def test_a_changed_field_is_reported(kind: str, path: tuple[str | int, ...], value: object) -> None:
    old = base()
    new = copy.deepcopy(old)
    parent: Any = next(data for data in new if data["kind"] == kind)
    for part in path[:-1]:
        parent = parent[part] if isinstance(part, int) else parent.setdefault(part, {})
    parent[path[-1]] = value
    check_all_formats(compare_objects(old, new), "shop")


def test_a_field_that_a_cluster_adds_is_left_out() -> None:
    new = base()
    old = copy.deepcopy(new)
    for data in old:
        data["metadata"] |= {
            "uid": "7",
            "resourceVersion": "8",
            "creationTimestamp": "2000-01-01T00:00:00Z",
            "generation": 2,
            "managedFields": [{"manager": "x"}],
        }
        data["status"] = {"x": 1}
    assert not compare_objects(old, new).has_changes
    new[0]["metadata"]["ownerReferences"] = [{"kind": "Pod", "name": "x", "uid": "x"}]
    assert compare_objects(old, new).has_changes


@pytest.mark.parametrize(
    ("field", "value", "shown"),
    [
        ("hostNetwork", True, "hostNetwork"),
        ("hostPID", True, "hostPID"),
        ("serviceAccountName", "root-account", "serviceAccountName"),
        ("automountServiceAccountToken", True, "automountServiceAccountToken"),
        ("volumes", [{"name": "x", "hostPath": {"path": "/etc/secrets"}}], "/etc/secrets"),
        ("securityContext", {"runAsUser": 0}, "runAsUser"),
        (
            "containers",
            [{"name": "x", "image": "x", "securityContext": {"privileged": True}}],
            "privileged",
        ),
    ],
)
def test_a_changed_field_of_a_pod_is_shown(field: str, value: Any, shown: str) -> None:
    """Every complete format shows the field itself, and not only that the workload changes."""
    old = base()
    new = copy.deepcopy(old)
    rollout = next(data for data in new if data["kind"] == "Rollout")
    rollout["spec"]["template"]["spec"][field] = value
    preview = compare_objects(old, new)
    assert preview.workloads[0].effect == "rolls"
    for form, reporter in REPORTERS.items():
        text = reporter.render(preview, Terminal(200, False))
        check_shows(form, text, shown)
        assert WRITTEN_DIFFERENTLY not in text
