"""`postrender config admission-policy` prints a policy for the accounts of attachers."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import kubernetes_validate
import pytest
from ruamel.yaml import YAML

from postrender.cli import main
from postrender.config.settings import AttacherSettings
from postrender.kubernetes.attach_groups import group_name_for_release
from postrender.plan.admission import policy_objects

KUBERNETES = "1.35"


def printed(capfd: pytest.CaptureFixture[str], *options: str) -> tuple[Any, Any]:
    """Return the policy and the binding that the command prints."""
    assert main.run(["config", "admission-policy", *options]) == 0
    policy, binding = YAML(typ="safe").load_all(capfd.readouterr().out)
    return policy, binding


def condition(settings: AttacherSettings) -> str:
    """Return the condition by which the policy selects accounts."""
    policy: Any = policy_objects(settings, "")[0]
    return str(policy["spec"]["matchConditions"][0]["expression"])


@pytest.mark.parametrize("options", [(), ("--namespace=prod",)])
def test_the_objects_are_valid(
    options: tuple[str, ...],
    capfd: pytest.CaptureFixture[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    for obj in printed(capfd, *options):
        kubernetes_validate.validate(obj, KUBERNETES, strict=True)


def test_a_namespace_limits_the_binding(
    capfd: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    everywhere, prod = printed(capfd), printed(capfd, "--namespace=prod")
    assert everywhere[0] == prod[0]
    assert "matchResources" not in everywhere[1]["spec"]
    assert prod[1]["spec"]["matchResources"]["namespaceSelector"]["matchLabels"] == {
        "kubernetes.io/metadata.name": "prod"
    }


@pytest.mark.parametrize("release", ["shop", "shop-attach", "x" * 80, "Ä"])
def test_the_policy_applies_to_every_account_with_the_name_of_a_group(release: str) -> None:
    suffix, collector = re.findall(r'endsWith\("([^"]*)"\)', condition(AttacherSettings()))
    assert collector == ":postrender-collect"
    assert AttacherSettings().account_of(group_name_for_release(release)).endswith(suffix)
    assert AttacherSettings(creates_rbac=False).account_of("any").endswith(suffix)


def test_the_policy_applies_to_an_account_that_the_release_creates() -> None:
    own = AttacherSettings(service_account="mine")
    assert '.endsWith(":mine")' in condition(own)
    assert "mine" not in condition(own._replace(creates_service_account=False))


def test_a_name_does_not_add_to_the_expression() -> None:
    name = "x\") || true || ('"
    text = condition(AttacherSettings(service_account=name))
    assert text.endswith('.endsWith(":x\\") || true || (\'"))')
