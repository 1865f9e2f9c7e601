"""Attach without a cluster: its command line, and live objects as facts."""

from __future__ import annotations

import io
import json
from typing import Any

import pytest

from postrender.attach.adoption import Original, adopt
from postrender.attach.client import Client
from postrender.attach.jobs import read_job, superseded
from postrender.attach.live import read_holder, read_revision
from postrender.attach.log import Log
from postrender.attach.observe import read_revisions
from postrender.attach.request import (
    AttachRequest,
    WantedWorkload,
    merge_workloads,
    parse_names,
    parse_seconds,
    parse_workload,
)
from postrender.attach.resources import (
    BY_KIND,
    CONFIG_MAPS,
    CONTROLLER_REVISIONS,
    HOLDERS,
    JOBS,
    PODS,
    REVISED,
    REVISION_KINDS,
    ROLLOUTS,
    Resource,
)
from postrender.cli import main, registry
from postrender.config.settings import AttacherSettings
from postrender.kubernetes.kinds import WORKLOAD_KINDS, Identity
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
def test_workload(text: str, expected: tuple[str, str, list[tuple[str, str]]]) -> None:
    found = parse_workload(text)
    assert (str(found), found.render_id, list(found.names)) == expected


def test_workload_in_parts() -> None:
    parts = [parse_workload(f"Rollout/app@01=configmap/{name}") for name in ("a", "b", "a")]
    [merged] = merge_workloads(parts)
    assert merged.names == (("configmap", "a"), ("configmap", "b"))


@pytest.mark.parametrize(
    "text", ["", "Rollout", "Rollout/app", "Rollout/app=", "Rollout/app=a", "Widget/a=configmap/b"]
)
def test_not_a_workload(text: str) -> None:
    with pytest.raises(ValueError, match="is n"):
        parse_workload(text)


@pytest.mark.parametrize("text", ["pod/a", "configmap", "configmap/"])
def test_not_names(text: str) -> None:
    with pytest.raises(ValueError, match="configmap/NAME"):
        parse_names(text)


@pytest.mark.parametrize(("text", "seconds"), [("90s", 90), ("90", 90), ("2m", 120), ("1m30s", 90)])
def test_seconds(text: str, seconds: float) -> None:
    assert parse_seconds(text) == seconds


@pytest.mark.parametrize("text", ["", "s", "1h", "-1s", "1.5s"])
def test_not_seconds(text: str) -> None:
    with pytest.raises(ValueError, match="is not a time"):
        parse_seconds(text)


USAGE = {
    "-rollout app": "go together",
    "": "say what to attach to",
    "-workload x": "is not KIND/NAME",
    "-workload Rollout/a=configmap/b -timeout soon": "is not a time",
    "-workload Rollout/a=configmap/b -on-failure maybe": "maybe",
    "-workload Rollout/a=configmap/b -emitted b": "configmap/NAME",
    "-workload Rollout/a=configmap/b more": "more",
    "-workload Rollout/a=configmap/b -group _": "is no value of a label",
}


@pytest.mark.parametrize("arguments", USAGE)
def test_usage(arguments: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main.run(["attach", *arguments.split()]) == registry.USAGE
    assert USAGE[arguments] in capsys.readouterr().err


@pytest.mark.parametrize(
    ("variable", "value"), [("LOG_LEVEL", "loud"), ("IS_IN_CLUSTER", "perhaps")]
)
def test_environment_that_makes_no_sense(
    variable: str, value: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv(variable, value)
    monkeypatch.setenv("KUBECONFIG", "/does/not/exist")
    arguments = ["attach", "-rollout", "app", "-configmaps", "a"]
    assert main.run(arguments) == registry.USAGE
    assert f"{variable} is '{value}'" in capsys.readouterr().err


@pytest.mark.parametrize("in_cluster", ["true", "false", ""])
def test_no_cluster(
    in_cluster: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("IS_IN_CLUSTER", in_cluster)
    monkeypatch.setenv("KUBECONFIG", "/does/not/exist")
    assert main.run(["attach", "-rollout", "app", "-configmaps", "a"]) == registry.FAULT
    assert "found no usable cluster configuration" in capsys.readouterr().err


def test_adopt_needs_revisions(tmp_path: Any, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "plain.yaml"
    file.write_text("apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\n")
    assert main.run(["adopt", str(file)]) == registry.FAULT
    assert "it holds no revision" in capsys.readouterr().err


# Log lines


def test_log_lines() -> None:
    stream = io.StringIO()
    log = Log("warn", is_json=True, stream=stream)
    log.info("not this")
    log.warning('a "quoted" line\nand a second')
    line = json.loads(stream.getvalue())
    assert (line["level"], line["msg"]) == ("warning", 'a "quoted" line\nand a second')
    assert len(stream.getvalue().splitlines()) == 1


# Live objects

TEMPLATE: Json = {
    "metadata": {"annotations": {"postrender/render-id": "0123456789"}},
    "spec": {
        "volumes": [{"configMap": {"name": "a"}}],
        "containers": [{"envFrom": [{"secretRef": {"name": "b"}}]}],
    },
}
BOTH = {("configmap", "a"), ("secret", "b")}


def with_template(kind: str) -> Json:
    """Return an object of a kind with the template where the kind has it."""
    resource = BY_KIND[kind]
    path = WORKLOAD_KINDS[resource.group_kind].template if kind != "ControllerRevision" else None
    path = ("data", "spec", "template") if path is None else path
    data: Any = TEMPLATE
    for part in reversed(path):
        data = [data] if part == "[]" else {part: data}
    owner = {"apiVersion": "v1", "kind": "X", "name": "x", "uid": "x-uid", "controller": True}
    metadata = {"name": "one", "uid": "one-uid", "ownerReferences": [owner]}
    data["metadata"] = {**data.get("metadata", {}), **metadata}
    return dict(data)


@pytest.mark.parametrize("kind", [resource.kind for resource in HOLDERS])
def test_holder_of_every_kind(kind: str) -> None:
    found = read_holder(BY_KIND[kind], with_template(kind))
    assert (found.name, found.uid, found.controller) == ("one", "one-uid", "x-uid")
    assert found.names == BOTH
    assert found.render_ids == {"0123456789"}
    assert found.owner == (BY_KIND[kind].api_version, kind, "one", "one-uid")


def test_every_workload_kind_in_a_namespace_is_read() -> None:
    wanted = {key for key, workload in WORKLOAD_KINDS.items() if workload.is_namespaced}
    found = {resource.group_kind for resource in HOLDERS}
    assert found - wanted == {CONTROLLER_REVISIONS.group_kind}
    assert wanted <= found


def test_makers_are_read_before_what_they_make() -> None:
    order = list(HOLDERS)
    for maker, made in (*REVISION_KINDS.items(), (BY_KIND["CronJob"], JOBS), (JOBS, PODS)):
        assert order.index(maker) < order.index(made)


def test_rollout_behind_a_workload_ref() -> None:
    data: Json = {
        "metadata": {"name": "api", "uid": "u"},
        "spec": {"workloadRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "api-d"}},
    }
    found = read_holder(ROLLOUTS, data)
    assert found.template_from == (BY_KIND["Deployment"], "api-d")
    assert not found.names


def test_trouble_is_told_as_the_cluster_tells_it() -> None:
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
    assert read_holder(ROLLOUTS, data).trouble == (
        "Degraded: InvalidSpec: no selector; Progressing is False: ReplicaSetCreateError; "
        "ReplicaFailure is True: exceeded quota"
    )


@pytest.mark.parametrize("data", [{}, {"metadata": None, "spec": 1}, {"spec": {"template": []}}])
def test_odd_objects_name_nothing(data: Json) -> None:
    for resource in HOLDERS:
        assert not read_holder(resource, data).names
    assert not read_revision(CONFIG_MAPS, data).owners


def test_revision_tells_which_owners_are_ours() -> None:
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
    found = read_revision(CONFIG_MAPS, {"metadata": metadata})
    assert found.owned_by_us == {"2-b"}
    assert [one.uid for one in found.owners] == ["1-a", "2-b"]
    assert (found.group_name, found.base_name) == ("app-rollout-attach", "app")
    assert not found.is_swept


# Jobs that a newer one supersedes


def job(name: str, created: str, *arguments: str, ended: bool = True, wave: str = "") -> Json:
    container = {"args": list(arguments)}
    annotations = {"argocd.argoproj.io/sync-wave": wave} if wave else {}
    condition = {"type": "Complete", "status": "True"}
    return {
        "metadata": {
            "name": name,
            "uid": name,
            "creationTimestamp": created,
            "annotations": annotations,
        },
        "spec": {"template": {"spec": {"containers": [container]}}},
        "status": {"conditions": [condition] if ended else []},
    }


def test_superseded_jobs() -> None:
    jobs = [
        job("older", "2026-01-01T00:00:00Z", "attach", "old"),
        job("failed-to-end", "2026-01-02T00:00:00Z", "attach", "older", ended=False),
        job("other-wave", "2026-01-03T00:00:00Z", "attach", "wave", wave="2"),
        job("own", "2026-01-03T00:00:00Z", "attach", "new", ended=False),
        job("newer", "2026-01-04T00:00:00Z", "attach", "newest"),
    ]
    found = superseded(map(read_job, jobs), ["attach", "new"])
    assert [one.name for one in found] == ["older"]
    assert not superseded(map(read_job, jobs), ["attach", "started by hand"])


def test_the_role_holds_every_kind_that_is_read() -> None:
    workload = AttachedWorkload(Identity("apps", "Deployment", None, "app"), "01", (), 0)
    attach_set = AttachGroup("app-deployment-attach", None, (workload,), ())
    role = attacher_objects(attach_set, "hook", AttacherSettings(), ())[1]
    rules: Any = role["rules"]
    listed = {name for rule in rules if "list" in rule["verbs"] for name in rule["resources"]}
    assert listed == {resource.plural for resource in (*HOLDERS, CONFIG_MAPS)}


class Cluster(Client):
    """Stands for a namespace: what its lists return. The real one is met in tests/e2e."""

    def __init__(self, **objects: list[str]) -> None:
        self.objects = objects

    def list_all(
        self,
        resource: Resource,
        read: Any,
        selector: str = "",  # noqa: ARG002
    ) -> tuple[list[Any], str]:
        """Return objects that have a name and the label of a set, and nothing else."""
        names = self.objects.get(resource.plural, [])
        labels = {"postrender/attach-group": "x"}
        return [read({"metadata": {"name": name, "labels": labels}}) for name in names], ""


@pytest.mark.parametrize(("secrets", "is_none_here"), [(["b"], False), ([], True)])
def test_adopt_tells_when_nothing_of_any_kind_is_here(
    secrets: list[str], is_none_here: bool
) -> None:
    originals = [
        Original(resource, None, name, False, {"postrender/attach-group": "x"}, {})
        for resource, name in zip(REVISED, "ab", strict=True)
    ]
    lines = adopt(Cluster(secrets=secrets), originals, is_dry=True)
    assert ("check --namespace" in lines[-1]) == is_none_here
    assert len(lines) == 2 + is_none_here


def test_an_original_of_the_stream_belongs_to_the_tool_that_applies_it() -> None:
    given = WantedWorkload(BY_KIND["Deployment"], "app", "", (("configmap", "given"),))
    emitted = frozenset({("configmap", "kept"), ("configmap", "given")})
    request = AttachRequest((given,), "x", emitted)
    revisions = read_revisions(Cluster(configmaps=["given", "kept", "let-go"]), request).revisions
    assert [(one.name, one.is_swept) for one in revisions] == [
        ("given", True),
        ("kept", False),
        ("let-go", True),
    ]
