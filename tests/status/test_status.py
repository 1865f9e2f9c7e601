"""Tests of `postrender status`: whole reports of stories, and what the next run then does.

`pytest --update-golden` rewrites the reports in the folder `reports`.
"""

from __future__ import annotations

import io
import json
import re
import sys
from collections.abc import Sequence
from pathlib import Path
from random import Random
from types import SimpleNamespace
from typing import Any

import jsonschema
import pytest

from postrender.attach import command
from postrender.attach.collect import Pass
from postrender.attach.connect import Connection
from postrender.attach.request import CONSUMER_KINDS
from postrender.cli import main
from postrender.cli.status import parse_target
from postrender.diff.values import Terminal
from postrender.errors import UsageError, UserError
from postrender.kubernetes.attach_groups import inventory_data
from postrender.status import REPORTERS
from postrender.status.build import read_status
from postrender.status.files import read_file
from postrender.status.model import Status
from postrender.status.next_run import NextRun
from postrender.status.snapshot import read_cluster
from postrender.yaml.stream import read_stream
from tests.attach.cluster import (
    GROUP,
    NAMESPACE,
    START,
    Cluster,
    Json,
    Run,
    job,
    name_of,
    obj,
    revision,
    workload,
)
from tests.attach.faulty import FaultyCluster, random_objects
from tests.attach.squats import squats
from tests.attach.test_collect import inventory
from tests.effort import examples
from tests.pages import ROOT, blocks_of
from tests.status import stories, worlds
from tests.status.stories import STORIES
from tests.update_golden import CheckFile

PAGE = ROOT / "docs" / "how-to" / "operate.md"
FOLDER = Path(__file__).resolve().parent
SCHEMA = FOLDER.parents[1] / "postrender" / "status" / "status.schema.json"


def status_of(
    cluster: Cluster, *targets: str, group: str = "", with_difference: bool = False
) -> Status:
    wanted = [parse_target(target) for target in targets]
    with cluster.clock():
        snapshot = read_cluster(cluster.client(is_patient=False), wanted)
    return read_status(snapshot, wanted, group, with_difference=with_difference)


def text_of(status: Status, width: int | None = 80) -> str:
    return REPORTERS["text"].render(status, Terminal(width))


@pytest.mark.golden
@pytest.mark.parametrize("name", STORIES)
def test_whole_reports(name: str, golden_file: CheckFile) -> None:
    story = STORIES[name]
    cluster = Cluster(*story.objects)
    parts = []
    for targets in ((), *((target,) for target in story.targets)):
        status = status_of(cluster, *targets, with_difference=bool(targets))
        words = " ".join(("postrender status", *(["--diff"] if targets else []), *targets))
        parts.append(f"$ {words}   # exit code {int(bool(status.problems))}\n{text_of(status)}")
    golden_file(FOLDER / "reports" / f"{name}.txt", "\n".join(parts))


def test_the_page_shows_what_status_prints() -> None:
    text = json.dumps(STORIES["canary"].objects).replace("app-attach", "shop-attach")
    cluster = Cluster(*json.loads(text))
    shown = [block.text for block in blocks_of(PAGE) if block.language == "text"]
    hint = ("To see the values that differ",)
    for targets, expected in zip((("rollout/shop-web",), ()), shown, strict=False):
        lines = text_of(status_of(cluster, *targets), 100).splitlines()
        assert "\n".join(line for line in lines if not line.startswith(hint)) + "\n" == expected


@pytest.mark.parametrize("name", STORIES)
def test_no_line_is_wider_than_the_terminal(name: str) -> None:
    story = STORIES[name]
    cluster = Cluster(*story.objects)
    for targets in ((), *((target,) for target in story.targets)):
        status = status_of(cluster, *targets)
        for width in (40, 80, 160, None):
            text = text_of(status, width)
            assert not text.endswith("\n\n")
            assert not text.startswith("\n")
            if width and width >= 80:
                assert max(map(len, text.splitlines())) <= width


@pytest.mark.parametrize("name", STORIES)
def test_json_has_the_form_of_the_schema(name: str) -> None:
    story = STORIES[name]
    cluster = Cluster(*story.objects)
    status = status_of(cluster, *story.targets, with_difference=True)
    document = json.loads(REPORTERS["json"].render(status, Terminal()))
    validator = jsonschema.Draft202012Validator(json.loads(SCHEMA.read_text("utf-8")))
    validator.validate(document)
    assert document["workloads"] or not story.targets


@pytest.mark.parametrize("name", STORIES)
def test_a_file_says_what_the_cluster_says(name: str) -> None:
    story = STORIES[name]
    if story.targets:
        targets = [parse_target(target) for target in story.targets]
        # A file shows only kinds of which there are objects.
        objects = [
            *story.objects,
            *(obj(kind.kind, "another", spec={}, template={}, data={}) for kind in CONSUMER_KINDS),
        ]
        snapshot = read_file(read_stream(stories.bundle(objects).encode(), "x"), None, START)
        found = read_status(snapshot, targets, with_difference=True)
        live = status_of(Cluster(*objects), *story.targets, with_difference=True)
        assert found.workloads == live.workloads
        assert found.differences == live.differences
        assert found.key_counts == live.key_counts


# The next run


class UsedCluster(FaultyCluster):
    """A cluster that raises LostError if somebody deletes a revision in use."""

    _patch, _session = Cluster._patch, Cluster._session

    def __init__(self, *objects: Json) -> None:
        super().__init__(Random(0), lambda *_: "", *objects)
        self.latency = 0

    def collect_garbage(self) -> list[str]:
        """Delete the ConfigMaps of which no owner exists, as Kubernetes does."""
        uids = {data["metadata"]["uid"] for data in self.objects.values()}
        gone = [
            name
            for name in self.names("ConfigMap")
            if (owners := self.owners(f"ConfigMap/{name}")) and uids.isdisjoint(owners)
        ]
        for name in gone:
            self.remove(f"ConfigMap/{name}")
        return gone


Planned = dict[str, tuple[bool, str, set[str]]]


def planned(cluster: Cluster, run: NextRun) -> Planned:
    """Return for each object whether a run deletes it, the new mark ("-": none), and new owners."""
    names = {data["metadata"]["uid"]: key for key, data in cluster.objects.items()}
    return {
        names[uid]: (
            outcome.is_deleted,
            "-" if outcome.mark is None else outcome.mark,
            {owner.uid for owner in outcome.added if not outcome.is_deleted},
        )
        for uid, outcome in run.outcomes.items()
        if outcome.is_deleted or outcome.mark is not None or outcome.added
    }


@pytest.mark.parametrize("name", STORIES)
def test_the_next_run_does_what_status_says(name: str) -> None:
    check_next_runs(Cluster(*STORIES[name].objects))


def test_a_run_that_waits_adds_owners_first() -> None:
    objects = [
        {**item, "metadata": {**item["metadata"], "ownerReferences": []}}
        if item["kind"] == "ConfigMap"
        else item
        for item in STORIES["workload-ref"].objects
        if item["kind"] not in ("ReplicaSet", "Pod")
    ]
    cluster = Cluster(*objects)
    [run] = status_of(cluster).runs
    assert run.waits
    assert any(
        str(owner) == "Rollout/shop-web" for item in run.outcomes.values() for owner in item.added
    )
    check_next_runs(cluster)


@pytest.mark.parametrize(
    "arguments", [["nonsense"], ["--group", GROUP, "--emitted", "configmap/a"]]
)
def test_an_inventory_of_somebody_else_does_not_hide_the_job(arguments: list[str]) -> None:
    inventory = obj(
        "ConfigMap",
        f"{GROUP}-inventory",
        metadata={"labels": {"postrender/inventory": GROUP}},
        data=inventory_data(arguments),
    )
    cluster = Cluster(*STORIES["canary-after-its-job"].objects, inventory)
    [run] = status_of(cluster).runs
    assert run.source == "Job/app-attach-x"
    assert any(item.is_deleted for item in run.outcomes.values())
    check_next_runs(cluster)


def test_the_owners_of_a_revision_that_two_inventories_name() -> None:
    objects = STORIES["external-before-collect"].objects
    [ours] = [item for item in objects if name_of(item) == f"{GROUP}-inventory"]
    text = ours["data"]["arguments"].replace(GROUP, "b-attach")
    labels = {"postrender/inventory": "b-attach"}
    other = obj(
        "ConfigMap", "b-attach-inventory", metadata={"labels": labels}, data={"arguments": text}
    )
    cluster = Cluster(*objects, other)
    for group in ("", GROUP):
        report = REPORTERS["json"].render(status_of(cluster, group=group), Terminal(None))
        [added] = [
            item["nextRun"]["addsOwners"]
            for item in json.loads(report)["revisions"]
            if item["state"] == "no owner"
        ]
        names = {f"ConfigMap/{GROUP}-inventory", "ConfigMap/b-attach-inventory"}
        assert names < set(added)
    check_next_runs(cluster)


def test_a_role_that_only_the_job_names_is_the_release_owner() -> None:
    job_of_role = stories.attacher_job(
        "--workload=Rollout/x=configmap/y",
        f"--release-owner=Role/{GROUP}",
    )
    objects = [item for item in STORIES["canary"].objects if item["kind"] != "ServiceAccount"]
    cluster = Cluster(*objects, job_of_role, obj("Role", GROUP))
    [run] = status_of(cluster).runs
    added = {str(owner) for item in run.outcomes.values() for owner in item.added}
    assert f"Role/{GROUP}" in added
    cluster.refused["list", "Role"] = 403
    assert "cannot list roles" in status_of(cluster).problems[-1].problem


@pytest.mark.random_inputs
@pytest.mark.parametrize("seed", range(examples(40)))
def test_the_next_runs_of_random_clusters(seed: int) -> None:
    random = Random(seed)
    objects, wanted, _ = random_objects(random)
    if random.randrange(2):
        options = f"--release-owner=ServiceAccount/{GROUP}"
        objects.append(stories.attacher_job(f"--workload={wanted}", options))
    cluster = Cluster(*objects)
    for _ in range(3):
        check_next_runs(cluster)
        cluster.sleep(random.choice((60, 3600)))


@pytest.mark.random_inputs
@pytest.mark.parametrize("seed", range(examples(60)))
def test_the_next_runs_of_random_worlds(seed: int) -> None:
    """Status says what the runs do, and no run loses a revision in use."""
    random = Random(seed)
    cluster = UsedCluster(*worlds.random_world(random))
    cluster.collect_garbage()
    for _ in range(3):
        check_next_runs(cluster)
        assert not [name for name in cluster.collect_garbage() if cluster.users(name)]
        cluster.sleep(random.choice((60, 3600)))


def check_next_runs(cluster: Cluster) -> None:
    """Run what status expects, and compare each change with what status has said."""
    for group_name in [run.group_name for run in status_of(cluster).runs]:
        runs = status_of(cluster).runs
        outcomes = [outcome for run in runs for outcome in run.outcomes.values()]
        assert not any(outcome.is_deleted and outcome.keep_reason for outcome in outcomes)
        [run] = [run for run in runs if run.group_name == group_name]
        before = {key: (cluster.mark(key), set(cluster.owners(key))) for key in cluster.objects}
        if run.source.startswith("ConfigMap/"):
            # One pass is the next run of every group with an inventory.
            expected = all_planned(cluster, [one for one in runs if "ConfigMap/" in one.source])
            with cluster.clock():
                Pass(lambda place: cluster.client(namespace=place), NAMESPACE, is_dry=False).run()
        else:
            expected = all_planned(cluster, [run])
            run_like(cluster, run)
        done: Planned = {}
        for key, (mark, owners) in before.items():
            if key not in cluster.objects:
                done[key] = True, "-", set()
                continue
            new_mark, added = cluster.mark(key), set(cluster.owners(key)) - owners
            if new_mark != mark or added:
                done[key] = False, "-" if new_mark == mark else new_mark or "", added
        assert done == expected, (run.source, group_name)


def all_planned(cluster: Cluster, runs: Sequence[NextRun]) -> Planned:
    """Return what several runs do together."""
    found: Planned = {}
    for key, (is_deleted, mark, added) in (
        item for run in runs for item in planned(cluster, run).items()
    ):
        others = found.get(key, (False, "-", set()))
        is_deleted = is_deleted or others[0]
        mark = others[1] if mark == "-" else mark
        found[key] = is_deleted, mark, set() if is_deleted else added | others[2]
    return found


def run_like(cluster: Cluster, run: NextRun) -> Run:
    """Run attach with the request that status assumes."""
    request = run.request
    workloads = [
        f"{item}{f'@{item.render_id}' if item.render_id else ''}="
        + ",".join(f"{kind}/{name}" for kind, name in item.references)
        for item in request.workloads
    ]
    owner = request.release_owner or _owner_of(cluster, run.group_name)
    arguments = _arguments(cluster, run.source)
    if arguments and not run.running_job:  # the next apply creates a Job, which is the newest one
        next_job = job("next", -60, *arguments, finished=False)
        next_job["metadata"]["labels"] = {"postrender/attach-group": run.group_name}
        cluster.add(next_job)
    done = Run(
        cluster,
        *workloads,
        group=run.group_name,
        emitted=[f"{kind}/{name}" for kind, name in request.emitted] or ["configmap/nothing"],
        timeout="0s",
        prunes=request.prunes,
        release_owner=str(owner or ""),
        arguments=arguments,
    )
    cluster.objects.pop("Job/next", None)
    return done


def _owner_of(cluster: Cluster, group: str) -> str:
    """The release owner: an object with the name of the group, or else an earlier owner."""
    labels = {key: data["metadata"].get("labels", {}) for key, data in cluster.objects.items()}
    groups = {value for found in labels.values() for value in found.values()}
    earlier = [
        owner
        for key, found in labels.items()
        if found.get("postrender/attach-group") == group
        for owner in cluster.owners(key)
        if owner.startswith("ServiceAccount/") and owner.partition("/")[2] not in groups
    ]
    names = [f"ServiceAccount/{group}", f"Role/{group}", *earlier]
    return next((key for key in names if key in cluster.objects), "")


def _arguments(cluster: Cluster, source: str) -> Sequence[str]:
    data: Any = cluster.objects.get(source)
    return data["spec"]["template"]["spec"]["containers"][0]["args"] if data else ()


# Reading


@pytest.mark.parametrize(
    ("targets", "selector"),
    [
        ((), "postrender/attach-group"),
        (("rollout/shop-web",), "postrender/attach-group=app-attach"),
    ],
)
def test_each_list_is_requested_once(targets: Sequence[str], selector: str) -> None:
    cluster = Cluster(*STORIES["canary"].objects)
    status_of(cluster, *targets)
    # The second list of ConfigMaps has the content of those with the label.
    assert cluster.requests.count("list ConfigMap") == 2
    assert cluster.selectors == ["", selector]
    others = [request for request in cluster.requests if request != "list ConfigMap"]
    assert len(others) == len(set(others)) == 16
    assert not cluster.writes


@pytest.mark.parametrize("kind", ["Pod", "CronJob", "Rollout"])
def test_a_kind_that_may_not_be_listed_is_a_problem(kind: str) -> None:
    cluster = Cluster(*STORIES["unused"].objects)
    cluster.refused["list", kind] = 403
    status = status_of(cluster)
    text = text_of(status, None)
    assert [problem.code for problem in status.problems] == ["unreadable"]
    assert f"error: postrender cannot list {kind.lower()}s (HTTP status 403)" in text
    assert "  unused\n" not in text
    assert "deletes it" not in text
    assert "no user found, but some kinds were not read" in text
    assert cluster.requests.count(f"list {kind}") == 1


@pytest.mark.parametrize("status_code", [500, 0])
def test_a_failed_list_is_an_error(status_code: int) -> None:
    cluster = Cluster(*STORIES["unused"].objects)
    cluster.refused["list", "Job"] = status_code or 503
    with cluster.clock(), pytest.raises(UserError, match="postrender cannot list jobs"):
        read_cluster(cluster.client(is_patient=False))
    assert cluster.seconds < 10


def test_release_owners_that_may_not_be_listed_are_a_problem() -> None:
    """Without them, nobody knows whether a revision still has an owner."""
    cluster = Cluster(*STORIES["canary"].objects)
    cluster.refused["list", "ServiceAccount"] = 403
    status = status_of(cluster)
    assert [problem.code for problem in status.problems] == ["unreadable"]
    assert status.problems[0].problem == (
        "postrender cannot list serviceaccounts (HTTP status 403), so it is unknown whether such "
        "an owner of a revision exists"
    )


def test_config_maps_must_be_readable() -> None:
    cluster = Cluster(*STORIES["unused"].objects)
    cluster.refused["list", "ConfigMap"] = 403
    with cluster.clock(), pytest.raises(UserError, match="cannot list configmaps"):
        read_cluster(cluster.client(is_patient=False))


@pytest.mark.parametrize("name", ["canary", "other-kinds"])
def test_secrets_need_a_permission_only_if_a_pod_references_a_revision(name: str) -> None:
    cluster = Cluster(*STORIES[name].objects)
    cluster.refused["list", "Secret"] = 403
    status = status_of(cluster)
    problems = [problem.problem for problem in status.problems]
    needs_secrets = name == "other-kinds"
    assert bool(problems) == needs_secrets
    if needs_secrets:
        assert "unknown whether these exist: Secret/db-2456789bcd" in problems[0]


def test_the_content_of_a_secret_is_never_shown() -> None:
    story = STORIES["other-kinds"]
    status = status_of(Cluster(*story.objects), "deploy/api", with_difference=True)
    bundle = read_stream(stories.bundle(story.objects).encode(), "x")
    from_file = read_status(read_file(bundle, None, START))
    for found in (status, from_file):
        for reporter in map(REPORTERS.__getitem__, REPORTERS):
            text = reporter.render(found, Terminal())
            assert "hunter2" not in text
            assert "aHVudGVyMg" not in text
    assert "aHVudGVyMg" not in repr(from_file)


def test_an_unlabelled_object_with_the_name_of_a_revision_is_foreign() -> None:
    objects = stories.with_change(
        stories.deployment("web", "a"),
        0,
        data={"x": "y"},
        metadata={"labels": {}, "annotations": {}},
    )
    cluster = Cluster(*objects, stories.config("b", "web-config", 9))
    status = status_of(cluster, "deploy/web")
    assert [problem.code for problem in status.problems] == ["foreign"]
    assert not [request for request in cluster.requests if request.startswith("get")]


SQUATTED = revision("old")
SQUATS = squats(SQUATTED)


@pytest.mark.parametrize("source", ["a Job", "an inventory"])
@pytest.mark.parametrize("case", SQUATS)
def test_a_squatted_name_that_no_workload_uses_is_reported(case: str, source: str) -> None:
    squat, expected = SQUATS[case]
    new = revision("new")
    arguments = ["--group", GROUP, "--workload", f"Deployment/app@bb=configmap/{name_of(new)}"]
    arguments += ["--emitted", f"configmap/{name_of(SQUATTED)}"]
    labels = {"postrender/inventory": GROUP}
    data = inventory_data(arguments)
    names = obj("ConfigMap", f"{GROUP}-inventory", metadata={"labels": labels}, data=data)
    if source == "a Job":
        names = job("app-attach-1", 5, *arguments)
    replica_set = workload("ReplicaSet/app-2", "bb", name_of(new), owner="Deployment/app")
    deployment = workload("Deployment/app", "bb", name_of(new))
    status = status_of(Cluster(deployment, replica_set, new, names, squat))
    name = f"ConfigMap/{name_of(SQUATTED)}"
    found = [problem.problem for problem in status.problems if name in problem.problem]
    # An object that is being deleted can have two problems.
    is_told = bool(expected) and not expected.startswith("changed")
    assert any(expected in text for text in found) if is_told else not found, found


IN_USE = [
    name_of(data)
    for data in STORIES["canary"].objects
    if data["kind"] == "ConfigMap" and "unused-since" not in str(data)
]


@pytest.mark.parametrize("name", IN_USE)
@pytest.mark.parametrize("targets", [(), ("rollout/shop-web",)])
@pytest.mark.parametrize("has_job", [False, True])
def test_a_squatted_name_in_use_is_reported_as_edited(
    name: str, targets: Sequence[str], has_job: bool
) -> None:
    """Also if only stable pods or a rollback need the name, and if no Job names it any more."""
    objects = stories.canary_after_its_job() if has_job else STORIES["canary"].objects
    [true] = [data for data in objects if name_of(data) == name]
    created = {"creationTimestamp": true["metadata"]["creationTimestamp"]}
    squat = squats(true)["without a label"][0]
    squat = {**squat, "metadata": {**squat["metadata"], **created}}
    cluster = Cluster(*(squat if data is true else data for data in objects))
    status = status_of(cluster, *targets, group="" if targets else "app")
    assert [problem.refs for problem in status.problems] == [(("configmap", name),)]
    [row] = [item for item in status.revisions if item.ref[1] == name]
    assert (row.state, row.group_name) == ("EDITED", GROUP)
    check_next_runs(cluster)


def test_a_workload_does_not_show_the_foreign_object_of_another() -> None:
    other = revision("other", base="other")
    squat = squats(other)["without a label"][0]
    used = workload("Deployment/other", "ee", name_of(other))
    cluster = Cluster(*STORIES["canary"].objects, squat, used)
    assert status_of(cluster).problems
    assert not status_of(cluster, "rollout/shop-web").problems


# Files


def read_text(text: str, namespace: str | None = None, *targets: str) -> Status:
    snapshot = read_file(read_stream(text.encode(), "bundle"), namespace, START)
    return read_status(snapshot, [parse_target(target) for target in targets])


def documents(objects: Sequence[Json]) -> str:
    items = json.loads(stories.bundle(objects))["items"]
    return "".join(f"---\n{json.dumps(item)}\n" for item in items)


def test_a_file_can_have_documents_and_lists() -> None:
    objects = STORIES["canary"].objects
    text = text_of(read_text(documents(objects)), None)
    assert text == text_of(read_text(stories.bundle(objects)), None)
    assert "shop-web-config  947g9dg4k9  12m  Rollout/shop-web canary" in text


def test_a_file_says_what_it_lacks() -> None:
    objects = [item for item in STORIES["canary"].objects if item["kind"] != "Pod"]
    text = text_of(read_text(stories.bundle(objects), None, "rollout/shop-web"), None)
    assert "4 of 4 ready" in text  # as the ReplicaSet counts
    assert "The file has no analysisruns, " in text
    assert "pods, podtemplates" in text
    assert "no user found, but" in text
    assert "deletes it" not in text
    with pytest.raises(UserError, match="has no ConfigMap"):
        read_text(stories.bundle([item for item in objects if item["kind"] != "ConfigMap"]))
    with pytest.raises(UserError, match="the file has no objects of this kind"):
        read_text(stories.bundle(objects), None, "job/x")


def test_a_file_can_have_several_namespaces() -> None:
    text = stories.bundle(STORIES["canary"].objects)
    other = text.replace('"prod"', '"test"').replace("shop-web", "shop-api")
    both = f"{text}\n---\n{other}\n"
    with pytest.raises(UserError, match="objects of 2 namespaces: prod and test"):
        read_text(both)
    assert text_of(read_text(both, "prod")) == text_of(read_text(text))


def test_a_file_without_uids_is_refused() -> None:
    text = stories.bundle(STORIES["canary"].objects).replace('"uid"', '"id"')
    with pytest.raises(UserError, match=r"has no metadata\.uid"):
        read_text(text)


ODD: list[Any] = [None, 1, "x", [], [None], {}, {"x": None}, [{"name": 1}], -1, 1 << 70, True]


@pytest.mark.parametrize("field", ["metadata", "spec", "status", "data", "revision"])
@pytest.mark.parametrize("value", ODD, ids=str)
def test_odd_objects_do_not_end_a_status(field: str, value: Any) -> None:
    """The API server does not check the fields of a custom kind such as a Rollout."""
    objects = [*STORIES["canary"].objects, *STORIES["statefulset"].objects]
    items = json.loads(stories.bundle(objects))["items"]
    for item in items:
        if field == "metadata":
            kept = {key: item["metadata"][key] for key in ("name", "uid", "namespace")}
            item["metadata"] = {**dict.fromkeys(item["metadata"], value), **kept}
        else:
            item[field] = value
            for key in () if field == "data" else ("status", "spec"):
                if isinstance(item.get(key), dict):
                    item[key] = {**dict.fromkeys(item[key], value), **item[key]}
                    item[key] |= {"steps": value, "strategy": {"canary": value}, "phase": value}
    text = json.dumps({"apiVersion": "v1", "kind": "List", "items": items})
    for reporter in map(REPORTERS.__getitem__, REPORTERS):
        reporter.render(read_text(text, None, "rollout/shop-web", "sts/db"), Terminal(80))
        reporter.render(read_text(text), Terminal(80))


def test_deep_and_long_values() -> None:
    objects = STORIES["canary"].objects
    items = json.loads(stories.bundle(objects))["items"]
    rollout = next(item for item in items if item["kind"] == "Rollout")
    rollout["status"] |= {"message": "\x1b[31m" + "x" * 100_000, "deep": "DEEP"}
    text = json.dumps({"apiVersion": "v1", "kind": "List", "items": items})
    text = text.replace('"DEEP"', "[" * 5000 + "]" * 5000)
    report = text_of(read_text(text, None, "rollout/shop-web"))
    assert "\x1b" not in report
    hostile = text.replace("\\u001b[31m", "\u009b31m\u202e")
    document = REPORTERS["json"].render(read_text(hostile, None, "rollout/shop-web"), Terminal())
    assert "\\u009b31m\\u202e" in document
    assert max(map(len, report.splitlines())) <= 80


# What a list that could not be read leaves unknown


MIN = """
apiVersion: v1
kind: List
items:
- apiVersion: v1
  kind: ConfigMap
  immutable: true
  data: {v: "16"}
  metadata:
    name: db-config-mb2ch4mdmh
    uid: c
    namespace: p
    labels: {postrender/attach-group: s}
    annotations: {postrender/base-name: db-config}
    ownerReferences: [{apiVersion: apps/v1, kind: StatefulSet, name: db, uid: u}]
- apiVersion: apps/v1
  kind: StatefulSet
  metadata: {name: db, namespace: p, uid: u}
  spec:
    replicas: 1
    template:
      spec:
        containers:
        - {name: c, image: i, envFrom: [{configMapRef: {name: db-config-mb2ch4mdmh}}]}
- apiVersion: v1
  kind: Pod
  metadata:
    name: db-0
    uid: d
    namespace: p
    ownerReferences: [{apiVersion: apps/v1, kind: StatefulSet, name: db, uid: u, controller: true}]
  spec:
    containers: [{name: c, image: i, envFrom: [{configMapRef: {name: db-config-mgf659dm64}}]}]
  status: {phase: Running, conditions: [{type: Ready, status: "True"}]}
"""


@pytest.mark.parametrize("targets", [(), ("sts/db",)])
def test_a_missing_revision_of_a_pod_is_found_without_its_history(targets: Sequence[str]) -> None:
    status = read_text(MIN, None, *targets)
    assert [problem.code for problem in status.problems] == ["missing"]
    text = text_of(status, None)
    assert "No revision is missing" not in text
    assert "is in use" not in text.replace("revision in use", "")
    if targets:
        assert "pods       1 of 1 ready, -     0 pods, -" in text
        assert "db-config  mgf659dm64 MISSING  mb2ch4mdmh  differs" in text
        assert "only running pods, because controllerrevisions are not in the file" in text


def test_a_pod_of_a_revision_that_is_gone_is_seen() -> None:
    """The history can be shorter than the life of a Pod, or lack its label."""
    objects = [
        item
        for item in STORIES["statefulset"].objects
        if name_of(item) not in ("db-88888", name_of(stories.config("88888", "db-config", 1)))
    ]
    status = status_of(Cluster(*objects), "sts/db")
    assert [problem.code for problem in status.problems] == ["missing"]
    assert "2 of 2 ready" in text_of(status)


UNREAD = [
    (name, kind)
    for name, kinds in {
        "canary": ("Pod", "ReplicaSet", "Rollout"),
        "rolling-update": ("Pod", "ReplicaSet"),
        "statefulset": ("Pod", "ControllerRevision"),
        "daemonset": ("Pod", "ControllerRevision"),
        "blue-green": ("Pod", "ReplicaSet"),
        "other-kinds": ("Pod", "Job", "CronJob"),
        "experiment": ("ReplicaSet", "Experiment"),
        "canary-after-its-job": ("Rollout", "ReplicaSet", "Pod", "Job", "AnalysisRun"),
        "external": ("Deployment", "ReplicaSet", "Pod"),
    }.items()
    for kind in kinds
]


@pytest.mark.parametrize(("name", "kind"), UNREAD)
@pytest.mark.parametrize("is_file", [False, True])
def test_no_claim_comes_from_a_list_that_could_not_be_read(
    name: str, kind: str, is_file: bool
) -> None:
    story = STORIES[name]
    whole = status_of(Cluster(*story.objects))
    for target in ("", *story.targets):
        targets = [target] if target else []
        if is_file:
            objects = [item for item in story.objects if item["kind"] != kind]
            wanted = [parse_target(word) for word in targets]
            if any(word.resource.kind == kind for word in wanted):
                continue
            status = read_text(stories.bundle(objects), None, *targets)
        else:
            cluster = Cluster(*story.objects)
            cluster.refused["list", kind] = 403
            if any(parse_target(word).resource.kind == kind for word in targets):
                with pytest.raises(UserError, match="is unknown, because"):
                    status_of(cluster, *targets)
                continue
            status = status_of(cluster, *targets)
            assert {problem.code for problem in status.problems} - {"no-owner"} == {"unreadable"}
        text = text_of(status, None)
        assert "No revision is missing" not in text
        assert ", 0 for rollbacks" not in text
        assert "exists any more" not in text or kind != "Job"
        assert "It would first wait" not in text or name == "other-kinds"
        assert not {item.state for item in status.revisions} & {"unused", "MISSING"}
        pods: dict[Any, list[int | None]] = {}
        for found in (whole, status):
            for item in found.revisions:
                counts = [user.pods or 0 for user in item.users]
                is_known = all(user.is_known for user in item.users)
                pods.setdefault(item.ref, []).append(sum(counts) if is_known else None)
        if kind in ("ReplicaSet", "ControllerRevision", "Pod") and name != "experiment":
            for expected, *rest in pods.values():
                assert set(rest) <= {expected, None}


def test_pods_belong_to_their_rollout_without_its_replica_sets() -> None:
    """Their names lead to the workload, and another kind can have its name."""
    objects = [*STORIES["canary"].objects, workload("StatefulSet/shop-web", "")]
    cluster = Cluster(*objects)
    cluster.refused["list", "ReplicaSet"] = 403
    status = status_of(cluster)
    users = {(user.title, user.pods) for item in status.revisions for user in item.users}
    assert users == {("Rollout/shop-web canary", 1), ("Rollout/shop-web stable", 4)}


def test_secrets_that_could_not_be_read_are_unknown() -> None:
    for is_file in (False, True):
        objects = STORIES["other-kinds"].objects
        cluster = Cluster(*objects)
        cluster.refused["list", "Secret"] = 403
        rest = [item for item in objects if item["kind"] != "Secret"]
        status = read_text(stories.bundle(rest)) if is_file else status_of(cluster)
        text = text_of(status, None)
        assert re.search(r"Secret/db +2456789bcd +- +Deployment/api +[-?] +UNKNOWN", text)
        assert "does not exist" not in text
        assert "whether these exist: Secret/db-2456789bcd" in text
        assert "No revision is missing" not in text
        assert "MISSING" not in text


def test_edits_of_secrets_are_not_known() -> None:
    text = text_of(status_of(Cluster(*STORIES["other-kinds"].objects)), None)
    assert "Secrets are not checked for edits." in text


@pytest.mark.parametrize("kind", ["Rollout", "ReplicaSet", "Pod", "Secret"])
def test_the_job_counts_although_another_list_could_not_be_read(kind: str) -> None:
    cluster = Cluster(*STORIES["canary-after-its-job"].objects)
    cluster.refused["list", kind] = 403
    [run] = status_of(cluster).runs
    assert (run.source, run.waits) == ("Job/app-attach-x", ())


def test_two_outputs_without_a_separator_are_refused() -> None:
    import yaml

    objects = STORIES["canary"].objects
    items = json.loads(stories.bundle(objects))["items"]
    text = yaml.safe_dump({"apiVersion": "v1", "kind": "List", "items": items})
    with pytest.raises(UserError, match="is duplicated, so") as caught:
        read_text(text + text)
    assert caught.value.location
    assert caught.value.location.line == text.count("\n") + 1
    assert read_text(f"{text}---\n{text}").revisions


# Messages


def test_an_edited_annotation_is_no_edited_content() -> None:
    objects = stories.deployment("web", "a", "b")
    old = next(item for item in objects if item["kind"] == "ConfigMap")
    metadata = {"annotations": {"postrender/base-name": "other"}}
    status = status_of(Cluster(*stories.with_change(objects, 0, metadata=metadata)))
    [problem] = status.problems
    assert problem.problem.endswith("hash in the name, but the content is intact")
    assert problem.fix.startswith(f"Do not delete ConfigMap/{name_of(old)}. Set the annotation to")
    [found] = [item for item in status.revisions if item.ref[1] == name_of(old)]
    assert (found.state, found.base_name) == ("kept", "web-config")


@pytest.mark.parametrize("number", [0, 1])
@pytest.mark.parametrize(
    ("lost", "problem"),
    [
        (("labels",), "the label postrender/attach-group of"),
        (("annotations",), "the annotation postrender/base-name of"),
        (("labels", "annotations"), "the label postrender/attach-group of"),
    ],
)
def test_a_lost_label_or_annotation(lost: Sequence[str], problem: str, number: int) -> None:
    """Otherwise nothing would delete the revision, or Kubernetes would with its workload."""
    metadata: Json = {field: {} for field in lost}
    objects = stories.with_change(stories.deployment("web", "a", "b"), number, metadata=metadata)
    cluster = Cluster(*objects)
    changed = [item for item in objects if item["kind"] == "ConfigMap"][number]
    for group in ("", "app"):
        status = status_of(cluster, group=group)
        [found] = status.problems
        assert found.problem.startswith(f"{problem} ConfigMap/{name_of(changed)} is missing")
        assert found.fix.startswith("Do not delete")
        assert {(item.base_name, item.group_name) for item in status.revisions} == {
            ("web-config", GROUP)
        }
    # A ConfigMap of another tool can have such a name too.
    del changed["metadata"]["ownerReferences"]
    changed["metadata"] |= {"labels": {}, "annotations": {}}
    codes = {item.code for item in status_of(Cluster(*objects)).problems}
    assert "edited" not in codes


def test_an_edited_revision_is_saved_before_it_is_deleted() -> None:
    [problem] = status_of(Cluster(*STORIES["edited"].objects)).problems
    fix = problem.fix
    order = ["Save", "kubectl get configmap/", "helm get manifest", "can lack", "Only then delete"]
    assert [fix.index(part) for part in order] == sorted(fix.index(part) for part in order)


def test_a_revision_and_a_workload_that_are_being_deleted() -> None:
    deleting = {"deletionTimestamp": "2026-01-01T00:00:00Z"}
    objects = stories.with_change(stories.canary(), 2, metadata=deleting)
    rollout = next(item for item in objects if item["kind"] == "Rollout")
    rollout["metadata"] |= deleting
    status = status_of(Cluster(*objects), "rollout/shop-web")
    assert status.workloads[0].progress == "being deleted"
    [problem] = status.problems
    assert problem.fix.startswith("Wait until ConfigMap/shop-web-config-5fh8h62cm5 is gone, then")
    text = text_of(status, None)
    assert text.startswith("error: ")
    assert "5fh8h62cm5 BEING LOST" in text


def test_states_that_need_action_are_red_and_only_headers_are_bold() -> None:
    for name in ("missing", "edited", "without-owner", "losing-its-owner"):
        for targets in ((), STORIES[name].targets):
            status = status_of(Cluster(*STORIES[name].objects), *targets)
            text = REPORTERS["text"].render(status, Terminal(None, is_coloured=True))
            rows = [line for line in text.splitlines() if "web-config" in line]
            state = r"(MISSING|EDITED|NO OWNER|BEING LOST)"
            assert any(re.search(f"\x1b[^m]*131m{state}\x1b", row) for row in rows)
            assert not any(row.startswith("\x1b[1m") for row in rows)
            assert targets or re.search("(?m)^\x1b\\[1mGROUP +BASE NAME", text)


@pytest.mark.parametrize("change", [{"status": {"phase": "Failed"}}, {"deleting": True}])
def test_a_pod_that_has_ended_or_is_being_deleted_does_not_count(change: Json) -> None:
    story = STORIES["rolling-update"]
    gone = [
        obj("Pod", f"gone-{number}", owner=f"ReplicaSet/web-{number * 5}", spec={}, **change)
        for number in "012"
    ]
    with_them = status_of(Cluster(*story.objects, *gone), *story.targets)
    assert with_them.workloads == status_of(Cluster(*story.objects), *story.targets).workloads


def test_a_new_template_without_pods_has_no_pods() -> None:
    """The controller has not yet created one, so the count is 0, and not that of spec.replicas."""
    objects = [
        item
        for item in STORIES["statefulset"].objects
        if item["kind"] != "Pod" or not name_of(item).startswith("db-2")
    ]
    users = {
        user.title: user.pods
        for item in status_of(Cluster(*objects)).revisions
        for user in item.users
    }
    assert users == {
        "StatefulSet/db new": 0,
        "StatefulSet/db old": 2,
        "ControllerRevision/db-77777": 0,
    }


def test_a_rollout_that_no_controller_has_seen_has_one_template() -> None:
    """Its ReplicaSet is an earlier one: the Rollout has no status, and the ReplicaSet no Pods."""
    rollout = workload("Rollout/app", "bb", "app-2k4")
    old = workload("ReplicaSet/app-1", "", "app-2k3", owner="Rollout/app", spec={"replicas": 0})
    status = status_of(Cluster(rollout, old), "rollout/app")
    [found] = status.workloads
    assert [(item.consumer.name, item.role) for item in found.columns] == [("app", "current")]
    assert "Rollout/app" in text_of(status)


def test_the_partition_of_a_stateful_set() -> None:
    objects = json.loads(json.dumps(STORIES["statefulset"].objects))
    [live] = [item for item in objects if item["kind"] == "StatefulSet"]
    live["spec"]["updateStrategy"] = {"rollingUpdate": {"partition": 2}}
    [found] = status_of(Cluster(*objects), "sts/db").workloads
    assert found.progress == "rolling update, partition 2"


@pytest.mark.parametrize("kind", ["StatefulSet", "DaemonSet"])
def test_on_delete_rolls_nothing(kind: str) -> None:
    objects = json.loads(json.dumps(STORIES[kind.lower()].objects))
    [live] = [item for item in objects if item["kind"] == kind]
    live["spec"]["updateStrategy"] = {"type": "OnDelete"}
    [found] = status_of(Cluster(*objects), f"{kind}/db").workloads
    expected = "OnDelete, so a pod gets the new revisions only when you delete the pod"
    assert found.progress == expected


@pytest.mark.parametrize("missing", ["a", "b"])
def test_a_missing_revision_belongs_to_the_release_of_its_workload(missing: str) -> None:
    cluster = Cluster(*stories.same_base_name(missing))
    [lost] = [item for item in status_of(cluster).revisions if item.state == "MISSING"]
    assert lost.group_name == f"{missing}-attach"
    for name in ("a", "b"):
        status = status_of(cluster, group=name)
        assert [problem.code for problem in status.problems] == ["missing"] * (name == missing)
        assert ("It would first wait" in text_of(status)) == (name == missing)
    assert "No revision in use exists. 1 MISSING." in text_of(
        status_of(cluster, group=missing), None
    )
    check_next_runs(cluster)


def test_each_group_shows_a_loss_that_leaves_nothing_that_tells_the_group() -> None:
    lost = workload("StatefulSet/db", "cc", "db-log-9b5dk48tk7")
    cluster = Cluster(*stories.same_base_name(""), lost)
    for group in ("", "a", "b-attach"):
        status = status_of(cluster, group=group)
        assert [problem.code for problem in status.problems] == ["missing"]
        assert "ConfigMap/db-log-9b5dk48tk7 does not exist" in text_of(status, None)


@pytest.mark.parametrize("form", ["Job", "inventory"])
def test_a_loss_that_a_release_names_is_not_one_of_another_release(form: str) -> None:
    """Monitoring of one release must not fail because of another one."""
    lost = workload("CronJob/db", "cc", "db-log-9b5dk48tk7")
    wanted = "CronJob/db@cc=configmap/db-log-9b5dk48tk7"
    named = stories.attacher_job(f"--workload={wanted}", group="a-attach")
    if form == "inventory":
        named = inventory(wanted, group="a-attach")
    cluster = Cluster(*stories.same_base_name(""), lost, named)
    for group, codes in {"": ["missing"], "a": ["missing"], "b": []}.items():
        assert [item.code for item in status_of(cluster, group=group).problems] == codes


def test_another_kind_with_the_name_of_a_workload_is_a_suggestion() -> None:
    cluster = Cluster(*STORIES["canary"].objects)
    with pytest.raises(UserError) as caught:
        status_of(cluster, "deploy/shop-web")
    assert "Did you mean Rollout/shop-web?" in caught.value.fix


def test_one_error_for_a_revision_in_use_that_somebody_has_created_again() -> None:
    """Its fix keeps the content; the fix for an unused object with the name does not."""
    objects = json.loads(json.dumps(STORIES["edited"].objects))
    for item in objects:
        if item["kind"] == "ConfigMap":
            item["metadata"].pop("ownerReferences", None)
            item["metadata"].pop("managedFields", None)
    codes = [problem.code for problem in status_of(Cluster(*objects)).problems]
    assert "edited" in codes
    assert "foreign" not in codes


def running_job(minutes: float) -> list[Json]:
    """Return the canary with the attacher's unfinished Job."""
    objects = stories.canary_after_its_job()
    objects[-1] = stories.created({**objects[-1], "status": {}}, minutes)
    return objects


@pytest.mark.parametrize("minutes", [0, 1, 3, 12])
def test_a_job_that_is_late_does_not_delete(minutes: float) -> None:
    """A tool that has stopped waiting for the Job can have started a later apply."""
    cluster = Cluster(*running_job(minutes))
    is_late = minutes > 1
    text = text_of(status_of(cluster), None)
    reason = "keeps it, because the Job of this run, Job/app-attach-x, is more than 150 seconds old"
    assert (f"Job/app-attach-x, which runs now, {reason}" in text) == is_late
    assert ("deletes 1 revision" in text) != is_late
    check_next_runs(cluster)


@pytest.mark.parametrize("targets", [(), ("rollout/shop-web",)])
def test_a_running_job_deletes_now(targets: Sequence[str]) -> None:
    objects = running_job(1)
    text = text_of(status_of(Cluster(*objects), *targets), None)
    assert text.startswith(
        "Job/app-attach-x runs now, and deletes 1 revision. "
        "To stop it: kubectl annotate configmap,secret --namespace prod "
        "-l postrender/attach-group=app-attach --overwrite postrender/prune=false\n\n"
    )
    assert "unused since 11:02 UTC, Job/app-attach-x, which runs now, deletes it" in text
    assert "the next run deletes it" not in text


@pytest.mark.parametrize(
    ("title", "render_id", "owners", "is_expected"),
    [
        ("Deployment/app", "bb", ["Deployment/app"], True),
        ("Deployment/app", "bb", [], False),  # nothing shows that an attacher was there
        ("ReplicaSet/app", "", ["ReplicaSet/app"], False),  # no output has wanted it
    ],
)
def test_without_a_job_the_owners_of_a_workload_show_that_a_run_comes(
    title: str, render_id: str, owners: list[str], is_expected: bool
) -> None:
    new = revision("new", owners=owners)
    status = status_of(Cluster(new, workload(title, render_id, name_of(new))))
    assert bool(status.runs) == is_expected


def test_a_running_job_of_another_release_decides_nothing() -> None:
    objects = stories.canary_after_its_job()
    objects[-1] = stories.attacher_job("--workload=Rollout/shop-web@ff=configmap/x")
    objects[-1]["status"] = {}
    text = text_of(status_of(Cluster(*objects)), None)
    assert "which runs now" not in text
    assert "Job/app-attach-x runs now." in text


def test_an_unknown_group_names_the_groups() -> None:
    cluster = Cluster(*STORIES["two-releases"].objects)
    with pytest.raises(UserError, match="The attach groups are app-attach and other-attach"):
        status_of(cluster, group="nope")


def test_a_kind_that_a_file_lacks_is_added_to_kubectl_get() -> None:
    with pytest.raises(UserError, match="Add cronjobs to kubectl get"):
        read_text(stories.bundle(STORIES["canary"].objects), None, "cj/report")


# The command


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("rollout/web", "Rollout/web"),
        ("ro/web", "Rollout/web"),
        ("rollouts.argoproj.io/web", "Rollout/web"),
        ("deploy/web", "Deployment/web"),
        ("Deployment/web", "Deployment/web"),
        ("deployments.apps/web", "Deployment/web"),
        ("deployments.v1.apps/web", "Deployment/web"),
        ("sts/db", "StatefulSet/db"),
        ("po/x", "Pod/x"),
        ("pods.v1/x", "Pod/x"),
        ("cj/x", "CronJob/x"),
        ("job.batch/x", "Job/x"),
    ],
)
def test_workloads_are_named_as_in_kubectl(text: str, expected: str) -> None:
    assert str(parse_target(text)) == expected


@pytest.mark.parametrize(
    "text",
    ["web", "deploy/", "/web", "service/web", "deploy/a/b", "deploy.batch/web", "", "a.yaml"],
)
def test_other_arguments_are_refused(text: str) -> None:
    with pytest.raises(UsageError, match="expected KIND/NAME, a file or -"):
        parse_target(text)


Finish = tuple[int, str, str]


def run(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, stdin: str, *words: str
) -> Finish:
    source = SimpleNamespace(buffer=io.BytesIO(stdin.encode()), isatty=lambda: False)
    monkeypatch.setattr(sys, "stdin", source)
    monkeypatch.setattr(sys, "argv", ["/usr/bin/kubectl-postrender", "status", *words])
    code = main.run(["status", *words])
    return code, *capfd.readouterr()


def test_the_command_reads_stdin_or_a_file(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    text = stories.bundle(STORIES["canary"].objects)
    (tmp_path / "bundle").write_text(text)
    for words in (("-f", str(tmp_path / "bundle")), (str(tmp_path / "bundle"),), ("-",)):
        code, out, err = run(capfd, monkeypatch, text, *words, "rollout/shop-web")
        assert (code, err) == (0, "")
        assert "differs (1 key)" in out
        command = f"kubectl postrender status {' '.join(words)} rollout/shop-web --diff"
        assert out.endswith(f"To see the values that differ: {command}\n")


@pytest.mark.parametrize(
    ("words", "context"),
    [(["--namespace=prod"], "other"), (["--namespace="], "prod"), ([], "prod")],
)
def test_the_namespace_is_that_of_the_option_or_of_the_context(
    words: list[str],
    context: str,
    capfd: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    session = Cluster(*STORIES["canary"].objects).client()._session
    monkeypatch.setattr(command, "connect", lambda *_: Connection(session, context, None))
    assert main.run(["status", *words]) == 0
    assert "6 of 6 revisions in use have owners" in capfd.readouterr().out


def test_kubectl_finds_the_program() -> None:
    text = (ROOT / "pyproject.toml").read_text("utf-8")
    assert 'kubectl-postrender = "postrender.__main__:main"' in text


@pytest.mark.parametrize("name", ["missing", "edited", "canary"])
def test_the_exit_code(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    text = stories.bundle(STORIES[name].objects)
    code, out, _ = run(capfd, monkeypatch, text, "-", "--output=json")
    assert code == int(name != "canary") == int(bool(json.loads(out)["problems"]))


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--diff", "-"), "--diff is set without a workload"),
        (("--group=x", "deploy/x", "-"), "--group is set with a workload"),
        (("-f", "a", "-f", "b"), "a: postrender cannot read the file"),
        (("no-such-file.yaml",), "does not exist"),
        (("web",), "expected KIND/NAME, a file or -"),
    ],
)
def test_usage_errors(
    capfd: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    words: Sequence[str],
    message: str,
) -> None:
    code, _, err = run(capfd, monkeypatch, "", *words)
    assert code == 2
    assert message in err
