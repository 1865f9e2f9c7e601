"""First installs: every revision is owned by its workload and that workload's revision object."""

from __future__ import annotations

import pytest

from tests.e2e.api import Api
from tests.e2e.looks import owners, revision_with, wait_for_attachers
from tests.e2e.releases import Release


@pytest.mark.parametrize("mode", ["hook", "job"])
def test_a_first_install_is_attached(release: Release, api: Api, mode: str) -> None:
    release.config["attacher"]["mode"] = mode
    release.install()
    wait_for_attachers(api)
    [replica_set] = api.names("ReplicaSet")
    assert owners(revision_with(api, greeting="hello")) == [
        f"ReplicaSet/{replica_set}",
        "Rollout/app",
    ]
