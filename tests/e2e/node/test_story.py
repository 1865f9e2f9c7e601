"""A canary with real pods: each pod reads the configuration that it was released with.

The tests share one cluster with two nodes. Only these tests run the image of the Dockerfile.
"""

from __future__ import annotations

import pytest

from tests.e2e.api import Api, Json
from tests.e2e.node.containers import running_pods
from tests.e2e.node.story import OWN_WAYS, WAYS, Shop, play
from tests.e2e.queries import age_marks, attachers, owners, revisions
from tests.e2e.rollouts import promote

OLD = dict.fromkeys(WAYS, "v1")
NEW = dict.fromkeys(WAYS, "v2")


def settings(api: Api) -> list[str]:
    """Return the distinct contents of the existing revisions."""
    return sorted({value for item in revisions(api) for value in item["data"].values()})


@pytest.mark.parametrize(("shop", "mode"), [("helm4", "job"), ("helm3", "hook")], indirect=["shop"])
def test_old_pods_keep_their_configuration_in_a_canary(shop: Shop, mode: str) -> None:
    play_canary(shop, mode)


@pytest.mark.parametrize(("shop", "mode"), [("helm4", "hook"), ("helm3", "job")], indirect=["shop"])
def test_old_pods_keep_their_configuration_from_install_to_uninstall(shop: Shop, mode: str) -> None:
    play_canary(shop, mode)
    promote(shop.api)
    shop.settle("Healthy")
    shop.api.wait_for(lambda: len(shop.api.list("ReplicaSet")) == 1, "the old one is pruned")
    # A Pod keeps its revisions until its last container has ended.
    shop.api.wait_for(lambda: len(shop.api.list("Pod", "app=app")) == 2, "the old Pod has ended")
    for pod in running_pods(shop.api, "app=app"):
        assert shop.reads(pod) == NEW

    # The next run marks the revisions of v1. A later run deletes them.
    shop.deploy("v3")
    assert settings(shop.api) == ["v1", "v2", "v3"]
    assert len(age_marks(shop.api)) == len(WAYS), shop.log()
    promote(shop.api)
    shop.settle("Healthy")
    shop.deploy("v4")
    assert settings(shop.api) == ["v2", "v3", "v4"]

    shop.release.uninstall()
    shop.api.wait_for(lambda: not revisions(shop.api), "the revisions are deleted")


def play_canary(shop: Shop, mode: str) -> None:
    """Play the story, with a form of the attacher's Job."""
    shop.release.config["attacher"]["mode"] = mode
    assert [row.values for row in play(shop)] == [OLD, NEW, OLD, OLD]
    assert_attached(shop.api)


def assert_attached(api: Api) -> None:
    """Fail unless each revision is owned by its own ReplicaSet and by the Rollout."""
    by_setting: dict[str, set[str]] = {}
    for revision in revisions(api):
        [value] = revision["data"].values()
        by_setting.setdefault(value, set()).update(owners(revision))
    assert {value: len(titles) for value, titles in by_setting.items()} == {"v1": 2, "v2": 2}
    assert by_setting["v1"] & by_setting["v2"] == {"Rollout/app"}


def test_without_postrender_old_pods_read_the_new_configuration(shop: Shop) -> None:
    shop.release.postrender = False
    before, canary, crashed, replaced = (row.values for row in play(shop))
    assert before == dict.fromkeys(OWN_WAYS, "v1")
    assert canary == replaced == dict.fromkeys(OWN_WAYS, "v2")
    # The kubelet updates the files of an existing pod with a delay, so the pod may read a mixture.
    assert crashed["env"] == crashed["envFrom"] == "v2"
    assert set(crashed.values()) <= {"v1", "v2"}


def test_a_pod_of_a_drained_node_starts_on_the_other_node(shop: Shop) -> None:
    shop.values["team"] = shop.api.namespace
    old = shop.install()
    shop.start_canary()
    pod = shop.pod(old)
    node = pod["spec"]["nodeName"]
    # Pods of other tests stay on the node.
    selector = f"--pod-selector=team={shop.api.namespace}"
    try:
        shop.release.kubectl("drain", node, "--force", selector, "--timeout=60s")
        replacement = shop.replacement(pod, old)
    finally:
        shop.release.kubectl("uncordon", node)
    assert replacement["spec"]["nodeName"] != node
    assert shop.reads(replacement) == OLD


# Helm 4 applies on the server, and conflicts with the selectors that Argo Rollouts sets.
@pytest.mark.parametrize("shop", ["helm3"], indirect=True)
def test_old_pods_keep_their_configuration_in_a_blue_green_release(shop: Shop) -> None:
    shop.values["kind"] = "BlueGreen"
    assert [row.values for row in play(shop)] == [OLD, NEW, OLD, OLD]
    promote(shop.api)
    shop.settle("Healthy")


def test_old_pods_keep_their_configuration_while_a_deployment_is_updated(shop: Shop) -> None:
    shop.values |= {"kind": "Deployment", "minReadySeconds": 500}
    shop.deploy("v1")
    old = f"pod-template-hash={template_hash(shop.pod('app=app'))}"
    shop.deploy("v2")
    assert shop.reads(shop.crash(shop.pod(old))) == OLD
    assert shop.reads(shop.replace(shop.pod(old), old)) == OLD
    new = f"pod-template-hash,{old.replace('=', '!=')},app=app"
    assert shop.reads(shop.pod(new)) == NEW


def template_hash(pod: Json) -> str:
    return str(pod["metadata"]["labels"]["pod-template-hash"])


def test_old_pods_keep_their_configuration_while_a_stateful_set_is_updated(shop: Shop) -> None:
    shop.values["kind"] = "StatefulSet"
    shop.deploy("v1")
    first, last = (f"apps.kubernetes.io/pod-index={number}" for number in (0, 1))
    before = shop.pod(last)
    shop.deploy("v2", partition=1)
    assert shop.reads(shop.replacement(before, last)) == NEW
    assert shop.reads(shop.crash(shop.pod(first))) == OLD
    assert shop.reads(shop.replace(shop.pod(first), first)) == OLD


def test_a_running_job_of_a_cron_job_keeps_its_configuration(shop: Shop) -> None:
    shop.values["kind"] = "CronJob"
    shop.deploy("v1")
    job = ("create", "job", "--from=cronjob/app")
    shop.release.kubectl(*job, "old")
    old, new = (f"batch.kubernetes.io/job-name={name}" for name in ("old", "new"))
    assert shop.reads(shop.pod(old)) == OLD
    shop.deploy("v2")
    shop.release.kubectl(*job, "new")
    assert shop.reads(shop.pod(new)) == NEW
    assert shop.reads(shop.crash(shop.pod(old))) == OLD
    assert shop.reads(shop.replace(shop.pod(old), old)) == OLD


# The mode job, because Helm waits for a hook.
FAILURES: dict[str, tuple[Json, str]] = {
    "no-image": ({"image": "registry.invalid/postrender:0"}, "ErrImagePull ImagePullBackOff"),
    "out-of-memory": (
        {
            "backoffLimit": 0,
            "podTemplate": {
                "spec": {
                    "containers": [
                        {
                            "name": "attach",
                            "resources": {
                                "requests": {"memory": "8Mi"},
                                "limits": {"memory": "16Mi"},
                            },
                        }
                    ]
                }
            },
        },
        "OOMKilled",
    ),
}


@pytest.mark.parametrize("failure", FAILURES)
def test_old_pods_keep_their_configuration_without_a_working_attacher(
    shop: Shop, failure: str
) -> None:
    settings, reasons = FAILURES[failure]
    attacher = shop.release.config["attacher"]
    shop.release.config["attacher"] = {**attacher, "mode": "job", **settings}
    shop.is_attached = False
    assert [row.values for row in play(shop)] == [OLD, NEW, OLD, OLD]
    shop.api.wait_for(lambda: attacher_reasons(shop.api) & set(reasons.split()), reasons)

    shop.is_attached, shop.release.config["attacher"] = True, {**attacher, "mode": "job"}
    shop.deploy("v3")
    promote(shop.api)
    shop.settle("Healthy")
    assert shop.reads(shop.pod("app=app")) == dict.fromkeys(WAYS, "v3")


def attacher_reasons(api: Api) -> set[str]:
    """Return the reasons for which containers of attachers wait or have ended."""
    return {
        state.get("reason", "")
        for pod in attachers(api)
        for status in pod["status"].get("containerStatuses", [])
        for state in status["state"].values()
    }
