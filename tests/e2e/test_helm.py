"""Use of Helm 3 and Helm 4 through postrender; rollbacks are in test_rollback.py."""

from __future__ import annotations

import json
import re
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from postrender.kubernetes.hashing import HASH_SUFFIX, RENDER_ID_LENGTH
from tests.e2e.api import Api, Json
from tests.e2e.cluster import ControlPlane
from tests.e2e.kubelet import content
from tests.e2e.lifecycle_checks import NothingIsLost, wait_until_owned
from tests.e2e.manual_attach import AT_ONCE
from tests.e2e.namespaces import hold_attachers, release_attachers
from tests.e2e.plugins import link_plugin, new_machine, write_script
from tests.e2e.programs import ROOT, program
from tests.e2e.queries import (
    apply_attached,
    attachers,
    owners,
    revision_with,
    revisions,
    wait_for_attachers,
    wait_for_phase,
)
from tests.e2e.releases import Release
from tests.pages import commands_in
from tests.rings import helm_3_in_matrix, helm_4_in_matrix

helm_3 = pytest.mark.parametrize("release", ["helm3"], indirect=True)
helm_4 = pytest.mark.parametrize("release", ["helm4"], indirect=True)
# In Helm 4, `legacy` is the behaviour of Helm 3's `--wait`.
WAIT = {"helm3": "--wait", "helm4": "--wait=legacy"}
# Helm 4 replaces nothing with server-side apply.
FORCE = {"helm3": ("--force",), "helm4": ("--force-replace", "--server-side=false")}
# Long enough for everything that ends by itself.
PATIENT = ("--timeout", "120s")


def greeting(text: str, **values: object) -> Json:
    return {"configMaps": {"app-config": {"greeting": text}}, **values}


def status(release: Release) -> str:
    """Return the status of a release's last revision."""
    release_status = json.loads(release.helm("status", release.name, "--output", "json").stdout)
    return str(release_status["info"]["status"])


CHART = """\
mkdir -p chart/templates
cat > chart/Chart.yaml <<'END'
{apiVersion: v2, name: web, version: 1.0.0}
END
cat > chart/templates/web.yaml <<'END'
apiVersion: v1
kind: ConfigMap
metadata: {name: web-config}
data: {greeting: {{ .Values.greeting | default "hello" }}}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      containers: [{name: web, image: nginx, envFrom: [{configMapRef: {name: web-config}}]}]
END
"""


@pytest.mark.parametrize("tool", ["helm3", "helm4"])
def test_the_commands_of_the_page_release_a_chart(
    tool: str, plane: ControlPlane, api: Api, tmp_path: Path
) -> None:
    """Run the commands of docs/how-to/helm.md."""
    blocks = commands_in(ROOT / "docs" / "how-to" / "helm.md", "Release")
    commands = "".join(block.text for block in blocks).replace("prod", api.namespace)
    assert commands.count("helm upgrade") == 2
    machine = new_machine(tmp_path / "machine").with_postrender()
    link_plugin(machine.folder / "data")
    write_script(machine.folder / "bin" / "helm", f'exec {program(tool)} "$@"')
    write_script(machine.folder / "bin" / "kubectl", f'exec {program("kubernetes")} kubectl "$@"')
    shell = machine.with_variables(KUBECONFIG=str(plane.kubeconfig))
    done = shell.run(["sh", "-e", "-c", CHART + commands])
    assert done.returncode == 0, done.stderr
    old, *names = re.findall(rf"^(web-config{HASH_SUFFIX}) ", done.stdout, re.M)
    [new] = {*names} - {old}
    contents = [api.get("ConfigMap", name)["data"] for name in (old, new)]
    assert contents == [{"greeting": "hello"}, {"greeting": "bye"}]
    wait_until_owned(api)
    assert all("Deployment/web" in owners(api.get("ConfigMap", name)) for name in (old, new))


# A chart with all objects that Kubernetes or Helm runs once: a hook, a plain Job and a test.


def once(name: str, kind: str, hook: str) -> Json:
    """Return a hook that mounts the ConfigMap `once`, which the Rollout also references."""
    spec = {
        "restartPolicy": "Never",
        "containers": [{"name": "app", "image": "app:1"}],
        "volumes": [{"name": "once", "configMap": {"name": "once"}}],
    }
    template = {"metadata": {"labels": {"app": name}}, "spec": spec}
    return {
        "apiVersion": "v1" if kind == "Pod" else "batch/v1",
        "kind": kind,
        "metadata": {"name": name, "labels": {"app": name}, "annotations": {"helm.sh/hook": hook}},
        "spec": spec if kind == "Pod" else {"backoffLimit": 0, "template": template},
    }


def with_hooks(text: str) -> Json:
    return {
        "configMaps": {"app-config": {"greeting": text}, "once": {"greeting": text}},
        "workloads": [
            {"name": "app", "kind": "Rollout", "volume": ["app-config", "once"]},
            {"name": "report", "kind": "Job", "volume": ["app-config"]},
        ],
        "extra": [once("migrate", "Job", "pre-upgrade"), once("ask", "Pod", "test")],
        "steps": AT_ONCE,
    }


def read_by(api: Api, name: str) -> list[str]:
    """Return the greetings that the succeeded Pods of a name have read."""
    pods = api.list("Pod", labels=f"app={name}")
    assert {pod["status"]["phase"] for pod in pods} == {"Succeeded"}, api.dump()
    return [data["greeting"] for pod in pods for data in content(pod).values()]


def test_a_chart_with_hooks_a_job_and_a_test_is_upgraded_twice(release: Release, api: Api) -> None:
    """Each uses an original; on Helm 3 `--keep-original` keeps the one that the hooks need."""
    release.validates = True
    release.arguments = ["--keep-original"] if release.tool == "helm3" else []
    with NothingIsLost(api):
        apply_attached(api, lambda: release.install(with_hooks("one"), *PATIENT))
        for text, before in (("two", "one"), ("three", "two")):
            wait_for_phase(api, "Healthy")
            apply_attached(api, lambda: release.upgrade(with_hooks(text), *PATIENT))  # noqa: B023
            assert status(release) == "deployed"
            # The hook runs before the upgrade writes anything, as without postrender.
            assert read_by(api, "migrate") == [before]
            release.helm("test", release.name, *PATIENT)
            assert read_by(api, "ask") == [text]
        # A plain Job whose template stays the same is not run again.
        assert read_by(api, "report") == ["one"]
        wait_for_phase(api, "Healthy")
        wait_until_owned(api)


@helm_3
def test_a_hook_that_helm_3_does_not_pass_waits_for_a_deleted_original(
    release: Release, api: Api
) -> None:
    release.install(with_hooks("one"))
    done = release.upgrade(with_hooks("two"), "--timeout", "5s", check=False)
    assert "pre-upgrade hooks failed" in done.stderr

    def message() -> str:
        pod = api.list("Pod", labels="app=migrate")[0]
        return str(pod["status"]["containerStatuses"][0]["state"]["waiting"]["message"])

    assert api.wait_for(message, "the Pod waits") == 'configmap "once" not found'


# Waiting.


@helm_3_in_matrix
def test_a_release_that_waits_for_jobs_is_attached_at_its_end(release: Release, api: Api) -> None:
    options = (WAIT[release.tool], "--wait-for-jobs", *PATIENT)
    release.install({}, *options)
    release.upgrade(greeting("bye"), *options)
    assert status(release) == "deployed"
    assert {pod["status"]["phase"] for pod in attachers(api)} == {"Succeeded"}
    assert "Rollout/app" in owners(revision_with(api, greeting="bye"))


@helm_4
@pytest.mark.parametrize("strategy", ["hookOnly", "legacy"])
def test_helm_4_runs_the_attacher_while_a_canary_is_paused(
    release: Release, api: Api, strategy: str
) -> None:
    option = f"--wait={strategy}"
    release.install({}, option, *PATIENT)
    wait_for_phase(api, "Healthy")
    apply_attached(api, lambda: release.upgrade(greeting("bye"), option, *PATIENT))
    wait_for_phase(api, "Paused")
    assert status(release) == "deployed"
    wait_until_owned(api)


@helm_4
def test_helm_4_waits_in_vain_for_a_paused_canary(release: Release, api: Api) -> None:
    """Since Helm 4 this is the default of `--wait`.

    Nothing is lost: the attacher is an ordinary Job, and runs.
    """
    release.install()
    wait_for_phase(api, "Healthy")
    wait_for_attachers(api)
    with NothingIsLost(api):
        done = release.upgrade(greeting("bye"), "--wait=watcher", "--timeout", "10s", check=False)
        assert re.search(r"Rollout/\S+ not ready\. status: Unknown", done.stderr)
        assert status(release) == "failed"
        wait_until_owned(api)
        release.upgrade(greeting("bye"))
        assert status(release) == "deployed"


# The attacher's Pod does not start, as when Kubernetes cannot pull the image.

DEPLOYMENT: Json = {"workloads": [{"name": "app", "kind": "Deployment", "volume": ["app-config"]}]}
WAITS = {
    "helm3": ([], ["--wait"], ["--atomic"]),
    "helm4": ([], ["--wait=legacy"], ["--wait=watcher"], ["--rollback-on-failure"]),
}


@helm_4_in_matrix
def test_an_attacher_that_cannot_start_does_not_fail_a_release(release: Release, api: Api) -> None:
    hold_attachers(api)
    release.install(greeting("first", **DEPLOYMENT), *PATIENT)
    for number, options in enumerate(WAITS[release.tool]):
        values = greeting(f"text {number}", **DEPLOYMENT)
        release.upgrade(values, *options, *PATIENT)
        assert status(release) == "deployed"
    release_attachers(api)
    api.wait_for(
        lambda: "Deployment/app" in owners(revision_with(api, greeting=f"text {number}")),
        "the attacher of the last release runs",
    )


@helm_4
@pytest.mark.parametrize("option", ["--wait=hookOnly", "--wait=legacy", "--rollback-on-failure"])
def test_a_hook_that_cannot_start_fails_a_release_of_helm_4(
    release: Release, api: Api, option: str
) -> None:
    """This is why `auto` does not choose the form hook for Helm 4."""
    release.config["attacher"]["mode"] = "hook"
    apply_attached(api, lambda: release.install(greeting("one", **DEPLOYMENT)))
    hold_attachers(api)
    values = greeting("two", **DEPLOYMENT)
    done = release.upgrade(values, option, "--timeout", "15s", check=False)
    if option == "--wait=legacy":
        assert "post-upgrade hooks failed: timed out waiting for the condition" in done.stderr
    else:
        message = " not ready. status: InProgress, message: Job in progress"
        assert re.search(
            "post-upgrade hooks failed: resource Job/.*-attach-.*" + message, done.stderr
        )
    assert done.returncode == 1
    # Helm also waits for the hook of the rollback.
    is_rollback = option == "--rollback-on-failure"
    assert status(release) == ("pending-rollback" if is_rollback else "failed")


@helm_4
def test_helm_4_does_not_start_an_upgrade_while_a_hook_runs(release: Release, api: Api) -> None:
    """The sweep of a hook therefore never meets a later apply."""
    release.config["attacher"]["mode"] = "hook"
    release.install()
    hold_attachers(api)
    with ThreadPoolExecutor(1) as pool:
        upgrade = pool.submit(release.upgrade, greeting("bye"), *PATIENT)
        api.wait_for(lambda: status(release) == "pending-upgrade", "Helm waits for the hook")
        api.wait_for(lambda: len(attachers(api)) == 2, "the attacher is held")
        refused = release.upgrade(greeting("soon"), check=False)
        assert "another operation (install/upgrade/rollback) is in progress" in refused.stderr
        release_attachers(api)
        assert upgrade.result().returncode == 0
    assert status(release) == "deployed"


@helm_4
def test_helm_4_waits_for_a_deployment(release: Release, api: Api) -> None:
    values = {"workloads": [{"name": "app", "kind": "Deployment", "volume": ["app-config"]}]}
    options = ("--wait=watcher", "--wait-for-jobs", *PATIENT)
    release.install(values, *options)
    release.upgrade({**values, **greeting("bye")}, *options)
    assert status(release) == "deployed"
    assert "Deployment/app" in owners(revision_with(api, greeting="bye"))


@helm_3_in_matrix
def test_a_successful_atomic_upgrade(release: Release, api: Api) -> None:
    option = {"helm3": "--atomic", "helm4": "--rollback-on-failure"}[release.tool]
    options = (option, WAIT[release.tool], *PATIENT)
    release.install({}, *options)
    wait_for_phase(api, "Healthy")
    apply_attached(api, lambda: release.upgrade(greeting("bye"), *options))
    wait_for_phase(api, "Paused")
    assert status(release) == "deployed"
    wait_until_owned(api)


# Read-only commands.


@pytest.mark.parametrize("where", ["client", "server"])
def test_a_dry_run_shows_the_revisions_and_does_not_write(
    release: Release, api: Api, where: str
) -> None:
    done = release.install({}, f"--dry-run={where}")
    [name] = revision_names(done.stdout)
    assert api.names("ConfigMap") == ["kube-root-ca.crt"]
    release.install()
    assert [revision["metadata"]["name"] for revision in revisions(api)] == [name]
    done = release.upgrade(greeting("bye"), f"--dry-run={where}")
    assert revision_names(done.stdout) not in ([], [name])
    assert [revision["metadata"]["name"] for revision in revisions(api)] == [name]


def revision_names(output: str) -> list[str]:
    """Return the names of the revisions in a manifest, without duplicates."""
    return sorted(set(re.findall(rf"^  name: (app-config{HASH_SUFFIX})$", output, re.M)))


@helm_4
def test_both_helms_and_the_pipe_produce_the_same_names(
    release: Release, manifests: Release
) -> None:
    """Names and render IDs are equal; otherwise a change of the tool would roll everything."""
    helm_4 = identities(release.template_through())
    assert len(helm_4) == 2
    assert helm_4 == identities(manifests.template_through())
    assert helm_4 == identities(manifests.render(manifests.template()))


def identities(output: str) -> list[str]:
    ids = re.findall(rf"^ +postrender/render-id: \"?(\w{{{RENDER_ID_LENGTH}}})\"?$", output, re.M)
    return [*revision_names(output), *ids]


def test_a_release_moves_between_helm_3_and_helm_4(
    release: Release, api: Api, tmp_path: Path
) -> None:
    """Nothing rolls, and the attacher runs."""
    other = "helm4" if release.tool == "helm3" else "helm3"
    later = Release(other, release.plane, release.namespace, tmp_path / other)
    with NothingIsLost(api):
        apply_attached(api, release.install)
        before = wait_for_phase(api, "Healthy")
        apply_attached(api, later.upgrade)
        after = api.get("Rollout", "app")
        assert after["metadata"]["generation"] == before["metadata"]["generation"]
        apply_attached(api, lambda: later.upgrade(greeting("bye")))
        wait_until_owned(api)


@helm_3
def test_a_reinstall_within_the_hour_is_attached_by_the_next_release(
    release: Release, api: Api
) -> None:
    """Helm 3 runs the Job, which has a hook's annotations, as an object, and leaves it behind."""
    apply_attached(api, release.install)
    release.uninstall()
    api.wait_for(lambda: not revisions(api), "the revision is deleted")
    with NothingIsLost(api):
        release.install()
        wait_for_phase(api, "Healthy")
        [revision] = revisions(api)
        assert owners(revision) == []
        apply_attached(api, lambda: release.upgrade({"image": "app:2"}))
        wait_until_owned(api)


@helm_4
def test_objects_keep_their_source_files(release: Release, tmp_path: Path) -> None:
    """The files of the chart, and of the objects that postrender adds, are shown and written."""
    release.template_through({}, "--output-dir", str(tmp_path / "out"))
    files = {str(path.relative_to(tmp_path / "out")) for path in (tmp_path / "out").rglob("*.yaml")}
    assert files == {
        "postrender/attacher.yaml",
        "scenario/templates/configmaps.yaml",
        "scenario/templates/workloads.yaml",
    }
    shown = release.template_through({}, "--show-only", "templates/configmaps.yaml")
    assert len(revision_names(shown)) == 1
    assert set(re.findall(r"^kind: (\w+)$", shown, re.M)) == {"ConfigMap"}


# Force, and objects that another release has left.


def test_a_forced_upgrade_is_attached_again(release: Release, api: Api) -> None:
    """Replacing objects removes their owners; the attacher of the upgrade sets them again."""
    with NothingIsLost(api):
        apply_attached(api, release.install)
        wait_for_phase(api, "Healthy")
        apply_attached(api, lambda: release.upgrade({"image": "app:2"}, *FORCE[release.tool]))
        wait_until_owned(api)


def test_an_unchanged_release_can_be_forced(release: Release, api: Api) -> None:
    """The attacher is a plain Job, which does not run again while it is unchanged."""
    with NothingIsLost(api):
        apply_attached(api, release.install)
        wait_for_phase(api, "Healthy")
        [job] = api.names("Job")
        # Helm replaces what it has read, so nothing may write the Job in between.
        api.wait_for(lambda: api.get("Job", job)["status"].get("completionTime"), "the Job's end")
        release.upgrade({}, *FORCE[release.tool])
        api.delete("Job", job)
        api.wait_for(lambda: not attachers(api), "the Job and its Pod are deleted")
        apply_attached(api, lambda: release.upgrade({}, *FORCE[release.tool]))
        wait_until_owned(api)


@helm_3_in_matrix
def test_an_unchanged_plain_job_cannot_be_forced(release: Release, api: Api) -> None:
    release.arguments = ["--keep-original"]
    release.install(with_hooks("one"))
    wait_for_phase(api, "Healthy")
    done = release.upgrade(with_hooks("one"), *FORCE[release.tool], check=False)
    assert "field is immutable" in done.stderr


@helm_4
@pytest.mark.parametrize("is_server_side", ["true", "false"])
def test_helm_4_applies_on_the_server_or_on_the_client(
    release: Release, api: Api, is_server_side: str
) -> None:
    """The owners that the attacher has added do not conflict, and are kept."""
    option = f"--server-side={is_server_side}"
    apply_attached(api, lambda: release.install({}, option))
    wait_for_phase(api, "Healthy")
    before = owners(revisions(api)[0])
    release.upgrade({}, option)
    assert owners(revision_with(api, greeting="hello")) == before
    apply_attached(api, lambda: release.upgrade(greeting("bye"), option))
    wait_until_owned(api)


@helm_4_in_matrix
def test_a_release_takes_over_the_revisions_of_another(release: Release, api: Api) -> None:
    """The revisions of a release that was uninstalled before its attacher ran have no owner."""
    release.config["attacher"]["mode"] = "job"
    apply_attached(api, release.install)
    [revision] = revisions(api)
    name = revision["metadata"]["name"]
    api.patch("ConfigMap", name, {"metadata": {"ownerReferences": None}})
    release.uninstall()
    other = Release(release.tool, release.plane, release.namespace, release.folder / "o", "other")
    done = other.install({}, check=False)
    assert "cannot be imported into the current release" in done.stderr
    apply_attached(api, lambda: other.install({}, "--take-ownership"))
    wait_until_owned(api)
