"""`postrender config collector` prints a CronJob that may do only what collect does."""

from __future__ import annotations

from typing import Any

import kubernetes_validate
import pytest

from postrender.cli import main
from tests.cli.test_config_rbac import KUBERNETES, Run, run

__all__ = ["run"]
IMAGE = "--attacher-image=registry.example.com/postrender:1"


def by_kind(objects: list[dict[str, Any]]) -> dict[str, dict[str, Any]]:
    for data in objects:
        kubernetes_validate.validate(data, KUBERNETES, strict=True)
    return {data["kind"]: data for data in objects}


def verbs(role: dict[str, Any]) -> set[str]:
    return {verb for rule in role["rules"] for verb in rule["verbs"]}


def arguments(objects: dict[str, dict[str, Any]]) -> list[str]:
    pod = objects["CronJob"]["spec"]["jobTemplate"]["spec"]["template"]["spec"]
    assert pod["serviceAccountName"] == objects["ServiceAccount"]["metadata"]["name"]
    return list(pod["containers"][0]["args"])


def test_one_namespace(run: Run) -> None:
    objects = by_kind(run("config", "collector", "--namespace=prod", IMAGE))
    assert set(objects) == {"ServiceAccount", "Role", "RoleBinding", "CronJob"}
    assert {data["metadata"]["namespace"] for data in objects.values()} == {"prod"}
    assert verbs(objects["Role"]) == {"create", "delete", "get", "list", "patch"}
    resources = {name for rule in objects["Role"]["rules"] for name in rule["resources"]}
    assert "secrets" not in resources
    assert arguments(objects) == ["collect", "--yes", "--older-than", "1d"]


def test_all_namespaces(run: Run) -> None:
    objects = by_kind(run("config", "collector", "-A", "--namespace=ops", "--secrets", IMAGE))
    assert set(objects) == {"ServiceAccount", "ClusterRole", "ClusterRoleBinding", "CronJob"}
    assert objects["ClusterRoleBinding"]["roleRef"]["kind"] == "ClusterRole"
    assert objects["ClusterRoleBinding"]["subjects"][0]["namespace"] == "ops"
    assert "namespace" not in objects["ClusterRole"]["metadata"]
    assert arguments(objects)[-1] == "--all-namespaces"
    secrets = [rule for rule in objects["ClusterRole"]["rules"] if "secrets" in rule["resources"]]
    assert [rule["verbs"] for rule in secrets] == [["delete", "list", "patch"]]


def test_the_configuration_sets_the_image_and_the_pod(run: Run) -> None:
    text = "attacher:\n  mode: external\n  image: a:1\n  podTemplate: {spec: {priority: 1}}\n"
    objects = by_kind(run("config", "collector", configuration=text))
    pod = objects["CronJob"]["spec"]["jobTemplate"]["spec"]["template"]["spec"]
    assert (pod["containers"][0]["image"], pod["priority"]) == ("a:1", 1)


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ((), "attacher.image is not set"),
        ((IMAGE, "--all-namespaces"), "--all-namespaces is set without --namespace"),
    ],
)
def test_what_is_missing(
    options: tuple[str, ...], problem: str, capfd: pytest.CaptureFixture[str]
) -> None:
    assert main.run(["config", "collector", "--config=/dev/null", *options]) == 2
    assert problem in capfd.readouterr().err


def test_config_rbac_warns_of_the_mode_external(run: Run) -> None:
    text = "attacher: {mode: external, rbac: {create: false}}\n"
    run("config", "rbac", configuration=text, expected="postrender config collector")


def test_config_rbac_names_the_command_for_the_mode_external(
    capfd: pytest.CaptureFixture[str],
) -> None:
    assert main.run(["config", "rbac", "--config=/dev/null", "--mode=external"]) == 2
    assert "run: postrender config collector" in capfd.readouterr().err
