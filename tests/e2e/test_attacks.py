"""Attacks on the rule that succeeded once: each lost a revision, or left one behind."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from tests.e2e import attachers
from tests.e2e.api import KINDS, Api, ApiError, Json, Resource
from tests.e2e.attach_processes import Runner, arguments_of, events_on, parse
from tests.e2e.cluster import ControlPlane, kubeconfig
from tests.e2e.commands import adopt, attach_again, define_widgets, greetings, pass_grace_time
from tests.e2e.namespaces import hold_attachers
from tests.e2e.proxy import Proxy, before
from tests.e2e.queries import (
    age_marks,
    apply_attached,
    owners,
    revision_with,
    revisions,
    wait_for_attachers,
    wait_until_pruned,
)
from tests.e2e.releases import Release
from tests.e2e.test_sharing import WIDGET_PATH, widget

_ADMISSION = "admissionregistration.k8s.io/v1"
POLICY, BINDING = "ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding"
KINDS[POLICY] = Resource(_ADMISSION, "validatingadmissionpolicies", namespaced=False)
KINDS[BINDING] = Resource(_ADMISSION, "validatingadmissionpolicybindings", namespaced=False)


def deployment(name: str, *config_maps: str, **fields: Any) -> Json:
    return {"name": name, "kind": "Deployment", "envFrom": list(config_maps), **fields}


def chart(*workloads: Json, greeting: str = "one", **fields: Any) -> Json:
    config_maps = {"app-config": {"greeting": greeting}, "other-config": {"greeting": "other"}}
    return {"configMaps": config_maps, "workloads": list(workloads), **fields}


# A revision that is referenced outside of pod templates has no owners, because it may outlive its
# other users.


def with_widget(manifests: Release, plane: ControlPlane, *workloads: Json) -> Json:
    define_widgets(plane)
    manifests.config["references"] = [{"kind": "Widget", "path": WIDGET_PATH}]
    deployments = [deployment("other", "other-config"), *workloads]
    return chart(*deployments, extra=[widget("app-config")])


def test_a_deleted_workload_leaves_the_revision_of_a_custom_kind(
    manifests: Release, api: Api, plane: ControlPlane
) -> None:
    values = with_widget(manifests, plane, deployment("web", "app-config"))
    apply_attached(api, lambda: manifests.apply(values))
    revision = revision_with(api, greeting="one")
    assert "Deployment/web" in owners(revision)
    api.delete("Deployment", "web", propagation="Foreground")
    api.wait_for(
        lambda: not api.list("ReplicaSet", labels="app=web"), "its ReplicaSets are deleted"
    )
    assert_survives(api, revision)


def test_deleting_a_debugging_pod_does_not_delete_revisions(
    manifests: Release, api: Api, plane: ControlPlane
) -> None:
    attacher = apply_attached(api, lambda: manifests.apply(with_widget(manifests, plane)))
    revision = revision_with(api, greeting="one")
    container = {"name": "sh", "image": "sh:1", "envFrom": [config_map_ref(revision)]}
    api.create({"kind": "Pod", "metadata": {"name": "debug"}, "spec": {"containers": [container]}})
    assert attach_again(plane, attacher).code == 0
    api.delete("Pod", "debug")
    api.wait_for(lambda: api.find("Pod", "debug") is None, "the Pod is deleted")
    assert_survives(api, revision)


def config_map_ref(config_map: Json) -> Json:
    return {"configMapRef": {"name": config_map["metadata"]["name"]}}


def assert_survives(api: Api, config_map: Json) -> None:
    """Fail if the garbage collector deletes an object before its next pass has ended."""
    reference = {"apiVersion": "v1", "kind": "ConfigMap", "name": "gone", "uid": "no-such-uid"}
    probe = {"kind": "ConfigMap", "metadata": {"name": "probe", "ownerReferences": [reference]}}
    api.create(probe)
    api.wait_for(lambda: api.find("ConfigMap", "probe") is None, "the garbage collector has run")
    assert api.find("ConfigMap", config_map["metadata"]["name"]), api.dump()


# The group is named after its first workload, and is renamed when another workload becomes first.


def test_a_new_first_workload_does_not_leave_revisions(
    manifests: Release, api: Api, plane: ControlPlane
) -> None:
    web = deployment("web", "app-config", revisionHistoryLimit=0)
    for greeting in ("one", "two"):
        apply_attached(api, partial(manifests.apply, chart(web, greeting=greeting)))
    both = chart(deployment("api", "other-config"), web, greeting="three")
    attacher = apply_attached(api, lambda: manifests.apply(both))
    assert "api-deployment-attach" in attacher["spec"]["containers"][0]["args"]
    wait_until_pruned(api, labels="app=web")
    pass_grace_time(plane, api, attacher)
    assert greetings(api) == ["other", "three"]


# Sweeping at the worst moment


def test_a_revert_at_the_moment_of_the_delete_keeps_the_revision(
    manifests: Release, api: Api, plane: ControlPlane, tmp_path: Path
) -> None:
    """The apply brings an annotation back, so the ConfigMap is no longer the one to delete."""
    runner = Runner(plane, api.namespace, tmp_path / "runs")
    web = pod_template("app-config")
    first, second = (
        manifests.render(manifests.template(chart(web, greeting=greeting))) for greeting in "12"
    )
    hold_attachers(api)
    for text in (first, second):
        manifests.kubectl("apply", "-f", "-", stdin=text)
        assert runner.run(arguments_of(parse(text))).code == 0
    assert age_marks(api)
    for job in api.names("Job"):  # a Job that is not finished would stop the sweep
        api.delete("Job", job)

    def revert() -> None:
        manifests.kubectl("apply", "-f", "-", stdin=first)

    with Proxy(plane, before("DELETE", 1, revert)) as proxy:
        run = runner.run(arguments_of(parse(second), on_failure="report"), proxy.url)
    assert run.code == 0, run.log
    assert {obj["data"]["greeting"] for obj in revisions(api)} == {"1", "2"}


def test_wrapped_base64_is_not_treated_as_an_edit(
    manifests: Release, api: Api, plane: ControlPlane
) -> None:
    """The API server drops the line breaks, but the hash in the name covers them."""

    def values(number: int) -> Json:
        text = base64.encodebytes(bytes(range(200)) + bytes([number])).decode()
        binary = {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": {"name": "binary"},
            "binaryData": {"icon": text},
        }
        return {"configMaps": {}, "workloads": [pod_template("binary")], "extra": [binary]}

    apply_attached(api, lambda: manifests.apply(values(1)))
    attacher = apply_attached(api, lambda: manifests.apply(values(2)))
    pass_grace_time(plane, api, attacher)
    assert len(revisions(api)) == 1


# A rejected write affects one revision, not the whole run. The workload is a PodTemplate: a
# Deployment's old ReplicaSet may outlast the attacher, which then leaves its revision alone.


def pod_template(*config_maps: str) -> Json:
    return {**deployment("web", *config_maps), "kind": "PodTemplate"}


@pytest.fixture
def refused(manifests: Release, api: Api, request: pytest.FixtureRequest) -> Iterator[str]:
    """Install one configuration, and make a policy reject every change of its revision."""
    apply_attached(api, lambda: manifests.apply(chart(pod_template("app-config"))))
    old = str(revision_with(api, greeting="one")["metadata"]["name"])
    condition = f"request.namespace == '{api.namespace}' && request.name == '{old}'"
    rule = {
        "apiGroups": [""],
        "apiVersions": ["v1"],
        "operations": ["UPDATE", "DELETE"],
        "resources": ["configmaps"],
    }
    check = {"expression": "false", "message": "no team", "reason": request.param}
    spec = {
        "matchConstraints": {"resourceRules": [rule]},
        "matchConditions": [{"name": "one", "expression": condition}],
        "validations": [check],
    }
    name = api.namespace
    api.create({"kind": POLICY, "metadata": {"name": name}, "spec": spec})
    binding = {"policyName": name, "validationActions": ["Deny"]}
    api.create({"kind": BINDING, "metadata": {"name": name}, "spec": binding})
    api.wait_for(lambda: is_refused(api, old), "the policy is in force")
    yield old
    api.delete(BINDING, name)
    api.delete(POLICY, name)


def is_refused(api: Api, name: str) -> bool:
    try:
        api.patch("ConfigMap", name, {"metadata": {"annotations": {"a": name}}})
    except ApiError as error:
        return "no team" in str(error)
    return False


@pytest.mark.parametrize("refused", ["Invalid", "Forbidden"], indirect=True)
def test_a_policy_that_rejects_one_change_does_not_stop_the_others(
    manifests: Release, api: Api, plane: ControlPlane, refused: str
) -> None:
    web = pod_template("app-config", "other-config")
    manifests.apply(chart(web, greeting="two"))
    ended = wait_for_attachers(api, count=2)
    for revision in (revision_with(api, greeting="two"), revision_with(api, greeting="other")):
        assert "PodTemplate/web" in owners(revision)
    logs = "".join(attachers.log(plane, pod) for pod in ended)
    assert "no team" in logs
    assert "Compare the permissions" not in logs
    assert any(
        refused in text and "no team" in text for text in events_on(api, "PodTemplate", "web")
    )


# Kubeconfigs with faulty login plugins

PLUGINS = {
    "fails": (["-c", "import sys; sys.exit('log in first')"], "log in first"),
    "prints no JSON": (["-c", "print('hello')"], "the login to the cluster failed"),
    "gives no token": (["-c", "print('{\"status\": {}}')"], "'token' is missing"),
}


@pytest.mark.parametrize("version", ["v1", "v1beta1"])
@pytest.mark.parametrize("what", PLUGINS)
def test_a_failed_login_is_reported(plane: ControlPlane, api: Api, what: str, version: str) -> None:
    arguments, expected = PLUGINS[what]
    done = adopt(plane, api, RENDERED, access=with_plugin(plane, api, version, arguments))
    assert done.returncode == 2
    assert expected in done.stderr
    assert len(done.stderr.splitlines()) == 1


@pytest.mark.parametrize("version", ["v1", "v1beta1"])
def test_a_login_by_a_plugin(plane: ControlPlane, api: Api, version: str, tmp_path: Path) -> None:
    credential = {
        "apiVersion": f"client.authentication.k8s.io/{version}",
        "kind": "ExecCredential",
        "status": {"token": plane.token},
    }
    file = tmp_path / "credential"
    file.write_text(json.dumps(credential))
    arguments = ["-c", f"print(open({str(file)!r}).read())"]
    done = adopt(plane, api, RENDERED, access=with_plugin(plane, api, version, arguments))
    assert done.returncode == 0, done.stderr


RENDERED = json.dumps(
    {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {
            "name": "app-7f89tk7g74",
            "labels": {"postrender/attach-group": "app-rollout-attach"},
            "annotations": {"postrender/base-name": "app"},
        },
    }
)


def with_plugin(plane: ControlPlane, api: Api, version: str, arguments: list[str]) -> str:
    """Return a kubeconfig whose user logs in by a plugin: Python with these arguments."""
    config = json.loads(kubeconfig(plane.url, "", plane.ca, api.namespace))
    plugin = {
        "apiVersion": f"client.authentication.k8s.io/{version}",
        "command": "python3",
        "args": arguments,
        "interactiveMode": "Never",
    }
    config["users"][0]["user"] = {"exec": plugin}
    return json.dumps(config)
