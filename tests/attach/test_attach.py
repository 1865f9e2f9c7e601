"""Attach without a cluster: the command line, the log, and the reading of live objects."""

from __future__ import annotations

import base64
import io
import json
import logging
import re
from typing import Any

import pytest

from postrender.attach.command import configure_log
from postrender.attach.connect import account_of
from postrender.attach.live import read_consumer, read_revision
from postrender.attach.request import (
    BY_KIND,
    CONFIG_MAPS,
    CONSUMER_KINDS,
    CONTROLLER_REVISIONS,
    HISTORY_KINDS,
    JOBS,
    PODS,
    ROLLOUTS,
    merge_workloads,
    parse_revision_refs,
    parse_seconds,
    parse_workload,
    request_of_job,
)
from postrender.cli import main
from postrender.cli import report as reporting
from postrender.config.settings import AttacherSettings
from postrender.kubernetes.kinds import WORKLOAD_KINDS, Identity, is_namespaced_workload
from postrender.plan.attacher_job import AttachedWorkload, AttachGroup, attacher_objects

Json = dict[str, Any]

# The command line


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            "Rollout/app@0123456789=configmap/a,secret/b",
            ("Rollout/app", "0123456789", [("configmap", "a"), ("secret", "b")]),
        ),
        ("CronJob/x.y=configmap/a", ("CronJob/x.y", "", [("configmap", "a")])),
    ],
)
def test_a_workload_argument(text: str, expected: tuple[str, str, list[tuple[str, str]]]) -> None:
    workload = parse_workload(text)
    assert (str(workload), workload.render_id, list(workload.references)) == expected


def test_the_parts_of_a_workload_are_merged() -> None:
    parts = [parse_workload(f"Rollout/app@01=configmap/{name}") for name in ("a", "b", "a")]
    [merged] = merge_workloads(parts)
    assert merged.references == (("configmap", "a"), ("configmap", "b"))


@pytest.mark.parametrize(
    "text", ["", "Rollout", "Rollout/app", "Rollout/app=", "Rollout/app=a", "Widget/a=configmap/b"]
)
def test_an_invalid_workload_is_an_error(text: str) -> None:
    with pytest.raises(ValueError, match=r"^--workload (is|has) .*, expected "):
        parse_workload(text)


@pytest.mark.parametrize("text", ["pod/a", "configmap", "configmap/"])
def test_an_invalid_revision_is_an_error(text: str) -> None:
    with pytest.raises(ValueError, match="configmap/NAME"):
        parse_revision_refs(text, "--emitted")


@pytest.mark.parametrize(("text", "seconds"), [("90s", 90), ("90", 90), ("2m", 120), ("1m30s", 90)])
def test_a_timeout_in_seconds(text: str, seconds: float) -> None:
    assert parse_seconds(text) == seconds


@pytest.mark.parametrize("text", ["", "s", "1h", "-1s", "1.5s", "9999999s"])
def test_an_invalid_timeout_is_an_error(text: str) -> None:
    with pytest.raises(ValueError, match="expected a time"):
        parse_seconds(text)


USAGE = {
    "--rollout app": "--rollout is set without --configmaps. Pass --configmaps too.",
    "-rollout app": "--rollout is set without --configmaps. Pass --configmaps too.",
    "--configmaps a": "--configmaps is set without --rollout. Pass --rollout too.",
    "": "the options do not set a workload",
    "--workload x": "expected KIND/NAME",
    "--workload Widget/a=configmap/b": '--workload has the kind "Widget", expected one of',
    "--workload Rollout/a=configmap/b --timeout soon": '--timeout is "soon", expected a time',
    "--workload Rollout/a=configmap/b --on-failure maybe": "maybe",
    "--workload Rollout/a=configmap/b --emitted b": '--emitted has the revision "b", expected',
    "--workload Rollout/a=configmap/b more": "more",
    "--workload Rollout/a=configmap/b --group _": '--group is "_", expected at most 63 letters',
    "-workload Rollout/a=configmap/b -group _": '--group is "_", expected at most 63 letters',
}


@pytest.mark.parametrize("arguments", USAGE)
def test_a_usage_error(arguments: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main.run(["attach", *arguments.split()]) == reporting.FAULT
    assert USAGE[arguments] in capsys.readouterr().err


@pytest.mark.parametrize(
    ("variable", "value"), [("LOG_LEVEL", "loud"), ("IS_IN_CLUSTER", "perhaps")]
)
def test_an_invalid_variable_is_a_usage_error(
    variable: str, value: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv(variable, value)
    monkeypatch.setenv("KUBECONFIG", "/does/not/exist")
    arguments = ["attach", "--rollout", "app", "--configmaps", "a"]
    assert main.run(arguments) == reporting.FAULT
    assert f'{variable} is "{value}"' in capsys.readouterr().err


@pytest.mark.parametrize(("options", "level"), [((), "INFO"), (("-q",), "ERROR")])
def test_quiet_logs_only_errors(
    options: tuple[str, ...], level: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KUBECONFIG", "/does/not/exist")
    assert main.run(["attach", *options, "--rollout", "app", "--configmaps", "a"]) == 1
    assert logging.getLevelName(logging.getLogger("postrender.attach").level) == level


@pytest.mark.parametrize("in_cluster", ["true", "false", ""])
def test_a_missing_cluster_configuration_is_an_error(
    in_cluster: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("IS_IN_CLUSTER", in_cluster)
    monkeypatch.setenv("KUBECONFIG", "/does/not/exist")
    assert main.run(["attach", "--rollout", "app", "--configmaps", "a"]) == 1
    source = "the ServiceAccount of the Pod" if in_cluster == "true" else "the kubeconfig"
    assert f"postrender cannot use {source} (" in capsys.readouterr().err


def test_adopt_without_revisions_is_an_error(
    tmp_path: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "plain.yaml"
    file.write_text("apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\n")
    assert main.run(["adopt", str(file)]) == reporting.FAULT
    assert "the input does not contain a revision" in capsys.readouterr().err
    (tmp_path / "Chart.yaml").touch()
    assert main.run(["adopt", str(tmp_path)]) == reporting.FAULT
    assert "| postrender render | postrender adopt.\n" in capsys.readouterr().err


# Log lines

LOGGER = logging.getLogger("postrender.attach.run")


def test_log_lines_in_a_pod_are_json(capsys: pytest.CaptureFixture[str]) -> None:
    configure_log("warn", is_json=True)
    LOGGER.info("not this line")
    LOGGER.warning('a "quoted" line\nand a second, 100%')
    [text] = capsys.readouterr().err.splitlines()
    line = json.loads(text)
    assert list(line) == ["level", "msg", "time"]
    assert (line["level"], line["msg"]) == ("warning", 'a "quoted" line\nand a second, 100%')
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", line["time"])


def test_log_lines_on_a_terminal_are_text(capsys: pytest.CaptureFixture[str]) -> None:
    configure_log("debug", is_json=False)
    for level in (logging.DEBUG, logging.INFO, logging.WARNING, logging.ERROR):
        LOGGER.log(level, "text")
    assert capsys.readouterr().err == "debug: text\ninfo: text\nwarning: text\nerror: text\n"


def test_a_closed_stderr_is_ignored(monkeypatch: pytest.MonkeyPatch) -> None:
    configure_log("info", is_json=True)
    closed = io.StringIO()
    closed.close()
    for stream in (closed, None):
        monkeypatch.setattr("sys.stderr", stream)
        LOGGER.error("unreadable")


# Live objects

TEMPLATE: Json = {
    "spec": {
        "volumes": [{"configMap": {"name": "a"}}],
        "containers": [{"envFrom": [{"secretRef": {"name": "b"}}]}],
    },
}
BOTH = {("configmap", "a"), ("secret", "b")}


def with_template(kind: str) -> Json:
    """Return an object of a kind with the pod template in the field of the kind."""
    resource = BY_KIND[kind]
    path = WORKLOAD_KINDS[resource.group_kind] if kind != "ControllerRevision" else None
    path = ("data", "spec", "template") if path is None else path
    data: Any = TEMPLATE
    for part in reversed(path):
        data = [data] if part == "[]" else {part: data}
    owner = {"apiVersion": "v1", "kind": "X", "name": "x", "uid": "x-uid", "controller": True}
    metadata = {
        "name": "one",
        "uid": "one-uid",
        "ownerReferences": [owner],
        "annotations": {"postrender/render-id": "0123456789"},
    }
    data["metadata"] = {**data.get("metadata", {}), **metadata}
    return dict(data)


@pytest.mark.parametrize("kind", [resource.kind for resource in CONSUMER_KINDS])
def test_a_consumer_of_every_kind(kind: str) -> None:
    consumer = read_consumer(BY_KIND[kind], with_template(kind))
    assert (consumer.name, consumer.uid, consumer.controller) == ("one", "one-uid", "x-uid")
    assert consumer.references == BOTH
    assert consumer.render_id == "0123456789"
    assert consumer.owner == (BY_KIND[kind].api_version, kind, "one", "one-uid")


def test_every_namespaced_workload_kind_is_read() -> None:
    namespaced = set(filter(is_namespaced_workload, WORKLOAD_KINDS))
    read = {resource.group_kind for resource in CONSUMER_KINDS}
    assert read - namespaced == {CONTROLLER_REVISIONS.group_kind}
    assert namespaced <= read


# The pod template of these workloads is the only copy: their controllers do not keep old ones.
WITHOUT_HISTORY = {
    "AnalysisRun",
    "AnalysisTemplate",
    "CronJob",
    "Experiment",
    "Job",
    "Pod",
    "PodTemplate",
    "ReplicaSet",
    "ReplicationController",
}


def test_every_kind_keeps_old_templates_in_a_known_kind_or_nowhere() -> None:
    kinds = {resource.kind for resource in CONSUMER_KINDS} - {CONTROLLER_REVISIONS.kind}
    with_history = {resource.kind for resource in HISTORY_KINDS}
    assert kinds - with_history == WITHOUT_HISTORY
    assert len(BY_KIND) == len(CONSUMER_KINDS), "two kinds of one name need another key"


def test_controllers_are_read_before_the_objects_they_create() -> None:
    order = list(CONSUMER_KINDS)
    for controller, created in (*HISTORY_KINDS.items(), (BY_KIND["CronJob"], JOBS), (JOBS, PODS)):
        assert order.index(controller) < order.index(created)


def test_a_rollout_with_a_workload_ref() -> None:
    data: Json = {
        "metadata": {"name": "api", "uid": "u"},
        "spec": {"workloadRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "api-d"}},
    }
    consumer = read_consumer(ROLLOUTS, data)
    assert consumer.template_from == (BY_KIND["Deployment"], "api-d")
    assert not consumer.references


def test_trouble_has_the_text_of_the_status() -> None:
    data: Json = {
        "metadata": {"name": "api", "uid": "u"},
        "status": {
            "phase": "Degraded",
            "message": "InvalidSpec: no selector",
            "conditions": [
                {"type": "Progressing", "status": "False", "reason": "ReplicaSetCreateError"},
                {"type": "Available", "status": "False", "reason": "Few"},
                {"type": "ReplicaFailure", "status": "True", "message": "exceeded quota"},
            ],
        },
    }
    assert read_consumer(ROLLOUTS, data).status_problems == (
        "Degraded: InvalidSpec: no selector; Progressing is False: ReplicaSetCreateError; "
        "ReplicaFailure is True: exceeded quota"
    )


@pytest.mark.parametrize("data", [{}, {"metadata": None, "spec": 1}, {"spec": {"template": []}}])
def test_a_malformed_object_has_no_references(data: Json) -> None:
    for resource in CONSUMER_KINDS:
        assert not read_consumer(resource, data).references
    assert not read_revision(CONFIG_MAPS, data).owners


def test_a_revision_has_the_owners_that_attach_added() -> None:
    def owner(uid: str) -> Json:
        return {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": uid, "uid": uid}

    def managed(manager: str, uid: str) -> Json:
        fields: Json = {"f:metadata": {"f:ownerReferences": {".": {}, f'k:{{"uid":"{uid}"}}': {}}}}
        return {"manager": manager, "fieldsV1": fields}

    metadata: dict[str, Any] = {
        "name": "app-2k4",
        "labels": {"postrender/attach-group": "app-rollout-attach"},
        "annotations": {"postrender/base-name": "app", "postrender/sweep": "false"},
        "ownerReferences": [owner("1-a"), owner("2-b")],
        "managedFields": [managed("kubectl", "1-a"), managed("postrender-attach", "2-b")],
    }
    revision = read_revision(CONFIG_MAPS, {"metadata": metadata})
    assert revision.our_owners == {"2-b"}
    assert [owner.uid for owner in revision.owners] == ["1-a", "2-b"]
    assert (revision.group_name, revision.base_name) == ("app-rollout-attach", "app")
    assert not revision.is_sweepable


# Owners without managedFields


@pytest.mark.parametrize(
    ("managers", "entry", "is_ours"),
    [
        ([], {}, True),
        (["before-first-apply"], {}, True),
        (["helm"], {}, False),
        (["helm", "postrender-attach"], {}, True),
        ([], {"controller": True}, False),
        ([], {"blockOwnerDeletion": None}, False),
        ([], {"kind": "Widget"}, False),
        ([], {"apiVersion": "v1", "kind": "ServiceAccount"}, True),
    ],
)
def test_an_owner_is_recognised_by_its_form(
    managers: list[str], entry: Json, is_ours: bool
) -> None:
    fields: Json = {"f:metadata": {"f:ownerReferences": {'k:{"uid":"1"}': {}}}}
    form = {"controller": False, "blockOwnerDeletion": False}
    reference = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "app", "uid": "1"}
    metadata: Json = {
        "name": "app",
        "ownerReferences": [{**reference, **form, **entry}],
        "managedFields": [{"manager": manager, "fieldsV1": fields} for manager in managers],
    }
    revision = read_revision(CONFIG_MAPS, {"metadata": metadata})
    assert revision.our_owners == (frozenset({"1"}) if is_ours else frozenset())


# The ServiceAccount of a token


def token(payload: object) -> str:
    text = base64.urlsafe_b64encode(json.dumps(payload).encode()).decode().rstrip("=")
    return f"header.{text}.signature"


@pytest.mark.parametrize("name", ["a" * length for length in range(1, 10)])
def test_the_account_of_a_token(name: str) -> None:
    """The payload can end with any number of padding characters, which a token omits."""
    account = {"name": name, "uid": "1-2"}
    claim = {"kubernetes.io": {"namespace": "prod", "serviceaccount": account}}
    assert account_of(token(claim)) == ("prod", name, "1-2")


@pytest.mark.parametrize(
    "text", ["", "secret", "a.b.c", "a.%.c", token([]), token({}), token({"kubernetes.io": {}})]
)
def test_another_token_has_no_account(text: str) -> None:
    assert account_of(text) is None


# The objects of the attacher


def test_a_role_is_the_release_owner_without_an_own_account() -> None:
    group = AttachGroup(name="app-attach", namespace=None, workloads=(), emitted=())
    settings = AttacherSettings(creates_service_account=False, service_account="shared")
    role, _, job = attacher_objects(group, "hook", settings)
    rules: Any = role["rules"]
    assert rules[-1] == {
        "apiGroups": ["rbac.authorization.k8s.io"],
        "resources": ["roles"],
        "resourceNames": ["app-attach"],
        "verbs": ["get"],
    }
    assert "Role/app-attach" in str(job)


def test_the_role_has_every_kind_that_a_run_reads() -> None:
    workload = AttachedWorkload(Identity("apps", "Deployment", None, "app"), "01", (), 0)
    group = AttachGroup("app-deployment-attach", None, (workload,), ())
    role = attacher_objects(group, "hook", AttacherSettings())[1]
    rules: Any = role["rules"]
    listed = {name for rule in rules if "list" in rule["verbs"] for name in rule["resources"]}
    assert listed == {resource.plural for resource in (*CONSUMER_KINDS, CONFIG_MAPS)}


def test_the_last_of_a_repeated_option_of_a_job_counts() -> None:
    workload = "--workload=Deployment/app=configmap/app-0123456789"
    request = request_of_job(
        [workload, "--group=a", "--group", "b", "--timeout=1s", "--timeout=2s"]
    )
    assert request
    assert (request.group_name, request.timeout) == ("b", 2)
