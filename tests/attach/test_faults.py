"""Wrong answers of the API server: a run never takes them for "no consumer", and it always ends."""

from __future__ import annotations

from random import Random

import pytest

from tests.attach.cluster import KINDS, Cluster, marked, name_of, revision, workload
from tests.attach.faulty import FAULTS, FaultyCluster, check_faults, run, user
from tests.attach.strange import check_values
from tests.effort import examples

NEW, OLD = revision("new"), revision("old", annotations=marked(30))
WANTED = f"Deployment/app@bb=configmap/{name_of(NEW)}"
APPLIED = (
    NEW,
    workload("Deployment/app", "bb", name_of(NEW)),
    workload("ReplicaSet/app-2", "bb", name_of(NEW), owner="Deployment/app"),
)


@pytest.mark.random_inputs
@pytest.mark.parametrize("part", range(4))
def test_random_faults_do_not_lose_a_revision(part: int) -> None:
    count = examples(400) // 4
    for seed in range(part * count, (part + 1) * count):
        check_faults(Random(seed))


@pytest.mark.parametrize("kind", ["Pod", "AnalysisTemplate", "ConfigMap"])
@pytest.mark.parametrize("fault", FAULTS)
def test_a_kind_that_is_never_answered_rightly(fault: str, kind: str) -> None:
    """The revision is used by the first of two objects of a kind."""
    resource = KINDS[kind]
    users = [] if kind == "ConfigMap" else [user(kind, "a", name_of(OLD)), user(kind, "b", "x")]
    cluster = FaultyCluster(
        Random(1),
        lambda _, path: fault if f"/{resource.plural}" in path else "",
        *APPLIED,
        OLD,
        *users,
    )
    error = run(cluster, WANTED)
    assert (name_of(OLD) in cluster.names("ConfigMap")) or not users
    assert name_of(NEW) in cluster.names("ConfigMap")
    if users and not cluster.faults:
        assert not error


def test_the_faults_are_those_of_a_run_that_would_delete() -> None:
    """Without a fault, the run deletes the revision that nothing uses, and keeps the other."""
    for users in ([], [user("Pod", "a", name_of(OLD)), user("Pod", "b", "x")]):
        cluster = Cluster(*APPLIED, OLD, *users)
        assert not run(cluster, WANTED)
        assert (name_of(OLD) in cluster.names("ConfigMap")) == bool(users)


@pytest.mark.random_inputs
@pytest.mark.parametrize("part", range(4))
def test_random_values_are_no_bug(part: int) -> None:
    count = examples(1600) // 4
    for seed in range(part * count, (part + 1) * count):
        check_values(Random(seed))
