"""`postrender config rbac` prints the permissions that the rendered Jobs need."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import kubernetes_validate
import pytest
from ruamel.yaml import YAML

from postrender.cli import main

ROOT = Path(__file__).resolve().parents[2]
MANIFESTS = str(ROOT / "examples" / "rendered" / "v1.yaml")
KUBERNETES = "1.35"

Objects = list[dict[str, Any]]
Run = Callable[..., Objects]


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str], tmp_path: Path) -> Run:
    """Return a function that runs a command in a new folder and returns the printed objects."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / ".git").mkdir()

    def call(*arguments: str, configuration: str = "", expected: str = "") -> Objects:
        (tmp_path / "postrender.yaml").unlink(missing_ok=True)
        if configuration:
            (tmp_path / "postrender.yaml").write_text(configuration)
        code = main.run(arguments)
        out, err = capfd.readouterr()
        assert (code, expected in err, bool(err)) == (0, True, bool(expected)), err
        return [obj for obj in YAML(typ="safe").load_all(out) if obj]

    return call


def of_kind(objects: Objects, kind: str) -> list[dict[str, Any]]:
    return [obj for obj in objects if obj["kind"] == kind]


def rendered(run: Run, mode: str, *options: str, more: str = "", file: str = MANIFESTS) -> Objects:
    image = "--attacher-image=registry.example.com/postrender:1"
    configuration = f"attacher:\n  mode: {mode}\n{more}"
    return run("render", "-q", image, *options, file, configuration=configuration)


@pytest.fixture
def with_a_secret(tmp_path: Path) -> str:
    """Return a file with the manifests, in which a Deployment references a Secret."""
    secret = {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": "shop-token"},
        "data": {"token": "czNj"},
    }
    source = [{"secretRef": {"name": "shop-token"}}]
    pod = {"containers": [{"name": "app", "image": "app:1", "envFrom": source}]}
    spec = {
        "selector": {"matchLabels": {"app": "app"}},
        "template": {"metadata": {"labels": {"app": "app"}}, "spec": pod},
    }
    metadata = {"name": "app", "labels": {"app.kubernetes.io/instance": "shop"}}
    workload = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": metadata, "spec": spec}
    file = tmp_path / "with-a-secret.yaml"
    added = "".join(f"---\n{json.dumps(obj)}\n" for obj in (secret, workload))
    file.write_text(Path(MANIFESTS).read_text() + added)
    return str(file)


@pytest.mark.parametrize("options", [(), ("--secrets",)])
@pytest.mark.parametrize("mode", ["hook", "job"])
def test_the_rules_are_those_of_the_rendered_role(
    mode: str, options: tuple[str, ...], run: Run, with_a_secret: str
) -> None:
    [printed] = of_kind(run("config", "rbac", "--mode", mode, *options), "Role")
    names = (obj for obj in of_kind(rendered(run, mode, *options, file=with_a_secret), "Role"))
    [role] = [obj for obj in names if "postrender/attach-group" in obj["metadata"]["labels"]]
    assert printed["rules"] == role["rules"]


def test_the_role_grants_secrets_only_if_the_output_has_a_secret(
    run: Run, with_a_secret: str
) -> None:
    without = of_kind(rendered(run, "hook", "--secrets"), "Role")
    assert "secrets" not in str(without)
    assert "secrets" in str(of_kind(rendered(run, "hook", "--secrets", file=with_a_secret), "Role"))


@pytest.mark.parametrize("account", ["", "  rbac: {create: false}\n"])
def test_only_the_pod_of_the_attacher_mounts_the_token(run: Run, account: str) -> None:
    output = rendered(run, "hook", more=account)
    objects = [*output, *(run("config", "rbac", configuration=WITHOUT_ROLE) if account else [])]
    accounts = [
        obj
        for obj in of_kind(objects, "ServiceAccount")
        if obj["metadata"]["labels"].get("app.kubernetes.io/component") == "attacher"
    ]
    assert [obj["automountServiceAccountToken"] for obj in accounts] == [False]
    [job] = (obj for obj in of_kind(output, "Job") if "attach" in obj["metadata"]["name"])
    assert job["spec"]["template"]["spec"]["automountServiceAccountToken"] is True


def test_the_mode_auto_covers_both_forms(run: Run) -> None:
    auto, job = (run("config", "rbac", "--mode", mode) for mode in ("auto", "job"))
    assert auto == job == run("config", "rbac")
    hook = run("config", "rbac", configuration=WITHOUT_ROLE + "  mode: hook\n")
    assert hook == run("config", "rbac", "--mode", "hook")
    assert hook != job


WITHOUT_ROLE = "attacher:\n  rbac: {create: false}\n"
ACCOUNTS = {
    "shared": ("", ["ServiceAccount/postrender-attach"], []),
    "in the output": ("{name: mine}", [], ["ServiceAccount/mine"]),
    "elsewhere": ("{name: mine, create: false}", [], []),
    "shared and elsewhere": ("{create: false}", [], []),
}


@pytest.mark.parametrize("case", ACCOUNTS)
def test_the_account_of_the_job_exists_once_and_has_the_role(case: str, run: Run) -> None:
    account, printed_once, in_output = ACCOUNTS[case]
    more = "  rbac: {create: false}\n" + (f"  serviceAccount: {account}\n" if account else "")
    printed = run("config", "rbac", "-n", "prod", configuration=f"attacher:\n{more}")
    output = rendered(run, "hook", more=more)
    ours = [obj for obj in output if "postrender/attach-group" in obj["metadata"].get("labels", {})]
    assert titles(of_kind(printed, "ServiceAccount")) == printed_once
    assert titles(of_kind(ours, "ServiceAccount")) == in_output
    assert not [*of_kind(ours, "Role"), *of_kind(ours, "RoleBinding")]
    [binding], [role] = of_kind(printed, "RoleBinding"), of_kind(printed, "Role")
    [job] = of_kind(ours, "Job")
    name = job["spec"]["template"]["spec"]["serviceAccountName"]
    assert binding["subjects"] == [{"kind": "ServiceAccount", "name": name, "namespace": "prod"}]
    assert binding["roleRef"]["name"] == role["metadata"]["name"]


def titles(objects: Objects) -> list[str]:
    return [f"{obj['kind']}/{obj['metadata']['name']}" for obj in objects]


def test_the_objects_are_valid_and_do_not_belong_to_an_attach_group(run: Run) -> None:
    objects = run("config", "rbac", "--namespace=prod", "--secrets")
    assert titles(objects) == [
        f"{kind}/postrender-attach" for kind in ("ServiceAccount", "Role", "RoleBinding")
    ]
    for obj in objects:
        kubernetes_validate.validate(obj, KUBERNETES, strict=True)
        assert obj["metadata"]["namespace"] == "prod"
        assert "postrender/attach-group" not in obj["metadata"]["labels"]
    without = run("config", "rbac")
    assert all("namespace" not in obj["metadata"] for obj in without)
    assert without[-1]["subjects"] == [{"kind": "ServiceAccount", "name": "postrender-attach"}]


def test_a_configuration_with_its_own_role_is_reported(run: Run) -> None:
    run("config", "rbac", configuration=WITHOUT_ROLE)
    run(
        "config",
        "rbac",
        configuration="strict: true\n",
        expected="does not set attacher.rbac.create to false",
    )
