"""Releases with an inventory instead of the attacher Job, and `postrender collect`."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from postrender.kubernetes.hashing import hashed_content, revision_name
from postrender.kubernetes.kinds import CONFIG_MAP
from tests.e2e.accounts import account_kubeconfig, is_allowed
from tests.e2e.api import Api, Json
from tests.e2e.applications import Application
from tests.e2e.cluster import ControlPlane
from tests.e2e.commands import postrender
from tests.e2e.lifecycle_checks import NothingIsLost
from tests.e2e.manual_attach import AT_ONCE
from tests.e2e.programs import ROOT
from tests.e2e.queries import (
    UNUSED,
    age_marks,
    all_owners,
    referenced_config_maps,
    revision_with,
    revisions,
    wait_for_phase,
    wait_until_pruned,
)
from tests.e2e.releases import Done, Release, run
from tests.e2e.test_admission_policy import policy, refusal, token_client, wait_until_in_force
from tests.rings import helm_3_in_matrix

__all__ = ["policy"]
EXTERNAL: Json = {"attacher": {"mode": "external", "group": "app"}}
INVENTORY = "app-attach-inventory"
ACCOUNT = "postrender-collect"


class Collector:
    """Runs collect with the account that `postrender config collector` prints."""

    def __init__(self, plane: ControlPlane, api: Api, folder: Path, *more: str) -> None:
        self.plane, self.api = plane, api
        folder.mkdir(parents=True, exist_ok=True)
        command = [sys.executable, "-m", "postrender", "config", "collector"]
        options = [f"--namespace={api.namespace}", "--attacher-image=postrender:e2e", *more]
        printed = run([*command, *options], {"PYTHONPATH": str(ROOT)}, folder)
        manifests = Release("helm3", plane, api.namespace, folder / "kubectl")
        manifests.kubectl("apply", "-f", "-", stdin=printed.stdout)
        access = {"verb": "create", "resource": "events", "group": ""}
        api.wait_for(lambda: is_allowed(api, ACCOUNT, access), "the printed Role is in effect")
        self._access = account_kubeconfig(plane, api, ACCOUNT)

    def run(self, *options: str) -> str:
        """Return the report of a run, which must succeed."""
        done = self.start("--namespace", self.api.namespace, *options)
        assert done.returncode == 0, done.stderr
        return done.stdout

    def start(self, *options: str) -> Done:
        env = {"IS_IN_CLUSTER": "false"}
        return postrender(self.plane, self.api, self._access, ["collect", *options], env=env)


@pytest.fixture
def collector(plane: ControlPlane, api: Api, tmp_path: Path) -> Collector:
    return Collector(plane, api, tmp_path / "collector")


def greeting(text: str) -> Json:
    return {
        "configMaps": {"app-config": {"greeting": text}},
        "revisionHistoryLimit": 0,
        "steps": AT_ONCE,
    }


def release_to(release: Release, api: Api, text: str) -> None:
    release.upgrade(greeting(text))
    wait_for_phase(api, "Healthy")
    wait_until_pruned(api)


def mark_of(api: Api, **data: str) -> str | None:
    annotations: dict[str, str] = revision_with(api, **data)["metadata"]["annotations"]
    return annotations.get(UNUSED)


def is_noticed(revision: Json) -> bool:
    return "postrender/applied" in revision["metadata"]["annotations"]


def test_install_upgrade_revert_and_uninstall(
    release: Release, api: Api, collector: Collector
) -> None:
    release.config, release.validates = EXTERNAL, True
    release_to(release, api, "hello")
    assert not api.list("Role", labels="postrender/attach-group")
    assert "collect would add owners to ConfigMap/app-config-" in collector.run()
    assert not all_owners(revision_with(api, greeting="hello"))
    collector.run("--yes")
    [replica_set] = api.names("ReplicaSet")
    owners = [f"ConfigMap/{INVENTORY}", f"ReplicaSet/{replica_set}", "Rollout/app"]
    assert all_owners(revision_with(api, greeting="hello")) == owners

    with NothingIsLost(api):
        release_to(release, api, "bye")
        assert "collect marked the unused ConfigMap/app-config-" in collector.run("--yes")
        assert not is_noticed(revision_with(api, greeting="hello"))
        age_marks(api)
        # A revert: the apply changes the old revision, so a run that has read it cannot delete it.
        before = revision_with(api, greeting="hello")["metadata"]["resourceVersion"]
        release_to(release, api, "hello")
        old = revision_with(api, greeting="hello")
        assert is_noticed(old)
        assert old["metadata"]["resourceVersion"] != before
        collector.run("--yes")
        assert mark_of(api, greeting="hello") is None
        age_marks(api)
        assert "collect would delete ConfigMap/app-config-" in collector.run()
        collector.run("--yes")
        assert [item["data"] for item in revisions(api)] == [{"greeting": "hello"}]
        reasons = [event["reason"] for event in api.list("Event")]
        assert {"RevisionUnused", "RevisionDeleted"} <= set(reasons)

    release.uninstall()
    api.wait_for(lambda: not revisions(api), "Kubernetes deletes the revisions")
    assert INVENTORY not in api.names("ConfigMap")
    assert "collect keeps" not in collector.run()


@helm_3_in_matrix
def test_what_an_uninstall_without_collect_leaves(
    release: Release, api: Api, collector: Collector
) -> None:
    release.config = EXTERNAL
    release_to(release, api, "hello")
    release.uninstall()
    api.wait_for(lambda: not api.list("Pod"), "the pods are gone")
    assert "the attach group app-attach has no inventory, but --older-than" in collector.run()
    collector.run("--yes")
    assert mark_of(api, greeting="hello") is None
    collector.run("--yes", "--older-than=0s")
    age_marks(api)
    # A new release with the same content takes the revision back.
    options = ("--take-ownership",)
    release.install(greeting("hello"), *options)
    assert is_noticed(revision_with(api, greeting="hello"))
    collector.run("--yes", "--older-than=0s")
    assert revision_with(api, greeting="hello")
    release.uninstall()
    api.wait_for(lambda: not api.list("Pod"), "the pods are gone")
    collector.run("--yes", "--older-than=0s")
    age_marks(api)
    collector.run("--yes", "--older-than=0s")
    api.wait_for(lambda: not revisions(api), "collect has deleted the revision")


@helm_3_in_matrix
def test_the_change_from_a_job_to_an_inventory(
    release: Release, api: Api, collector: Collector
) -> None:
    release.config = {"attacher": {"image": "postrender:e2e", "mode": "job", "group": "app"}}
    release_to(release, api, "hello")
    api.wait_for(
        lambda: "Rollout/app" in all_owners(revision_with(api, greeting="hello")), "the Job ran"
    )
    release.config = EXTERNAL
    with NothingIsLost(api):
        release_to(release, api, "hello")
        assert not api.list("ServiceAccount", labels="postrender/attach-group")
        collector.run("--yes")
        owners = all_owners(revision_with(api, greeting="hello"))
        assert f"ConfigMap/{INVENTORY}" in owners
        release.config = {"attacher": {"image": "postrender:e2e", "mode": "job", "group": "app"}}
        release_to(release, api, "bye")
        api.wait_for(
            lambda: "Rollout/app" in all_owners(revision_with(api, greeting="bye")), "the Job ran"
        )


def test_a_collector_under_the_admission_policy(
    policy: Release, manifests: Release, api: Api, plane: ControlPlane, collector: Collector
) -> None:
    wait_until_in_force(policy, api, plane)
    manifests.config = EXTERNAL
    web: Json = {"name": "web", "kind": "Deployment", "envFrom": ["app-config"]}

    def apply(text: str) -> None:
        config_maps = {"app-config": {"greeting": text}}
        workloads = [{**web, "revisionHistoryLimit": 0}]
        manifests.apply({"configMaps": config_maps, "workloads": workloads})
        new = revision_with(api, greeting=text)["metadata"]["name"]
        api.wait_for(
            lambda: [referenced_config_maps(item) for item in api.list("ReplicaSet")] == [{new}],
            "only the new ReplicaSet exists",
        )
        wait_until_pruned(api)  # also the Pods of the old one are gone

    released = {"name": "other-bcdfghkmt2", "labels": {"postrender/collect": "true"}}
    content = hashed_content(CONFIG_MAP, {"data": {"a": "b"}}, True)
    released["name"] = revision_name("other", content)
    api.create({"kind": "ConfigMap", "metadata": released, "data": {"a": "b"}})
    apply("hello")
    collector.run("--yes")
    apply("bye")
    collector.run("--yes")
    age_marks(api)
    collector.run("--yes", "--older-than=0s")
    assert [item["data"] for item in revisions(api)] == [{"greeting": "bye"}]
    assert released["name"] not in api.names("ConfigMap")
    thief = token_client(api, plane, ACCOUNT)
    api.create({"kind": "ConfigMap", "metadata": {"name": "foreign"}})
    for name in ("foreign", INVENTORY, revision_with(api, greeting="bye")["metadata"]["name"]):
        assert "denied request" in refusal(lambda name=name: thief.delete("ConfigMap", name))  # type: ignore[misc]


def test_the_printed_role_does_not_allow_another_namespace(collector: Collector) -> None:
    done = collector.start("--all-namespaces", "--yes")
    assert done.returncode == 2
    assert "cannot list configmaps in all namespaces (HTTP status 403" in done.stderr


@pytest.mark.parametrize("release", ["helm4"], indirect=True)
def test_all_namespaces(plane: ControlPlane, release: Release, api: Api, tmp_path: Path) -> None:
    """A dry run with the ClusterRole, because other tests use other namespaces of the cluster."""
    collector = Collector(plane, api, tmp_path / "collector", "--all-namespaces")
    try:
        release.config = EXTERNAL
        release_to(release, api, "hello")
        done = collector.start("--all-namespaces")
        line = f"namespace {api.namespace}: collect would add owners to ConfigMap/app-config-"
        assert line in done.stdout, done.stderr
        assert not all_owners(revision_with(api, greeting="hello"))
    finally:
        for kind in ("clusterrole", "clusterrolebinding"):
            release.kubectl("delete", kind, ACCOUNT)


def test_argo_cd_syncs_and_deletes_an_application(
    application: Application, api: Api, collector: Collector
) -> None:
    application.repository.config = EXTERNAL
    at_once: Json = {"steps": AT_ONCE, "revisionHistoryLimit": 0}
    application.push("hello", **at_once)
    application.create()
    application.wait_until("Synced", "Healthy")
    collector.run("--yes")
    with NothingIsLost(api):
        application.release("bye", **at_once)
        wait_for_phase(api, "Healthy")
        wait_until_pruned(api)
        collector.run("--yes")
        assert not is_noticed(revision_with(api, greeting="hello"))
        application.wait_until("Synced", "Healthy")
        age_marks(api)
        application.wait_until_synced(application.revert())
        assert is_noticed(revision_with(api, greeting="hello"))
        wait_for_phase(api, "Healthy")
        collector.run("--yes")
        application.wait_until("Synced", "Healthy")
    assert f"ConfigMap/{INVENTORY}" in all_owners(revision_with(api, greeting="hello"))
    application.delete()
    api.wait_for(lambda: not revisions(api), "Kubernetes deletes the revisions")
