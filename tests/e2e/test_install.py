"""First installs: every revision is owned by its workload and the workload's revision object."""

from __future__ import annotations

import pytest

from tests.e2e.api import Api
from tests.e2e.queries import owners, revision_with, wait_for_attachers
from tests.e2e.releases import Release
from tests.rings import in_matrix

# One ConfigMap for each way in which a Pod references a ConfigMap.
WAYS = ("env", "env-from", "projected", "volume")
PROJECTED = {"sources": [{"configMap": {"name": "projected"}}]}
VALUES = {
    "configMaps": {way: {"way": way} for way in WAYS},
    "workloads": [
        {
            "name": "app",
            "kind": "Rollout",
            "envFrom": ["env-from"],
            "env": [{"configMap": "env", "key": "way"}],
            "podSpec": {
                "volumes": [
                    {"name": "one", "configMap": {"name": "volume"}},
                    {"name": "two", "projected": PROJECTED},
                ]
            },
        }
    ],
}


@pytest.mark.parametrize(
    ("release", "mode"),
    [
        ("helm3", "hook"),
        ("helm4", "job"),
        pytest.param("helm3", "job", marks=in_matrix),
        pytest.param("helm4", "hook", marks=in_matrix),
    ],
    indirect=["release"],
)
def test_a_first_install_is_attached(release: Release, api: Api, mode: str) -> None:
    release.config["attacher"]["mode"] = mode
    release.install(VALUES)
    wait_for_attachers(api)
    [replica_set] = api.names("ReplicaSet")
    for way in WAYS:
        owner_titles = owners(revision_with(api, way=way))
        assert owner_titles == [f"ReplicaSet/{replica_set}", "Rollout/app"]
