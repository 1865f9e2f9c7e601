"""`postrender status` on a real control plane: what it shows, and what the next run then does."""

from __future__ import annotations

import json
import os
import re
import shutil
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML

from tests.e2e.accounts import account_kubeconfig, create_account
from tests.e2e.api import Api, Json
from tests.e2e.cluster import ControlPlane
from tests.e2e.commands import attach_again, postrender, restart_pods
from tests.e2e.programs import ROOT, program
from tests.e2e.queries import (
    UNUSED,
    age_marks,
    all_owners,
    apply_attached,
    contents,
    revision_with,
    revisions,
    wait_for_collector,
    wait_for_phase,
)
from tests.e2e.recipes import Recipe
from tests.e2e.releases import Done, Release, run
from tests.e2e.rollouts import promote, replica_sets
from tests.pages import SHELL, blocks_of

ROLLOUT = "rollout/app"
PAGE = ROOT / "docs" / "how-to" / "operate.md"
[ROLE] = [block.text for block in blocks_of(PAGE) if "kind: Role" in block.text]
# The permissions on the page.
READER: list[Json] = YAML(typ="safe").load(ROLE)["rules"]


def values(greeting: str, kind: str = "Rollout", **more: Any) -> dict[str, Any]:
    return {
        "configMaps": {"app-config": {"greeting": greeting}},
        "workloads": [{"name": "app", "kind": kind, "volume": ["app-config"], **more}],
    }


class Terminal:
    """Runs `postrender status` in the namespace of a test."""

    def __init__(self, plane: ControlPlane, api: Api, access: str = "") -> None:
        self.plane, self.api = plane, api
        self.access = access or plane.kubeconfig.read_text()

    def text(self, *arguments: str, code: int = 0) -> str:
        """Return the report, in which rows of spaces are one space."""
        done = self.run(*arguments)
        assert done.returncode == code, done.stdout + done.stderr
        return "\n".join(" ".join(line.split()) for line in done.stdout.splitlines())

    def run(self, *arguments: str, stdin: str = "") -> Any:
        words = ["status", "--namespace", self.api.namespace, *arguments]
        return postrender(self.plane, self.api, self.access, words, stdin=stdin)

    def document(self, *arguments: str) -> Json:
        found: Json = json.loads(self.run("-o", "json", *arguments).stdout)
        return found


def snapshot(api: Api) -> dict[str, tuple[bool, set[str]]]:
    """Return whether each revision has a mark, and its owners."""
    return {
        obj["metadata"]["name"]: (
            UNUSED in obj["metadata"].get("annotations", {}),
            set(all_owners(obj)),
        )
        for obj in revisions(api)
    }


def assert_the_next_run_does_it(plane: ControlPlane, api: Api, attacher: Json) -> Json:
    """Run the attacher again, and compare each change with what status had said before."""
    wait_for_collector(api)
    document = Terminal(plane, api).document()
    said = {item["name"]: item["nextRun"] for item in document["revisions"]}
    before = snapshot(api)
    done = attach_again(plane, attacher)
    assert done.code == 0, done.text
    after = snapshot(api)
    assert {name for name in before if name not in after} == {
        name for name, run in said.items() if run["deletes"]
    }
    for name, (is_marked, owners) in after.items():
        is_expected = before[name][0] or said[name]["marks"]
        assert is_marked == (is_expected and not said[name]["removesMark"]), name
        assert owners - before[name][1] == set(said[name]["addsOwners"]), name
        assert before[name][1] - owners == set(said[name]["removesOwners"]), name
        if said[name]["keepReason"]:
            assert f"ConfigMap/{name}" in done.text
    return document


@pytest.fixture
def release(plane: ControlPlane, namespace: str, tmp_path: Path) -> Release:
    """Return a release whose attach group has its name, as with the Helm plugin."""
    made = Release("helm4", plane, namespace, tmp_path / "release")
    made.arguments = ["--group", "app"]
    return made


def test_before_during_and_after_a_canary(release: Release, plane: ControlPlane, api: Api) -> None:
    terminal = Terminal(plane, api)
    assert "has no revision of postrender" in terminal.text()
    apply_attached(api, lambda: release.install({**values("old"), "revisionHistoryLimit": 1}))
    wait_for_phase(api, "Healthy")
    old = revision_with(api, greeting="old")["metadata"]["name"].removeprefix("app-config-")
    text = terminal.text(ROLLOUT)
    assert "Rollout/app of group app-attach: healthy" in text
    assert f"STABLE\nReplicaSet {pod_hash(api, 0)}\n" in text
    assert f"app-config {old}\n" in text
    assert "1 of 1 revision in use has owners. No revision is missing or edited." in text

    new_values = {**values("new", image="app:2"), "revisionHistoryLimit": 1}
    attacher = apply_attached(api, lambda: release.upgrade(new_values))
    wait_for_phase(api, "Paused")
    api.wait_for(lambda: contents(api) == ["new", "old"], "a canary pod runs")
    time.sleep(1.1)  # the time of creation has whole seconds
    restart_pods(api, api.list("Pod", labels=f"app=app,{hash_label(api, 0)}"))
    api.wait_for(lambda: contents(api) == ["new", "old"], "the old pod is back")
    new = revision_with(api, greeting="new")["metadata"]["name"].removeprefix("app-config-")
    api.wait_for(lambda: "1 of 1 ready" in terminal.text(ROLLOUT), "the pods are ready")
    text = terminal.text(ROLLOUT)
    assert "canary paused at step 1 of 2, weight 50 %" in text
    assert f"STABLE CANARY\nReplicaSet {pod_hash(api, 0)} {pod_hash(api, 1)}\n" in text
    assert "image app app:1 app:2 differs\n" in text
    assert f"app-config {old} {new} differs (1 key)\n" in text
    assert "Started while canary pods ran, with the stable revisions: app-" in text
    assert "postrender status" in text.splitlines()[-1]
    assert "~ greeting: old -> new" in terminal.text(ROLLOUT, "--diff")
    document = assert_the_next_run_does_it(plane, api, attacher)
    assert document["runs"][0]["source"].startswith("Job/app-attach-")

    promote(api)
    wait_for_phase(api, "Healthy")
    third = {**values("third", image="app:2"), "revisionHistoryLimit": 0}
    attacher = apply_attached(api, lambda: release.upgrade(third))
    wait_for_phase(api, "Paused")
    promote(api)
    wait_for_phase(api, "Healthy")
    api.wait_for(lambda: contents(api) == ["third", "third"], "the old pods are gone")
    api.wait_for(lambda: len(replica_sets(api)) == 1, "the history is gone")
    # The Job ends later than its Pod.
    api.wait_for(lambda: "runs now" not in terminal.text(), "the attacher's Job has ended")
    text = terminal.text()
    assert f"{old} " in text
    assert "unused, the next run marks it, and a run 10 minutes later deletes it" in text
    assert_the_next_run_does_it(plane, api, attacher)
    assert "UTC deletes it" in terminal.text()
    assert_the_next_run_does_it(plane, api, attacher)
    age_marks(api)
    assert "the next run deletes it" in terminal.text(ROLLOUT)
    assert_the_next_run_does_it(plane, api, attacher)
    assert "unused" not in terminal.text()


def pod_hash(api: Api, number: int) -> str:
    labels: Json = replica_sets(api)[number]["metadata"]["labels"]
    return str(labels["rollouts-pod-template-hash"])


def hash_label(api: Api, number: int) -> str:
    return f"rollouts-pod-template-hash={pod_hash(api, number)}"


@pytest.mark.parametrize("kind", ["StatefulSet", "DaemonSet", "Deployment"])
def test_a_rolling_update(release: Release, plane: ControlPlane, api: Api, kind: str) -> None:
    spec: Json = {}
    if kind == "StatefulSet":
        spec = {"updateStrategy": {"rollingUpdate": {"partition": 1}}}
    elif kind == "DaemonSet":
        spec = {"updateStrategy": {"type": "OnDelete"}}
    else:
        spec = {"strategy": {"rollingUpdate": {"maxUnavailable": 0, "maxSurge": 1}}}
    terminal = Terminal(plane, api)
    target = f"{kind.lower()}/app"
    apply_attached(api, lambda: release.install(values("old", kind, spec=spec)))
    count = 1 if kind == "DaemonSet" else 2
    api.wait_for(lambda: contents(api) == ["old"] * count, "all pods run")
    if kind == "Deployment":
        spec = {**spec, "minReadySeconds": 3600, "progressDeadlineSeconds": 7200}
    attacher = apply_attached(api, lambda: release.upgrade(values("new", kind, spec=spec)))
    old, new = (
        revision_with(api, greeting=greeting)["metadata"]["name"].removeprefix("app-config-")
        for greeting in ("old", "new")
    )
    if kind == "DaemonSet":
        assert f"app-config {old} {new} differs (1 key)" in terminal.text(target)
    else:
        api.wait_for(lambda: "new" in contents(api), "a new pod runs")
        api.wait_for(
            lambda: f"app-config {old} {new} differs (1 key)" in terminal.text(target), target
        )
    assert "OLD NEW\n" in terminal.text(target)
    assert_the_next_run_does_it(plane, api, attacher)


def test_blue_green(release: Release, plane: ControlPlane, api: Api) -> None:
    strategy = {
        "blueGreen": {
            "activeService": "active",
            "previewService": "preview",
            "autoPromotionEnabled": False,
        }
    }
    services = [
        {
            "kind": "Service",
            "metadata": {"name": name},
            "spec": {"selector": {"app": "app"}, "ports": [{"port": 80}]},
        }
        for name in ("active", "preview")
    ]
    for service in services:
        api.create(service)
    copy_with_strategy(release, release.folder / "chart", strategy)
    apply_attached(api, lambda: release.install(values("old")))
    wait_for_phase(api, "Healthy")
    attacher = apply_attached(api, lambda: release.upgrade(values("new")))
    wait_for_phase(api, "Paused")
    text = Terminal(plane, api).text(ROLLOUT)
    assert "blue-green paused" in text
    assert f"ACTIVE PREVIEW\nReplicaSet {pod_hash(api, 0)} {pod_hash(api, 1)}\n" in text
    assert "differs (1 key)" in text
    assert_the_next_run_does_it(plane, api, attacher)


def copy_with_strategy(release: Release, chart: Path, strategy: Json) -> None:
    shutil.copytree(release.chart, chart)
    file = chart / "templates" / "workloads.yaml"
    text = file.read_text()
    canary = "    canary:\n      steps: {{ toJson (.steps | default $.Values.steps) }}\n"
    assert text.count(canary) == 2
    file.write_text(text.replace(canary, f"    {json.dumps(strategy)[1:-1]}\n"))
    release.chart = chart


def test_missing_edited_and_unowned_revisions(
    release: Release, plane: ControlPlane, api: Api
) -> None:
    terminal = Terminal(plane, api)
    attacher = apply_attached(api, lambda: release.install(values("hello")))
    wait_for_phase(api, "Healthy")
    revision = revision_with(api, greeting="hello")
    name = revision["metadata"]["name"]
    terminal.text()

    copy = without_server_fields(revision)
    api.delete("ConfigMap", name)
    api.create({**copy, "data": {"greeting": "by hand"}})
    text = terminal.text(ROLLOUT, code=1)
    assert f"{name.removeprefix('app-config-')} EDITED" in text
    assert f"error: the content of ConfigMap/{name} does not match the hash" in text

    api.delete("ConfigMap", name)
    text = terminal.text(ROLLOUT, code=1)
    assert f"{name.removeprefix('app-config-')} MISSING" in text
    assert f"error: ConfigMap/{name} does not exist, but is used by Rollout/app stable." in text
    assert [item["code"] for item in terminal.document()["problems"]] == ["missing"]

    api.create(copy)
    text = terminal.text(ROLLOUT, code=1)
    assert f"error: ConfigMap/{name} is used by Rollout/app stable, but has no owner." in text
    assert_the_next_run_does_it(plane, api, attacher)
    terminal.text(ROLLOUT)


def without_server_fields(obj: Json) -> Json:
    metadata = {
        key: value
        for key, value in obj["metadata"].items()
        if key in ("name", "labels", "annotations")
    }
    return {**{key: obj[key] for key in ("kind", "data", "immutable")}, "metadata": metadata}


def test_two_releases_and_a_user_who_may_only_read(
    release: Release, plane: ControlPlane, api: Api
) -> None:
    apply_attached(api, lambda: release.install(values("one")))
    other = Release("helm4", plane, api.namespace, release.folder / "other", "other")
    other.arguments = ["--group", "other"]
    other_values = {
        "configMaps": {"other-config": {"greeting": "two"}},
        "workloads": [{"name": "other", "kind": "Deployment", "volume": ["other-config"]}],
    }
    attacher = apply_attached(api, lambda: other.install(other_values))
    wait_for_phase(api, "Healthy")
    create_account(api, "reader", READER)
    terminal = Terminal(plane, api, account_kubeconfig(plane, api, "reader"))
    text = terminal.text()
    assert "\napp-attach app-config " in text
    assert "\nother-attach other-config " in text
    assert "2 groups, 2 revisions: 2 used, 0 for rollbacks." in text
    assert "app-config" not in terminal.text("--group", "other")
    assert_the_next_run_does_it(plane, api, attacher)
    assert "the attach group nobody has no" in terminal.run("--group", "nobody").stderr
    assert "warning" not in terminal.run().stderr
    assert "Did you mean Deployment/other?" in terminal.run("deploy/othr").stderr

    rules = [{**rule, "resources": without(rule["resources"], "pods", "jobs")} for rule in READER]
    create_account(api, "blind", rules)
    blind = Terminal(plane, api, account_kubeconfig(plane, api, "blind"))
    text = blind.text(code=1)
    assert "error: postrender cannot list jobs and pods (HTTP status 403)" in text
    create_account(api, "stranger", rules[1:])
    done = Terminal(plane, api, account_kubeconfig(plane, api, "stranger")).run()
    assert done.returncode == 2
    assert "postrender cannot list configmaps" in done.stderr


def test_a_support_bundle_and_kubectl(release: Release, api: Api) -> None:
    apply_attached(api, lambda: release.install(values("old")))
    apply_attached(api, lambda: release.upgrade(values("new")))
    wait_for_phase(api, "Paused")
    kinds = "rollouts,replicasets,pods,configmaps,serviceaccounts"
    bundle = release.kubectl("get", kinds, "-o", "yaml").stdout
    done = kubectl_postrender(release, "status", "-f", "-", ROLLOUT, stdin=bundle)
    assert "differs (1 key)" in done.stdout
    assert "The file has no analysisruns, analysistemplates, controllerrevisions" in done.stdout
    live = kubectl_postrender(release, "status", ROLLOUT, "--namespace", api.namespace).stdout
    before, after = (
        re.sub(r"\d+s\b", "", text.split("\n\n")[1]).split() for text in (done.stdout, live)
    )
    assert before == after
    assert "kubectl postrender status rollout/app" in live


def without(resources: list[str], *names: str) -> list[str]:
    return [name for name in resources if name not in names]


def test_the_commands_of_the_page(plane: ControlPlane, api: Api, tmp_path: Path) -> None:
    recipe = Recipe("checksum", "helm4", plane, api.namespace, tmp_path / "page")
    recipe.use_after()
    recipe.names["shop-web"] = "app"
    apply_attached(api, lambda: recipe.upgrade())
    wait_for_phase(api, "Healthy")
    blocks = [block for block in blocks_of(PAGE) if block.language in SHELL]
    outputs = [recipe.run_text(block.text).stdout for block in blocks]
    assert len(blocks) == 6
    assert outputs[0].startswith("Rollout/app of group ")
    assert outputs[1].startswith("GROUP ")
    assert not any(outputs[2:5])
    assert outputs[5].startswith("Rollout/app of group ")


def kubectl_postrender(release: Release, *arguments: str, stdin: str = "") -> Done:
    """Run `kubectl postrender`, which finds the program kubectl-postrender on PATH."""
    script = release.folder / "plugin" / "kubectl-postrender"
    script.parent.mkdir(exist_ok=True)
    script.write_text(f"#!{sys.executable}\nfrom postrender.__main__ import main\nmain()\n")
    script.chmod(0o755)
    path = os.pathsep.join([str(script.parent), os.environ["PATH"]])
    env = {"PATH": path, "PYTHONPATH": str(ROOT), "KUBECONFIG": str(release.plane.kubeconfig)}
    command = [program("kubernetes"), "kubectl", "postrender", *arguments]
    return run(command, env, release.folder, stdin)
