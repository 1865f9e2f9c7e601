"""The command line of `postrender collect`, against a cluster in memory."""

from __future__ import annotations

import pytest

from postrender.attach import client, command
from postrender.attach.connect import Connection
from postrender.cli import main
from tests.attach.cluster import NAMESPACE, Cluster
from tests.attach.test_collect import CREATED, NEW_KEY, OLD_KEY, OLD_MARKED, RELEASE


@pytest.fixture
def cluster(monkeypatch: pytest.MonkeyPatch) -> Cluster:
    cluster = Cluster(*RELEASE, OLD_MARKED)
    session = cluster.client()._session
    monkeypatch.setattr(command, "connect", lambda *_: Connection(session, NAMESPACE, None))
    return cluster


def test_without_yes_nothing_changes(cluster: Cluster, capfd: pytest.CaptureFixture[str]) -> None:
    assert main.run(["collect"]) == 0
    out, err = capfd.readouterr()
    assert f"namespace prod: collect would delete {OLD_KEY}" in out
    assert out.endswith("collect has changed nothing. To make these changes, pass --yes.\n")
    assert (cluster.writes, err) == ([], "")


@pytest.mark.parametrize("kept", [False, True])
def test_without_a_change_nothing_asks_for_yes(
    kept: bool, cluster: Cluster, capfd: pytest.CaptureFixture[str]
) -> None:
    cluster.objects.clear()
    if kept:
        cluster.add(CREATED)
    assert main.run(["collect"]) == 0
    [line] = capfd.readouterr().out.splitlines()
    assert (line == "collect would change nothing.") != (
        f"collect keeps the unused {OLD_KEY}" in line
    )


@pytest.mark.parametrize("scope", [["--namespace=prod"], ["-A"]])
def test_yes_makes_the_changes(
    cluster: Cluster, scope: list[str], capfd: pytest.CaptureFixture[str]
) -> None:
    assert main.run(["collect", "--yes", *scope]) == 0
    assert f"delete {OLD_KEY}" in cluster.writes
    assert f"collect added owners to {NEW_KEY}" in capfd.readouterr().out


def test_a_problem_is_an_error_after_the_report(
    cluster: Cluster, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(client, "FORBIDDEN_RETRY_SECONDS", 0.0)
    cluster.refused["list", "Pod"] = 403
    assert main.run(["collect", "--yes"]) == 1
    out, err = capfd.readouterr()
    assert f"collect added owners to {NEW_KEY}" in out
    assert "error: postrender cannot list pods (HTTP status 403), so collect does not delete" in err
    assert "delete" not in "".join(cluster.writes)


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (["--older-than=soon"], '--older-than is "soon", expected a time such as 30d'),
        (["--older-than=d"], '--older-than is "d"'),
        (["--older-than=999999999999d"], "--older-than is"),
        (["--namespace=prod", "--all-namespaces"], "are both set"),
    ],
)
def test_options_that_make_no_sense(
    arguments: list[str], problem: str, capfd: pytest.CaptureFixture[str]
) -> None:
    assert main.run(["collect", *arguments]) == 2
    assert problem in capfd.readouterr().err
