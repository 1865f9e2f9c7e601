"""Going back with Helm when the output carries the history: one argument, `--previous=helm:`."""

from __future__ import annotations

import re
import shutil
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.api import Api
from tests.e2e.cluster import ControlPlane
from tests.e2e.looks import contents, named_by, revision_with, revisions, wait_for_phase
from tests.e2e.losses import NothingIsLost
from tests.e2e.namespaces import make_namespace
from tests.e2e.releases import CHART, Done, Release
from tests.e2e.rollouts import promote

# A Deployment that never becomes ready, because what it mounts is not there.
BROKEN = {"name": "broken", "kind": "Deployment", "volume": ["absent"], "replicas": 1}
APP = {"name": "app", "kind": "Rollout", "volume": ["app-config"]}
# A hook that Helm 3 does not show to a post-renderer.
REPORT = {
    "apiVersion": "batch/v1",
    "kind": "Job",
    "metadata": {"name": "report", "annotations": {"helm.sh/hook": "post-upgrade"}},
    "spec": {
        "backoffLimit": 0,
        "template": {
            "spec": {
                "restartPolicy": "Never",
                "containers": [{"name": "report", "image": "app:1"}],
                "volumes": [{"name": "config", "configMap": {"name": "app-config"}}],
            }
        },
    },
}
helm_3 = pytest.mark.parametrize("release", ["helm3"], indirect=True)
helm_4 = pytest.mark.parametrize("release", ["helm4"], indirect=True)


@pytest.fixture(autouse=True)
def with_history(release: Release) -> None:
    """Let every release of these tests carry its history, and run no attacher."""
    release.arguments = [
        f"--previous=helm:{release.namespace}/{release.name}",
        f"--namespace={release.namespace}",
        "--no-attacher",
    ]


def greeting(text: str, **values: Any) -> dict[str, Any]:
    return {"configMaps": {"app-config": {"greeting": text}}, **values}


def runs(api: Api, text: str) -> None:
    """Wait until the Rollout's template is that of a configuration, and it stands still."""
    name = revision_with(api, greeting=text)["metadata"]["name"]
    api.wait_for(lambda: named_by(api.get("Rollout", "app")) == {name}, f"it names {name}")


def fail_to_upgrade(release: Release, text: str) -> Done:
    """Upgrade to a release that never becomes ready, and let Helm go back by itself."""
    undo = ["--atomic"] if release.tool == "helm3" else ["--rollback-on-failure", "--wait=legacy"]
    values = greeting(text, workloads=[APP, BROKEN])
    patience = ("--timeout=15s", "--history-max=30")
    done = release.upgrade(values, *undo, *patience, check=False)
    assert done.returncode != 0
    assert "rolled back" in done.stderr or "rollback" in done.stderr, done.stderr
    return done


@pytest.mark.parametrize("is_attached", [True, False], ids=["attached", "alone"])
def test_every_way_back_and_forward_again(release: Release, api: Api, is_attached: bool) -> None:
    """Two upgrades, an upgrade that fails, a rollback to each release, an upgrade after each."""
    if is_attached:
        release.arguments.remove("--no-attacher")
    with NothingIsLost(api):
        release.install(greeting("one"))
        wait_for_phase(api, "Healthy")
        release.upgrade(greeting("two"))
        wait_for_phase(api, "Paused")
        promote(api, "app")
        wait_for_phase(api, "Healthy")
        release.upgrade(greeting("three"))
        wait_for_phase(api, "Paused")
        api.wait_for(lambda: contents(api) == ["three", "two"], "one Pod of each")
        fail_to_upgrade(release, "four")
        runs(api, "three")
        wait_for_phase(api, "Paused")
        for number, text in enumerate(["one", "two", "three"], 1):
            release.rollback(number)
            runs(api, text)
            release.upgrade(greeting(f"after {text}"))
            runs(api, f"after {text}")
            wait_for_phase(api, "Paused")
        release.upgrade(greeting("three"))
        runs(api, "three")
        api.wait_for(lambda: not api.find("Deployment", "broken"), "what failed is gone")


def test_few_revisions_stay_and_every_release_can_be_gone_back_to(
    release: Release, api: Api
) -> None:
    """Two revisions, five configurations; what was dropped is made anew by the rollback."""
    release.config["history"] = {"keep": 2}
    history = "--history-max=30"
    for number in range(1, 6):
        release.upgrade(greeting(str(number)), history)
    runs(api, "5")
    assert {one["data"]["greeting"] for one in revisions(api)} == {"5", "4"}
    fail_to_upgrade(release, "6")
    runs(api, "5")
    for number in range(1, 6):
        release.rollback(number)
        runs(api, str(number))
        release.upgrade(greeting(f"after {number}"), history)
        runs(api, f"after {number}")


def test_the_release_before_the_first_revisions_is_gone_back_to(release: Release, api: Api) -> None:
    """The first release carries the original along, so that no `adopt` is needed either."""
    release.postrender = False
    release.install(greeting("one"))
    wait_for_phase(api, "Healthy")
    release.postrender = True
    with NothingIsLost(api):
        for text in ("two", "three"):
            release.upgrade(greeting(text))
            wait_for_phase(api, "Paused")
            assert api.get("ConfigMap", "app-config")["data"] == {"greeting": "one"}
        release.rollback(1)
        wait_for_phase(api, "Healthy")
        assert named_by(api.get("Rollout", "app")) == {"app-config"}
        release.upgrade(greeting("four"))
        runs(api, "four")


@helm_3
def test_what_came_later_is_reached_by_an_upgrade(release: Release, api: Api) -> None:
    """Helm 3 refuses to roll back to it, and says so; nothing is lost, and nothing is stuck."""
    with NothingIsLost(api):
        for text in ("one", "two", "three"):
            release.upgrade(greeting(text))
        release.rollback(1)
        runs(api, "one")
        refused = release.rollback(3, check=False)
        assert "no ConfigMap with the name" in refused.stderr
        # Not to the same content at once: after a failure Helm 3 takes that for done.
        release.upgrade(greeting("three"))
        runs(api, "one")
        release.upgrade(greeting("one"))
        release.upgrade(greeting("three"))
        runs(api, "three")


@helm_3
def test_a_job_that_a_refusal_has_left_fails_one_rollback(release: Release, api: Api) -> None:
    """It comes last, so that all else is rolled back; and the second time all is."""
    release.arguments.remove("--no-attacher")
    with NothingIsLost(api):
        for text in ("one", "two", "three"):
            release.upgrade(greeting(text))
        release.rollback(1)
        release.rollback(3, check=False)
        release.upgrade(greeting("one"))
        release.upgrade(greeting("three"))
        runs(api, "three")
        refused = release.rollback(1, check=False)
        assert re.search('no Job with the name ".+-attach-.+" found', refused.stderr)
        runs(api, "one")
        release.rollback(1)
        runs(api, "one")
        release.upgrade(greeting("three"))
        runs(api, "three")


@helm_4
def test_folded_text_is_carried_as_it_is(release: Release, api: Api, tmp_path: Path) -> None:
    """Helm 4 adds a line to folded text each time; an immutable ConfigMap could not take it."""
    release.chart = shutil.copytree(CHART, tmp_path / "chart")
    folded = """
apiVersion: v1
kind: ConfigMap
metadata:
  name: app-config
data:
  greeting: {{ .Values.text }}
  folded: >
    first
      more indented

    last
"""
    (release.chart / "templates" / "configmaps.yaml").write_text(folded)
    for text in ("one", "two", "three", "two"):
        release.upgrade({"text": text})
        found = {one["data"]["greeting"]: one["data"]["folded"] for one in revisions(api)}
        # One line more than in the chart: Helm's own pass before, whose result is hashed.
        assert set(found.values()) == {"first\n\n  more indented\n\nlast\n"}
    assert found.keys() == {"one", "two", "three"}
    release.rollback(1)
    release.upgrade({"text": "four"})
    assert len(revisions(api)) == 4


@helm_3
def test_what_a_hidden_hook_names_stays_without_a_word(release: Release, api: Api) -> None:
    """Helm tells of the hooks of the release before; those of the first one nobody knows."""
    values = {"extra": [REPORT]}
    release.install(greeting("one", **values))
    assert not api.find("ConfigMap", "app-config")
    for text in ("two", "three"):
        release.upgrade(greeting(text, **values), "--timeout", "60s")
        assert api.get("ConfigMap", "app-config")["data"] == {"greeting": text}


def test_numbers_count_up_through_rollbacks(release: Release, api: Api) -> None:
    release.config["naming"] = "sequence"
    for text in ("one", "two", "one"):
        release.upgrade(greeting(text))
    assert numbers(api) == [1, 2, 3]
    release.rollback(2)
    release.upgrade(greeting("four"))
    assert numbers(api) == [1, 2, 3, 4]


def numbers(api: Api) -> list[int]:
    """Return the numbers in the names of the revisions."""
    names = [one["metadata"]["name"] for one in revisions(api)]
    found = [re.fullmatch(r"app-config-v(\d+)-\w{10}", name) for name in names]
    return sorted(int(each[1]) for each in found if each)


# The namespace is never a guess.


def test_a_release_that_is_in_another_namespace_is_not_taken_for_a_new_one(
    release: Release, plane: ControlPlane, request: pytest.FixtureRequest
) -> None:
    release.install(greeting("one"))
    other = make_namespace(plane.api(), request.node.name)
    release.arguments = [f"--previous=helm:{other}/{release.name}", "--no-attacher"]
    message = refusal(release)
    assert f"the namespace {other} has no release app" in message
    assert release.namespace in message
    plane.api().delete("Namespace", other)


def test_the_history_of_another_namespace_is_refused(release: Release) -> None:
    release.arguments = [f"--previous=helm:{release.namespace}/none", "--no-attacher"]
    elsewhere = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": "elsewhere", "namespace": "elsewhere"},
    }
    message = refusal(release, extra=[elsewhere])
    assert "is not the release of these manifests, whose namespace is elsewhere" in message


def test_a_cluster_that_does_not_answer_is_an_error(release: Release) -> None:
    release.arguments.append("--kubeconfig=/dev/null")
    assert "helm history failed for --previous=" in refusal(release)


def test_an_argument_in_two_words_is_taken_by_helm_as_well(release: Release) -> None:
    """Helm looks for its own options before it knows which of them take a value."""
    install = ("upgrade", "--install", release.name, str(release.chart))
    two_words = ("--post-renderer-args", "--kube-context=absent")
    refused = release.helm(*install, *two_words, check=False)
    assert 'context "absent" does not exist' in refused.stderr
    release.helm(*install, "=".join(two_words))


def refusal(release: Release, **values: Any) -> str:
    """Return why postrender refuses a release; the log has it, because Helm 4 does not tell."""
    log = release.folder / "postrender.log"
    release.config["logFile"] = str(log)
    done = release.upgrade(greeting("two", **values), check=False)
    assert done.returncode != 0
    return log.read_text()
