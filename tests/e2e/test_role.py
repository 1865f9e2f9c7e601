"""The rendered Role: it is sufficient, and each of its permissions is necessary.

The API server runs with OwnerReferencesPermissionEnforcement, as some clusters do.
"""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from tests.e2e import attachers
from tests.e2e.api import KINDS, Api, Json
from tests.e2e.attach_processes import Run, Runner, arguments_of, in_parallel, parse
from tests.e2e.cluster import ControlPlane
from tests.e2e.namespaces import make_namespace
from tests.e2e.queries import (
    APPLIED,
    UNUSED,
    owners,
    revisions,
    wait_for_attachers,
)
from tests.e2e.releases import Release
from tests.rings import in_matrix

GROUP = "app-cronjob-attach"
LONG_AGO = "2020-01-01T00:00:00Z"

# Every kind that has a rewritable pod template.
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


def workloads_of_every_kind() -> dict[str, Any]:
    """Return values with a workload of every kind, each with a ConfigMap and a Secret."""
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
def test_the_rendered_role_is_sufficient_for_every_kind(
    manifests: Release, api: Api, plane: ControlPlane, mode: str
) -> None:
    manifests.validates = True
    manifests.config |= {"secrets": True, "keepOriginal": False}
    manifests.config["attacher"] |= {"mode": mode, "required": True}
    manifests.apply(workloads_of_every_kind())
    [pod] = wait_for_attachers(api)
    log = attachers.log(plane, pod)
    assert "error" not in log
    assert_every_kind_is_an_owner(api)


def assert_every_kind_is_an_owner(api: Api) -> None:
    """Check the owners of the revisions of workloads_of_every_kind()."""
    [config_map], [secret] = revisions(api), revisions(api, "Secret")
    expected = {f"{kind}/{kind.lower()}" for kind in IN_CHART}
    expected -= {"RolloutOfDeployment/rolloutofdeployment"}
    expected |= {"ReplicaSet/replicaset", "AnalysisRun/analysisrun"}
    expected |= {"Rollout/rolloutofdeployment", "Deployment/rolloutofdeployment"}
    for revision in (config_map, secret):
        assert expected <= set(owners(revision)), api.dump()
    owner_kinds = {owner.split("/")[0] for owner in owners(config_map)}
    assert {"ReplicaSet", "ControllerRevision"} <= owner_kinds


# Each permission is necessary


class Permission(NamedTuple):
    """One verb on one resource."""

    group: str
    resource: str
    verb: str

    def __str__(self) -> str:
        return f"{self.verb} {self.resource}"


def permissions(role: Json) -> list[Permission]:
    """Return the permissions of a Role."""
    return [
        Permission(group, resource, verb)
        for rule in role["rules"]
        for group in rule["apiGroups"]
        for resource in rule["resources"]
        for verb in rule["verbs"]
    ]


def without(role: Json, removed: Permission) -> Json:
    """Return a Role without one of its permissions."""
    rules = [
        {
            "apiGroups": [permission.group],
            "resources": [permission.resource],
            "verbs": [permission.verb],
        }
        for permission in permissions(role)
        if permission != removed
    ]
    return copy.deepcopy(role) | {"rules": rules}


def objects_with_work(objects: list[Json], before: list[Json], arguments: list[str]) -> list[Json]:
    """Return objects for which a run with these arguments has every kind of work to do.

    The run sets the owners of a ConfigMap and a Secret. It deletes a ConfigMap and a Secret of the
    previous release, unused for long, and a finished Job.
    """
    unused = [copy.deepcopy(obj) for obj in before if obj["kind"] in ("ConfigMap", "Secret")]
    for obj in unused:
        obj["metadata"]["annotations"][UNUSED] = LONG_AGO
        del obj["metadata"]["annotations"][APPLIED]
    [job] = [obj for obj in objects if obj["kind"] == "Job"]
    finished, running = copy.deepcopy(job), copy.deepcopy(job)
    finished["metadata"]["name"] += "-old"
    # The Job controller ignores these Jobs.
    for obj in (finished, running):
        obj["spec"]["template"]["spec"]["containers"][0]["args"] = arguments
        obj["spec"]["managedBy"] = "example.com/test"
    return [
        *(obj for obj in objects if obj["kind"] != "Job"),
        *unused,
        finished,
        running,
    ]


def finish(api: Api, name: str) -> None:
    """Set a Job's status to complete."""
    now = "2026-01-01T00:00:00Z"
    kinds = ("SuccessCriteriaMet", "Complete")
    conditions = [{"type": kind, "status": "True", "lastTransitionTime": now} for kind in kinds]
    status = {"conditions": conditions, "startTime": now, "completionTime": now}
    path = f"{api.path('Job', name)}/status"
    api.request("PATCH", path, {"status": status}, "application/merge-patch+json")


class Restricted:
    """Runs attach without a permission, in a new namespace with every kind of work to do."""

    def __init__(
        self, plane: ControlPlane, objects: list[Json], before: list[Json], folder: Path
    ) -> None:
        self._plane, self._folder = plane, folder
        self._arguments = arguments_of(objects, timeout="2s")
        self._objects = objects_with_work(objects, before, self._arguments)
        [self.role] = [obj for obj in objects if obj["kind"] == "Role"]

    def run(self, removed: Permission | None) -> tuple[Run, Api]:
        """Run attach without one permission, or with all of them."""
        title = f"without {removed}" if removed else "with all"
        namespace = make_namespace(self._plane.api(), title)
        api = self._plane.api(namespace)
        for obj in self._objects:
            api.create(without(obj, removed) if removed and obj["kind"] == "Role" else obj)
        [old] = [name for name in api.names("Job") if name.endswith("-old")]
        finish(api, old)
        runner = Runner(self._plane, namespace, self._folder / namespace)
        return runner.run(self._arguments_for(removed)), api

    def _arguments_for(self, removed: Permission | None) -> list[str]:
        """Return arguments that make the run use a permission."""
        if removed and (removed.verb == "watch" or removed.resource == "events"):
            # The workload was not applied, and never will be.
            kind = _kind(removed.resource) if removed.verb == "watch" else "CronJob"
            workload = f"{kind}/absent@0123456789=configmap/absent"
            return ["attach", "--group", GROUP, "--workload", workload, *self._arguments[-5:]]
        return self._arguments


def _kind(plural: str) -> str:
    return next(kind for kind, resource in KINDS.items() if resource.plural == plural)


@pytest.fixture
def restricted(plane: ControlPlane, manifests: Release, tmp_path: Path) -> Restricted:
    manifests.config |= {"secrets": True, "keepOriginal": False}
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

    return Restricted(plane, rendered("now"), rendered("before"), tmp_path / "runs")


def test_with_all_permissions_a_run_succeeds(restricted: Restricted) -> None:
    run, api = restricted.run(None)
    assert run.code == 0, run.log
    assert not run.errors()
    assert [owners(revision) for revision in (*revisions(api), *revisions(api, "Secret"))] == [
        ["CronJob/app"],
        ["CronJob/app"],
    ]
    assert len(api.names("Job")) == 1


@in_matrix
def test_without_one_of_its_permissions_a_run_reports_it(restricted: Restricted) -> None:
    """The cases are generated from the Role: a new verb without a use fails this test."""
    needed_permissions = permissions(restricted.role)
    assert len(needed_permissions) > 30
    runs = in_parallel(
        lambda permission: (permission, restricted.run(permission)[0]),
        needed_permissions,
        workers=6,
    )
    for removed, run in runs:
        errors = " ".join(run.errors())
        is_reported = f"cannot {removed}" in errors
        # Owner references may be changed only by users who may delete the object.
        is_patch_refused = removed.verb == "delete" and f"cannot patch {removed.resource}" in errors
        assert run.errors(), f"nothing needs to {removed}\n{run.log}"
        assert is_reported or is_patch_refused, f"{removed} is not reported\n{run.log}"
