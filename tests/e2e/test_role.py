"""The rendered Role: with it everything works, and without any of its permissions something fails.

The API server runs with OwnerReferencesPermissionEnforcement, as some clusters do.
"""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from tests.e2e import attachers
from tests.e2e.api import KINDS, Api, Json
from tests.e2e.cluster import ControlPlane
from tests.e2e.looks import UNUSED, owners, revisions, wait_for_attachers
from tests.e2e.namespaces import make_namespace
from tests.e2e.releases import Release
from tests.e2e.runs import Run, Runner, arguments_of, in_parallel, parse

SET = "app-cronjob-attach"
LONG_AGO = "2020-01-01T00:00:00Z"

# Every kind that has a pod template which can be rewritten.
IN_CHART = [
    "Rollout",
    "Deployment",
    "StatefulSet",
    "DaemonSet",
    "ReplicationController",
    "CronJob",
    "PodTemplate",
    "AnalysisTemplate",
    "Experiment",
    "RolloutOfDeployment",
]
POD = {
    "restartPolicy": "Never",
    "containers": [
        {
            "name": "app",
            "image": "app:1",
            "envFrom": [
                {"configMapRef": {"name": "app-config"}},
                {"secretRef": {"name": "app-secret"}},
            ],
        }
    ],
}
SECRET = {
    "apiVersion": "v1",
    "kind": "Secret",
    "metadata": {"name": "app-secret"},
    "type": "Opaque",
    "stringData": {"password": "x"},
}
REPLICA_SET = {
    "apiVersion": "apps/v1",
    "kind": "ReplicaSet",
    "metadata": {"name": "replicaset"},
    "spec": {
        "replicas": 1,
        "selector": {"matchLabels": {"app": "replicaset"}},
        "template": {
            "metadata": {"labels": {"app": "replicaset"}},
            "spec": POD | {"restartPolicy": "Always"},
        },
    },
}
ANALYSIS_RUN = {
    "apiVersion": "argoproj.io/v1alpha1",
    "kind": "AnalysisRun",
    "metadata": {"name": "analysisrun"},
    "spec": {
        "metrics": [
            {"name": "one", "provider": {"job": {"spec": {"template": {"spec": POD}}}}},
        ]
    },
}


def every_kind() -> dict[str, Any]:
    """Return values: a workload of every kind, each with a ConfigMap and a Secret."""
    volumes = [{"name": "secret", "secret": {"secretName": "app-secret"}}]
    workloads = [
        {
            "name": kind.lower(),
            "kind": kind,
            "replicas": 1,
            "envFrom": ["app-config"],
            "podSpec": {"volumes": volumes},
        }
        for kind in IN_CHART
    ]
    return {"workloads": workloads, "extra": [SECRET, REPLICA_SET, ANALYSIS_RUN]}


@pytest.mark.parametrize("mode", ["hook", "job"])
def test_the_rendered_role_is_enough_for_every_kind(
    manifests: Release, api: Api, plane: ControlPlane, mode: str
) -> None:
    manifests.config |= {"secrets": True}
    manifests.config["attacher"] |= {"mode": mode, "required": True}
    manifests.apply(every_kind())
    [pod] = wait_for_attachers(api)
    log = attachers.log(plane, pod)
    assert "error" not in log
    [config_map], [secret] = revisions(api), revisions(api, "Secret")
    wanted = {f"{kind}/{kind.lower()}" for kind in IN_CHART}
    wanted -= {"RolloutOfDeployment/rolloutofdeployment"}
    wanted |= {"ReplicaSet/replicaset", "AnalysisRun/analysisrun"}
    wanted |= {"Rollout/rolloutofdeployment", "Deployment/rolloutofdeployment"}
    for revision in (config_map, secret):
        assert wanted <= set(owners(revision)), api.dump()
    made = {owner.split("/")[0] for owner in owners(config_map)}
    assert {"ReplicaSet", "ControllerRevision"} <= made


# Each permission is needed


class Permission(NamedTuple):
    """One verb on one resource."""

    group: str
    resource: str
    verb: str

    def __str__(self) -> str:
        return f"{self.verb} {self.resource}"


def permissions(role: Json) -> list[Permission]:
    """Return what a Role allows, one by one."""
    return [
        Permission(group, resource, verb)
        for rule in role["rules"]
        for group in rule["apiGroups"]
        for resource in rule["resources"]
        for verb in rule["verbs"]
    ]


def without(role: Json, taken: Permission) -> Json:
    """Return a Role that allows all that another does, but for one thing."""
    rules = [
        {"apiGroups": [it.group], "resources": [it.resource], "verbs": [it.verb]}
        for it in permissions(role)
        if it != taken
    ]
    return copy.deepcopy(role) | {"rules": rules}


def due(objects: list[Json], before: list[Json], arguments: list[str]) -> list[Json]:
    """Return objects in which a run with these arguments has all there is to do.

    Own a ConfigMap and a Secret, delete one of each that is of the release before and long unused,
    and a finished Job.
    """
    unused = [copy.deepcopy(obj) for obj in before if obj["kind"] in ("ConfigMap", "Secret")]
    for one in unused:
        one["metadata"]["annotations"][UNUSED] = LONG_AGO
    [job] = [obj for obj in objects if obj["kind"] == "Job"]
    finished, running = copy.deepcopy(job), copy.deepcopy(job)
    finished["metadata"]["name"] += "-old"
    # No Job controller takes notice of them.
    for one in (finished, running):
        one["spec"]["template"]["spec"]["containers"][0]["args"] = arguments
        one["spec"]["managedBy"] = "example.com/test"
    return [
        *(obj for obj in objects if obj["kind"] != "Job"),
        *unused,
        finished,
        running,
    ]


def finish(api: Api, name: str) -> None:
    """Let a Job have ended."""
    now = "2026-01-01T00:00:00Z"
    kinds = ("SuccessCriteriaMet", "Complete")
    conditions = [{"type": kind, "status": "True", "lastTransitionTime": now} for kind in kinds]
    status = {"conditions": conditions, "startTime": now, "completionTime": now}
    path = f"{api.path('Job', name)}/status"
    api.request("PATCH", path, {"status": status}, "application/merge-patch+json")


class Needed:
    """Runs attach without a permission, in a namespace of its own, where there is much to do."""

    def __init__(
        self, plane: ControlPlane, objects: list[Json], before: list[Json], folder: Path
    ) -> None:
        self._plane, self._folder = plane, folder
        self._arguments = arguments_of(objects, timeout="2s")
        self._objects = due(objects, before, self._arguments)
        [self.role] = [obj for obj in objects if obj["kind"] == "Role"]

    def run(self, taken: Permission | None) -> tuple[Run, Api]:
        """Run attach with all permissions but one."""
        title = f"without {taken}" if taken else "with all"
        namespace = make_namespace(self._plane.api(), title)
        api = self._plane.api(namespace)
        for obj in self._objects:
            api.create(without(obj, taken) if taken and obj["kind"] == "Role" else obj)
        [old] = [name for name in api.names("Job") if name.endswith("-old")]
        finish(api, old)
        runner = Runner(self._plane, namespace, self._folder / namespace)
        return runner.run(self._arguments_for(taken)), api

    def _arguments_for(self, taken: Permission | None) -> list[str]:
        """Return arguments that make use of a permission."""
        if taken and (taken.verb == "watch" or taken.resource == "events"):
            # Nobody has applied it yet, and nobody will.
            kind = _kind(taken.resource) if taken.verb == "watch" else "CronJob"
            wanted = f"{kind}/absent@0123456789=configmap/absent"
            return ["attach", "--group", SET, "--workload", wanted, *self._arguments[-5:]]
        return self._arguments


def _kind(plural: str) -> str:
    return next(kind for kind, resource in KINDS.items() if resource.plural == plural)


@pytest.fixture
def needed(plane: ControlPlane, manifests: Release, tmp_path: Path) -> Needed:
    manifests.config |= {"secrets": True}
    manifests.config["attacher"]["mode"] = "job"
    volumes = [{"name": "secret", "secret": {"secretName": "app-secret"}}]
    workload = {
        "name": "app",
        "kind": "CronJob",
        "envFrom": ["app-config"],
        "podSpec": {"volumes": volumes},
    }

    def rendered(text: str) -> list[Json]:
        secret = SECRET | {"stringData": {"password": text}}
        values = {"configMaps": {"app-config": {"greeting": text}}, "extra": [secret]}
        values |= {"workloads": [workload]}
        return parse(manifests.render(manifests.template(values)))

    return Needed(plane, rendered("now"), rendered("before"), tmp_path / "runs")


def test_with_all_permissions_all_is_done(needed: Needed) -> None:
    run, api = needed.run(None)
    assert run.code == 0, run.log
    assert not run.errors()
    assert [owners(one) for one in (*revisions(api), *revisions(api, "Secret"))] == [
        ["CronJob/app"],
        ["CronJob/app"],
    ]
    assert len(api.names("Job")) == 1


def test_without_any_one_of_its_permissions_a_run_fails(needed: Needed) -> None:
    """Generated from the Role: a verb that is added without a use makes this fail."""
    wanted = permissions(needed.role)
    assert len(wanted) > 30
    runs = in_parallel(lambda one: (one, needed.run(one)[0]), wanted, workers=6)
    for taken, run in runs:
        said = " ".join(run.errors())
        is_named = f"cannot {taken}" in said or f"{taken.resource} may not be listed" in said
        # Where owner references may be changed only by who may delete the object.
        is_patch_refused = taken.verb == "delete" and f"cannot patch {taken.resource}" in said
        assert run.code == 1, f"nothing needs to {taken}\n{run.log}"
        assert is_named or is_patch_refused, f"{taken} is not named\n{run.log}"
