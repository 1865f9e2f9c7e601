"""The behaviour of Argo CD with revisions made by hand, from plain manifests in git."""

from __future__ import annotations

import json

import pytest

from tests.e2e.api import Api, Json
from tests.e2e.applications import Application
from tests.e2e.handmade import PAUSED, config, job, workload
from tests.e2e.queries import contents, wait_for_phase

PRUNE = {"argocd.argoproj.io/sync-options": "Prune=false"}
EXTRANEOUS = {"argocd.argoproj.io/compare-options": "IgnoreExtraneous"}
KEEP = {"helm.sh/resource-policy": "keep"}


@pytest.fixture
def plain(application: Application) -> Application:
    """Return an Application of a folder with manifests, not created yet."""
    application.spec["source"] = {"repoURL": application.repository.url, "path": "chart/plain"}
    application.repository.has_config = False
    return application


def push(application: Application, *objects: Json) -> str:
    """Commit the whole content of the folder, and make Argo CD refresh; return the commit."""
    text = "".join(f"---\n{json.dumps(obj)}\n" for obj in objects)
    commit = application.repository.commit(files={"plain/all.yaml": text})
    application.refresh()
    return commit


def annotated(number: int, annotations: dict[str, str]) -> Json:
    config_map = config(number)
    config_map["metadata"]["annotations"] = annotations
    return config_map


def rollout(number: int) -> Json:
    return workload("Rollout", number, replicas=2, strategy={"canary": {"steps": PAUSED}})


def release_first(application: Application, annotations: dict[str, str]) -> None:
    push(application, annotated(1, annotations), rollout(1))
    application.create()
    application.wait_until("Synced", "Healthy")


def release_second(application: Application, api: Api, annotations: dict[str, str]) -> None:
    commit = push(application, annotated(2, annotations), rollout(2))
    application.wait_until_synced(commit)
    wait_for_phase(api, "Paused")


@pytest.mark.parametrize("annotations", [{}, EXTRANEOUS, KEEP], ids=["none", "extraneous", "keep"])
def test_the_old_config_map_is_pruned_during_the_canary(
    plain: Application, api: Api, annotations: dict[str, str]
) -> None:
    release_first(plain, annotations)
    release_second(plain, api, annotations)
    api.wait_for(lambda: not api.find("ConfigMap", "config-1"), "the old ConfigMap is pruned")


def test_prune_false_alone_keeps_the_config_map_and_the_application_out_of_sync(
    plain: Application, api: Api
) -> None:
    release_first(plain, PRUNE)
    release_second(plain, api, PRUNE)
    plain.wait_until("OutOfSync", "Suspended")
    assert api.find("ConfigMap", "config-1")


def test_both_options_keep_the_config_map_and_the_application_synced(
    plain: Application, api: Api
) -> None:
    release_first(plain, PRUNE | EXTRANEOUS)
    release_second(plain, api, PRUNE | EXTRANEOUS)
    plain.wait_until("Synced", "Suspended")
    shown = plain.resource("ConfigMap", "config-1")
    assert shown
    assert shown["requiresPruning"] is True
    api.wait_for(lambda: contents(api) == ["1", "2"], "old and new Pods run")


def test_a_config_map_with_an_owner_is_not_managed_by_argo_cd(plain: Application, api: Api) -> None:
    release_first(plain, {})
    owner = api.get("Rollout", "app")
    reference = {
        "apiVersion": owner["apiVersion"],
        "kind": "Rollout",
        "name": "app",
        "uid": owner["metadata"]["uid"],
    }
    api.patch("ConfigMap", "config-1", {"metadata": {"ownerReferences": [reference]}})
    release_second(plain, api, {})
    plain.wait_until("Synced", "Suspended")
    assert plain.resource("ConfigMap", "config-1") is None
    assert api.find("ConfigMap", "config-1")


def test_a_job_is_applied_before_the_rollout_of_its_wave(plain: Application) -> None:
    commit = push(plain, rollout(1), job(1), config(1))
    plain.create()
    plain.wait_until_synced(commit)
    applied = [resource["kind"] for resource in plain.first_sync()["resources"]]
    assert applied == ["ConfigMap", "Job", "Rollout"]
