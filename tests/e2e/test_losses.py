"""Failures that concern a ConfigMap in use: the run exits with 1, and says what to do."""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest

from tests.e2e.accounts import account_kubeconfig, create_account
from tests.e2e.api import KINDS, Api, Json, Resource
from tests.e2e.attach_processes import Runner, arguments_of, create_all, events_on, parse
from tests.e2e.cluster import ControlPlane
from tests.e2e.commands import LONG_AGO, attach_again, greetings, is_marked, mark_as_unused
from tests.e2e.proxy import Proxy, before
from tests.e2e.queries import (
    GROUP_LABEL,
    apply_attached,
    marked,
    owners,
    revision_with,
    revisions,
)
from tests.e2e.releases import Release, Values
from tests.rings import helm_3_in_matrix, in_matrix

WEB: Json = {"name": "web", "kind": "Deployment", "envFrom": ["web-config"]}
LIST: Json = {"apiVersion": "v1", "kind": "List"}
TEMPLATE: Json = {**WEB, "kind": "PodTemplate"}


def chart(greeting: str, *workloads: Json) -> Values:
    config = {"app-config": None, "web-config": {"greeting": greeting}}
    return {"configMaps": config, "workloads": list(workloads or (WEB,))}


@pytest.fixture
def runner(plane: ControlPlane, namespace: str, tmp_path: Path) -> Runner:
    return Runner(plane, namespace, tmp_path / "runs")


_rendered: dict[str, str] = {}


def rendered(manifests: Release, values: Values) -> str:
    """Return the rendered objects of values, which are the same in every namespace."""
    manifests.config["attacher"]["group"] = "web"
    key = json.dumps([values, manifests.arguments])
    if key not in _rendered:
        _rendered[key] = manifests.render(manifests.template(values))
    return _rendered[key]


def render(manifests: Release, values: Values) -> list[Json]:
    return parse(rendered(manifests, values))


def test_a_name_with_another_content_is_reported(
    manifests: Release, api: Api, runner: Runner
) -> None:
    objects = render(manifests, chart("one"))
    [revision] = [obj for obj in objects if obj["kind"] == "ConfigMap"]
    name = revision["metadata"]["name"]
    api.create({"kind": "ConfigMap", "metadata": {"name": name}, "data": {"greeting": "mine"}})
    create_all(api, [obj for obj in objects if obj is not revision])
    run = runner.run(arguments_of(objects, timeout="3s"))
    assert run.code == 1, run.log
    assert any("does not match the hash in the name" in text for text in run.errors()), run.log
    assert events_on(api, "Deployment", "web") == run.errors()
    assert "ownerReferences" not in api.get("ConfigMap", name)["metadata"]


def test_a_copy_with_another_content_is_reported(
    manifests: Release, api: Api, runner: Runner
) -> None:
    """Labels and annotations are not enough: another program than the release wrote the copy."""
    objects = render(manifests, chart("one"))
    [revision] = [obj for obj in objects if obj["kind"] == "ConfigMap"]
    rest = [obj for obj in objects if obj["kind"] not in ("ConfigMap", "Job")]
    manifests.apply_text(json.dumps({**LIST, "items": rest}))
    api.create({**revision, "data": {"greeting": "mine"}})
    run = runner.run(arguments_of(objects, timeout="3s"))
    assert run.code == 1, run.log
    assert any("does not match the hash in the name" in text for text in run.errors()), run.log
    name = revision["metadata"]["name"]
    assert "ownerReferences" not in api.get("ConfigMap", name)["metadata"]


APPLY = "application/apply-patch+yaml"
MINE: Json = {"data": {"greeting": "mine"}, "immutable": True}
# What a tenant who may create ConfigMaps writes, before the release, under the name of its
# revision, and what the next runs report.
SQUATS: dict[str, tuple[Json, str]] = {
    "other data": (MINE, "the content"),
    "binary data": (MINE | {"binaryData": {"x": "AA=="}}, "the content"),
    "more binary data": ({"binaryData": {"x": "AA=="}, "immutable": True}, "the content"),
    "the bytes as binary data": (
        {"data": None, "binaryData": {"greeting": "b25l"}, "immutable": True},
        "the content",
    ),
    "no data": ({"data": None, "immutable": True}, "the content"),
    "right, but mutable": ({"immutable": False}, "the field immutable"),
    "an owner by the manager of attach": (
        MINE | {"owned": True, "manager": "postrender-attach"},
        "changed",
    ),
    "an owner by another manager": (MINE | {"owned": True}, "the content"),
    "by the manager of the release": (MINE | {"manager": "kubectl-client-side-apply"}, "changed"),
    "applied by this manager": (
        MINE | {"manager": "kubectl-client-side-apply", "how": APPLY},
        "changed",
    ),
    "by another manager": (MINE | {"manager": "helm"}, "the content"),
    "of another group": (MINE | {"group": "another"}, "the content"),
    "of no group": (MINE | {"group": ""}, "the content"),
    "of no group, by the manager of the release": (
        MINE | {"group": "", "manager": "kubectl-client-side-apply"},
        "the content",
    ),
    "with the annotation of kustomize": (MINE | {"hash": "kustomize"}, "the content"),
    "with managed fields of the release": (
        MINE | {"managedFields": "kubectl-client-side-apply"},
        "the content",
    ),
    "of no group, but right": ({"group": ""}, ""),
    "of another group, but right": ({"group": "another"}, ""),
    "being deleted": ({"finalizers": ["example.com/keep"]}, "deleted"),
    "of no group, being deleted": (
        MINE | {"group": "", "finalizers": ["example.com/keep"]},
        "the content",
    ),
    "applied by another manager": (MINE | {"manager": "helm", "how": APPLY}, "the content"),
    "right": ({}, ""),
}


# tests/attach/squats.py has these too, and for them it does not matter whom the API server records.
IN_FAST_TESTS = (
    "binary data",
    "more binary data",
    "right, but mutable",
    "of another group",
    "of another group, but right",
)
# tests/attach/test_run.py has a retained revision for each verdict. Here is one for each way in
# which the API server records an author.
RETAINED = (
    "an owner by the manager of attach",
    "by the manager of the release",
    "applied by another manager",
    "being deleted",
    "of no group, being deleted",
    "right",
)


@pytest.mark.parametrize(
    ("squat", "is_used"),
    [
        *(
            pytest.param(
                squat, True, id=f"{squat}-used", marks=in_matrix if squat in IN_FAST_TESTS else ()
            )
            for squat in SQUATS
        ),
        *(
            pytest.param(
                squat, False, id=f"{squat}-retained", marks=() if squat in RETAINED else in_matrix
            )
            for squat in SQUATS
        ),
    ],
)
def test_a_squatted_name_is_reported(
    manifests: Release,
    api: Api,
    runner: Runner,
    plane: ControlPlane,
    tmp_path: Path,
    squat: str,
    *,
    is_used: bool,
) -> None:
    fields, expected = SQUATS[squat]
    fields = dict(fields)
    is_stuck = "finalizers" in fields
    reasons = (expected, "is being deleted") if is_stuck else (expected,)
    objects = render(manifests, chart("one"))
    [revision] = [obj for obj in objects if obj["kind"] == "ConfigMap"]
    if not is_used:  # the next release retains the revision
        (tmp_path / "previous.yaml").write_text(rendered(manifests, chart("one")))
        manifests.arguments = [f"--previous={tmp_path / 'previous.yaml'}"]
        objects = render(manifests, chart("two"))
    name = revision["metadata"]["name"]
    rest = [obj for obj in objects if obj["kind"] != "Job" and obj["metadata"]["name"] != name]
    manifests.apply_text(json.dumps({**LIST, "items": rest}))
    forge(api, plane, revision, fields)
    wait_until_observed(api)
    for _ in range(2):
        run = runner.run(arguments_of(objects, timeout="3s", on_failure="report"))
        failures = [text for text in run.errors() if name in text]
        changes = events_on(api, "Deployment", "web", "AttachChanged")
        is_loud = expected.startswith("the ") or (expected == "deleted" and is_used)
        assert run.code == int(is_loud), run.log
        assert bool(failures) == (expected not in ("", "changed")), run.log
        assert bool(changes) == (expected == "changed"), run.log
        assert bool(failures) == any(expected in text for text in failures)
        assert all(any(reason in text for reason in reasons) for text in failures)
    attached = any(
        entry["manager"] == "postrender-attach" and entry["operation"] == "Update"
        for entry in api.get("ConfigMap", name)["metadata"]["managedFields"]
    )
    if is_used or expected.startswith("the "):
        assert attached == (expected in ("", "changed"))
    if is_stuck:
        api.patch("ConfigMap", name, {"metadata": {"finalizers": None}})


def wait_until_observed(api: Api) -> None:
    """Wait until the Deployment has arrived, for which a run with a short timeout may not wait."""
    api.wait_for(
        lambda: api.get("Deployment", "web")["status"]["observedGeneration"],
        "the controller has seen the Deployment",
    )


def forge(api: Api, plane: ControlPlane, revision: Json, fields: Json) -> None:
    """Create an object like a revision, as a tenant who may create and patch ConfigMaps."""
    rules = [{"apiGroups": [""], "resources": ["configmaps"], "verbs": ["create", "patch"]}]
    create_account(api, "tenant", rules)
    access = json.loads(account_kubeconfig(plane, api, "tenant"))
    tenant = Api(plane.url, access["users"][0]["user"]["token"], str(plane.ca), api.namespace)
    manager, how = fields.pop("manager", "mine"), fields.pop("how", "")
    metadata = json.loads(json.dumps(revision["metadata"]))
    if fields.pop("owned", False):
        uid = api.get("Deployment", "web")["metadata"]["uid"]
        owner = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web", "uid": uid}
        metadata["ownerReferences"] = [{**owner, "controller": False, "blockOwnerDeletion": False}]
    group = fields.pop("group", None)
    if group is not None:
        metadata["labels"] = {GROUP_LABEL: group} if group else {}
    if "hash" in fields:
        metadata["annotations"]["postrender/hash"] = fields.pop("hash")
    if "managedFields" in fields:
        written: Json = {"f:postrender/base-name": {}}
        entry: Json = {"operation": "Update", "apiVersion": "v1", "fieldsType": "FieldsV1"}
        entry |= {"manager": fields.pop("managedFields"), "time": "2026-11-01T00:00:00Z"}
        entry["fieldsV1"] = {"f:data": {"f:greeting": {}}, "f:metadata": {"f:annotations": written}}
        metadata["managedFields"] = [entry]
    finalizers = metadata["finalizers"] = fields.pop("finalizers", [])
    forged = {key: value for key, value in {**revision, **fields}.items() if value is not None}
    forged["metadata"] = metadata
    path = tenant.path("ConfigMap", metadata["name"] if how else "")
    query = f"{path}?fieldManager={manager}"
    if how:
        tenant.request("PATCH", query, forged, how)
    else:
        tenant.request("POST", query, forged)
    if finalizers:
        api.delete("ConfigMap", metadata["name"])


def test_a_config_map_that_somebody_replaces_after_the_check_gets_no_owners(
    manifests: Release, api: Api, runner: Runner, plane: ControlPlane
) -> None:
    objects = render(manifests, chart("one"))
    applied = [obj for obj in objects if obj["kind"] != "Job"]
    manifests.apply_text(json.dumps({**LIST, "items": applied}))
    [revision] = [obj for obj in objects if obj["kind"] == "ConfigMap"]
    name = revision["metadata"]["name"]

    def replace() -> None:
        api.delete("ConfigMap", name)
        api.create({**revision, **MINE})

    with Proxy(plane, before("PATCH", 1, replace)) as proxy:
        run = runner.run(arguments_of(objects, timeout="3s"), proxy.url)
    assert any("cannot patch configmaps" in text for text in run.errors()), run.log
    assert not owners(api.get("ConfigMap", name))
    again = runner.run(arguments_of(objects, timeout="3s"))
    assert any("does not match the hash in the name" in text for text in again.errors())


def test_a_deeply_nested_object_does_not_stop_a_run(
    manifests: Release, api: Api, runner: Runner
) -> None:
    """The API server permits almost 10,000 levels in an object of a custom kind."""
    objects = render(manifests, chart("one"))
    create_all(api, objects)
    text = '{"a":' * 9000 + "{}" + "}" * 9000
    template: Json = {
        "apiVersion": "argoproj.io/v1alpha1",
        "kind": "AnalysisTemplate",
        "metadata": {"name": "deep"},
        "spec": {"metrics": [{"name": "m", "provider": {"plugin": {"x": "DEEP"}}}]},
    }
    content = json.dumps(template).replace('"DEEP"', text).encode()
    headers = {"Authorization": f"Bearer {api.token}", "Content-Type": "application/json"}
    status, answer = api._send("POST", api.path("AnalysisTemplate"), content, headers)
    assert status == 201, answer
    run = runner.run(arguments_of(objects, on_failure="fail"))
    assert run.code == 0, run.log
    assert "Deployment/web" in owners(revision_with(api, greeting="one"))


# An admission webhook changes the content. The API server does not record who did it.

_ADMISSION = "admissionregistration.k8s.io/v1"
MUTATION, BINDING = "MutatingAdmissionPolicy", "MutatingAdmissionPolicyBinding"
KINDS[MUTATION] = Resource(_ADMISSION, "mutatingadmissionpolicies", namespaced=False)
KINDS[BINDING] = Resource(_ADMISSION, "mutatingadmissionpolicybindings", namespaced=False)


@pytest.fixture
def mutation(api: Api) -> Iterator[None]:
    """Fill in the content of each new ConfigMap of the namespace, as Vault's webhook does."""
    name = f"fill-{api.namespace}"
    rule = {
        "apiGroups": [""],
        "apiVersions": ["v1"],
        "resources": ["configmaps"],
        "operations": ["CREATE"],
    }
    patch = 'Object{data: {"greeting": "from the vault", "added": "x"}}'
    spec = {
        "failurePolicy": "Fail",
        "reinvocationPolicy": "Never",
        "matchConstraints": {
            "resourceRules": [rule],
            "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": api.namespace}},
        },
        "mutations": [
            {"patchType": "ApplyConfiguration", "applyConfiguration": {"expression": patch}}
        ],
    }
    api.create({"kind": MUTATION, "metadata": {"name": name}, "spec": spec})
    api.create({"kind": BINDING, "metadata": {"name": name}, "spec": {"policyName": name}})

    def is_in_force() -> bool:
        probe = {"kind": "ConfigMap", "metadata": {"generateName": "probe-"}}
        created = api.create(probe)
        api.delete("ConfigMap", created["metadata"]["name"])
        return "added" in created.get("data", {})

    api.wait_for(is_in_force, "the policy is in force")
    yield
    api.delete(BINDING, name)
    api.delete(MUTATION, name)


@helm_3_in_matrix
@pytest.mark.usefixtures("mutation")
def test_content_that_admission_changes_does_not_fail_a_release(release: Release, api: Api) -> None:
    release.config["attacher"]["group"] = "web"
    for greeting in ("one", "two"):
        apply_attached(api, partial(release.upgrade, chart(greeting)))
    assert [revision["data"] for revision in revisions(api)] == 2 * [
        {"greeting": "from the vault", "added": "x"}
    ]
    assert all("Deployment/web" in owners(revision) for revision in revisions(api))
    assert not events_on(api, "Deployment", "web")
    changes = events_on(api, "Deployment", "web", "AttachChanged")
    assert len(changes) == 2
    assert all(text.startswith("an admission webhook changed the content") for text in changes)
    release.uninstall()
    api.wait_for(lambda: not revisions(api), "the revisions are deleted with their owners")


def test_a_missing_revision_that_no_object_references_is_not_a_loss(
    manifests: Release, api: Api, runner: Runner
) -> None:
    """A later apply has replaced the pod template, and its own attacher does the rest."""
    objects, later = (render(manifests, chart(greeting)) for greeting in ("one", "two"))
    create_all(api, later)
    run = runner.run(arguments_of(objects, timeout="3s"))
    assert run.code == 0, run.log
    assert any("does not exist" in text for text in run.errors())


def test_a_revision_with_a_finalizer_is_reported(
    manifests: Release, api: Api, runner: Runner
) -> None:
    objects = render(manifests, chart("one"))
    create_all(api, objects)
    name = revision_with(api, greeting="one")["metadata"]["name"]
    api.patch("ConfigMap", name, {"metadata": {"finalizers": ["example.com/keep"]}})
    api.delete("ConfigMap", name)
    run = runner.run(arguments_of(objects, timeout="3s"))
    assert run.code == 1, run.log
    [error] = run.errors()
    assert error.startswith(
        f"ConfigMap/{name} is being deleted, but waits for the finalizer example.com/keep. "
        f"Remove the finalizer from ConfigMap/{name}"
    )
    assert owners(api.get("ConfigMap", name)) == []
    api.patch("ConfigMap", name, {"metadata": {"finalizers": None}})


def test_a_job_that_is_not_finished_stops_the_sweep(
    manifests: Release, api: Api, plane: ControlPlane
) -> None:
    manifests.config["attacher"]["group"] = "web"
    for greeting in ("one", "two"):
        pod = apply_attached(api, partial(manifests.apply, chart(greeting, TEMPLATE)))
    mark_as_unused(api, revision_with(api, greeting="one")["metadata"]["name"])
    template = {"spec": {"restartPolicy": "Never", "containers": [{"name": "a", "image": "a"}]}}
    spec = {"suspend": True, "template": template}
    metadata = {"name": "later", "labels": {GROUP_LABEL: "web-attach"}}
    api.create({"kind": "Job", "metadata": metadata, "spec": spec})
    run = attach_again(plane, pod)
    assert "attach does not delete revisions, because a later apply may be under way" in run.text
    assert "the attacher Job/later is not finished" in run.text
    assert greetings(api) == ["one", "two"]
    api.delete("Job", "later")
    attach_again(plane, pod)
    assert greetings(api) == ["two"]


def test_a_revision_of_an_earlier_group_name(
    manifests: Release, api: Api, plane: ControlPlane
) -> None:
    """No run attached the revision before the name changed."""
    objects = render(manifests, chart("one"))
    create_all(api, [obj for obj in objects if obj["kind"] in ("ConfigMap", "Deployment")])
    manifests.config["attacher"]["group"] = "shop"
    pod = apply_attached(api, lambda: manifests.apply(chart("two")))
    api.wait_for(lambda: len(api.list("ReplicaSet")) == 2, "both ReplicaSets exist")
    assert attach_again(plane, pod).code == 0
    assert "Deployment/web" in owners(revision_with(api, greeting="one"))


def test_an_unused_revision_of_an_earlier_group_name_is_deleted(
    manifests: Release, api: Api, plane: ControlPlane
) -> None:
    objects = render(manifests, chart("one", TEMPLATE))
    create_all(api, [obj for obj in objects if obj["kind"] in ("ConfigMap", "PodTemplate")])
    manifests.config["attacher"]["group"] = "shop"
    pod = apply_attached(api, lambda: manifests.apply(chart("two", TEMPLATE)))
    old = revision_with(api, greeting="one")
    assert is_marked(old)
    mark_as_unused(api, old["metadata"]["name"])
    assert LONG_AGO in str(revision_with(api, greeting="one"))
    assert attach_again(plane, pod).code == 0
    assert greetings(api) == ["two"]


def test_owners_without_managed_fields_do_not_prevent_the_sweep(
    manifests: Release, api: Api, plane: ControlPlane
) -> None:
    manifests.config["attacher"]["group"] = "web"
    apply_attached(api, lambda: manifests.apply(chart("one", TEMPLATE)))
    name = revision_with(api, greeting="one")["metadata"]["name"]
    api.patch("ConfigMap", name, {"metadata": {"managedFields": [{}]}})
    pod = apply_attached(api, lambda: manifests.apply(chart("two", TEMPLATE)))
    mark_as_unused(api, name)
    assert attach_again(plane, pod).code == 0
    assert greetings(api) == ["two"]


def test_secrets_that_are_switched_off_are_deleted(
    manifests: Release, api: Api, plane: ControlPlane, tmp_path: Path
) -> None:
    """The Role permits only the names of the earlier revisions, not all Secrets."""
    volumes = [{"name": "secret", "secret": {"secretName": "web-secret"}}]
    secret = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "web-secret"}}
    values = {
        **chart("one", {**TEMPLATE, "podSpec": {"volumes": volumes}}),
        "extra": [{**secret, "stringData": {"password": "x"}}],
    }
    manifests.config |= {"secrets": True, "keepOriginal": False}
    manifests.config["attacher"]["group"] = "web"
    previous = tmp_path / "previous.yaml"
    previous.write_text(manifests.render(manifests.template(values)))
    apply_attached(api, lambda: manifests.apply(values))
    [revision] = revisions(api, "Secret")
    name = revision["metadata"]["name"]
    api.create({**secret, "metadata": {"name": "other", "labels": revision["metadata"]["labels"]}})
    manifests.config |= {"secrets": False}
    manifests.arguments = [f"--previous={previous}"]
    pod = apply_attached(api, lambda: manifests.apply(values))
    rules = [
        rule for rule in api.get("Role", "web-attach")["rules"] if "secrets" in rule["resources"]
    ]
    assert [rule["resourceNames"] for rule in rules] == [[name]]
    unused = api.get("Secret", name)
    assert is_marked(unused)
    assert owners(unused) == ["PodTemplate/web"]
    api.patch("Secret", name, marked(LONG_AGO))
    assert attach_again(plane, pod).code == 0
    assert api.find("Secret", name) is None
    assert api.names("Secret") == ["other", "web-secret"]


def test_a_retired_secret_that_is_still_used_stays(
    manifests: Release, api: Api, plane: ControlPlane
) -> None:
    manifests.config |= {"secrets": True, "keepOriginal": False}
    manifests.config["attacher"]["group"] = "web"
    volumes = [{"name": "secret", "secret": {"secretName": "web-secret"}}]
    secret = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "web-secret"}}
    values = {
        **chart("one", {**WEB, "podSpec": {"volumes": volumes}}),
        "extra": [{**secret, "stringData": {"password": "x"}}],
    }
    apply_attached(api, lambda: manifests.apply(values))
    [revision] = revisions(api, "Secret")
    name = revision["metadata"]["name"]
    manifests.config |= {"secrets": False}
    manifests.config["attacher"]["retiredSecrets"] = [name, "absent-secret"]
    pod = apply_attached(api, lambda: manifests.apply(values))
    # The ReplicaSet of the earlier release still references the revision.
    api.patch("Secret", name, marked(LONG_AGO))
    assert attach_again(plane, pod).code == 0
    assert not is_marked(api.get("Secret", name))
    # Without the permission, the Secret stays, and the run reports the name.
    for rule in (rules := api.get("Role", "web-attach")["rules"]):
        rule["verbs"] = ["get"] if "secrets" in rule["resources"] else rule["verbs"]
    api.patch("Role", "web-attach", {"rules": rules})
    run = attach_again(plane, pod)
    assert run.code == 0
    assert f"attach keeps Secret/{name}, because postrender cannot list secrets" in run.text


def test_the_api_server_does_not_add_a_selector_to_the_job(manifests: Release, api: Api) -> None:
    """A rollback of Helm 3.22 removes fields that the manifest lacks, and these are immutable."""
    manifests.config["attacher"]["group"] = "web"
    [job] = [obj for obj in render(manifests, chart("one")) if obj["kind"] == "Job"]
    apply_attached(api, lambda: manifests.apply(chart("one")))
    [live] = [api.get("Job", name) for name in api.names("Job")]
    assert live["spec"]["selector"] == job["spec"]["selector"]
    labels = live["spec"]["template"]["metadata"]["labels"]
    assert labels == job["spec"]["template"]["metadata"]["labels"]
