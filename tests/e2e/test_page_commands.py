"""The commands of the pages, run as written there. Each block of a page names its test.

The pages are README.md, install.md, first-release.md, uninstall.md, history.md, kustomize.md,
attach.md, preview.md, ci.md, secrets.md, helm.md and rollback.md.
"""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

import pytest

from postrender.kubernetes.hashing import HASH_SUFFIX
from tests.e2e.api import Api, Json
from tests.e2e.cluster import ControlPlane
from tests.e2e.kustomize_shell import Shell
from tests.e2e.lifecycle_checks import NothingIsLost, wait_until_owned
from tests.e2e.programs import ROOT
from tests.e2e.queries import GROUP_LABEL, apply_attached, revisions, wait_for_phase
from tests.e2e.recipes import Recipe
from tests.e2e.releases import Done
from tests.pages import SHELL, blocks_of
from tests.repositories import new_repository

HOW_TO = ROOT / "docs" / "how-to"
REFERENCE = ROOT / "docs" / "reference"
EXAMPLES = ROOT / "examples"
THIS = "tests/e2e/test_page_commands.py"


SECRET = """\
apiVersion: v1
kind: Secret
metadata: {name: web}
stringData: {password: swordfish}
---
apiVersion: v1
kind: PodTemplate
metadata: {name: web}
template: {spec: {containers: [{name: web, image: web, envFrom: [{secretRef: {name: web}}]}]}}
"""


def commands(page: Path, test: str) -> list[str]:
    """Return the blocks of a page that a test of this module runs."""
    shell = [block for block in blocks_of(page) if block.language in SHELL]
    found = [block.text for block in shell if f"{THIS}#{test}" in block.run_by]
    assert found, f"no block of {page.name} has the comment `run by: {THIS}#{test}`"
    return found


@pytest.fixture(params=["helm3", "helm4"])
def recipe(request: pytest.FixtureRequest, plane: ControlPlane, api: Api, tmp_path: Path) -> Recipe:
    """Return a folder with the chart `chart`, a Helm, kubectl and postrender."""
    made = Recipe("checksum", request.param, plane, api.namespace, tmp_path / "page")
    made.use_after()
    made.validates = True
    made.names["registry.example.com/postrender:0.1.0"] = "postrender:e2e"
    return made


only_helm_4 = pytest.mark.parametrize("recipe", ["helm4"], indirect=True)
only_helm_3 = pytest.mark.parametrize("recipe", ["helm3"], indirect=True)


@only_helm_4
def test_the_commands_of_the_first_five_minutes(recipe: Recipe) -> None:
    shutil.rmtree(recipe.folder / "chart")
    shutil.copytree(EXAMPLES / "chart", recipe.folder / "chart")
    shutil.copy(EXAMPLES / "chart" / "values-v2.yaml", recipe.folder / "new-values.yaml")
    [text] = commands(ROOT / "README.md", "test_the_commands_of_the_first_five_minutes")
    done = recipe.run_text(text)
    assert "ConfigMap/shop-web-config -> shop-web-config-" in done.stdout
    assert "Rollout/shop-web rolls" in done.stdout
    cause = "ConfigMap/shop-web-config: the name changes, but the content does not change"
    assert cause in done.stdout
    assert "<title>" in (recipe.folder / "change.html").read_text("utf-8")


@only_helm_4
def test_the_release_with_helm_4(recipe: Recipe, api: Api) -> None:
    release_from_the_page(recipe, api, "test_the_release_with_helm_4")


@only_helm_3
def test_the_release_with_helm_3(recipe: Recipe, api: Api) -> None:
    release_from_the_page(recipe, api, "test_the_release_with_helm_3")
    [text] = commands(HOW_TO / "history.md", "test_the_release_with_helm_3")
    recipe.edit("values.yaml", "greeting: hello", "greeting: bye")
    with NothingIsLost(api):
        apply_attached(api, lambda: recipe.run_text(text))


@only_helm_4
def test_the_pipe_without_a_release(recipe: Recipe, api: Api) -> None:
    release_from_the_page(recipe, api, "test_the_pipe_without_a_release")


def release_from_the_page(recipe: Recipe, api: Api, test: str) -> None:
    """Run one block of the page about the installation, and wait for the attacher."""
    [text] = commands(HOW_TO / "install.md", test)
    apply_attached(api, lambda: recipe.run_text(text))
    wait_for_phase(api, "Healthy")
    wait_until_owned(api)
    assert [revision["data"]["greeting"] for revision in revisions(api)] == ["hello"]


@only_helm_4
def test_the_first_release_and_the_uninstall(recipe: Recipe, api: Api) -> None:
    test = "test_the_first_release_and_the_uninstall"
    recipe.helm("install", "app", "./chart")
    wait_for_phase(api, "Healthy")
    preview, adopt = commands(HOW_TO / "first-release.md", test)
    owners = commands(REFERENCE / "attach.md", "test_the_queries_about_a_release")[0]
    shown = recipe.run_text(preview).stdout
    assert "ConfigMap/app-config -> app-config-" in shown
    assert "Tools such as Helm delete the original" in shown
    planned = recipe.run_text(adopt)
    assert "ConfigMap/app-config" in planned.stdout
    assert revisions(api) == []
    done = recipe.run_text(adopt.replace("--dry-run", ""))
    assert "adopt protects ConfigMap/app-config (used by Pod/" in done.stdout
    recipe.edit("values.yaml", "greeting: hello", "greeting: bye")
    with NothingIsLost(api):
        [release] = commands(HOW_TO / "install.md", "test_the_release_with_helm_4")
        apply_attached(api, lambda: recipe.run_text(release))
        wait_until_owned(api)
    shown = recipe.run_text(owners).stdout
    assert re.search(r"^app-config .*ReplicaSet|^app-config .*app-", shown, re.M), shown

    uninstall, clean_up = commands(HOW_TO / "uninstall.md", test)
    recipe.run_text(uninstall)
    api.wait_for(lambda: not revisions(api), "the revisions are deleted with their owners")
    recipe.run_text(clean_up)


@only_helm_4
def test_the_upgrade_of_postrender(recipe: Recipe, api: Api) -> None:
    """The new version is imitated by a new image and another time to live of the Job."""
    before, after = commands(HOW_TO / "install.md", "test_the_upgrade_of_postrender")
    release_from_the_page(recipe, api, "test_the_release_with_helm_4")
    running = api.names("ReplicaSet")
    recipe.run_text(before)
    recipe.config["attacher"] |= {"image": "postrender:new", "ttlSecondsAfterFinished": 60}
    recipe.write_config()
    recipe.run_text(after)
    [release] = commands(HOW_TO / "install.md", "test_the_release_with_helm_4")
    with NothingIsLost(api):
        apply_attached(api, lambda: recipe.run_text(release))
        assert api.names("ReplicaSet") == running


@only_helm_4
def test_the_queries_about_a_release(recipe: Recipe, api: Api) -> None:
    test = "test_the_queries_about_a_release"
    release_from_the_page(recipe, api, "test_the_release_with_helm_4")
    group = revisions(api)[0]["metadata"]["labels"][GROUP_LABEL]
    recipe.names["GROUP"] = group
    texts = commands(REFERENCE / "attach.md", test)
    owners, secrets, arguments = (recipe.run_text(text).stdout for text in texts)
    assert re.search(rf"^app-config{HASH_SUFFIX} +\S*app", owners, re.M), owners
    assert secrets == ""
    assert '"attach"' in arguments
    assert "--workload" in arguments


@only_helm_4
def test_several_post_renderers(recipe: Recipe, api: Api) -> None:
    [text] = commands(HOW_TO / "helm.md", "test_several_post_renderers")
    apply_attached(api, lambda: recipe.run_text(text))
    assert [revision["data"]["greeting"] for revision in revisions(api)] == ["ciao"]


@only_helm_4
def test_backup_and_restore(recipe: Recipe, api: Api) -> None:
    """The namespace loses its objects. A restored revision has no owner, until a release."""
    release_from_the_page(recipe, api, "test_the_release_with_helm_4")
    backup, restore = commands(HOW_TO / "rollback.md", "test_backup_and_restore")
    recipe.run_text(backup)
    saved = json.loads((recipe.folder / "revisions.json").read_text())
    recipe.helm("uninstall", "app")
    api.wait_for(lambda: not revisions(api), "Kubernetes deletes the revisions with their owners")
    api.create(saved["items"][0] | {"metadata": without_uid(saved["items"][0]["metadata"])})
    api.wait_for(lambda: not revisions(api), "Kubernetes deletes a copy with owners of before")
    recipe.run_text(restore)
    [revision] = revisions(api)
    assert "ownerReferences" not in revision["metadata"]
    release_from_the_page(recipe, api, "test_the_release_with_helm_4")
    assert [each["metadata"]["uid"] for each in revisions(api)] == [revision["metadata"]["uid"]]


def without_uid(metadata: Json) -> Json:
    """Return the metadata of a backup as a tool sends it that keeps owner references."""
    return {key: metadata[key] for key in metadata.keys() - {"uid", "resourceVersion"}}


@only_helm_4
def test_the_permissions_for_a_namespace(recipe: Recipe, api: Api) -> None:
    [text] = commands(REFERENCE / "attach.md", "test_the_permissions_for_a_namespace")
    recipe.run_text(text)
    assert api.find("ServiceAccount", "postrender-attach")


def test_the_pipe_behind_kustomize(plane: ControlPlane, api: Api, tmp_path: Path) -> None:
    shell = Shell(tmp_path / "shell", plane)
    shutil.copytree(EXAMPLES / "kustomize", shell.folder, dirs_exist_ok=True)
    (shell.folder / "postrender.yaml").write_text('attacher: {image: "postrender:e2e"}\n')
    [text] = commands(HOW_TO / "kustomize.md", "test_the_pipe_behind_kustomize")
    apply_attached(
        api, lambda: shell.run(text.replace("--namespace prod", f"--namespace {api.namespace}"))
    )
    wait_for_phase(api, "Healthy", "prod-greeter")


# Commands that need no cluster


@only_helm_4
def test_the_previews(recipe: Recipe) -> None:
    folder = recipe.folder
    rendered = EXAMPLES / "rendered"
    v1 = (rendered / "v1.yaml").read_text("utf-8")
    new_repository(folder, {"rendered/prod.yaml": v1, "rendered/prod/app.yaml": v1})
    for name, text in (("old.yaml", "v1"), ("new.yaml", "v2"), ("main/a.yaml", "v1")):
        (folder / name).parent.mkdir(exist_ok=True)
        shutil.copy(rendered / f"{text}.yaml", folder / name)
    (folder / "head").mkdir()
    shutil.copy(rendered / "v2.yaml", folder / "head" / "a.yaml")
    recipe.helm("install", "app", "./chart")
    recipe.names = {"git:main": "git:HEAD", "helm:prod": f"helm:{recipe.namespace}"}
    outputs = run_all(recipe, HOW_TO / "preview.md", "test_the_previews")
    assert "Rollout/demo-web rolls" in outputs
    assert "Rollout/demo-web\n" in outputs


def run_all(recipe: Recipe, page: Path, test: str) -> str:
    """Run the blocks of a page in turn; return everything that they print."""
    done: list[Done] = [recipe.run_text(text) for text in commands(page, test)]
    return "".join(each.stdout for each in done)


@only_helm_4
def test_the_checks_and_the_history_in_files(recipe: Recipe) -> None:
    test = "test_the_checks_and_the_history_in_files"
    rendered = recipe.folder / "rendered"
    rendered.mkdir()
    (rendered / "prod.yaml").touch()
    shutil.copy(EXAMPLES / "rendered" / "v1.yaml", recipe.folder / "new.yaml")
    recipe.names = {}
    file, committed = commands(HOW_TO / "history.md", test)
    recipe.run_text(file)
    first = (rendered / "prod.yaml").read_text("utf-8")
    assert "demo-web-config-7f89tk7g74" in first
    new_repository(recipe.folder / "repository", {"rendered/prod.yaml": first})
    shutil.copy(EXAMPLES / "rendered" / "v2.yaml", recipe.folder / "repository" / "new.yaml")
    recipe.run_text(f"cd repository && {committed}")
    second = (recipe.folder / "repository" / "rendered" / "prod.yaml").read_text("utf-8")
    assert "demo-web-config-7f89tk7g74" in second
    assert "demo-web-config-m567dfc6df" in second
    run_all(recipe, HOW_TO / "ci.md", test)


@only_helm_4
def test_the_key_for_hashes(recipe: Recipe) -> None:
    (recipe.folder / "manifests.yaml").write_text(SECRET)
    assert "hmac-sha256" in run_all(recipe, HOW_TO / "secrets.md", "test_the_key_for_hashes")
