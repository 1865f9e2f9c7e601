"""The names of attach groups."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

from postrender.kubernetes.attach_groups import group_name_for_release, group_name_for_workload
from postrender.kubernetes.kinds import Identity
from tests.diff.change_cases import run


@pytest.mark.parametrize(
    ("release", "expected"),
    [
        ("shop", "shop-attach"),
        ("shop-attach", "shop-attach"),
        ("team_shop", "team-shop-attach-……-attach"),
        ("Shop", "shop-attach-……-attach"),
        ("a" * 60, "a" * 36 + "-……-attach"),
        ("-", "attach-……-attach"),
    ],
)
def test_a_name_from_a_release(release: str, expected: str) -> None:
    name = group_name_for_release(release)
    assert re.sub("[0-9a-f]{8}(?=-attach$)", "……", name) == expected
    assert len(name) <= 52
    assert re.fullmatch("[a-z0-9]([a-z0-9-]*[a-z0-9])?", name)


def test_a_name_from_a_workload() -> None:
    identity = Identity("apps", "Deployment", None, "shop")
    assert group_name_for_workload(identity) == "shop-deployment-attach"


STREAM = """apiVersion: v1
kind: ConfigMap
metadata: {name: web-config}
data: {a: b}
---
apiVersion: apps/v1
kind: Deployment
metadata:
  name: web
  labels: {app.kubernetes.io/instance: instance}
spec:
  template:
    spec:
      containers:
      - name: web
        envFrom: [{configMapRef: {name: web-config}}]
"""


def group_in(folder: Path, *options: str) -> str:
    """Return the name of the ServiceAccount in a rendered output."""
    (folder / "stream.yaml").write_text(STREAM)
    done = run(["render", "stream.yaml", "--attacher-image=postrender:test", *options], folder)
    assert done.code == 0, done.stderr
    [account] = re.findall(r"kind: ServiceAccount\nmetadata:\n  name: (\S+)", done.stdout)
    return str(account)


@pytest.mark.parametrize(
    ("application", "group"),
    [
        ("shop", "shop-attach"),
        # Argo CD writes NAMESPACE_NAME for an Application outside of its own namespace.
        ("teams_shop", "teams-shop-attach-7bdcdd6f-attach"),
        ("", "instance-attach"),
    ],
)
def test_a_group_has_the_name_of_the_argo_cd_application(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, application: str, group: str
) -> None:
    monkeypatch.setenv("ARGOCD_APP_NAME", application)
    assert group_in(tmp_path) == group
    assert group_in(tmp_path, "--group", "chosen") == "chosen-attach"


def test_a_workload_that_is_twice_in_the_input_is_one_argument(tmp_path: Path) -> None:
    deployment = STREAM[STREAM.index("apiVersion: apps/v1") :]
    twice = deployment.replace("name: web", "name: web\n  namespace: prod", 1)
    assert twice != deployment
    (tmp_path / "stream.yaml").write_text(f"{STREAM}---\n{twice}")
    options = ("--attacher-image=postrender:test", "--namespace=prod")
    done = run(["render", "stream.yaml", *options], tmp_path)
    assert done.stdout.count("Deployment/web@") == 1, done.stderr


def test_an_invalid_document_with_the_name_of_a_group_is_left_to_helm(tmp_path: Path) -> None:
    (tmp_path / "stream.yaml").write_text(f"kind: a\nmetadata: [web-attach\n---\n{STREAM}")
    options = ("--attacher-image=postrender:test", "--group=web")
    done = run(["render", "stream.yaml", *options], tmp_path)
    assert (done.code, "[web-attach" in done.stdout) == (0, True), done.stderr


def test_a_group_has_the_name_of_the_previous_release(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Helm knows the release, so a label or an Application of another name does not count."""
    monkeypatch.setenv("ARGOCD_APP_NAME", "application")
    helm = tmp_path / "bin" / "helm"
    helm.parent.mkdir()
    helm.write_text("#!/bin/sh\necho 'Error: release: not found' >&2\nexit 1\n")
    helm.chmod(0o755)
    monkeypatch.setenv("PATH", str(helm.parent), prepend=os.pathsep)
    options = ("--previous=helm:prod/shop", "--namespace=prod")
    assert group_in(tmp_path, *options) == "shop-attach"
    assert group_in(tmp_path, *options, "--group=chosen") == "chosen-attach"
