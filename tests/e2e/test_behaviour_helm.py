"""The behaviour of both Helms with revisioned ConfigMaps, without postrender.

See tests/e2e/BEHAVIOUR.md.
"""

from __future__ import annotations

import json
import re
import secrets

import pytest

from tests.e2e.api import Api, Json
from tests.e2e.handmade import (
    KEEP,
    PAUSED,
    chart_of,
    config,
    config_maps,
    failing_job,
    job,
    list_of,
    reference,
    referenced_config_map,
    template,
    workload,
)
from tests.e2e.queries import contents, owners, referenced_config_maps, wait_for_phase
from tests.e2e.releases import Done, Release

# For commands that fail by the timeout. Successful commands may take longer.
SOON = ("--timeout", "2s")
ATOMIC = {"helm3": "--atomic", "helm4": "--rollback-on-failure"}
FORCE = {"helm3": ("--force",), "helm4": ("--force-replace", "--server-side=false")}
any_helm = pytest.mark.parametrize("release", ["helm3.21", "helm3", "helm4"], indirect=True)
helm_3 = pytest.mark.parametrize("release", ["helm3"], indirect=True)
# Helm 3.22 no longer refuses a rollback to a kept ConfigMap.
helm_3_21 = pytest.mark.parametrize("release", ["helm3.21"], indirect=True)
helm_4 = pytest.mark.parametrize("release", ["helm4"], indirect=True)


def fails(done: Done) -> str:
    """Return the stderr of a command that must have failed."""
    assert done.returncode, done.stdout
    return done.stderr


def install(helm: Release, *objects: Json, options: tuple[str, ...] = ()) -> None:
    helm.install(chart_of(*objects), *options)


def upgrade(helm: Release, *objects: Json, options: tuple[str, ...] = ()) -> Done:
    return helm.upgrade(chart_of(*objects), *options)


def try_upgrade(helm: Release, *objects: Json, options: tuple[str, ...] = ()) -> Done:
    return helm.upgrade(chart_of(*objects), *options, check=False)


def assert_not_found(name: str, stderr: str) -> None:
    """Check that Helm 3.21 or Helm 4.1, or an earlier Helm, did not find the live ConfigMap."""
    assert re.search(rf'ConfigMap with the name "{name}" (not )?found', stderr)


def status(helm: Release) -> str:
    """Return the status of the last revision of the release."""
    history = json.loads(helm.helm("history", helm.name, "--output", "json").stdout)
    return str(history[-1]["status"])


# Upgrade


def test_an_upgrade_deletes_objects_that_the_new_chart_lacks(helm: Release, api: Api) -> None:
    install(helm, config(1), workload("Rollout", 1))
    wait_for_phase(api, "Healthy")
    upgrade(helm, config(2), workload("Rollout", 2, strategy={"canary": {"steps": PAUSED}}))
    assert config_maps(api) == ["config-2"]
    assert {"config-1"} in [
        referenced_config_maps(replica_set) for replica_set in api.list("ReplicaSet")
    ]


def test_the_annotation_in_the_cluster_decides(helm: Release, api: Api) -> None:
    install(helm, config(1, keep=True), config(2), config(3, keep=True))
    annotate(api, 2, KEEP)
    annotate(api, 3, dict.fromkeys(KEEP))
    upgrade(helm, config(4))
    assert config_maps(api) == ["config-1", "config-2", "config-4"]


def annotate(api: Api, number: int, annotations: dict[str, str] | dict[str, None]) -> None:
    api.patch("ConfigMap", f"config-{number}", {"metadata": {"annotations": annotations}})


def test_an_upgrade_deletes_objects_before_the_wait(helm: Release, api: Api) -> None:
    install(helm, config(1), workload("Deployment", 1))
    api.wait_for(lambda: contents(api) == ["1"], "the Pod runs")
    new = [config(2), workload("Deployment", 404)]
    fails(try_upgrade(helm, *new, options=("--wait", *SOON)))
    assert config_maps(api) == ["config-2"]
    assert contents(api) == ["1"]


def test_a_rejected_upgrade_does_not_delete_objects(helm: Release, api: Api) -> None:
    install(helm, config(1))
    fails(try_upgrade(helm, config(2), invalid()))
    assert config_maps(api) == ["config-1", "config-2"]
    assert status(helm) == "failed"
    assert "config-2" in helm.manifest()


def invalid() -> Json:
    """Return a workload that the API server rejects: its selector does not match its Pods."""
    return workload("Deployment", 1, selector={"matchLabels": {"app": "other"}})


def test_keep_works_on_an_item_but_not_on_the_list(helm: Release, api: Api) -> None:
    install(helm, list_of(config(1, keep=True), config(2)), list_of(config(3), annotations=KEEP))
    upgrade(helm, config(4))
    assert config_maps(api) == ["config-1", "config-4"]


def test_an_upgrade_back_adopts_the_kept_config_map(helm: Release, api: Api) -> None:
    install(helm, config(1, keep=True))
    before = api.get("ConfigMap", "config-1")["metadata"]["uid"]
    owner = api.create({"kind": "Secret", "metadata": {"name": "owner"}})
    set_owners(api, "config-1", owner)
    upgrade(helm, config(2, keep=True))
    upgrade(helm, config(1, keep=True))
    after = api.get("ConfigMap", "config-1")
    assert after["metadata"]["uid"] == before
    assert owners(after) == ["Secret/owner"]
    assert "config-2" not in helm.manifest()
    assert config_maps(api) == ["config-1", "config-2"]


def set_owners(api: Api, name: str, owner: Json) -> Json:
    owner = {"apiVersion": "v1", "kind": "Secret", **owner}
    change = {"metadata": {"ownerReferences": [reference(owner)]}}
    return api.patch("ConfigMap", name, change)


def test_a_config_map_of_another_creator_is_not_adopted(helm: Release, api: Api) -> None:
    api.create(config(1))
    stderr = fails(helm.install(chart_of(config(1)), check=False))
    assert 'ConfigMap "config-1" in namespace' in stderr
    assert "exists and cannot be imported into the current release: invalid ownership" in stderr
    upgrade(helm, config(1), options=("--take-ownership",))


def test_an_immutable_config_map_with_other_content_is_rejected(helm: Release) -> None:
    install(helm, config(1, immutable=True))
    other = config(1, immutable=True, data={"greeting": "other"})
    assert "field is immutable when `immutable` is set" in fails(try_upgrade(helm, other))
    assert "field is immutable when `immutable` is set" in fails(
        try_upgrade(helm, other, options=FORCE[helm.tool])
    )


def test_an_upgrade_without_changes_does_not_write(helm: Release, api: Api) -> None:
    install(helm, config(1, keep=True))
    owner = api.create({"kind": "Secret", "metadata": {"name": "owner"}})
    before = set_owners(api, "config-1", owner)
    upgrade(helm, config(1, keep=True))
    assert api.get("ConfigMap", "config-1")["metadata"] == before["metadata"]


def test_force_drops_owners(helm: Release, api: Api) -> None:
    install(helm, config(1))
    before = set_owners(
        api, "config-1", api.create({"kind": "Secret", "metadata": {"name": "owner"}})
    )
    upgrade(helm, config(1), options=FORCE[helm.tool])
    after = api.get("ConfigMap", "config-1")
    assert owners(before) == ["Secret/owner"]
    assert owners(after) == []
    assert after["metadata"]["uid"] == before["metadata"]["uid"]


def test_a_release_outside_of_the_history_cannot_be_rolled_back_to(helm: Release, api: Api) -> None:
    install(helm, config(1, keep=True))
    for number in (2, 3):
        upgrade(helm, config(number, keep=True), options=("--history-max", "2"))
    stderr = fails(helm.rollback(1, check=False))
    assert "release has no 1 version" in stderr
    assert config_maps(api) == ["config-1", "config-2", "config-3"]


# Rollback


def test_a_rollback_re_creates_deleted_config_maps(helm: Release, api: Api) -> None:
    install(helm, config(1))
    upgrade(helm, config(2))
    helm.rollback(1)
    assert config_maps(api) == ["config-1"]


@any_helm
def test_a_rollback_to_a_kept_config_map(helm: Release, api: Api) -> None:
    keep_one_and_move_on(helm, api)
    done = helm.rollback(1, check=False)
    if helm.refuses_kept:
        assert_not_found("config-1", fails(done))
        assert referenced_config_map(api, "Rollout") == "config-2"
        assert status(helm) == "failed"
    else:
        assert done.returncode == 0
        warning = "resource exists on cluster but not in original release"
        assert (warning in done.stderr) == (helm.tool == "helm4")
        assert referenced_config_map(api, "Rollout") == "config-1"


def keep_one_and_move_on(helm: Release, api: Api, kind: str = "Rollout") -> None:
    install(helm, config(1, keep=True), workload(kind, 1))
    upgrade(helm, config(2, keep=True), workload(kind, 2))
    assert config_maps(api) == ["config-1", "config-2"]
    assert referenced_config_map(api, kind) == "config-2"


@helm_3_21
@pytest.mark.parametrize("kind", ["Rollout", "Deployment"])
def test_after_a_failed_rollback_helm_3_treats_a_rollout_as_rolled_back(
    helm: Release, api: Api, kind: str
) -> None:
    keep_one_and_move_on(helm, api, kind)
    fails(helm.rollback(1, check=False))
    helm.rollback(1)
    assert status(helm) == "deployed"
    left = "config-2" if kind == "Rollout" else "config-1"
    assert referenced_config_map(api, kind) == left
    upgrade(helm, config(1, keep=True), workload(kind, 1))
    assert status(helm) == "deployed"
    assert referenced_config_map(api, kind) == left
    upgrade(helm, config(1, keep=True), workload(kind, 1), options=("--force",))
    assert referenced_config_map(api, kind) == "config-1"


@helm_4
def test_after_a_failed_rollback_helm_4_rolls_back_the_second_time(helm: Release, api: Api) -> None:
    if not helm.refuses_kept:
        pytest.skip("the first rollback works since Helm 4.2")
    keep_one_and_move_on(helm, api)
    fails(helm.rollback(1, check=False))
    assert referenced_config_map(api, "Rollout") == "config-2"
    helm.rollback(1)
    assert status(helm) == "deployed"
    assert referenced_config_map(api, "Rollout") == "config-1"


@helm_3_21
def test_after_a_failed_rollback_an_upgrade_to_the_live_values_and_back_works(
    helm: Release, api: Api
) -> None:
    keep_one_and_move_on(helm, api)
    fails(helm.rollback(1, check=False))
    upgrade(helm, config(2, keep=True), workload("Rollout", 2))
    upgrade(helm, config(1, keep=True), workload("Rollout", 1))
    assert referenced_config_map(api, "Rollout") == "config-1"


def test_an_upgrade_to_the_old_content_works_unlike_a_rollback(helm: Release, api: Api) -> None:
    keep_one_and_move_on(helm, api)
    upgrade(helm, config(1, keep=True), workload("Rollout", 1))
    assert referenced_config_map(api, "Rollout") == "config-1"


@any_helm
def test_a_rollback_to_a_config_map_of_the_current_manifest(helm: Release, api: Api) -> None:
    """Roll forward again afterwards, to a ConfigMap that the current manifest lacks."""
    install(helm, config(1, keep=True), workload("Rollout", 1))
    both = [config(1, keep=True), config(2, keep=True), workload("Rollout", 2)]
    upgrade(helm, *both)
    helm.rollback(1)
    assert referenced_config_map(api, "Rollout") == "config-1"
    done = helm.rollback(2, check=False)
    if helm.refuses_kept:
        assert_not_found("config-2", fails(done))
    else:
        assert done.returncode == 0


def test_an_upgrade_forward_after_a_rollback(helm: Release, api: Api) -> None:
    install(helm, config(1, keep=True), workload("Rollout", 1))
    both = [config(1, keep=True), config(2, keep=True), workload("Rollout", 2)]
    upgrade(helm, *both)
    helm.rollback(1)
    upgrade(helm, *both)
    assert referenced_config_map(api, "Rollout") == "config-2"


# Atomic


def failing(number: int) -> list[Json]:
    """Return a release whose check after the upgrade fails."""
    return [config(number, keep=True), workload("Deployment", number), check("post-upgrade")]


def check(hook: str) -> Json:
    """Return a hook that the API server rejects, so that a test need not wait for its failure."""
    hook_job = job(1, "check", hook)
    hook_job["spec"]["template"]["spec"]["restartPolicy"] = "Always"
    return hook_job


@any_helm
def test_a_failed_atomic_upgrade_from_a_kept_config_map(helm: Release, api: Api) -> None:
    install(helm, config(1, keep=True), workload("Deployment", 1))
    stderr = fails(try_upgrade(helm, *failing(2), options=(ATOMIC[helm.tool],)))
    if helm.refuses_kept:
        assert_not_found("config-1", stderr)
        assert referenced_config_map(api, "Deployment") == "config-2"
        assert status(helm) == "failed"
    else:
        assert referenced_config_map(api, "Deployment") == "config-1"
        assert status(helm) == "deployed"
    assert config_maps(api) == ["config-1", "config-2"]


@helm_3_21
def test_after_a_failed_atomic_upgrade_helm_3_treats_a_rollout_as_rolled_back(
    helm: Release, api: Api
) -> None:
    install(helm, config(1, keep=True), workload("Rollout", 1))
    new = [config(2, keep=True), workload("Rollout", 2), check("post-upgrade")]
    assert_not_found("config-1", fails(try_upgrade(helm, *new, options=("--atomic",))))
    helm.rollback(1)
    assert status(helm) == "deployed"
    assert referenced_config_map(api, "Rollout") == "config-2"


def test_a_failed_atomic_upgrade_from_a_retained_config_map(helm: Release, api: Api) -> None:
    install(helm, config(1, keep=True), workload("Deployment", 1))
    retained = [config(1, keep=True), *failing(2)]
    fails(try_upgrade(helm, *retained, options=(ATOMIC[helm.tool],)))
    assert referenced_config_map(api, "Deployment") == "config-1"
    assert status(helm) == "deployed"


def test_a_failed_atomic_upgrade_from_a_deleted_config_map(helm: Release, api: Api) -> None:
    install(helm, config(1), workload("Deployment", 1))
    uid = api.get("ConfigMap", "config-1")["metadata"]["uid"]
    new = [config(2), workload("Deployment", 2), check("post-upgrade")]
    fails(try_upgrade(helm, *new, options=(ATOMIC[helm.tool],)))
    assert referenced_config_map(api, "Deployment") == "config-1"
    assert config_maps(api) == ["config-1"]
    assert api.get("ConfigMap", "config-1")["metadata"]["uid"] != uid


# Waiting


def paused(number: int) -> list[Json]:
    return [config(number), workload("Rollout", number, strategy={"canary": {"steps": PAUSED}})]


def test_wait_and_a_paused_rollout(helm: Release, api: Api) -> None:
    install(helm, *paused(1))
    wait_for_phase(api, "Healthy")
    hook = job(2, "after", "post-upgrade")
    if helm.tool == "helm3":
        upgrade(helm, *paused(2), hook, options=("--wait",))
        assert api.find("Job", "after")
    else:
        stderr = fails(try_upgrade(helm, *paused(2), hook, options=("--wait", *SOON)))
        assert f"resource Rollout/{helm.namespace}/app not ready. status: Unknown" in stderr
        assert not api.find("Job", "after")


@helm_4
def test_wait_never_treats_a_rollout_as_ready(helm: Release, api: Api) -> None:
    install(helm, config(1), workload("Rollout", 1))
    wait_for_phase(api, "Healthy")
    same = [config(1), workload("Rollout", 1)]
    assert "not ready. status: Unknown" in fails(
        try_upgrade(helm, *same, options=("--wait", *SOON))
    )


@helm_4
@pytest.mark.parametrize("wait", ["legacy", "hookOnly"])
def test_other_wait_strategies_ignore_a_rollout(helm: Release, api: Api, wait: str) -> None:
    install(helm, *paused(1))
    wait_for_phase(api, "Healthy")
    hook = job(2, "after", "post-upgrade")
    upgrade(helm, *paused(2), hook, options=(f"--wait={wait}",))
    assert api.find("Job", "after")
    wait_for_phase(api, "Paused")


@helm_4
@pytest.mark.parametrize("wait", ["--wait", "--wait=hookOnly", "--wait=legacy"])
def test_rollback_on_failure_waits_for_a_rollout_too(helm: Release, api: Api, wait: str) -> None:
    install(helm, *paused(1))
    wait_for_phase(api, "Healthy")
    options = ("--rollback-on-failure", wait)
    if wait == "--wait=legacy":
        upgrade(helm, *paused(2), options=options)
    else:
        stderr = fails(try_upgrade(helm, *paused(2), options=(*options, *SOON)))
        assert "an error occurred while rolling back the release" in stderr
        assert "status: Unknown" in stderr
        assert status(helm) == "failed"
        assert referenced_config_map(api, "Rollout") == "config-1"
        assert config_maps(api) == ["config-1"]


def test_a_failing_job_does_not_fail_the_release(helm: Release, api: Api) -> None:
    """The release fails only with `--wait`. The same upgrade does not run the Job again."""
    install(helm, failing_job())
    api.wait_for(lambda: "Failed" in str(api.get("Job", "fails")["status"]), "the Job has failed")
    uid = api.get("Job", "fails")["metadata"]["uid"]
    upgrade(helm, failing_job())
    assert status(helm) == "deployed"
    assert api.get("Job", "fails")["metadata"]["uid"] == uid
    waited = try_upgrade(helm, failing_job(), options=("--wait",))
    if helm.tool == "helm3":
        assert waited.returncode == 0
    else:
        assert "status: Failed" in fails(waited)
    fails(try_upgrade(helm, failing_job(), options=("--wait", "--wait-for-jobs", *SOON)))


def test_the_template_of_a_job_cannot_change(helm: Release, api: Api) -> None:
    install(helm, config(1), job(1))
    stderr = fails(try_upgrade(helm, config(2), job(2)))
    assert "field is immutable" in stderr
    upgrade(helm, config(2), job(2, "once-more"))
    assert api.names("Job") == ["once-more"]


@helm_4
def test_force_replace_alone_is_rejected(helm: Release) -> None:
    install(helm, config(1))
    stderr = fails(try_upgrade(helm, config(2), options=("--force-replace",)))
    assert "cannot use server-side apply and force replace together" in stderr


def test_force_with_an_unchanged_job_fails(helm: Release) -> None:
    install(helm, job(1))
    assert "field is immutable" in fails(try_upgrade(helm, job(1), options=FORCE[helm.tool]))


# Hooks


def test_a_hook_before_the_upgrade_does_not_find_the_new_config_map(
    helm: Release, api: Api
) -> None:
    install(helm, config(1), workload("Deployment", 1))
    early = job(2, "before", "pre-upgrade", activeDeadlineSeconds=1)
    stderr = fails(try_upgrade(helm, config(2), workload("Deployment", 2), early))
    assert "pre-upgrade hooks failed" in stderr
    assert config_maps(api) == ["config-1"]
    assert referenced_config_map(api, "Deployment") == "config-1"


def test_a_hook_after_the_upgrade_runs_each_time_and_outlives_the_release(
    helm: Release, api: Api
) -> None:
    install(helm, config(1), job(1, "after", "post-install,post-upgrade"))
    uid = api.get("Job", "after")["metadata"]["uid"]
    upgrade(helm, config(1), job(1, "after", "post-install,post-upgrade"))
    assert api.get("Job", "after")["metadata"]["uid"] != uid
    helm.uninstall()
    assert api.names("Job") == ["after"]
    assert config_maps(api) == []


def test_a_failing_hook_fails_the_release(helm: Release, api: Api) -> None:
    install(helm, config(1))
    fails(try_upgrade(helm, config(2), failing_job("after", "post-upgrade")))
    assert status(helm) == "failed"
    assert config_maps(api) == ["config-2"]


def test_a_config_map_that_is_a_hook_is_not_part_of_the_release(helm: Release, api: Api) -> None:
    hook = config(1)
    hook["metadata"]["annotations"] = {"helm.sh/hook": "pre-install,pre-upgrade"}
    install(helm, hook)
    assert "config-1" not in helm.manifest()
    upgrade(helm, config(2))
    helm.uninstall()
    assert config_maps(api) == ["config-1"]


# Uninstall


def test_an_uninstall_leaves_kept_config_maps(helm: Release, api: Api) -> None:
    install(helm, config(1, keep=True), config(2))
    assert "[ConfigMap] config-1" in helm.uninstall().stdout
    assert config_maps(api) == ["config-1"]


def test_a_kept_config_map_is_still_deleted_with_its_owner(helm: Release, api: Api) -> None:
    install(helm, config(1, keep=True), workload("Rollout", 1))
    change = {"metadata": {"ownerReferences": [reference(api.get("Rollout", "app"))]}}
    api.patch("ConfigMap", "config-1", change)
    helm.uninstall()
    api.wait_for(lambda: config_maps(api) == [], "the ConfigMap is deleted with the Rollout")


def test_keep_in_a_list_and_an_uninstall(helm: Release, api: Api) -> None:
    install(helm, list_of(config(1, keep=True), config(2)), list_of(config(3), annotations=KEEP))
    helm.uninstall()
    assert config_maps(api) == ["config-3"]


def test_a_new_install_adopts_the_config_maps_of_its_namesake(helm: Release) -> None:
    install(helm, config(1, keep=True))
    helm.uninstall()
    install(helm, config(1, keep=True))
    helm.uninstall()
    other = Release(helm.tool, helm.plane, helm.namespace, helm.folder / "other", "other")
    other.postrender = False
    stderr = fails(other.install(chart_of(config(1, keep=True)), check=False))
    assert "cannot be imported into the current release" in stderr


# Changes by others


EDITED: dict[str, Json] = {
    "configmap/config-1": {"data": {"greeting": "edited"}},
    "deployment/app": {"spec": {"template": template(404)}},
    "rollout/app": {"spec": {"template": template(404)}},
}


def edit(helm: Release, *names: str) -> None:
    """Edit the objects as `kubectl edit` does, which makes kubectl the manager of those fields."""
    for name in names:
        helm.kubectl("patch", name, "--type", "merge", "--patch", json.dumps(EDITED[name]))


def test_a_foreign_edit_of_a_field_that_the_chart_did_not_change(helm: Release, api: Api) -> None:
    objects = [config(1), workload("Deployment", 1), workload("Rollout", 1)]
    install(helm, *objects)
    edit(helm, *EDITED)
    done = try_upgrade(helm, *objects)
    if helm.tool == "helm4":
        assert 'conflict with "kubectl-patch"' in fails(done)
        assert state(api) == ["edited", "config-404", "config-404"]
        upgrade(helm, *objects, options=("--force-conflicts",))
        assert state(api) == ["1", "config-1", "config-1"]
    else:
        assert done.returncode == 0
        assert state(api) == ["1", "config-1", "config-404"]


def state(api: Api) -> list[str]:
    """Return the live content, and the references of the Deployment and the Rollout."""
    content = [api.get("ConfigMap", "config-1")["data"]["greeting"]]
    return [
        *content,
        referenced_config_map(api, "Deployment"),
        referenced_config_map(api, "Rollout"),
    ]


def test_foreign_additions_are_kept(helm: Release, api: Api) -> None:
    install(helm, config(1, keep=True))
    owner = api.create({"kind": "Secret", "metadata": {"name": "owner"}})
    set_owners(api, "config-1", owner)
    annotate(api, 1, {"foreign": "annotation"})
    # Setting the same value as Helm is not a conflict.
    annotate(api, 1, KEEP)
    upgrade(helm, config(1, keep=True, data={"greeting": "other"}))
    live = api.get("ConfigMap", "config-1")
    assert live["data"] == {"greeting": "other"}
    assert owners(live) == ["Secret/owner"]
    assert live["metadata"]["annotations"]["foreign"] == "annotation"


def test_a_conflict_does_not_undo_the_rest_of_the_upgrade(helm: Release, api: Api) -> None:
    install(helm, config(1), workload("Deployment", 1))
    edit(helm, "deployment/app")
    new = [config(1, data={"greeting": "2"}), workload("Deployment", 2)]
    done = try_upgrade(helm, *new)
    assert api.get("ConfigMap", "config-1")["data"] == {"greeting": "2"}
    if helm.tool == "helm4":
        assert 'conflict with "kubectl-patch"' in fails(done)
        assert referenced_config_map(api, "Deployment") == "config-404"
    else:
        assert referenced_config_map(api, "Deployment") == "config-2"


@helm_3
def test_helm_4_upgrades_a_release_of_helm_3_as_helm_3_would(helm: Release, api: Api) -> None:
    install(helm, config(1))
    edit(helm, "configmap/config-1")
    newer = Release("helm4", helm.plane, helm.namespace, helm.folder / "newer")
    newer.postrender = False
    upgrade(newer, config(1))
    assert api.get("ConfigMap", "config-1")["data"] == {"greeting": "1"}


# Records


@helm_3
def test_helm_4_rolls_back_a_release_of_helm_3_and_removes_owners(helm: Release, api: Api) -> None:
    """Helm 4 continues with client-side apply, and compares the live object with the manifest."""
    keep_one_and_move_on(helm, api)
    owner = api.create({"kind": "Secret", "metadata": {"name": "owner"}})
    set_owners(api, "config-1", owner)
    newer = Release("helm4", helm.plane, helm.namespace, helm.folder / "newer")
    newer.postrender = False
    newer.rollback(1)
    assert referenced_config_map(api, "Rollout") == "config-1"
    assert owners(api.get("ConfigMap", "config-1")) == []


def test_the_records_of_a_release(helm: Release) -> None:
    install(helm, config(1))
    fails(try_upgrade(helm, config(2), invalid()))
    assert "config-2" in helm.manifest()
    assert "config-1" in helm.helm("get", "manifest", "app", "--revision", "1").stdout
    missing = helm.helm("history", "other", check=False)
    assert missing.returncode == 1
    assert missing.stderr.endswith("Error: release: not found\n")
    other = {"helm3": "helm4", "helm4": "helm3"}[helm.tool]
    reader = Release(other, helm.plane, helm.namespace, helm.folder / "reader")
    assert reader.manifest() == helm.manifest()


def test_the_record_of_a_release_is_limited(helm: Release, api: Api) -> None:
    large = [config(number, data={"a": secrets.token_hex(200_000)}) for number in (1, 2)]
    install(helm, large[0])
    assert "Too long" in fails(try_upgrade(helm, *large))
    assert config_maps(api) == ["config-1"]
