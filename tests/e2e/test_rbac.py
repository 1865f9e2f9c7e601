"""Releases without a Role, whose attachers use the output of `postrender config rbac`."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from tests.e2e import attachers
from tests.e2e.accounts import account_kubeconfig, create_account
from tests.e2e.api import Api
from tests.e2e.cluster import ControlPlane
from tests.e2e.lifecycle_checks import wait_until_owned
from tests.e2e.programs import ROOT
from tests.e2e.queries import revisions, wait_for_attachers
from tests.e2e.releases import Release, run
from tests.e2e.test_role import assert_every_kind_is_an_owner, workloads_of_every_kind
from tests.rings import in_matrix

ACCOUNT = "postrender-attach"
WITHOUT_ROLE = {"image": "postrender:e2e", "required": True, "rbac": {"create": False}}
SHOP = {"configMaps": {"app-config": {"greeting": "hello"}}}
RBAC_KINDS = ("ServiceAccount", "Role", "RoleBinding")


def apply_rbac(release: Release, *options: str) -> None:
    """Apply the output of `postrender config rbac` as an administrator."""
    configuration = release.folder / "rbac.yaml"
    configuration.write_text(json.dumps(release.config))
    command = [sys.executable, "-m", "postrender", "config", "rbac", "--config", str(configuration)]
    namespace = f"--namespace={release.namespace}"
    printed = run([*command, namespace, *options], {"PYTHONPATH": str(ROOT)}, release.folder)
    release.kubectl("apply", "-f", "-", stdin=printed.stdout)


@pytest.mark.parametrize("mode", ["hook", "job"])
def test_the_printed_role_is_sufficient_for_every_kind(
    manifests: Release, api: Api, plane: ControlPlane, mode: str
) -> None:
    manifests.config = {"secrets": True, "attacher": WITHOUT_ROLE | {"mode": mode}}
    apply_rbac(manifests)
    manifests.apply(workloads_of_every_kind())
    [pod] = wait_for_attachers(api)
    assert pod["spec"]["serviceAccountName"] == ACCOUNT
    assert "error" not in attachers.log(plane, pod)
    assert [api.names(kind) for kind in RBAC_KINDS[1:]] == [[ACCOUNT], [ACCOUNT]]
    assert_every_kind_is_an_owner(api)


def test_without_the_printed_role_binding_the_job_reports_the_missing_permission(
    manifests: Release, api: Api, plane: ControlPlane
) -> None:
    manifests.config = {"attacher": WITHOUT_ROLE}
    apply_rbac(manifests)
    api.delete("RoleBinding", ACCOUNT)
    manifests.apply(SHOP)
    pod = wait_for_attachers(api, "Failed")[0]  # the Job starts another one after 10 s
    assert "Compare the permissions of the account" in attachers.log(plane, pod)


class Tenant(Release):
    """A release by a user who may write workloads, ConfigMaps and Secrets, but no permissions."""

    def become_tenant(self, api: Api) -> None:
        """Use the tenant's account from now on."""
        create_tenant(api)
        kubeconfig = self.folder / "tenant"
        kubeconfig.write_text(account_kubeconfig(self.plane, api, "tenant"))
        self._kubeconfig = kubeconfig

    def _env(self) -> dict[str, str]:
        return super()._env() | {"KUBECONFIG": str(self._kubeconfig)}


def create_tenant(api: Api) -> None:
    """Create an account that may write the kinds of four API groups, without Roles."""
    rules = [
        {"apiGroups": [group], "resources": ["*"], "verbs": ["*"]}
        for group in ("", "apps", "batch", "argoproj.io")
    ]
    create_account(api, "tenant", rules)


@pytest.fixture(params=[pytest.param("helm3", marks=in_matrix), "helm4"])
def tenant(request: pytest.FixtureRequest, plane: ControlPlane, api: Api, tmp_path: Path) -> Tenant:
    return Tenant(request.param, plane, api.namespace, tmp_path / "tenant")


def test_a_user_who_may_not_create_roles_releases_twice(
    tenant: Tenant, manifests: Release, api: Api
) -> None:
    manifests.config = {"attacher": WITHOUT_ROLE}
    apply_rbac(manifests)
    tenant.become_tenant(api)
    refused = tenant.install(SHOP, check=False)
    assert refused.returncode != 0
    assert "forbidden" in refused.stderr
    tenant.uninstall(check=False)
    tenant.config = manifests.config
    tenant.upgrade(SHOP)
    wait_until_owned(api)
    tenant.upgrade({"configMaps": {"app-config": {"greeting": "bye"}}})
    wait_for_attachers(api)
    wait_until_owned(api)
    greetings = {revision["data"]["greeting"] for revision in revisions(api)}
    assert greetings == {"hello", "bye"}
    tenant.uninstall()
    api.wait_for(lambda: not revisions(api), "the revisions are deleted with the release")
    assert all(ACCOUNT in api.names(kind) for kind in RBAC_KINDS)


def test_a_release_can_have_its_own_account(tenant: Tenant, manifests: Release, api: Api) -> None:
    manifests.config = {"attacher": WITHOUT_ROLE | {"serviceAccount": {"name": "shop-attach"}}}
    apply_rbac(manifests)
    assert "shop-attach" not in api.names("ServiceAccount")
    tenant.become_tenant(api)
    tenant.config = manifests.config
    tenant.install(SHOP)
    [pod] = wait_for_attachers(api)
    assert pod["spec"]["serviceAccountName"] == "shop-attach"
    wait_until_owned(api)
    tenant.uninstall()
    assert "shop-attach" not in api.names("ServiceAccount")
    assert api.names("Role").count(f"{ACCOUNT}-shop-attach") == 1
