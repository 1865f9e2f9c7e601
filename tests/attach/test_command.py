"""The commands attach and adopt against a cluster in memory: exit codes, log and Events."""

from __future__ import annotations

import json
import os
import signal
import socket
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from postrender import __version__
from postrender.attach import command
from postrender.attach.client import Client
from postrender.attach.connect import Connection, connect
from postrender.attach.request import CONFIG_MAPS, CONSUMER_KINDS, PODS
from postrender.cli import main
from postrender.errors import UserError
from tests.attach.cluster import (
    GROUP,
    NAMESPACE,
    Cluster,
    Json,
    job,
    marked,
    name_of,
    obj,
    revision,
    template,
    workload,
)

NEW = revision("new")
NEW_NAME = name_of(NEW)
WANTED = f"Deployment/app@bb=configmap/{NEW_NAME}"
DEPLOYMENT = workload("Deployment/app", "bb", NEW_NAME)
NEW_SET = workload("ReplicaSet/app-2", "bb", NEW_NAME, owner="Deployment/app")
APPLIED = (DEPLOYMENT, NEW_SET, NEW)


class Terminal:
    """The program in this process, connected to a cluster in memory."""

    def __init__(
        self, cluster: Cluster, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
    ) -> None:
        self.cluster = cluster
        self.namespace = NAMESPACE
        self.connections: list[tuple[Any, ...]] = []
        self.stderr = ""
        self._capfd = capfd
        for name in ("LOG_LEVEL", "IS_IN_CLUSTER", "VERSION", "JOB_NAME"):
            monkeypatch.delenv(name, raising=False)

        def connected(*arguments: object) -> Connection:
            self.connections.append(arguments)
            session = self.cluster.client()._session
            return Connection(session=session, namespace=self.namespace, account=None)

        monkeypatch.setattr(command, "connect", connected)
        self.handlers: dict[int, Any] = {}
        monkeypatch.setattr(signal, "signal", self.handlers.__setitem__)

    def run(self, *arguments: str) -> tuple[int, list[str], list[str]]:
        """Return the exit code, the messages of the log, and the lines on stdout."""
        with self.cluster.clock():
            code = main.run([*arguments])
        out, self.stderr = self._capfd.readouterr()
        return code, [message(line) for line in self.stderr.splitlines()], out.splitlines()


def message(line: str) -> str:
    if not line.startswith("{"):
        return line
    data = json.loads(line)
    return f"{data['level']}: {data['msg']}"


@pytest.fixture
def cluster() -> Cluster:
    return Cluster(*APPLIED)


@pytest.fixture
def terminal(
    cluster: Cluster, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> Terminal:
    return Terminal(cluster, monkeypatch, capfd)


ATTACH = ("attach", "--group", GROUP, "--workload", WANTED, "--timeout", "5s")
MISSING = (
    f"error: ConfigMap/{NEW_NAME} does not exist. Apply the manifests again.",
    f"ConfigMap/{NEW_NAME} does not exist. Apply the manifests again.",
)


def test_a_wrong_variable_is_not_reported_as_a_bug(
    terminal: Terminal, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("IS_IN_CLUSTER", "perhaps")
    assert terminal.run(*ATTACH)[0] == 2
    assert "the variable IS_IN_CLUSTER is" in terminal.stderr
    assert "bug" not in terminal.stderr


def test_a_run_logs_its_start_and_its_end(
    terminal: Terminal, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("VERSION", "7")
    monkeypatch.setenv("JOB_NAME", "app-attach-x")
    code, log, out = terminal.run(*ATTACH)
    assert (code, out) == (0, [])
    assert log[0] == (
        f"info: postrender {__version__}, VERSION 7, JOB_NAME app-attach-x: adding owners to "
        "1 revision for Deployment/app in namespace prod"
    )
    number = len(terminal.cluster.requests)
    assert log[-1] == (
        f"info: the run ends with exit code 0, after {number} requests (1 of these requests are "
        "writes)"
    )


@pytest.mark.parametrize("is_terminal", [True, False])
def test_a_log_is_json_unless_a_person_reads_it(
    terminal: Terminal, is_terminal: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys.stderr, "isatty", lambda: is_terminal)
    assert terminal.run(*ATTACH)[0] == 0
    assert terminal.stderr.startswith("info: " if is_terminal else "{")


def test_the_start_of_a_run_without_a_workload(terminal: Terminal) -> None:
    _, log, _ = terminal.run("attach", "--group", GROUP, "--emitted", f"configmap/{NEW_NAME}")
    assert log[0] == (
        f"info: postrender {__version__}: adding owners to 0 revisions in namespace prod"
    )


def test_the_namespace_on_the_command_line_wins(terminal: Terminal) -> None:
    terminal.namespace = "default"
    assert terminal.run(*ATTACH, "--namespace", NAMESPACE, "--kube-context", "c")[0] == 0
    assert terminal.connections == [(None, "c", None)]


@pytest.mark.parametrize("option", ["-q", "--quiet"])
def test_a_quiet_run_logs_only_errors(terminal: Terminal, option: str) -> None:
    assert terminal.run(*ATTACH, option)[:2] == (0, [])
    terminal.cluster.remove(f"ConfigMap/{NEW_NAME}")
    assert terminal.run(*ATTACH, option)[:2] == (1, [MISSING[0]])


def test_the_log_level_selects_lines(terminal: Terminal, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LOG_LEVEL", " Warn ")
    assert terminal.run(*ATTACH)[:2] == (0, [])
    monkeypatch.setenv("LOG_LEVEL", "debug")
    _, log, _ = terminal.run(*ATTACH)
    assert "debug: GET /apis/apps/v1/namespaces/prod/deployments" in log


def unused(cluster: Cluster) -> None:
    """Delete the new revision, and all references except the expected ones."""
    cluster.remove(f"ConfigMap/{NEW_NAME}")
    cluster.add(workload("Deployment/app", "bb"))
    cluster.add(workload("ReplicaSet/app-2", "bb", owner="Deployment/app"))


def test_a_failure_is_an_event_on_its_workload(terminal: Terminal, cluster: Cluster) -> None:
    unused(cluster)
    code, log, _ = terminal.run(*ATTACH)
    assert code == 1
    assert MISSING[0] in log
    [event] = cluster.events
    assert (event["type"], event["reason"], event["message"]) == (
        "Warning",
        "AttachFailed",
        MISSING[1],
    )
    assert event["involvedObject"]["uid"] == "Deployment/app"
    assert event["metadata"]["name"].startswith("app.")


def test_an_event_about_an_absent_workload_has_no_uid(terminal: Terminal, cluster: Cluster) -> None:
    cluster.remove("Deployment/app")
    assert terminal.run(*ATTACH)[0] == 1
    [event] = cluster.events
    assert "uid" not in event["involvedObject"]


def test_an_event_fits_into_the_limits_of_the_api_server(
    terminal: Terminal, cluster: Cluster
) -> None:
    name = "a" * 253
    conditions = [{"type": "ReplicaFailure", "status": "True", "message": "x" * 2000}]
    cluster.add(workload(f"Deployment/{name}", "bb", status={"conditions": conditions}))
    wanted = f"Deployment/{name}@bb=configmap/{NEW_NAME}"
    terminal.run("attach", "--group", GROUP, "--workload", wanted, "--timeout", "1s")
    [event] = cluster.events
    assert len(event["metadata"]["name"]) <= 253
    assert len(event["message"]) == 1024


REPORT = ("--on-failure", "report")


def test_a_reported_failure_is_not_an_error_of_the_job(
    terminal: Terminal, cluster: Cluster
) -> None:
    """A failed hook would fail the whole release."""
    unused(cluster)
    assert terminal.run(*ATTACH, *REPORT)[0] == 0
    assert len(cluster.events) == 1


def test_a_severe_failure_fails_even_if_it_is_reported(
    terminal: Terminal, cluster: Cluster
) -> None:
    cluster.remove(f"ConfigMap/{NEW_NAME}")  # the ReplicaSet still references it
    assert terminal.run(*ATTACH, *REPORT)[0] == 1
    assert len(cluster.events) == 1


@pytest.mark.parametrize("status", [403, 422, 0])
def test_a_failure_that_no_event_records_is_logged(
    terminal: Terminal, cluster: Cluster, status: int
) -> None:
    unused(cluster)
    cluster.refused["create", "Event"] = status
    code, log, _ = terminal.run(*ATTACH, *REPORT)
    assert code == 0
    assert MISSING[0] in log
    assert any(line.startswith("error: postrender cannot create events") for line in log)


def test_a_failure_without_a_workload_is_logged(terminal: Terminal, cluster: Cluster) -> None:
    cluster.add(revision("old", annotations=marked(30)))
    cluster.refused["delete", "ConfigMap"] = 422
    arguments = ("attach", "--group", GROUP, "--emitted", f"configmap/{NEW_NAME}", *REPORT)
    code, log, _ = terminal.run(*arguments)
    assert code == 0
    assert any(line.startswith("error: postrender cannot delete configmaps/") for line in log)
    assert not cluster.events


@pytest.mark.parametrize("kind", [resource.kind for resource in (CONFIG_MAPS, *CONSUMER_KINDS)])
@pytest.mark.parametrize("verb", ["list", "watch", "get", "patch", "delete"])
@pytest.mark.parametrize("status", [403, 422])
def test_a_refused_request_does_not_fail_a_release(
    terminal: Terminal, cluster: Cluster, verb: str, kind: str, status: int
) -> None:
    """The rendered Job reports: only a missing or foreign revision can fail the release."""
    cluster.add(revision("old", annotations=marked(30)))
    cluster.remove("ReplicaSet/app-2")
    cluster.later(2, NEW_SET)
    cluster.refused[verb, kind] = status
    assert terminal.run(*ATTACH, *REPORT)[0] == 0


def test_a_bug_does_not_fail_a_release(
    terminal: Terminal, cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(command, "attach", lambda *_: 1 / 0)
    assert terminal.run(*ATTACH)[0] == 3
    code, log, _ = terminal.run(*ATTACH, *REPORT)
    assert code == 0
    bug = (
        "a bug in postrender ended this run (ZeroDivisionError). "
        "Report the bug with the log of this run."
    )
    assert f"error: {bug}" in log
    assert [event["message"] for event in cluster.events] == [bug, bug]


def test_a_run_without_a_connection_does_not_fail_a_release(
    terminal: Terminal, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise UserError("the ServiceAccount has no token", "Mount the token")

    monkeypatch.setattr(command, "connect", refuse)
    assert terminal.run(*ATTACH)[0] == 1
    code, log, _ = terminal.run(*ATTACH, *REPORT)
    assert (code, log) == (0, ["error: the ServiceAccount has no token. Mount the token."])


def test_an_aborted_run_is_an_event_if_the_api_server_answers(
    terminal: Terminal, cluster: Cluster
) -> None:
    cluster.refused["list", "ConfigMap"] = 422
    code, log, _ = terminal.run(*ATTACH)
    assert code == 1
    assert log[-1].startswith("error: postrender cannot list configmaps in namespace prod (HTTP")
    [event] = cluster.events
    assert event["involvedObject"]["name"] == "app"
    assert event["involvedObject"]["uid"] == "Deployment/app"
    assert event["message"] == log[-1].removeprefix("error: ")
    cluster.refused["list", "Deployment"] = 422
    assert terminal.run(*ATTACH)[0] == 1
    assert "uid" not in cluster.events[-1]["involvedObject"]


@pytest.mark.parametrize(
    ("verb", "kind", "status"),
    [
        ("list", "CronJob", 422),
        ("list", "Secret", 422),
        ("watch", "ReplicaSet", 403),
        ("get", "ServiceAccount", 0),
        ("patch", "ConfigMap", 0),
        ("delete", "ConfigMap", 0),
    ],
)
def test_a_run_that_cannot_go_on_ends(
    terminal: Terminal, cluster: Cluster, verb: str, kind: str, status: int
) -> None:
    """A refused patch or deletion is only a failure, but here the API server does not answer."""
    cluster.refused[verb, kind] = status
    cluster.add(revision("old", annotations=marked(30)))
    if verb == "watch":
        cluster.remove("ReplicaSet/app-2")
    arguments = (*ATTACH, "--release-owner", "ServiceAccount/x", "--retired", "secret/s")
    code, log, _ = terminal.run(*arguments)
    assert code == 1
    assert log[-1].startswith(f"error: postrender cannot {verb} ")
    assert terminal.run(*arguments, *REPORT)[0] == 0
    assert len(cluster.names("ConfigMap")) == 2


@pytest.mark.parametrize("event_status", [201, 422])
def test_an_aborted_run_without_an_answer(
    terminal: Terminal, cluster: Cluster, event_status: int
) -> None:
    cluster.refused["create", "Event"] = event_status
    cluster.refused["list", "ConfigMap"] = 418 if event_status == 422 else 0
    code, log, _ = terminal.run(*ATTACH)
    assert code == 1
    assert log[-1].startswith("error: postrender cannot list configmaps in namespace prod")
    assert len(cluster.events) == (event_status == 422)


def test_an_interrupted_run_says_so(
    terminal: Terminal, monkeypatch: pytest.MonkeyPatch, cluster: Cluster
) -> None:
    def interrupt(_seconds: float) -> None:
        terminal.handlers[signal.SIGTERM](signal.SIGTERM, None)

    cluster.remove("Deployment/app")
    monkeypatch.setattr(cluster, "sleep", interrupt)
    code, log, _ = terminal.run(*ATTACH)
    assert code == command.INTERRUPTED
    assert log[-1] == (
        "error: SIGTERM or Ctrl-C ended this run early. The next run does only the remaining work."
    )


TOO_LONG = "this run has taken too much time"


@pytest.mark.parametrize(("options", "expected"), [((), 1), (REPORT, 0)])
def test_a_slow_server_does_not_hold_a_run(
    terminal: Terminal, cluster: Cluster, options: tuple[str, ...], expected: int
) -> None:
    cluster.latency = 25
    code, log, _ = terminal.run(*ATTACH, *options)
    assert code == expected
    assert "too much time" in log[-1]
    assert 5 + command.RUN_SECONDS <= cluster.seconds <= 5 + command.RUN_SECONDS + 2 * 25


def test_a_slow_server_does_not_hold_adopt(
    terminal: Terminal, cluster: Cluster, tmp_path: Path
) -> None:
    file = tmp_path / "out.yaml"
    file.write_text(output(*(f"a{number}" for number in range(20))))
    cluster.add(*(obj("ConfigMap", f"a{number}") for number in range(20)))
    cluster.latency = 25
    code, log, _ = terminal.run("adopt", str(file))
    assert code == 2
    assert "too much time" in log[-1]
    assert cluster.seconds <= command.RUN_SECONDS + 25


def test_a_signal_ends_a_run_that_waits_for_a_header(
    terminal: Terminal, monkeypatch: pytest.MonkeyPatch, cluster: Cluster
) -> None:
    def expire(_seconds: float) -> None:
        terminal.handlers[signal.SIGALRM](signal.SIGALRM, None)

    cluster.remove("Deployment/app")
    monkeypatch.setattr(cluster, "sleep", expire)
    code, log, _ = terminal.run(*ATTACH)
    assert code == 1
    assert log[-1] == (
        f"error: {TOO_LONG}. Check the network, and check that the API server answers."
    )


def test_the_signal_comes_again_until_the_run_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(command, "_SIGNAL_DELAY", 0.05)
    with command.time_limit(0) as deadline:
        assert deadline <= time.monotonic()
        for _ in range(2):
            with pytest.raises(UserError, match=TOO_LONG):
                time.sleep(60)
    time.sleep(0.1)  # the timer is off


# The command line of configmap-attacher


class Configurations:
    """Releases of a Rollout with revisionHistoryLimit 1, whose chart names each ConfigMap."""

    def __init__(self, terminal: Terminal, cluster: Cluster) -> None:
        self.terminal, self.cluster = terminal, cluster

    def release(self, number: int, *options: str) -> list[str]:
        """Apply a configuration, run attach eleven minutes later, and return the log."""
        name = f"config-{number}"
        self.cluster.add(
            obj("ConfigMap", name),
            workload("Rollout/app", "", name),
            workload(f"ReplicaSet/app-{number}", "", name, owner="Rollout/app"),
        )
        if f"ReplicaSet/app-{number - 2}" in self.cluster.objects:
            self.cluster.remove(f"ReplicaSet/app-{number - 2}")
        self.cluster.sleep(660)
        arguments = ("attach", "-rollout", "app", "-namespace", NAMESPACE, "-configmaps", name)
        code, log, _ = self.terminal.run(*arguments, *options)
        assert code == 0, log
        return log


@pytest.fixture
def configurations(terminal: Terminal, cluster: Cluster) -> Configurations:
    for key in list(cluster.objects):
        cluster.remove(key)
    return Configurations(terminal, cluster)


def test_seven_configurations_leave_those_of_the_replica_sets(
    configurations: Configurations, cluster: Cluster
) -> None:
    cluster.add(obj("ConfigMap", "other"))
    for number in range(1, 8):
        configurations.release(number)
    # config-5 has its mark, and the next run deletes it.
    assert cluster.names("ConfigMap") == ["config-5", "config-6", "config-7", "other"]
    assert cluster.mark("ConfigMap/config-5")
    configurations.release(7)
    assert cluster.names("ConfigMap") == ["config-6", "config-7", "other"]
    assert cluster.owners("ConfigMap/config-6") == ["ReplicaSet/app-6", "Rollout/app"]


def test_a_config_map_that_attach_does_not_own_stays(
    configurations: Configurations, cluster: Cluster
) -> None:
    """Another program owns or made it, or another Rollout does."""
    configurations.release(1)
    owned = {"kind": "Rollout", "name": "app", "uid": "Rollout/app", "controller": False}
    foreign = {"apiVersion": "v1", "kind": "Service", "name": "app", "uid": "Service/app"}
    key: Json = {'k:{"uid":"Rollout/app"}': {}}
    for name, manager, extra in (
        ("by-kubectl", "kubectl", []),
        ("also-owned", "postrender-attach", [foreign]),
    ):
        fields = {"f:metadata": {"f:ownerReferences": key}}
        metadata = {
            "ownerReferences": [
                {**owned, "apiVersion": "argoproj.io/v1alpha1", "blockOwnerDeletion": False},
                *extra,
            ],
            "managedFields": [{"manager": manager, "fieldsV1": fields}],
        }
        cluster.add(obj("ConfigMap", name, metadata=metadata))
    cluster.add(workload("Rollout/web", "", "web-config"), obj("ConfigMap", "web-config"))
    web = workload("ReplicaSet/web-1", "", "web-config", owner="Rollout/web")
    cluster.add(web)
    code, *_ = configurations.terminal.run(
        "attach", "-rollout", "web", "-namespace", NAMESPACE, "-configmaps", "web-config"
    )
    assert code == 0
    cluster.add(workload("Rollout/web", "", "none"))
    cluster.remove("ReplicaSet/web-1")
    for number in (2, 3, 4):
        configurations.release(number)
    expected = ["also-owned", "by-kubectl", "config-2", "config-3", "config-4", "web-config"]
    assert cluster.names("ConfigMap") == expected
    assert cluster.mark("ConfigMap/web-config") is None


def test_a_config_map_that_a_pod_uses_again_stays(
    configurations: Configurations, cluster: Cluster
) -> None:
    for number in (1, 2, 3):
        configurations.release(number)
    assert cluster.mark("ConfigMap/config-1")
    cluster.add(obj("Pod", "debug", **template("config-1")))
    configurations.release(4)
    assert cluster.mark("ConfigMap/config-1") is None
    assert "config-1" in cluster.names("ConfigMap")


@pytest.mark.parametrize(
    ("refusal", "log_line"),
    [
        ((), "info: attach does not delete revisions, because a later apply may be under way: "),
        (("list", "Pod"), "warning: postrender cannot list pods"),
    ],
    ids=["another Job of the Rollout", "a missing permission"],
)
def test_a_run_with_the_flags_deletes_nothing_in_doubt(
    configurations: Configurations,
    cluster: Cluster,
    refusal: tuple[str, str] | tuple[()],
    log_line: str,
) -> None:
    for number in (1, 2, 3):
        configurations.release(number)
    if refusal:
        cluster.refused[refusal] = 403
    else:
        arguments = ("attach", "--rollout=app", "--configmaps=config-5")
        cluster.add(job("later", 0, *arguments, finished=False))
    log = configurations.release(4)
    assert any(line.startswith(log_line) for line in log)
    assert "config-1" in cluster.names("ConfigMap")


def test_without_pruning_the_flags_only_report(
    configurations: Configurations, cluster: Cluster
) -> None:
    for number in (1, 2, 3):
        log = configurations.release(number, "--no-prune")
    expected = "ConfigMap/config-1 is unused, and a run without --no-prune would mark"
    assert any(expected in line for line in log)
    assert len(cluster.names("ConfigMap")) == 3


# The connection

KUBECONFIG = """\
apiVersion: v1
kind: Config
current-context: main
contexts:
- name: main
  context: {cluster: one, user: me, namespace: web}
- name: other
  context: {cluster: one, user: token}
clusters:
- name: one
  cluster: {server: https://cluster.example.com}
users:
- name: me
  user: {}
- name: token
  user: {token: a.b.c}
"""


@pytest.fixture
def kubeconfig(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in ("KUBECONFIG", "KUBERNETES_SERVICE_HOST"):
        monkeypatch.delenv(name, raising=False)
    path = tmp_path / "config"
    path.write_text(KUBECONFIG)
    return path


def test_a_connection_uses_the_context_of_the_kubeconfig(
    kubeconfig: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    connection = connect(None, None, str(kubeconfig))
    assert connection.namespace == "web"
    assert connection.session.base_url.host == "cluster.example.com"
    assert connection.account is None
    assert connect(None, "other", str(kubeconfig)).namespace == "default"
    monkeypatch.setenv("KUBECONFIG", str(kubeconfig))
    assert connect(None, None, None).namespace == "web"
    assert connect(False, None, None).namespace == "web"


def test_a_missing_login_program_is_named(kubeconfig: Path) -> None:
    plugin = "exec: {apiVersion: client.authentication.k8s.io/v1, command: no-such-login}"
    kubeconfig.write_text(KUBECONFIG.replace("user: {}", f"user: {{{plugin}}}"))
    with pytest.raises(UserError) as error:
        connect(None, None, str(kubeconfig)).session.get("/version")
    reason = "no-such-login: No such file or directory"
    assert error.value.problem == f"the login to the cluster failed ({reason})"


@pytest.mark.parametrize(
    ("is_in_cluster", "has_kubeconfig", "is_pod", "uses_pod"),
    [
        (None, False, False, False),
        (None, False, True, True),
        (None, True, True, False),
        (True, False, False, True),
        (True, True, True, True),
        (False, False, True, False),
    ],
)
def test_the_service_account_of_the_pod_or_a_kubeconfig(
    is_in_cluster: bool | None,
    has_kubeconfig: bool,
    is_pod: bool,
    uses_pod: bool,
    kubeconfig: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    if is_pod:
        monkeypatch.setenv("KUBERNETES_SERVICE_HOST", "10.0.0.1")
    kubeconfig.write_text("{}")
    monkeypatch.setenv("KUBECONFIG", str(kubeconfig))
    with pytest.raises(UserError) as caught:
        connect(is_in_cluster, None, str(kubeconfig) if has_kubeconfig else None)
    source = "the ServiceAccount of the Pod" if uses_pod else "the kubeconfig"
    assert f"cannot use {source}" in str(caught.value)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("{}", "No current context"),
        ("", "config is empty"),
        ("[]", "a value has another type"),
        ("clusters: [x]", "a value has another type"),
        ("users: [{name: x}]", "'user' is missing"),
        (KUBECONFIG.replace("current-context: main\n", ""), "No current context"),
        (
            KUBECONFIG.replace("current-context: main", "current-context: x"),
            "Context .x. not found",
        ),
        (None, "not found"),
        (KUBECONFIG.replace("{server", "{certificate-authority: x, server"), "No such file"),
    ],
)
def test_a_kubeconfig_that_cannot_be_used(text: str | None, reason: str, kubeconfig: Path) -> None:
    kubeconfig.unlink() if text is None else kubeconfig.write_text(text)
    with pytest.raises(UserError, match=reason):
        connect(None, None, str(kubeconfig))


@pytest.mark.parametrize(
    "user",
    [
        "token: SECRET: a b",
        'token: "SECRET',
        "token: [SECRET",
        "token: *SECRET",
        "exec: !SECRET x",
        "token: {SECRET: [x}",
        "token: %SECRET\n%SECRET",
        'token: "SECRET\\q"',
        "? [SECRET]\n: x",
        "token: &a [*a, SECRET]",
        "token: [SECRET]",
        "token: {SECRET: x}",
        "exec: SECRET",
        "<<: SECRET",
        'token: "SECRET\\uD800"',
    ],
)
def test_no_error_shows_a_token(user: str, kubeconfig: Path) -> None:
    lines = "".join(f"    {line}\n" for line in user.split("\n"))
    kubeconfig.write_text(KUBECONFIG.replace("  user: {}\n", f"  user:\n{lines}"))
    with pytest.raises(UserError) as caught:
        connect(None, None, str(kubeconfig))
    assert "SECRET" not in str(caught.value)
    assert "cannot use the kubeconfig (" in str(caught.value)


@pytest.mark.parametrize("token", ["SECRET\n", "SECRET\nx", " SECRET ", "SECRET\0"])
@pytest.mark.parametrize("is_of_plugin", [False, True])
def test_no_error_shows_a_token_that_no_header_can_have(
    token: str, is_of_plugin: bool, kubeconfig: Path, caplog: pytest.LogCaptureFixture
) -> None:
    plugin = kubeconfig.with_name("plugin")
    plugin.write_text(f"#!/bin/sh\ncat <<END\n{json.dumps({'status': {'token': token}})}\nEND\n")
    plugin.chmod(0o755)
    login = {"apiVersion": "client.authentication.k8s.io/v1", "command": str(plugin)}
    user = json.dumps({"exec": login} if is_of_plugin else {"token": token})
    with socket.create_server(("127.0.0.1", 0)) as server:
        text = KUBECONFIG.replace("user: {}", f"user: {user}")
        address = f"http://127.0.0.1:{server.getsockname()[1]}"
        kubeconfig.write_text(text.replace("https://cluster.example.com", address))
        client = Client(connect(None, None, str(kubeconfig)).session, "web", "test")
        with pytest.raises(UserError, match="token has a character that no header can") as caught:
            client.list_all(PODS, dict)
    assert "SECRET" not in str(caught.value) + caplog.text


def test_several_kubeconfigs_are_merged(kubeconfig: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of two entries with one name, kubectl takes the first, and ignores absent files."""
    folder = kubeconfig.with_name("folder")
    folder.mkdir()
    (folder / "users").write_text(
        "users:\n- {name: me, user: {token: d.e.f, client-certificate: c, client-key: k}}\n"
        "clusters: null\ncurrent-context: other\n"
    )
    paths = [folder / "users", kubeconfig.with_name("absent"), kubeconfig]
    monkeypatch.setenv("KUBECONFIG", os.pathsep.join(["", *map(str, paths)]))
    assert connect(None, None, None).session.base_url.host == "cluster.example.com"
    assert connect(None, None, None).namespace == "default"
    with pytest.raises(UserError, match="No such file"):  # the certificate of the first file
        connect(None, "main", None)
    monkeypatch.setenv("KUBECONFIG", os.pathsep.join(map(str, reversed(paths))))
    assert connect(None, None, None).namespace == "web"
    monkeypatch.setenv("KUBECONFIG", f"/absent{os.pathsep}/other")
    with pytest.raises(UserError, match="/absent or /other is not found"):
        connect(None, None, None)


PLUGIN = """\
#!/bin/sh
echo '{"apiVersion": "client.authentication.k8s.io/v1beta1", "kind": "ExecCredential",'
echo '"status": {"token": "from-the-plugin"}}'
"""


@pytest.mark.parametrize("version", ["v1", "v1beta1"])
def test_a_login_with_an_exec_plugin(kubeconfig: Path, version: str) -> None:
    """lightkube supports only v1beta1, but new kubeconfigs have v1."""
    plugin = kubeconfig.with_name("plugin")
    login = f"{{apiVersion: client.authentication.k8s.io/{version}, command: {plugin}}}"
    kubeconfig.write_text(KUBECONFIG.replace("user: {}", f"user: {{exec: {login}}}"))
    session = connect(None, None, str(kubeconfig)).session
    assert session.auth is not None
    request = session.build_request("GET", "/version")
    with pytest.raises(UserError, match=r"the login to the cluster failed .*plugin"):
        next(session.auth.sync_auth_flow(request))
    plugin.write_text(PLUGIN)
    plugin.chmod(0o755)
    sent = next(session.auth.sync_auth_flow(request))
    assert sent.headers["Authorization"] == "Bearer from-the-plugin"


# adopt


def output(*names: str, namespace: str = "", sweep: str = "") -> str:
    """Return an output of postrender with revisions of ConfigMaps."""
    documents = []
    for name in names:
        metadata: Json = {
            "name": f"{name}-2k4",
            "labels": {"postrender/attach-group": GROUP},
            "annotations": {"postrender/base-name": name},
        }
        if sweep:
            metadata["annotations"]["postrender/sweep"] = sweep
        if namespace:
            metadata["namespace"] = namespace
        documents.append(
            json.dumps({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata})
        )
    return "\n---\n".join(documents) + "\n"


KEEP = {"helm.sh/resource-policy": "keep", "argocd.argoproj.io/sync-options": "Prune=false"}


def adopted(cluster: Cluster, name: str) -> Json:
    metadata = cluster.objects[f"ConfigMap/{name}"]["metadata"]
    return {**metadata.get("labels", {}), **metadata.get("annotations", {})}


def test_adopt_protects_the_originals_in_the_cluster(
    terminal: Terminal, cluster: Cluster, tmp_path: Path
) -> None:
    file = tmp_path / "out.yaml"
    attacher = obj("Job", "x", metadata={"labels": {"postrender/attach-group": GROUP}})
    file.write_text(f"{output('a', 'b', 'gone')}---\n{json.dumps(attacher)}\n")
    pods = [obj("Pod", f"p{n}", spec=template("", "b")["spec"]) for n in range(7)]
    one = obj("Pod", "one", spec=template("", "a")["spec"])
    cluster.add(obj("ConfigMap", "a"), obj("ConfigMap", "b"), one, *pods)
    before = [
        "adopt would protect ConfigMap/a (used by Pod/one)",
        "adopt would protect ConfigMap/b (used by 7 Pods such as Pod/p0)",
        "adopt skips ConfigMap/gone, because the object does not exist",
    ]
    code, log, out = terminal.run("adopt", str(file), "--dry-run")
    assert (code, log) == (0, [])
    assert out == [f"namespace prod: {line}" for line in before]
    assert not cluster.writes
    _, _, out = terminal.run("adopt", str(file))
    assert out == [
        f"namespace prod: {line.replace('would protect', 'protects')}" for line in before
    ]
    assert {"postrender/attach-group": GROUP, **KEEP}.items() <= adopted(cluster, "a").items()
    _, _, out = terminal.run("adopt", str(file))
    assert out[0] == "namespace prod: adopt already protects ConfigMap/a (used by Pod/one)"
    assert len(cluster.writes) == 2


@pytest.mark.parametrize(("options", "is_quiet"), [((), False), (("-q",), True)])
def test_adopt_writes_its_log_for_people(
    options: tuple[str, ...], is_quiet: bool, terminal: Terminal, cluster: Cluster, tmp_path: Path
) -> None:
    file = tmp_path / "out.yaml"
    file.write_text(output("a"))
    cluster.add(obj("ConfigMap", "a"))
    cluster.refused["list", "ConfigMap"] = 503
    code, *_ = terminal.run("adopt", *options, str(file))
    assert code == 2
    assert terminal.stderr.startswith("error: " if is_quiet else "warning: ")
    assert "{" not in terminal.stderr


def test_adopt_reports_a_namespace_without_any_original(
    terminal: Terminal, cluster: Cluster, tmp_path: Path
) -> None:
    file = tmp_path / "out.yaml"
    file.write_text(output("a", "b"))
    hint = "namespace prod: the originals do not exist. Check --namespace and --kube-context."
    assert terminal.run("adopt", str(file))[2][2:] == [hint]
    cluster.add(obj("ConfigMap", "b"))
    assert terminal.run("adopt", str(file))[2][2:] == []


@pytest.mark.parametrize("sweep", ["", "false"])
def test_adopt_removes_the_annotations_of_an_earlier_adoption(
    sweep: str, terminal: Terminal, cluster: Cluster, tmp_path: Path
) -> None:
    """The attacher would delete the original at once because of the old mark."""
    file = tmp_path / "out.yaml"
    file.write_text(output("a", sweep=sweep))
    marks = {**marked(30), "postrender/sweep": "false"}
    cluster.add(obj("ConfigMap", "a", metadata={"annotations": marks}))
    terminal.run("adopt", str(file))
    assert cluster.mark("ConfigMap/a") is None
    assert adopted(cluster, "a").get("postrender/sweep", "") == sweep
    # An attacher works with the annotations of an adopted original.
    adopted_before = obj("ConfigMap", "a", metadata={**cluster.objects["ConfigMap/a"]["metadata"]})
    adopted_before["metadata"]["annotations"] |= marks
    cluster.add(adopted_before)
    assert terminal.run("adopt", str(file))[2] == [
        "namespace prod: adopt already protects ConfigMap/a"
    ]
    assert cluster.mark("ConfigMap/a") is not None


def test_adopt_keeps_originals_that_the_attacher_must_not_sweep(
    terminal: Terminal, cluster: Cluster, tmp_path: Path
) -> None:
    file = tmp_path / "out.yaml"
    file.write_text(output("a", sweep="false"))
    cluster.add(obj("ConfigMap", "a"))
    terminal.run("adopt", str(file))
    assert adopted(cluster, "a")["postrender/sweep"] == "false"


def test_adopt_cannot_protect_an_original_of_the_output(
    terminal: Terminal, cluster: Cluster, tmp_path: Path
) -> None:
    file = tmp_path / "out.yaml"
    file.write_text(output("a") + "---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n")
    cluster.add(obj("ConfigMap", "a"))
    _, _, out = terminal.run("adopt", str(file))
    assert out[0].startswith(
        "namespace prod: adopt cannot protect ConfigMap/a, because the output contains ConfigMap/a"
    )
    assert not cluster.writes


def test_adopt_reports_an_original_that_disappears(
    terminal: Terminal, cluster: Cluster, tmp_path: Path
) -> None:
    file = tmp_path / "out.yaml"
    file.write_text(output("a"))
    cluster.add(obj("ConfigMap", "a"))
    cluster.before("patch ConfigMap/a", remove=["ConfigMap/a"])
    _, _, out = terminal.run("adopt", str(file))
    assert out == [
        "namespace prod: adopt skips ConfigMap/a, because the object does not exist any more"
    ]


@pytest.mark.parametrize(
    ("written", "option", "actual"),
    [("", (), "prod"), ("", ("--namespace", "prod"), "prod"), ("prod", ("-n", "other"), "prod")],
)
def test_the_namespace_of_an_original(
    written: str,
    option: tuple[str, ...],
    actual: str,
    terminal: Terminal,
    cluster: Cluster,
    tmp_path: Path,
) -> None:
    file = tmp_path / "out.yaml"
    file.write_text(output("a", namespace=written))
    cluster.add(obj("ConfigMap", "a"))
    code, _, out = terminal.run("adopt", str(file), *option, "--kube-context=c")
    assert terminal.connections == [(None, "c", None)]
    assert (code, out) == (0, [f"namespace {actual}: adopt protects ConfigMap/a"])


def test_adopt_warns_about_retries_unless_it_is_quiet(
    terminal: Terminal, cluster: Cluster, tmp_path: Path
) -> None:
    file = tmp_path / "out.yaml"
    file.write_text(output("a"))
    cluster.refused["list", "Pod"] = 503
    code, log, _ = terminal.run("adopt", str(file))
    problem = "postrender cannot list pods in namespace prod (HTTP status 503: pods is forbidden)."
    assert code == 2
    assert [line[: len(problem) + 9] for line in log] == [
        f"warning: {problem}",
        f"error: {problem} T",
    ]
    _, log, _ = terminal.run("adopt", str(file), "--quiet")
    assert [line.partition(":")[0] for line in log] == ["error"]


def test_undo_changes_nothing_without_yes(terminal: Terminal) -> None:
    plain = workload("Deployment/app", "", "app")
    terminal.cluster = cluster = Cluster(plain, NEW)
    undo = ("adopt", "--undo", "--group", GROUP)
    hint = "adopt has changed nothing. To make these changes, pass --yes."
    would = f"namespace prod: adopt would delete ConfigMap/{NEW_NAME}"
    for option in ((), ("--dry-run",)):
        assert terminal.run(*undo, *option) == (0, [], [would, hint])
    assert not cluster.writes
    done = f"namespace prod: adopt deletes ConfigMap/{NEW_NAME}"
    assert terminal.run(*undo, "--yes") == (0, [], [done])
    assert cluster.writes == [f"delete ConfigMap/{NEW_NAME}"]


@pytest.mark.parametrize(
    "options", [("--yes",), ("--undo", f"--group={GROUP}", "--yes", "--dry-run")]
)
def test_options_of_adopt_that_contradict_each_other(
    options: tuple[str, ...], terminal: Terminal
) -> None:
    code, log, _ = terminal.run("adopt", *options)
    assert code == 2
    assert "--yes" in log[-1]


def test_adopt_handles_each_namespace(terminal: Terminal, cluster: Cluster, tmp_path: Path) -> None:
    file = tmp_path / "out.yaml"
    file.write_text(output("a", namespace="prod") + "---\n" + output("b"))
    cluster.add(obj("ConfigMap", "a"), obj("ConfigMap", "b"))
    _, _, out = terminal.run("adopt", str(file))
    assert out == [f"namespace prod: adopt protects ConfigMap/{name}" for name in "ab"]
