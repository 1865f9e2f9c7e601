"""Rollbacks with Helm while the output retains the history: one argument, `--previous=helm:`."""

from __future__ import annotations

import re
import shutil
from pathlib import Path
from typing import Any

import pytest

from postrender.kubernetes.hashing import HASH_SUFFIX
from tests.e2e.api import Api
from tests.e2e.cluster import ControlPlane
from tests.e2e.lifecycle_checks import NothingIsLost
from tests.e2e.namespaces import make_namespace
from tests.e2e.queries import (
    GROUP_LABEL,
    apply_attached,
    contents,
    referenced_config_maps,
    release_owners,
    revision_with,
    revisions,
    wait_for_phase,
)
from tests.e2e.releases import CHART, Done, Release
from tests.e2e.rollouts import promote
from tests.rings import helm_3_in_matrix, in_matrix

# A Deployment that never becomes ready, because its ConfigMap does not exist.
BROKEN = {"name": "broken", "kind": "Deployment", "volume": ["absent"], "replicas": 1}
APP = {"name": "app", "kind": "Rollout", "volume": ["app-config"]}
# A hook that Helm 3 does not pass to a post-renderer.
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
# Helm 3.22 no longer rejects a rollback to an object that the current release lacks.
helm_3_21 = pytest.mark.parametrize("release", ["helm3.21"], indirect=True)
helm_4 = pytest.mark.parametrize("release", ["helm4"], indirect=True)


@pytest.fixture(autouse=True)
def with_history(release: Release) -> None:
    """Make every release of these tests retain its history, and run no attacher."""
    release.arguments = [
        f"--previous=helm:{release.namespace}/{release.name}",
        f"--namespace={release.namespace}",
        "--no-attacher",
    ]


def greeting(text: str, **values: Any) -> dict[str, Any]:
    return {"configMaps": {"app-config": {"greeting": text}}, **values}


def wait_for_greeting(api: Api, text: str) -> None:
    """Wait until the Rollout references the revision of a greeting."""
    name = revision_with(api, greeting=text)["metadata"]["name"]
    api.wait_for(
        lambda: referenced_config_maps(api.get("Rollout", "app")) == {name}, f"it references {name}"
    )


def fail_to_upgrade(release: Release, text: str) -> Done:
    """Upgrade to a release that never becomes ready, and let Helm roll back by itself."""
    rollback_options = (
        ["--atomic"] if release.tool == "helm3" else ["--rollback-on-failure", "--wait=legacy"]
    )
    values = greeting(text, workloads=[APP, BROKEN])
    patience = ("--timeout=15s", "--history-max=30")
    done = release.upgrade(values, *rollback_options, *patience, check=False)
    assert done.returncode != 0
    assert "rolled back" in done.stderr or "rollback" in done.stderr, done.stderr
    return done


def test_the_group_has_the_name_of_the_release(release: Release, api: Api) -> None:
    """Both Helms know the release by `--previous`, also in the first install."""
    release.arguments.remove("--no-attacher")
    apply_attached(api, release.install)
    [revision] = revisions(api)
    account = f"{release.name}-attach"
    assert revision["metadata"]["labels"][GROUP_LABEL] == account
    assert release_owners(revision) == [f"ServiceAccount/{account}"]


@pytest.mark.parametrize(
    ("release", "is_attached"),
    [
        pytest.param("helm4", True, id="helm4-attached"),
        pytest.param("helm3", False, id="helm3-alone"),
        pytest.param("helm3", True, id="helm3-attached", marks=in_matrix),
        pytest.param("helm4", False, id="helm4-alone", marks=in_matrix),
    ],
    indirect=["release"],
)
def test_every_rollback_and_every_upgrade_after_a_rollback(
    release: Release, api: Api, is_attached: bool
) -> None:
    """Two upgrades, a failing upgrade, a rollback to each release, and an upgrade after each."""
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
        wait_for_greeting(api, "three")
        wait_for_phase(api, "Paused")
        for number, text in enumerate(["one", "two", "three"], 1):
            release.rollback(number)
            wait_for_greeting(api, text)
            release.upgrade(greeting(f"after {text}"))
            wait_for_greeting(api, f"after {text}")
            wait_for_phase(api, "Paused")
        release.upgrade(greeting("three"))
        wait_for_greeting(api, "three")
        api.wait_for(
            lambda: not api.find("Deployment", "broken"), "the failed Deployment is deleted"
        )


def test_diff_compares_with_a_release(release: Release) -> None:
    """Helm stores the output, and hooks apart from it."""
    name = f"helm:{release.namespace}/{release.name}"
    release.install(greeting("one"))
    stored = release.manifest()
    assert release.diff(name, stored).startswith("no changes")
    changed = release.diff(name, stored.replace("greeting: one", "greeting: two"))
    assert "greeting: one -> two" in changed


@helm_3_in_matrix
def test_few_revisions_are_kept_and_every_release_can_be_rolled_back_to(
    release: Release, api: Api
) -> None:
    """Two revisions for four configurations; a rollback re-creates the dropped revisions."""
    release.config["history"] = {"keep": 2}
    history = "--history-max=30"
    for number in range(1, 5):
        release.upgrade(greeting(str(number)), history)
    wait_for_greeting(api, "4")
    assert {revision["data"]["greeting"] for revision in revisions(api)} == {"4", "3"}
    fail_to_upgrade(release, "5")
    wait_for_greeting(api, "4")
    for number in range(1, 5):
        release.rollback(number)
        wait_for_greeting(api, str(number))
        release.upgrade(greeting(f"after {number}"), history)
        wait_for_greeting(api, f"after {number}")


def test_the_release_before_the_first_revisions_can_be_rolled_back_to(
    release: Release, api: Api
) -> None:
    """The first release retains the original, so `adopt` is not needed."""
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
        assert referenced_config_maps(api.get("Rollout", "app")) == {"app-config"}
        release.upgrade(greeting("four"))
        wait_for_greeting(api, "four")


def test_a_later_release_is_reached_by_a_rollback(release: Release, api: Api) -> None:
    if release.refuses_kept:
        pytest.skip("Helm 3.21, 4.1 and earlier versions reject the rollback")
    with NothingIsLost(api):
        for text in ("one", "two", "three"):
            release.upgrade(greeting(text))
        for number, text in ((1, "one"), (3, "three")):
            release.rollback(number)
            wait_for_greeting(api, text)


@helm_3_21
def test_a_later_release_is_reached_by_an_upgrade(release: Release, api: Api) -> None:
    """Helm 3 rejects the rollback with an error; nothing is lost, and the next upgrade works."""
    with NothingIsLost(api):
        for text in ("one", "two", "three"):
            release.upgrade(greeting(text))
        release.rollback(1)
        wait_for_greeting(api, "one")
        refused = release.rollback(3, check=False)
        assert "no ConfigMap with the name" in refused.stderr
        # After a failed rollback, Helm 3 considers the target content live, and an upgrade to it
        # has no effect.
        release.upgrade(greeting("three"))
        wait_for_greeting(api, "one")
        release.upgrade(greeting("one"))
        release.upgrade(greeting("three"))
        wait_for_greeting(api, "three")


@helm_3_21
def test_a_job_left_by_a_rejected_rollback_fails_one_rollback(release: Release, api: Api) -> None:
    """Helm rolls back the Job last, after everything else, and the second rollback succeeds."""
    release.arguments.remove("--no-attacher")
    with NothingIsLost(api):
        for text in ("one", "two", "three"):
            release.upgrade(greeting(text))
        release.rollback(1)
        release.rollback(3, check=False)
        release.upgrade(greeting("one"))
        release.upgrade(greeting("three"))
        wait_for_greeting(api, "three")
        refused = release.rollback(1, check=False)
        assert re.search('no Job with the name ".+-attach-.+" found', refused.stderr)
        wait_for_greeting(api, "one")
        release.rollback(1)
        wait_for_greeting(api, "one")
        release.upgrade(greeting("three"))
        wait_for_greeting(api, "three")


@helm_4
def test_folded_text_is_retained_unchanged(release: Release, api: Api, tmp_path: Path) -> None:
    """Helm 4 adds a line to folded text each time; an immutable ConfigMap could not be updated."""
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
        folded_texts = {
            revision["data"]["greeting"]: revision["data"]["folded"] for revision in revisions(api)
        }
        # One line more than in the chart, because Helm changes the text before the hash is
        # computed.
        assert set(folded_texts.values()) == {"first\n\n  more indented\n\nlast\n"}
    assert folded_texts.keys() == {"one", "two", "three"}
    release.rollback(1)
    release.upgrade({"text": "four"})
    assert len(revisions(api)) == 4


@helm_3
def test_the_original_of_a_hook_that_helm_3_does_not_pass_is_kept(
    release: Release, api: Api
) -> None:
    """Helm shows the hooks of the previous release; the hooks of the first release are unknown."""
    values = {"extra": [REPORT]}
    release.install(greeting("one", **values))
    assert not api.find("ConfigMap", "app-config")
    for text in ("two", "three"):
        release.upgrade(greeting(text, **values), "--timeout", "60s")
        assert api.get("ConfigMap", "app-config")["data"] == {"greeting": text}


@helm_3_in_matrix
def test_numbers_keep_increasing_after_rollbacks(release: Release, api: Api) -> None:
    release.config["naming"] = "sequence"
    for text in ("one", "two", "one"):
        release.upgrade(greeting(text))
    assert numbers(api) == [1, 2, 3]
    release.rollback(2)
    release.upgrade(greeting("four"))
    assert numbers(api) == [1, 2, 3, 4]


def numbers(api: Api) -> list[int]:
    """Return the numbers in the names of the revisions."""
    names = [revision["metadata"]["name"] for revision in revisions(api)]
    matches = [re.fullmatch(rf"app-config-v(\d+){HASH_SUFFIX}", name) for name in names]
    return sorted(int(match[1]) for match in matches if match)


# The namespace is never guessed.


def test_a_release_in_another_namespace_is_not_treated_as_a_new_release(
    release: Release, plane: ControlPlane, request: pytest.FixtureRequest
) -> None:
    release.install(greeting("one"))
    other = make_namespace(plane.api(), request.node.name)
    release.arguments = [f"--previous=helm:{other}/{release.name}", "--no-attacher"]
    message = refusal(release)
    assert f"not in {other}" in message
    assert release.namespace in message
    plane.api().delete("Namespace", other)


def test_the_history_of_another_namespace_is_rejected(release: Release) -> None:
    release.arguments = [f"--previous=helm:{release.namespace}/none", "--no-attacher"]
    elsewhere = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": "elsewhere", "namespace": "elsewhere"},
    }
    message = refusal(release, extra=[elsewhere])
    assert "but the objects with a namespace are in elsewhere" in message


def test_a_cluster_that_does_not_answer_is_an_error(release: Release) -> None:
    release.arguments.append("--kubeconfig=/dev/null")
    assert "helm history failed for --previous=" in refusal(release)


def test_helm_also_applies_an_argument_in_two_words(release: Release) -> None:
    """Helm looks for its own options before it knows which options take a value."""
    install = ("upgrade", "--install", release.name, str(release.chart))
    two_words = ("--post-renderer-args", "--kube-context=absent")
    refused = release.helm(*install, *two_words, check=False)
    assert 'context "absent" does not exist' in refused.stderr
    release.helm(*install, "=".join(two_words))


def refusal(release: Release, **values: Any) -> str:
    """Return postrender's error for a release from the log, because Helm 4 does not show it."""
    log = release.folder / "postrender.log"
    release.config["logFile"] = str(log)
    done = release.upgrade(greeting("two", **values), check=False)
    assert done.returncode != 0
    return log.read_text()
