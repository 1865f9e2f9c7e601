"""The output of `postrender config admission-policy`, enforced by the API server."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable, Iterator
from functools import partial
from itertools import count
from typing import NamedTuple

import pytest

from tests.e2e import attachers
from tests.e2e.accounts import account_kubeconfig, create_account
from tests.e2e.api import STRATEGIC, Api, ApiError, Json
from tests.e2e.cluster import ControlPlane
from tests.e2e.commands import attach_again, pass_grace_time
from tests.e2e.lifecycle_checks import wait_until_owned
from tests.e2e.programs import ROOT
from tests.e2e.queries import (
    GROUP_LABEL,
    UNUSED,
    apply_attached,
    revision_with,
    revisions,
    wait_until_pruned,
)
from tests.e2e.releases import Release, run
from tests.e2e.test_attacks import BINDING, POLICY
from tests.e2e.test_rbac import ACCOUNT, WITHOUT_ROLE, apply_rbac
from tests.rings import in_matrix

NOW = "2026-01-01T00:00:00Z"
LABELLED: Json = {"labels": {GROUP_LABEL: "other-attach"}}
OWNER: Json = {
    "apiVersion": "apps/v1",
    "kind": "Deployment",
    "name": "web",
    "uid": "00000000-0000-0000-0000-000000000001",
    "controller": False,
    "blockOwnerDeletion": False,
}


@pytest.fixture
def policy(manifests: Release, api: Api) -> Iterator[Release]:
    """Apply the policy for the namespace of the test, and wait until it is in force."""
    command = [sys.executable, "-m", "postrender", "config", "admission-policy"]
    options = ["--namespace", api.namespace]
    printed = run([*command, *options], {"PYTHONPATH": str(ROOT)}, manifests.folder)
    manifests.kubectl("apply", "-f", "-", stdin=printed.stdout)
    yield manifests
    api.delete(BINDING, f"{ACCOUNT}-{api.namespace}")


# A release under the policy


@pytest.mark.parametrize(
    ("release", "mode"),
    [
        ("helm3", "job"),
        ("helm4", "hook"),
        pytest.param("helm3", "hook", marks=in_matrix),
        pytest.param("helm4", "job", marks=in_matrix),
    ],
    indirect=["release"],
)
def test_releases_are_attached_and_swept(
    policy: Release, release: Release, api: Api, plane: ControlPlane, mode: str
) -> None:
    wait_until_in_force(policy, api, plane)
    release.config |= {"secrets": True}
    release.config["attacher"] |= {"mode": mode, "required": True}

    def upgrade(greeting: str) -> Json:
        return apply_attached(api, lambda: release.upgrade(values(greeting)))

    logs = [attachers.log(plane, upgrade("one"))]
    wait_until_owned(api)
    attacher = upgrade("two")
    logs.append(attachers.log(plane, attacher))
    assert len(revisions(api)) == len(revisions(api, "Secret")) == 2
    wait_until_pruned(api)
    assert attach_again(plane, attacher).code == 0  # marks the unused ones
    mark_secrets(api)
    last = pass_grace_time(plane, api, attacher)
    assert "denied" not in "".join([*logs, last.text])
    assert [revision["data"] for revision in revisions(api)] == [{"greeting": "two"}]
    assert len(revisions(api, "Secret")) == 1
    if mode == "job":
        assert len(api.names("Job")) == 1


def values(greeting: str) -> Json:
    """Return values with a Deployment that references a ConfigMap and a Secret."""
    metadata = {"name": "app-secret"}
    secret = {"apiVersion": "v1", "kind": "Secret", "metadata": metadata, "type": "Opaque"}
    volume = {"name": "secret", "secret": {"secretName": "app-secret"}}
    workload = {
        "name": "web",
        "kind": "Deployment",
        "revisionHistoryLimit": 0,
        "envFrom": ["app-config"],
        "podSpec": {"volumes": [volume]},
    }
    return {
        "configMaps": {"app-config": {"greeting": greeting}},
        "workloads": [workload],
        "extra": [secret | {"stringData": {"password": greeting}}],
    }


def mark_secrets(api: Api) -> None:
    """Set the marks of unused Secrets back, which `age_marks` does for ConfigMaps only."""
    for secret in revisions(api, "Secret"):
        if UNUSED in secret["metadata"].get("annotations", {}):
            change = {"metadata": {"annotations": {UNUSED: NOW}}}
            api.patch("Secret", secret["metadata"]["name"], change)


# A stolen token


@pytest.fixture
def thief(policy: Release, api: Api, plane: ControlPlane) -> Api:
    """Return a client with the token of an attacher's account, after a release."""
    wait_until_in_force(policy, api, plane)
    web: Json = {"name": "web", "kind": "Deployment", "envFrom": ["app-config"]}
    policy.apply({"configMaps": {"app-config": {"greeting": "one"}}, "workloads": [web]})
    wait_until_owned(api)
    for name, metadata in {"foreign": {}, "editable": LABELLED, "finalized": LABELLED}.items():
        api.create(
            {"kind": "ConfigMap", "metadata": {"name": name, **metadata}, "data": {"a": "1"}}
        )
    kept = {**LABELLED, "annotations": {UNUSED: NOW, "postrender/sweep": "false"}}
    api.create({"kind": "ConfigMap", "metadata": {"name": "kept", **kept}})
    stopped = {**LABELLED, "annotations": {UNUSED: NOW, "postrender/prune": "false"}}
    api.create({"kind": "ConfigMap", "metadata": {"name": "stopped", **stopped}})
    template = {"metadata": {"labels": {"a": "b"}}, "spec": POD}
    spec = {"template": template, "suspend": True}
    api.create({"kind": "Job", "metadata": {"name": "running", **LABELLED}, "spec": spec})
    return token_client(api, plane)


POD: Json = {"restartPolicy": "Never", "containers": [{"name": "a", "image": "a:1"}]}


def token_client(api: Api, plane: ControlPlane, account: str = ACCOUNT) -> Api:
    """Return a client with a token of an account."""
    access = json.loads(account_kubeconfig(plane, api, account))
    token = access["users"][0]["user"]["token"]
    return Api(plane.url, token, str(plane.ca), api.namespace)


def wait_until_in_force(release: Release, api: Api, plane: ControlPlane) -> None:
    """Create the shared account, and wait until the policy refuses one of its writes."""
    release.config = {"secrets": True, "attacher": WITHOUT_ROLE}
    apply_rbac(release)
    client = token_client(api, plane)
    change = {"metadata": {"annotations": {"a": "b"}}}

    def is_refused() -> bool:
        return "denied request" in refusal(lambda: client.patch("ConfigMap", ROOT_CA, change))

    api.wait_for(is_refused, "the policy is in force")


ROOT_CA = "kube-root-ca.crt"


def refusal(call: Callable[[], object]) -> str:
    """Return the message of the API server if it refuses a request, else ""."""
    try:
        call()
    except ApiError as error:
        return str(error)
    return ""


class Attempt(NamedTuple):
    """A write, and a part of the message with which the policy refuses the write."""

    write: Callable[[Api], object]
    message: str


def patch(name: str, change: Json) -> Callable[[Api], object]:
    return lambda client: client.patch("ConfigMap", name, change, STRATEGIC)


def delete(kind: str, name: str) -> Callable[[Api], object]:
    return lambda client: client.delete(kind, name)


def metadata(**fields: object) -> Json:
    return {"metadata": fields}


def event(component: str) -> Callable[[Api], object]:
    def create(client: Api) -> None:
        target = {"kind": "Deployment", "name": "web", "namespace": client.namespace}
        metadata = {"name": f"event-of-{component}"}
        source = {"component": component}
        obj: Json = {"kind": "Event", "metadata": metadata, "source": source}
        client.create(obj | {"involvedObject": target})

    return create


LABEL = f"the label {GROUP_LABEL}"
REFUSED = {
    "mark a ConfigMap without the label": Attempt(
        patch("foreign", metadata(annotations={UNUSED: NOW})), LABEL
    ),
    "label a ConfigMap without the label": Attempt(
        patch("foreign", metadata(labels={GROUP_LABEL: "x"})), LABEL
    ),
    "own a ConfigMap without the label": Attempt(
        patch("foreign", metadata(ownerReferences=[OWNER])), LABEL
    ),
    "delete a ConfigMap without the label": Attempt(delete("ConfigMap", "foreign"), LABEL),
    "change data": Attempt(patch("editable", {"data": {"a": "2"}}), "only owner references"),
    "add binary data": Attempt(
        patch("editable", {"binaryData": {"b": "eA=="}}), "only owner references"
    ),
    "make immutable": Attempt(patch("editable", {"immutable": True}), "only owner references"),
    "change the label": Attempt(
        patch("editable", metadata(labels={GROUP_LABEL: "x"})), "only owner references"
    ),
    "remove the label": Attempt(
        patch("editable", metadata(labels={GROUP_LABEL: None})), "only owner references"
    ),
    "add a finalizer": Attempt(
        patch("editable", metadata(finalizers=["example.com/stay"])), "only owner references"
    ),
    "add an annotation": Attempt(
        patch("editable", metadata(annotations={"a": "b"})), "annotations other than"
    ),
    "remove an annotation": Attempt(
        patch("kept", metadata(annotations={"postrender/sweep": None})), "annotations other than"
    ),
    "add a controller": Attempt(
        patch("editable", metadata(ownerReferences=[OWNER | {"controller": True}])),
        "an owner that is a controller",
    ),
    "delete a revision without a mark": Attempt(delete("ConfigMap", "editable"), "unused-since"),
    "delete a revision that is never swept": Attempt(
        delete("ConfigMap", "kept"), "postrender/sweep"
    ),
    "delete a revision whose deletion a person stopped": Attempt(
        delete("ConfigMap", "stopped"), "postrender/prune"
    ),
    "permit the deletion again": Attempt(
        patch("stopped", metadata(annotations={"postrender/prune": None})), "annotations other than"
    ),
    "delete a running Job": Attempt(delete("Job", "running"), "only finished Jobs"),
    "create an Event of another program": Attempt(event("kubelet"), "component postrender"),
}


def test_a_stolen_token_cannot_do_more_than_attach(thief: Api, api: Api) -> None:
    for what, attempt in REFUSED.items():
        message = refusal(partial(attempt.write, thief))
        assert "denied request" in message, f"{what}: {message or 'is permitted'}"
        assert attempt.message in message, what
    assert api.get("ConfigMap", "foreign")["metadata"].get("ownerReferences") is None
    assert api.get("ConfigMap", "editable")["data"] == {"a": "1"}


def test_the_writes_of_attach_are_permitted(thief: Api, api: Api) -> None:
    name = revision_with(api, greeting="one")["metadata"]["name"]
    for change in (
        metadata(ownerReferences=[OWNER]),
        metadata(ownerReferences=[{"$patch": "delete", "uid": OWNER["uid"]}]),
        metadata(annotations={UNUSED: NOW}),
        metadata(annotations={UNUSED: None}),
        metadata(annotations={UNUSED: NOW}),
    ):
        thief.patch("ConfigMap", name, change, STRATEGIC)
    event("postrender")(thief)
    thief.delete("ConfigMap", name)
    assert not revisions_with_data(api)


def revisions_with_data(api: Api) -> list[Json]:
    return [revision for revision in revisions(api) if "greeting" in revision.get("data", {})]


def test_the_largest_objects_are_within_the_limits_of_expressions(thief: Api, api: Api) -> None:
    """The API server refuses a request if an expression of a policy costs too much."""
    number = 1000
    uid = api.get("Deployment", "web")["metadata"]["uid"]  # the garbage collector keeps the object
    uids = [uid, *(f"00000000-0000-0000-0000-{n:012}" for n in range(number))]
    references = [OWNER | {"uid": uid} for uid in uids]
    annotations = {f"example.com/{n}": "x" * 200 for n in range(number)}
    fields = {**LABELLED, "annotations": annotations, "ownerReferences": references}
    data = {f"key-{n}": "x" * 800 for n in range(number)}
    api.create({"kind": "ConfigMap", "metadata": {"name": "large", **fields}, "data": data})
    thief.patch("ConfigMap", "large", metadata(annotations={UNUSED: NOW}), STRATEGIC)


@pytest.mark.usefixtures("thief")
def test_other_accounts_are_not_restricted(api: Api) -> None:
    api.patch("ConfigMap", "editable", {"data": {"a": "2"}})
    api.delete("ConfigMap", "foreign")


# The names of revisions


PAGE = ROOT / "docs" / "reference" / "attach.md"


def test_only_the_tool_may_create_a_revision(
    manifests: Release, api: Api, plane: ControlPlane
) -> None:
    """The policy on the page, for the names and users of this test."""
    rules = [{"apiGroups": [""], "resources": ["configmaps"], "verbs": ["create"]}]
    create_account(api, "deployer", rules)
    create_account(api, "tenant", rules)
    deployer, tenant = (token_client(api, plane, name) for name in ("deployer", "tenant"))
    [block] = re.findall(r"```yaml\n(.*?kind: ValidatingAdmissionPolicy\n.*?)```", section(), re.S)
    name = f"names-{api.namespace}"
    text = (
        block.replace("postrender-names", name)
        .replace("serviceaccount:ci:", f"serviceaccount:{api.namespace}:")
        .replace("metadata.name: prod", f"metadata.name: {api.namespace}")
    )
    manifests.kubectl("apply", "-f", "-", stdin=text)
    numbers = count()

    def create(client: Api, name: str) -> str:
        metadata = {"generateName" if name.endswith("-") else "name": name}
        return refusal(lambda: client.create({"kind": "ConfigMap", "metadata": metadata}))

    def is_in_force() -> bool:
        return "only the tool" in create(tenant, f"web-{next(numbers)}-m567dfc6df")

    try:
        api.wait_for(is_in_force, "the policy is in force")
        assert not create(deployer, "web-config-m567dfc6df")
        assert not create(tenant, "web-config-m567dfc6da")
        assert not create(tenant, "web-config-m567d-")
        assert "only the tool" in create(tenant, "other-m567dfc6df")
    finally:
        api.delete(BINDING, name)
        api.delete(POLICY, name)


def section() -> str:
    return PAGE.read_text("utf-8").partition("### Reserve the names of revisions")[2]


@pytest.mark.usefixtures("policy")
def test_the_api_server_does_not_report_type_errors(api: Api) -> None:
    status = api.wait_for(lambda: api.get(POLICY, ACCOUNT).get("status"), "the types are checked")
    assert status["typeChecking"] == {}
