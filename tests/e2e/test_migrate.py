"""Migrations from other tools: each recipe of docs/how-to/migrate.md, with the page's commands.

The tests run the real Helm and the real kustomize. The tests imitate Reloader, configmap-attacher,
Spinnaker, Flagger and Pulumi. The tests also imitate kapp, unless POSTRENDER_E2E_KAPP is set.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Sequence
from pathlib import Path

import pytest

from postrender.kubernetes.hashing import HASH_SUFFIX
from tests.e2e import spinnaker as spinnaker_stage
from tests.e2e.api import Api, ApiError, Json
from tests.e2e.attach_processes import parse
from tests.e2e.cluster import ControlPlane
from tests.e2e.commands import (
    end_canary,
    greetings,
    pass_grace_time,
    restart_during_canary,
    restart_pods_with,
)
from tests.e2e.flagger import (
    PRIMARY,
    define_canaries,
    promote_canary,
    restart_primary,
    start_canary,
)
from tests.e2e.lifecycle_checks import NothingIsLost, wait_until_owned
from tests.e2e.pods import ROOT_CA
from tests.e2e.queries import (
    apply_attached,
    contents,
    owners,
    revision_with,
    wait_for_phase,
    wait_until_pruned,
)
from tests.e2e.recipes import Recipe, commands
from tests.e2e.releases import Done
from tests.e2e.rollouts import promote, replica_sets
from tests.rings import in_matrix

HELMS = ("helm3", "helm4")
# By recipe for Helm, the name of the ConfigMap in the old chart.
ORIGINALS = {
    "base-app": "app-config-1275135780",
    "checksum": "app-config",
    "reloader": "app-config",
    "version": "app-config-v3",
}
# The originals that a test runs with one Helm, while another test runs them with the other one.
SOME, OTHERS = ("base-app", "reloader"), ("checksum", "version")
RELOADER_VARIABLE = "STAKATER_APP_CONFIG_CONFIGMAP"


@pytest.fixture(params=HELMS)
def tool(request: pytest.FixtureRequest) -> str:
    """Return `helm3` or `helm4`. A test runs with each of them."""
    return str(request.param)


def each_original(*, helm3: Sequence[str]) -> pytest.MarkDecorator:
    """Run a test with each original and each Helm: in CI with Helm 3 only these, 4 only others."""
    pairs = [
        pytest.param(title, tool, marks=() if (title in helm3) == (tool == "helm3") else in_matrix)
        for title in ORIGINALS
        for tool in HELMS
    ]
    return pytest.mark.parametrize(("title", "tool"), pairs)


def make(title: str, tool: str, plane: ControlPlane, api: Api, folder: Path) -> Recipe:
    """Return a recipe after Helm has installed the old chart without postrender.

    For base-app and reloader, the function also imitates the old tool.
    """
    recipe = Recipe(title, tool, plane, api.namespace, folder / "recipe")
    recipe.names["app-config"] = ORIGINALS[title]
    recipe.edit("values.yaml", "revisionHistoryLimit: 10", "revisionHistoryLimit: 0")
    recipe.helm("install", "app", "./chart")
    wait_for_phase(api, "Healthy")
    imitate_program(title, api)
    api.wait_for(lambda: contents(api) == ["hello", "hello"], "the old release runs")
    return recipe


def imitate_program(title: str, api: Api) -> None:
    """Change the live objects as the old tool would."""
    if title == "base-app":
        attach_as_configmap_attacher(api, ORIGINALS[title])
    if title == "reloader":
        reload_as_reloader(api)


def owner(api: Api, *, controls: bool) -> Json:
    """Return the only ReplicaSet as an owner, with or without the fields of a controller."""
    [replica_set] = api.list("ReplicaSet")
    return {
        "apiVersion": "apps/v1",
        "kind": "ReplicaSet",
        "name": replica_set["metadata"]["name"],
        "uid": replica_set["metadata"]["uid"],
        "controller": controls,
        "blockOwnerDeletion": controls,
    }


def reload_as_reloader(api: Api) -> None:
    """Change the Rollout as Reloader 1.4.21 does if a ConfigMap changes. Then promote the canary.

    Reloader updates the whole Rollout as field manager Reloader (callbacks/rolling_upgrade.go,
    UpdateRollout). The first container that mounts the ConfigMap gets a variable
    (handler/upgrade.go, updateContainerEnvVars).
    """
    [before] = api.names("ReplicaSet")
    rollout = api.get("Rollout", "app")
    sha = hashlib.sha1(b"greeting=hello").hexdigest()
    variable = {"name": RELOADER_VARIABLE, "value": sha}
    rollout["spec"]["template"]["spec"]["containers"][0]["env"] = [variable]
    api.request("PUT", f"{api.path('Rollout', 'app')}?fieldManager=Reloader", rollout)
    wait_for_phase(api, "Paused")
    promote(api)
    wait_for_phase(api, "Healthy")
    api.wait_for(lambda: before not in api.names("ReplicaSet"), "the first ReplicaSet is pruned")


def attach_as_configmap_attacher(api: Api, name: str) -> None:
    """Write the owner that configmap-attacher 1.0.1 writes (kubernetes/client.go, PatchConfigmap).

    The ReplicaSet of `status.currentPodHash`, as a controller, replaces all other owners.
    """
    api.patch("ConfigMap", name, {"metadata": {"ownerReferences": [owner(api, controls=True)]}})


def config_maps(api: Api) -> list[str]:
    """Return the names of the ConfigMaps that Kubernetes did not create."""
    return [name for name in api.names("ConfigMap") if name != ROOT_CA]


def change(recipe: Recipe, old: str = "hello", new: str = "bye") -> None:
    """Change the configuration in the recipe's chart."""
    recipe.edit("values.yaml", f"greeting: {old}", f"greeting: {new}")


def use_after(recipe: Recipe) -> None:
    """Use the recipe's new chart, with another configuration and without a history."""
    recipe.use_after()
    recipe.edit("values.yaml", "revisionHistoryLimit: 10", "revisionHistoryLimit: 0")
    change(recipe)


@each_original(helm3=SOME)
def test_a_chart_migrates_in_the_middle_of_a_config_change(
    title: str, tool: str, plane: ControlPlane, api: Api, tmp_path: Path
) -> None:
    """Old pods keep the old content through the first canary. No old object remains afterwards.

    base-app: the tests run only Pods of postrender, so the Pod of configmap-attacher ends at once.
    The test writes the owner that configmap-attacher would write.
    """
    recipe = make(title, tool, plane, api, tmp_path)
    recipe.validates = True
    with NothingIsLost(api):
        kept = recipe.run("protect the live originals")
        assert f"adopt protects ConfigMap/{ORIGINALS[title]} (used by Pod/" in kept.stdout
        use_after(recipe)
        attacher = apply_attached(api, lambda: recipe.run("release"))
        restart_during_canary(api, "hello", "bye")
        assert_owners_are_shown(recipe, api, ORIGINALS[title])
        end_canary(plane, api, attacher)
    assert greetings(api) == ["bye"]
    assert config_maps(api) == [revision_with(api, greeting="bye")["metadata"]["name"]]
    assert_configmap_attacher_is_deleted(api)
    recipe.helm("uninstall", "app")
    api.wait_for(lambda: not config_maps(api), "the revisions are deleted with the workload")


def assert_owners_are_shown(recipe: Recipe, api: Api, original: str) -> None:
    """Fail unless the page's command shows both ConfigMaps with their owners."""
    old, new = (replica_set["metadata"]["name"] for replica_set in replica_sets(api))
    revision = revision_with(api, greeting="bye")["metadata"]["name"]
    config_map = api.get("ConfigMap", original)
    assert owners(config_map) == [f"ReplicaSet/{old}", "Rollout/app"]
    lines = {
        line.split()[0]: line.split()[1]
        for line in recipe.run("check the ConfigMaps").stdout.splitlines()
    }
    assert set(lines) == {"NAME", original, revision}
    # The workload and its ReplicaSet own each ConfigMap. The release owns only the revision.
    assert set(lines[original].split(",")) == {"app", old}
    assert set(lines[revision].split(",")) == {"app", new, "app-rollout-attach"}


def assert_configmap_attacher_is_deleted(api: Api) -> None:
    """Fail if an object of configmap-attacher still exists in kube-system."""
    for kind in ("Job", "ServiceAccount", "ClusterRole", "ClusterRoleBinding"):
        objects = api.list(kind, namespace="kube-system")
        assert not [obj for obj in objects if api.namespace[-20:] in obj["metadata"]["name"]]


@each_original(helm3=OTHERS)
def test_going_back_in_the_middle_of_the_first_canary(
    title: str, tool: str, plane: ControlPlane, api: Api, tmp_path: Path
) -> None:
    recipe = make(title, tool, plane, api, tmp_path)
    with NothingIsLost(api):
        recipe.run("protect the live originals")
        use_after(recipe)
        apply_attached(api, lambda: recipe.run("release"))
        wait_for_phase(api, "Paused")
        recipe.run("go back")
        wait_for_phase(api, "Healthy")
        api.wait_for(lambda: contents(api) == ["hello", "hello"], "the old release runs")
        restart_pods_with(api, "hello")
        api.wait_for(lambda: contents(api) == ["hello", "hello"], "the old pods are back")
    # The history still contains the ReplicaSet of the canary, with 0 replicas.
    make_revision_of_another_release(api)
    # Without the ReplicaSet, nothing uses its revision.
    canary = revision_with(api, greeting="bye")["metadata"]["name"]
    done = recipe.run("clean up")
    assert f"adopt keeps ConfigMap/{canary}, because ReplicaSet/app-" in done.stdout
    for replica_set in replica_sets(api):
        if canary in json.dumps(replica_set):
            api.delete("ReplicaSet", replica_set["metadata"]["name"])
    assert f"adopt keeps ConfigMap/{canary}" not in recipe.run("clean up").stdout
    restart_pods_with(api, "hello")
    api.wait_for(lambda: contents(api) == ["hello", "hello"], "the old pods are back")
    assert config_maps(api) == [ORIGINALS[title], "other-config"]
    # Another tool's owner reference, of which it is the controller, stays.
    left = api.get("ConfigMap", ORIGINALS[title])["metadata"].get("ownerReferences", [])
    assert all(owner["controller"] for owner in left)
    assert not [*api.list("Role"), *api.list("RoleBinding")]
    assert not set(api.get("ConfigMap", ORIGINALS[title])["metadata"]["annotations"]) & KEEPS


def make_revision_of_another_release(api: Api) -> None:
    """Create a ConfigMap that a clean-up by label could delete."""
    metadata = {"name": "other-config", "labels": {"postrender/attach-group": "other-attach"}}
    api.create({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata})


@pytest.mark.parametrize("tool", ["helm3.21", *HELMS])
def test_a_rollback_to_before_the_first_revisions(
    tool: str, plane: ControlPlane, api: Api, tmp_path: Path
) -> None:
    recipe = make("version", tool, plane, api, tmp_path)
    with NothingIsLost(api):
        recipe.run("protect the live originals")
        use_after(recipe)
        apply_attached(api, lambda: recipe.run("release"))
        wait_for_phase(api, "Paused")
        done = recipe.helm("rollback", "app", "1", check=False)
        if recipe.refuses_kept:
            assert "ConfigMap with the name" in done.stderr
            # Helm 3 compares with the manifests of the failed rollback. An upgrade to the old chart
            # would therefore not change the Rollout.
            recipe.run("release")
            recipe.run("go back")
        else:
            assert done.returncode == 0, done.stderr
        wait_for_phase(api, "Healthy")
        restart_pods_with(api, "hello")
        api.wait_for(lambda: contents(api) == ["hello", "hello"], "the old release runs")


KEEPS = {
    "helm.sh/resource-policy",
    "argocd.argoproj.io/sync-options",
    "argocd.argoproj.io/compare-options",
    "kustomize.toolkit.fluxcd.io/prune",
    "postrender/sweep",
    "postrender/unused-since",
}


def test_reloaders_variable_stays_until_it_is_removed(
    tool: str, plane: ControlPlane, api: Api, tmp_path: Path
) -> None:
    """Helm leaves fields of other tools unchanged. The removal of the variable starts a canary."""
    recipe = make("reloader", tool, plane, api, tmp_path)
    with NothingIsLost(api):
        recipe.run("protect the live originals")
        use_after(recipe)
        apply_attached(api, lambda: recipe.run("release"))
        wait_for_phase(api, "Paused")
        promote(api)
        wait_for_phase(api, "Healthy")
        assert RELOADER_VARIABLE in str(api.get("Rollout", "app")["spec"])
        recipe.run("remove the variable of Reloader")
        wait_for_phase(api, "Paused")
        restart_pods_with(api, "bye")
        promote(api)
        wait_for_phase(api, "Healthy")
        api.wait_for(lambda: contents(api) == ["bye", "bye"], "the new pods run")
    template = api.get("Rollout", "app")["spec"]["template"]
    assert RELOADER_VARIABLE not in str(template)


# kustomize


@pytest.fixture
def kustomize(plane: ControlPlane, api: Api, tmp_path: Path) -> Recipe:
    """Return the recipe after two applies of the kustomization, with two configurations."""
    recipe = Recipe("kustomize", "helm3", plane, api.namespace, tmp_path / "recipe")
    recipe.edit("kustomization.yaml", "hello", "hi")
    apply_plainly(recipe)
    wait_for_phase(api, "Healthy")
    recipe.edit("kustomization.yaml", "hi", "hello")
    apply_plainly(recipe)
    wait_for_phase(api, "Paused")
    promote(api)
    wait_for_phase(api, "Healthy")
    api.wait_for(lambda: contents(api) == ["hello", "hello"], "the old release runs")
    return recipe


def apply_plainly(recipe: Recipe) -> None:
    """Apply the output of kustomize for the recipe's folder."""
    made = recipe.kubectl("kustomize", str(recipe.folder / "chart")).stdout
    recipe.apply_text(made)


def test_kustomizes_generated_config_maps_become_revisions(
    kustomize: Recipe, plane: ControlPlane, api: Api
) -> None:
    recipe, before = kustomize, config_maps(api)
    with NothingIsLost(api):
        recipe.run("hand over the generated ConfigMaps")
        recipe.use_after()
        apply_attached(api, lambda: recipe.run("release with kustomize"))
        # The names are unchanged, so nothing rolls. All objects that reference a ConfigMap own it.
        wait_for_phase(api, "Healthy")
        assert config_maps(api) == before
        wait_until_owned(api)
        recipe.edit("kustomization.yaml", "hello", "bye")
        recipe.edit("app.yaml", "revisionHistoryLimit: 10", "revisionHistoryLimit: 0")
        attacher = apply_attached(api, lambda: recipe.run("release with kustomize"))
        restart_during_canary(api, "hello", "bye")
        end_canary(plane, api, attacher)
    assert config_maps(api) == [revision_with(api, greeting="bye")["metadata"]["name"]]


def test_going_back_to_kustomizes_generator(kustomize: Recipe, api: Api) -> None:
    recipe, before = kustomize, config_maps(api)
    with NothingIsLost(api):
        recipe.run("hand over the generated ConfigMaps")
        recipe.use_after()
        apply_attached(api, lambda: recipe.run("release with kustomize"))
        wait_for_phase(api, "Healthy")
        recipe.go_back()
        refused = recipe.kubectl("apply", "-k", str(recipe.folder / "chart"), check=False)
        assert "field is immutable when `immutable` is set" in refused.stderr
        with (recipe.folder / "chart" / "kustomization.yaml").open("a") as file:
            file.write("generatorOptions:\n  immutable: true\n")
        apply_plainly(recipe)
        wait_for_phase(api, "Healthy")
        api.wait_for(lambda: contents(api) == ["hello", "hello"], "the old release runs")
        restart_pods_with(api, "hello")
        api.wait_for(lambda: contents(api) == ["hello", "hello"], "the old pods are back")
    assert config_maps(api) == before
    original = config_map_with(api, "hello")["metadata"]
    assert not KEEPS & set(original["annotations"])
    recipe.run("clean up")
    # kustomize never deletes the ConfigMap of the first configuration.
    assert config_maps(api) == before
    assert "ownerReferences" not in api.get("ConfigMap", original["name"])["metadata"]


def config_map_with(api: Api, greeting: str) -> Json:
    """Return the only ConfigMap with a greeting."""
    [matching] = [
        config_map
        for config_map in api.list("ConfigMap")
        if config_map.get("data") == {"greeting": greeting}
    ]
    return matching


@pytest.fixture
def spinnaker(plane: ControlPlane, api: Api, tmp_path: Path) -> Recipe:
    """Return the recipe after two deployments by Spinnaker, with two configurations."""
    recipe = Recipe("spinnaker", "helm3", plane, api.namespace, tmp_path / "recipe")
    recipe.config["attacher"]["mode"] = "job"
    recipe.write_config()
    recipe.edit("app.yaml", "greeting: hello", "greeting: hi")
    deploy_with_spinnaker(recipe, api, "chart/app.yaml")
    api.wait_for(lambda: contents(api) == ["hi", "hi"], "the first release runs")
    recipe.edit("app.yaml", "greeting: hi", "greeting: hello")
    deploy_with_spinnaker(recipe, api, "chart/app.yaml")
    api.wait_for(lambda: contents(api) == ["hello", "hello"], "the old release runs")
    assert config_maps(api) == ["app-config-v000", "app-config-v001"]
    return recipe


def deploy_with_spinnaker(recipe: Recipe, api: Api, file: str) -> None:
    """Deploy a file with the stand-in for Spinnaker (tests/e2e/spinnaker.py)."""
    spinnaker_stage.deploy(recipe, api, (recipe.folder / file).read_text())


def release_with_spinnaker(recipe: Recipe, api: Api) -> Json:
    """Render as in the recipe, deploy, and return the attacher's Pod."""
    recipe.run("render for Spinnaker")
    return apply_attached(api, lambda: deploy_with_spinnaker(recipe, api, "rendered.yaml"))


def keep_versions_of_spinnaker(recipe: Recipe) -> Done:
    """Run the first step of the migration page, with a Deployment instead of the Rollout."""
    return recipe.run_text(commands("protect the live ConfigMaps").replace("rollout", "deployment"))


def test_spinnakers_versions_are_kept_and_then_collected(
    spinnaker: Recipe, plane: ControlPlane, api: Api
) -> None:
    recipe = spinnaker
    with NothingIsLost(api):
        kept = keep_versions_of_spinnaker(recipe)
        assert "adopt protects ConfigMap/app-config-v000" in kept.stdout
        assert "adopt protects ConfigMap/app-config-v001 (used by Pod/" in kept.stdout
        recipe.use_after()
        recipe.edit("app.yaml", "greeting: hello", "greeting: bye")
        release_with_spinnaker(recipe, api)
        api.wait_for(lambda: contents(api) == ["bye", "bye"], "the new release runs")
        wait_until_owned(api)
        recipe.kubectl("rollout", "undo", "deployment/app")
        api.wait_for(lambda: contents(api) == ["hello", "hello"], "the old release is back")
        recipe.edit("app.yaml", "greeting: bye", "greeting: ciao")
        recipe.edit("app.yaml", "revisionHistoryLimit: 10", "revisionHistoryLimit: 0")
        attacher = release_with_spinnaker(recipe, api)
        api.wait_for(lambda: contents(api) == ["ciao", "ciao"], "the new release runs")
        wait_until_pruned(api)
        pass_grace_time(plane, api, attacher)
    assert config_maps(api) == [revision_with(api, greeting="ciao")["metadata"]["name"]]


def test_going_back_to_spinnakers_versions(spinnaker: Recipe, api: Api) -> None:
    recipe = spinnaker
    with NothingIsLost(api):
        keep_versions_of_spinnaker(recipe)
        recipe.use_after()
        release_with_spinnaker(recipe, api)
        recipe.go_back()
        deploy_with_spinnaker(recipe, api, "chart/app.yaml")
        api.wait_for(lambda: contents(api) == ["hello", "hello"], "the old release is back")
    assert "app-config-v001" in str(api.get("Deployment", "app")["spec"])
    assert "app-config-v002" not in config_maps(api)


def test_spinnaker_gives_a_version_to_a_revision_without_the_annotation(
    spinnaker: Recipe, api: Api
) -> None:
    spinnaker.run("render for Spinnaker")
    deploy_with_spinnaker(spinnaker, api, "rendered.yaml")
    assert any(re.fullmatch(rf"app-config{HASH_SUFFIX}-v000", name) for name in config_maps(api))


# Flagger


@pytest.fixture
def flagger(tool: str, plane: ControlPlane, api: Api, tmp_path: Path) -> Recipe:
    """Return the recipe after the pods of Flagger's copy have replaced the pods in production."""
    define_canaries(api)
    recipe = Recipe("flagger", tool, plane, api.namespace, tmp_path / "recipe")
    recipe.edit("values.yaml", "revisionHistoryLimit: 10", "revisionHistoryLimit: 0")
    recipe.helm("install", "app", "./chart")
    promote_canary(api)
    wait_for_primary(api, "hello")
    assert config_maps(api) == ["app-config", "app-config-primary"]
    return recipe


def wait_for_primary(api: Api, greeting: str) -> None:
    """Wait until the pods in production read a greeting."""
    api.wait_for(lambda: contents(api, PRIMARY) == [greeting], f"the primary reads {greeting}")


def test_revisions_replace_flaggers_copies(flagger: Recipe, plane: ControlPlane, api: Api) -> None:
    """The test runs the stand-in for Flagger (tests/e2e/flagger.py)."""
    recipe = flagger
    use_after(recipe)
    apply_attached(api, lambda: recipe.run("release"))
    start_canary(api)
    restart_primary(api)
    wait_for_primary(api, "hello")
    api.wait_for(lambda: contents(api) == ["bye"], "the canary reads its revision")
    promote_canary(api)
    wait_for_primary(api, "bye")
    wait_until_pruned(api, 2)
    recipe.run("delete the copy of Flagger")
    with NothingIsLost(api):
        change(recipe, "bye", "ciao")
        attacher = apply_attached(api, lambda: recipe.run("release"))
        start_canary(api)
        restart_primary(api)
        wait_for_primary(api, "bye")
        api.wait_for(lambda: contents(api) == ["ciao"], "the canary reads its revision")
        promote_canary(api)
        wait_for_primary(api, "ciao")
        wait_until_pruned(api, 2)
        pass_grace_time(plane, api, attacher)
    assert config_maps(api) == [revision_with(api, greeting="ciao")["metadata"]["name"]]


def test_going_back_to_flaggers_copies(flagger: Recipe, api: Api) -> None:
    recipe = flagger
    use_after(recipe)
    apply_attached(api, lambda: recipe.run("release"))
    promote_canary(api)
    wait_for_primary(api, "bye")
    recipe.go_back()
    recipe.run("go back")
    start_canary(api)
    restart_primary(api)
    wait_for_primary(api, "bye")
    promote_canary(api)
    wait_for_primary(api, "hello")
    assert api.get("ConfigMap", "app-config-primary")["data"] == {"greeting": "hello"}
    recipe.run("delete the revisions")
    restart_primary(api)
    wait_for_primary(api, "hello")
    assert config_maps(api) == ["app-config", "app-config-primary"]


def test_flagger_copies_each_revision_without_the_annotation(flagger: Recipe, api: Api) -> None:
    change(flagger)
    apply_attached(api, lambda: flagger.run("release"))
    promote_canary(api)
    wait_for_primary(api, "bye")
    assert any(
        name.endswith("-primary") and "-config-primary" not in name for name in config_maps(api)
    )


# kapp


@pytest.fixture
def kapp(plane: ControlPlane, api: Api, tmp_path: Path) -> Recipe:
    """Return the recipe after two deployments by kapp, with two configurations."""
    recipe = Recipe("kapp", "helm3", plane, api.namespace, tmp_path / "recipe")
    recipe.edit("app.yaml", "greeting: hello", "greeting: hi")
    recipe.run_text(KAPP_DEPLOY)
    wait_for_phase(api, "Healthy")
    recipe.edit("app.yaml", "greeting: hi", "greeting: hello")
    recipe.run_text(KAPP_DEPLOY)
    wait_for_phase(api, "Paused")
    promote(api)
    wait_for_phase(api, "Healthy")
    api.wait_for(lambda: contents(api) == ["hello", "hello"], "the old release runs")
    assert kapp_versions(api) == ["app-config-ver-1", "app-config-ver-2"]
    return recipe


KAPP_DEPLOY = (
    "kapp deploy --app app --namespace prod --file chart/kapp.yaml --file chart/app.yaml --yes"
)


def keep_with_kapp(recipe: Recipe) -> Done:
    """Run the first step of the recipe for kapp."""
    kept = recipe.run("protect the live ConfigMaps")
    recipe.run("make kapp orphan the old versions")
    return kept


def kapp_versions(api: Api) -> list[str]:
    """Return the names of kapp's versions in the cluster."""
    return [name for name in config_maps(api) if "-ver-" in name]


def test_kapps_versions_are_kept_and_then_collected(
    kapp: Recipe, plane: ControlPlane, api: Api
) -> None:
    """The test runs kapp or its stand-in (tests/e2e/kapp.py), as in the docstring of the module."""
    recipe = kapp
    with NothingIsLost(api):
        kept = keep_with_kapp(recipe)
        assert "adopt protects ConfigMap/app-config-ver-1" in kept.stdout
        assert "adopt protects ConfigMap/app-config-ver-2 (used by Pod/" in kept.stdout
        recipe.use_after()
        recipe.edit("app.yaml", "greeting: hello", "greeting: bye")
        apply_attached(api, lambda: recipe.run("release with kapp"))
        restart_during_canary(api, "hello", "bye")
        wait_until_owned(api)
        promote(api)
        wait_for_phase(api, "Healthy")
        # In the second release kapp finds a revision that its new manifests lack.
        recipe.edit("app.yaml", "greeting: bye", "greeting: ciao")
        recipe.edit("app.yaml", "revisionHistoryLimit: 10", "revisionHistoryLimit: 0")
        attacher = apply_attached(api, lambda: recipe.run("release with kapp"))
        restart_during_canary(api, "bye", "ciao")
        end_canary(plane, api, attacher)
    assert greetings(api) == ["ciao"]
    assert not kapp_versions(api)


def test_going_back_to_kapps_versions(kapp: Recipe, api: Api) -> None:
    recipe = kapp
    with NothingIsLost(api):
        keep_with_kapp(recipe)
        recipe.use_after()
        recipe.edit("app.yaml", "greeting: hello", "greeting: bye")
        apply_attached(api, lambda: recipe.run("release with kapp"))
        wait_for_phase(api, "Paused")
        recipe.go_back()
        refused = recipe.run_text(KAPP_DEPLOY, check=False)
        assert '"app-config-ver-1" already exists' in refused.stdout + refused.stderr
        recipe.run("return the ConfigMap to kapp")
        recipe.run_text(KAPP_DEPLOY)
        wait_for_phase(api, "Paused")
        restart_pods_with(api, "hello")
        promote(api)
        wait_for_phase(api, "Healthy")
        api.wait_for(lambda: contents(api) == ["hello", "hello"], "the old release runs")
    # The last two versions differ in annotations of postrender.
    assert kapp_versions(api) == ["app-config-ver-1", "app-config-ver-2", "app-config-ver-3"]


# Pulumi

# The tests send the requests of Pulumi's provider for Kubernetes. Each resource has its own field
# manager.
PULUMI, PULUMI_PATCH, PULUMI_CHART = (
    f"pulumi-kubernetes-{suffix}" for suffix in ("1a2b", "3c4d", "5e6f")
)
RANDOM_NAME = "app-config-3f9a61c2"


def apply_with_pulumi(api: Api, obj: Json, manager: str, *, force: bool = False) -> None:
    """Apply an object as Pulumi does (pulumi-kubernetes 4.32.0, provider/pkg/await/await.go).

    force: the annotation pulumi.com/patchForce, or enablePatchForce.
    """
    path = api.path(obj["kind"], obj["metadata"]["name"])
    query = f"fieldManager={manager}&force={str(force).lower()}"
    api.request("PATCH", f"{path}?{query}", json.dumps(obj), "application/apply-patch+yaml")


def delete_patch(api: Api) -> None:
    """Delete the ConfigMapPatch as Pulumi does (provider/pkg/ssa/actions.go, Relinquish)."""
    metadata = {"name": RANDOM_NAME, "namespace": api.namespace}
    nothing = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata}
    apply_with_pulumi(api, nothing, PULUMI_PATCH)


@pytest.fixture
def pulumi(plane: ControlPlane, api: Api, tmp_path: Path) -> Recipe:
    """Return the recipe after a Pulumi program, which makes the ReplicaSet own the ConfigMap."""
    recipe = Recipe("pulumi", "helm3", plane, api.namespace, tmp_path / "recipe")
    for obj in parse((recipe.folder / "chart" / "app.yaml").read_text()):
        apply_with_pulumi(api, obj, PULUMI)
    wait_for_phase(api, "Healthy")
    api.wait_for(lambda: contents(api) == ["hello", "hello"], "the old release runs")
    metadata = {"name": RANDOM_NAME, "ownerReferences": [owner(api, controls=False)]}
    patch = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "immutable": True}
    apply_with_pulumi(api, patch, PULUMI_PATCH, force=True)
    return recipe


def run_program(recipe: Recipe, api: Api, *, force: bool = False) -> None:
    """Apply the chart in Pulumi.yaml through its post-renderer.

    The function leaves the objects of an earlier program unchanged, because their resources have
    `retainOnDelete` or `helm.sh/resource-policy: keep`.
    """
    folder = recipe.folder / "chart"
    [program] = parse((folder / "Pulumi.yaml").read_text())
    chart = program["resources"]["app"]["properties"]
    renderer = [chart["postRenderer"]["command"], *chart["postRenderer"]["args"]]
    template = f"helm template {chart['name']} ./chart/{chart['chart']} --no-hooks"
    rendered = recipe.run_text(f"{template} --namespace prod | {' '.join(renderer)}")
    for obj in parse(rendered.stdout):
        apply_with_pulumi(api, obj, PULUMI_CHART, force=force)


def test_a_pulumi_component_hands_over_its_config_maps(
    pulumi: Recipe, plane: ControlPlane, api: Api
) -> None:
    """The test sends Pulumi's requests."""
    recipe, values = pulumi, "chart/values.yaml"
    recipe.config["attacher"]["mode"] = "job"
    recipe.write_config()
    with NothingIsLost(api):
        kept = recipe.run("protect the live ConfigMaps")
        assert f"adopt protects ConfigMap/{RANDOM_NAME} (used by Pod/" in kept.stdout
        recipe.use_after()
        recipe.edit(values, "greeting: hello", "greeting: bye")
        # The Rollout's fields belong to another field manager.
        with pytest.raises(ApiError, match="conflict"):
            run_program(recipe, api)
        apply_attached(api, lambda: run_program(recipe, api, force=True))
        restart_during_canary(api, "hello", "bye")
        wait_until_owned(api)
        promote(api)
        wait_for_phase(api, "Healthy")
        recipe.edit(values, "greeting: bye", "greeting: ciao")
        recipe.edit(values, "revisionHistoryLimit: 10", "revisionHistoryLimit: 0")
        # The old field manager still shares every field that was not forced yet.
        with pytest.raises(ApiError, match=r"conflict with .pulumi-kubernetes-1a2b"):
            run_program(recipe, api)
        attacher = apply_attached(api, lambda: run_program(recipe, api, force=True))
        wait_for_phase(api, "Paused")
        end_canary(plane, api, attacher)
    assert config_maps(api) == [revision_with(api, greeting="ciao")["metadata"]["name"]]


@pytest.mark.usefixtures("pulumi")
def test_a_pulumi_patch_that_sets_immutable_cannot_be_reverted(api: Api) -> None:
    assert api.get("ConfigMap", RANDOM_NAME)["immutable"]
    with pytest.raises(ApiError, match="field is immutable when `immutable` is set"):
        delete_patch(api)


def test_pulumi_cannot_create_a_revision_that_exists(pulumi: Recipe, api: Api) -> None:
    """Without upsertExistingObjects, pulumi-kubernetes 4.29.0 creates objects with POST."""
    pulumi.use_after()
    run_program(pulumi, api, force=True)
    wait_for_phase(api, "Paused")
    again = dict(revision_with(api, greeting="hello"))
    again["metadata"] = {"name": again["metadata"]["name"]}
    with pytest.raises(ApiError, match="already exists"):
        api.create(again)
