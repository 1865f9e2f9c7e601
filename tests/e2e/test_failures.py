"""Runs that cannot succeed: the log and an Event report the failure, and nothing is lost."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.e2e import attachers
from tests.e2e.accounts import is_allowed
from tests.e2e.api import PATIENCE, Api, Json
from tests.e2e.attach_processes import Run, Runner, arguments_of, create_all, events_on, parse
from tests.e2e.cluster import ControlPlane
from tests.e2e.namespaces import hurry_attachers
from tests.e2e.queries import (
    assert_nothing_is_missing,
    owners,
    revision_with,
    revisions,
    wait_for_attachers,
)
from tests.e2e.releases import Release

Render = Callable[..., list[Json]]

BYE = {"configMaps": {"app-config": {"greeting": "bye"}}}
DEPLOYMENT = {"name": "app", "kind": "Deployment", "volume": ["app-config"]}


@pytest.fixture
def render(manifests: Release) -> Render:
    """Return a function that renders the chart with values, as objects."""

    def rendered(values: dict[str, Any] | None = None) -> list[Json]:
        return parse(manifests.render(manifests.template({"replicas": 0} | (values or {}))))

    return rendered


@pytest.fixture
def runner(plane: ControlPlane, namespace: str, tmp_path: Path) -> Runner:
    return Runner(plane, namespace, tmp_path / "runs")


def fails(runner: Runner, objects: list[Json], *expected: str, code: int = 0) -> Run:
    """Run attach with a short timeout; check that the log has an error with each text."""
    run = runner.run(arguments_of(objects, timeout="3s"))
    assert run.code == code, run.log
    missing = [text for text in expected if not any(text in error for error in run.errors())]
    assert not missing, f"not logged: {missing}\n{run.log}"
    return run


def assert_reported_on(api: Api, run: Run, kind: str = "Rollout", name: str = "app") -> None:
    """Check that the errors of a run are Events about its workload, word for word."""
    assert run.errors(), run.log
    assert events_on(api, kind, name) == run.errors()


def limit(api: Api, **hard: int) -> None:
    """Limit the number of objects in a namespace (`_` represents `.`, `__` represents `/`)."""
    quotas = {key.replace("__", "/").replace("_", "."): str(value) for key, value in hard.items()}
    quota = {"kind": "ResourceQuota", "apiVersion": "v1", "metadata": {"name": "few"}}
    path = f"/api/v1/namespaces/{api.namespace}/resourcequotas"
    api.request("POST", path, quota | {"spec": {"hard": quotas}})
    api.wait_for(
        lambda: api.request("GET", f"{path}/few")["status"]["used"].keys() == quotas.keys(),
        "the quota is in force",
    )


def degraded(api: Api, error: str) -> None:
    """Wait until the Rollout's controller reports an error."""
    api.wait_for(lambda: error in json.dumps(api.get("Rollout", "app")["status"]), error)


# The cluster refuses


def test_an_invalid_rollout_is_reported_with_its_controllers_message(
    api: Api, runner: Runner, render: Render
) -> None:
    create_all(api, render())
    runner.run(arguments_of(render()))
    broken = render({**BYE, "steps": [{"setWeight": 150}]})
    create_all(api, broken)
    degraded(api, "InvalidSpec")
    run = fails(runner, broken, "InvalidSpec", "SetWeight needs to be between 0 and 100")
    assert_reported_on(api, run)
    # The owner that was set is kept.
    assert owners(revision_with(api, greeting="bye")) == ["Rollout/app"]
    assert_nothing_is_missing(api)


def test_an_invalid_rollout_that_is_fixed_in_time_is_attached(
    api: Api, runner: Runner, render: Render
) -> None:
    broken, fixed = render({"steps": [{"setWeight": 150}]}), render()
    create_all(api, broken)
    degraded(api, "InvalidSpec")
    run = runner.start(arguments_of(broken, timeout="60s")).until("waiting for")
    create_all(api, fixed)
    assert run.code == 0, run.log
    assert not run.errors()
    [replica_set] = api.names("ReplicaSet")
    owner_titles = owners(revision_with(api, greeting="hello"))
    assert owner_titles == [f"ReplicaSet/{replica_set}", "Rollout/app"]


def test_a_quota_of_replica_sets_is_reported(api: Api, runner: Runner, render: Render) -> None:
    create_all(api, render())
    runner.run(arguments_of(render()))
    limit(api, count__replicasets_apps=1)
    create_all(api, render(BYE))
    degraded(api, "ReplicaSetCreateError")
    run = fails(runner, render(BYE), "ReplicaSetCreateError", "exceeded quota")
    assert_reported_on(api, run)
    assert owners(revision_with(api, greeting="bye")) == ["Rollout/app"]
    assert len(owners(revision_with(api, greeting="hello"))) == 2
    assert_nothing_is_missing(api)


def test_a_quota_of_pods_does_not_matter(api: Api, runner: Runner, render: Render) -> None:
    limit(api, pods=0)
    objects = render({"replicas": 2})
    create_all(api, objects)
    degraded(api, "FailedCreate")
    run = runner.run(arguments_of(objects, timeout="3s", on_failure="fail"))
    assert run.code == 0, run.log
    assert len(owners(revision_with(api, greeting="hello"))) == 2


def test_a_paused_deployment_is_reported_at_once(api: Api, runner: Runner, render: Render) -> None:
    paused = render({"workloads": [DEPLOYMENT | {"spec": {"paused": True}}]})
    create_all(api, paused)
    run = runner.run(arguments_of(paused, timeout="300s", on_failure="fail"))
    assert run.code == 0, run.log
    assert run.seconds < 30 * PATIENCE
    assert run.errors("warning") == [
        "Deployment/app is paused, so Kubernetes does not create the new ReplicaSet. To create "
        "the ReplicaSet, resume Deployment/app."
    ]
    assert events_on(api, "Deployment", "app", "AttachPaused") == run.errors("warning")
    assert owners(revision_with(api, greeting="hello")) == ["Deployment/app"]


# Something is not there


def test_a_workload_that_never_appears_is_reported(
    api: Api, runner: Runner, render: Render
) -> None:
    objects = render()
    create_all(api, [obj for obj in objects if obj["kind"] != "Rollout"])
    run = fails(runner, objects, "Rollout/app does not exist")
    assert_reported_on(api, run)
    assert owners(revision_with(api, greeting="hello")) == []


def test_a_template_that_never_appears_is_reported(
    api: Api, runner: Runner, render: Render
) -> None:
    create_all(api, render())
    changed = render(BYE)
    create_all(api, [obj for obj in changed if obj["kind"] == "ConfigMap"])
    run = fails(runner, changed, "Rollout/app")
    assert_reported_on(api, run)
    # Both may be needed: `hello` by running Pods, `bye` by future ones.
    for greeting in ("hello", "bye"):
        assert "Rollout/app" in owners(revision_with(api, greeting=greeting))


def test_a_missing_config_map_is_reported(api: Api, runner: Runner, render: Render) -> None:
    two = {"app-config": {"greeting": "hello"}, "other": {"greeting": "you"}}
    workload = {"name": "app", "kind": "Rollout", "volume": ["app-config", "other"]}
    objects = render({"configMaps": two, "workloads": [workload]})
    create_all(api, objects)
    gone = revision_with(api, greeting="you")["metadata"]["name"]
    api.delete("ConfigMap", gone)
    message = f"ConfigMap/{gone} does not exist. Apply the manifests again"
    run = fails(runner, objects, message, code=1)
    assert_reported_on(api, run)
    assert len(owners(revision_with(api, greeting="hello"))) == 2


def test_kubectl_describe_shows_the_failure(
    api: Api, runner: Runner, render: Render, manifests: Release
) -> None:
    objects = render()
    create_all(api, objects)
    api.delete("ConfigMap", revision_with(api, greeting="hello")["metadata"]["name"])
    run = fails(runner, objects, "does not exist", code=1)
    described = manifests.kubectl("describe", "rollout", "app").stdout
    assert "AttachFailed" in described
    assert run.errors()[0] in described


# The exit code


@pytest.mark.parametrize(("required", "phase"), [(False, "Succeeded"), (True, "Failed")])
def test_the_rendered_job_fails_only_if_the_attacher_is_required(
    manifests: Release, api: Api, plane: ControlPlane, required: bool, phase: str
) -> None:
    hurry_attachers(api)
    manifests.config["attacher"]["required"] = required
    manifests.apply({"steps": [{"setWeight": 150}]})
    pod = wait_for_attachers(api, phase)[0]  # a failed Job starts another one after 10 s
    assert "InvalidSpec" in attachers.log(plane, pod)
    assert events_on(api, "Rollout", "app")
    [job] = api.names("Job")
    if not required:
        api.wait_for(lambda: api.get("Job", job)["status"]["succeeded"], "the Job is complete")


def test_a_terminated_run_reports_its_end(api: Api, runner: Runner, render: Render) -> None:
    objects = render()
    create_all(api, [obj for obj in objects if obj["kind"] != "Rollout"])
    run = runner.start(arguments_of(objects)).until("waiting for")
    run.process.terminate()
    assert run.code not in (0, -15)
    assert any("ended this run early" in error for error in run.errors()), run.log


# A permission is missing


def forbid(api: Api, kind: str, verb: str, name: str = "app-rollout-attach") -> None:
    """Remove one verb on one kind from the attacher's Role."""
    rules = api.get("Role", name)["rules"]
    for rule in rules:
        if kind in rule["resources"]:
            other_resources = [resource for resource in rule["resources"] if resource != kind]
            rules.append(
                rule | {"resources": other_resources} if other_resources else rule | {"verbs": []}
            )
            rule["resources"] = [kind]
            rule["verbs"] = [verb_in_rule for verb_in_rule in rule["verbs"] if verb_in_rule != verb]
            break
    kept = [rule for rule in rules if rule["verbs"]]
    api.patch("Role", name, {"rules": kept})
    access = {"verb": verb, "resource": kind, "group": "argoproj.io" if kind == "rollouts" else ""}
    api.wait_for(lambda: not is_allowed(api, name, access), "forbidden")


@pytest.mark.parametrize(
    ("kind", "verb"), [("rollouts", "list"), ("configmaps", "patch"), ("events", "create")]
)
def test_a_missing_permission_is_reported(
    api: Api, runner: Runner, render: Render, kind: str, verb: str
) -> None:
    objects = render()
    create_all(api, objects)
    forbid(api, kind, verb)
    if kind == "events":  # needed only to report something
        api.delete("ConfigMap", revision_with(api, greeting="hello")["metadata"]["name"])
        fails(runner, objects, "cannot create events", "403", code=1)
    else:
        text = f"cannot {verb} {kind}"
        run = fails(runner, objects, text, "403", "Compare the permissions")
        messages = [event["message"] for event in api.list("Event")]
        assert [text for text in messages if text in run.errors()] == run.errors()
        assert len(revisions(api)) == 1


@pytest.mark.parametrize("absent", [["Role"], ["RoleBinding"], ["Role", "RoleBinding"]])
def test_without_a_role_the_run_does_not_fail_the_release(
    api: Api, runner: Runner, render: Render, absent: Sequence[str]
) -> None:
    objects = render()
    create_all(api, [obj for obj in objects if obj["kind"] not in absent])
    fails(runner, objects, "403", "Compare the permissions")


def test_a_run_waits_for_a_late_role(api: Api, runner: Runner, render: Render) -> None:
    objects = render()
    create_all(api, [obj for obj in objects if obj["kind"] != "RoleBinding"])
    run = runner.start(arguments_of(objects))
    create_all(api, [obj for obj in objects if obj["kind"] == "RoleBinding"])
    assert run.code == 0, run.log
