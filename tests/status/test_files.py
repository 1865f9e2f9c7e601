"""Tests of `postrender status` for files: what the output of kubectl shows, and what it lacks."""

from __future__ import annotations

import json
from collections.abc import Iterable
from contextlib import suppress
from datetime import timedelta
from pathlib import Path
from random import Random

import pytest

from postrender.attach.request import (
    CONFIG_MAPS,
    CONSUMER_KINDS,
    EVENTS,
    ROLES,
    SECRETS,
    SERVICE_ACCOUNTS,
)
from postrender.cli import main
from postrender.cli.status import parse_target
from postrender.diff.values import Terminal
from postrender.errors import UsageError, UserError
from postrender.status import REPORTERS
from postrender.status.build import read_status
from postrender.status.files import read_file
from postrender.status.model import Status
from postrender.yaml.stream import read_stream
from tests.attach.cluster import NAMESPACE, START, Json, name_of, revision, time_ago
from tests.effort import examples
from tests.pages import ROOT, SHELL, blocks_of
from tests.status import stories
from tests.status.stories import STORIES
from tests.wrong_values import with_values

OTHERS = (CONFIG_MAPS, SECRETS, EVENTS, SERVICE_ACCOUNTS, ROLES)
PAGE = ROOT / "docs" / "how-to" / "operate.md"


def managed(objects: Iterable[Json], manager: str = "postrender-attach") -> list[Json]:
    """Objects as `kubectl get --show-managed-fields` prints them."""
    found = []
    for data in json.loads(json.dumps(list(objects))):
        owners = data["metadata"].get("ownerReferences", ())
        keys: Json = {f'k:{{"uid":"{owner["uid"]}"}}': {} for owner in owners}
        fields = {"f:metadata": {"f:ownerReferences": keys}}
        if data["kind"] not in ("ConfigMap", "Secret"):
            fields = {"f:spec": {}}
        data["metadata"]["managedFields"] = [{"manager": manager, "fieldsV1": fields}]
        found.append(data)
    return found


def lists(items: list[Json] | None = None, without: Iterable[str] = ()) -> str:
    """Empty lists, as `kubectl get --raw` prints them."""
    resources = [*CONSUMER_KINDS, CONFIG_MAPS, SECRETS]
    body: Json = {"metadata": {}, "items": items}
    return "".join(
        f"---\n{json.dumps({'apiVersion': item.api_version, 'kind': f'{item.kind}List', **body})}\n"
        for item in resources
        if item.kind not in without
    )


def read(objects: Iterable[Json], more: str = "", *targets: str, age: float = 0) -> Status:
    text = f"{stories.bundle(objects)}\n{more}"
    now = START + timedelta(minutes=age)
    snapshot = read_file(read_stream(text.encode(), "bundle"), None, now)
    return read_status(snapshot, [parse_target(target) for target in targets])


def text_of(status: Status) -> str:
    return REPORTERS["text"].render(status, Terminal(None))


def row_of(status: Status, name: str) -> str:
    """The line of a revision among the unused ones."""
    rows = [line for line in text_of(status).splitlines() if line.startswith(f"ConfigMap/{name} ")]
    return rows[0].split("  ", 1)[1] if rows else ""


UNUSED = name_of(STORIES["canary"].objects[1])


# The managers of fields


def test_without_managed_fields_the_fate_of_an_unused_revision_is_unknown() -> None:
    objects = STORIES["canary"].objects
    row = row_of(read(objects, lists()), UNUSED)
    assert row.startswith("unused since 11:02 UTC, unknown what the next run does, because ")
    assert row.endswith("the file lacks managedFields: add --show-managed-fields to kubectl get")
    document = json.loads(REPORTERS["json"].render(read(objects, lists()), Terminal()))
    [found] = [item for item in document["revisions"] if item["name"] == UNUSED]
    assert "--show-managed-fields" in found["nextRun"]["unknown"]
    assert not found["nextRun"]["deletes"]
    assert not found["nextRun"]["keepReason"]
    assert "--show-managed-fields" in found["reason"]
    row = row_of(read(managed(objects), lists()), UNUSED)
    assert row == "unused since 11:02 UTC, the next run deletes it"
    row = row_of(read(managed(objects, "someone"), lists()), UNUSED)
    assert "because postrender does not manage the owner ServiceAccount/app-attach" in row


@pytest.mark.parametrize("form", [{}, {"controller": None, "blockOwnerDeletion": None}])
def test_the_form_of_an_owner_does_not_replace_managed_fields(form: Json) -> None:
    objects = json.loads(json.dumps(STORIES["canary"].objects))
    for data in objects:
        if data["kind"] == "ConfigMap":
            for owner in data["metadata"]["ownerReferences"]:
                owner.update(form)
    assert "unknown what the next run does" in row_of(read(objects, lists()), UNUSED)
    assert row_of(read(managed(objects), lists()), UNUSED).endswith("the next run deletes it")


def test_what_does_not_depend_on_managed_fields_is_known() -> None:
    objects = stories.canary_after_its_job()
    retained = name_of(objects[-2])
    expected = "unused, the next run keeps it, because the applied manifests contain the revision"
    assert row_of(read(objects, lists()), retained) == expected
    for annotation in ("postrender/prune", "postrender/sweep"):
        kept = stories.config("s", "shop-web-config", 9, annotations={annotation: "false"})
        row = row_of(read([*objects, kept], lists()), name_of(kept))
        assert row.endswith(
            f'the next run keeps it, because the annotation {annotation} is "false"'
        )
    free = stories.created(revision("free", "shop-web-config"), 9)
    row = row_of(read([*objects, free], lists()), name_of(free))
    assert row.endswith("the next run marks it, and a run 10 minutes later deletes it")


def test_without_managed_fields_no_changed_config_map_counts_as_foreign() -> None:
    """The managers tell whether the tool of the release wrote a ConfigMap with other content."""
    change: Json = {"data": {"value": "hook"}, "metadata": {"ownerReferences": []}}
    objects = stories.with_change(stories.deployment("web", "a", "b"), 1, **change)
    for given, is_foreign in ((objects, False), (managed(objects), True)):
        status = read(given, lists())
        assert [problem.code for problem in status.problems] == ["edited"]
        assert any(run.problems for run in status.runs) == is_foreign


# The kinds


@pytest.mark.parametrize("items", [[], None])
def test_an_empty_list_shows_that_there_is_none(items: list[Json] | None) -> None:
    objects = managed(STORIES["canary"].objects)
    status = read(objects, lists(items))
    assert not status.unreadable
    assert "The file has no" not in text_of(status)
    assert row_of(status, UNUSED) == "unused since 11:02 UTC, the next run deletes it"


def test_kinds_that_a_file_lacks_become_a_condition() -> None:
    objects = managed(STORIES["canary"].objects)
    status = read(objects, lists(without=("CronJob", "DaemonSet")))
    row = row_of(status, UNUSED)
    condition = "unused since 11:02 UTC, if the namespace has no cronjobs or daemonsets, "
    assert row == f"{condition}the next run deletes it"
    assert "The file has no cronjobs or daemonsets. " in text_of(status)
    [found] = [item for item in status.revisions if item.ref[1] == UNUSED]
    assert found.state == "unknown"
    document = json.loads(REPORTERS["json"].render(status, Terminal()))
    assert not any(item["nextRun"]["deletes"] for item in document["revisions"])
    [found] = [item for item in document["revisions"] if item["name"] == UNUSED]
    assert found["nextRun"]["keepReason"] == (
        "the file has no cronjobs, daemonsets, and an object of these kinds might reference the "
        "revision (the command in docs/how-to/operate.md#without-access-to-the-cluster reads all "
        "kinds)"
    )
    other = read(objects, lists(without=("CronJob", "DaemonSet")), "rollout/shop-web")
    assert f"{condition}the next run deletes it" in text_of(other)
    row = row_of(read(STORIES["canary"].objects, lists(without=("CronJob",))), UNUSED)
    assert row.startswith("unused since 11:02 UTC, no user found, unknown what the next run does")


@pytest.mark.parametrize("kind", ["Pod", "ReplicaSet"])
def test_a_kind_that_the_namespace_must_have_is_no_condition(kind: str) -> None:
    objects = [item for item in managed(STORIES["canary"].objects) if item["kind"] != kind]
    status = read(objects, lists(without=(kind, "CronJob")), age=-10)
    row = row_of(status, UNUSED)
    assert row == "unused since 11:02 UTC, no user found, but some kinds were not read"
    assert "cannot list" not in REPORTERS["json"].render(status, Terminal())


def test_an_empty_list_counts_only_for_its_namespace() -> None:
    objects = managed(STORIES["canary"].objects)
    more = stories.bundle(objects).replace(f'"{NAMESPACE}"', '"test"')
    text = f"{stories.bundle(objects)}\n---\n{more}\n{lists()}"
    snapshot = read_file(read_stream(text.encode(), "bundle"), NAMESPACE, START)
    assert "cronjobs" in read_status(snapshot).unreadable


def test_a_part_of_a_list_is_refused() -> None:
    part = '---\n{"apiVersion": "v1", "kind": "PodList", "metadata": {"continue": "x"}}\n'
    with pytest.raises(UserError, match="the PodList is only the first part of a list"):
        read(STORIES["canary"].objects, part)


def test_a_list_that_was_cut_off_is_refused() -> None:
    """kubectl writes the kind of a list after its items."""
    part = "---\napiVersion: v1\nitems:\n- apiVersion: v1\n  kind: Pod\n"
    with pytest.raises(UserError, match="has items and no kind, perhaps because the text was cut"):
        read(STORIES["canary"].objects, part)


def test_a_duplicate_key_is_refused_in_json_too() -> None:
    text = stories.bundle(STORIES["canary"].objects).rstrip()
    assert text.startswith("{")
    stream = read_stream(f'{text[:-1]}, "items": []}}\n'.encode(), "bundle")
    with pytest.raises(UserError, match='the key "items" is duplicated, so one of the values'):
        read_file(stream, None, START)


def test_the_page_lists_all_kinds_and_shows_what_status_needs() -> None:
    [block] = [
        block.text
        for block in blocks_of(PAGE)
        if block.language in SHELL and "bundle.yaml" in block.text
    ]
    assert all(resource.plural in block for resource in (*CONSUMER_KINDS, *OTHERS))
    assert "--show-managed-fields" in PAGE.read_text("utf-8")


# Optional references


def optional(objects: list[Json], kinds: Iterable[str], *, keeps_base: bool = True) -> list[Json]:
    """A story without the newest revision, to which the references of some kinds are optional."""
    found = stories.without(objects, 1) if keeps_base else objects
    if not keeps_base:
        found = [item for item in objects if item["kind"] != "ConfigMap"]
    changed = json.loads(json.dumps(found))
    for item in changed:
        if item["kind"] in kinds:
            spec = item["spec"].get("template", item)["spec"]
            for source in spec["containers"][0]["envFrom"]:
                source["configMapRef"]["optional"] = True
    return list(changed)


@pytest.mark.parametrize("keeps_base", [True, False])
def test_a_missing_revision_of_an_optional_reference(keeps_base: bool) -> None:
    objects = stories.deployment("web", "a", "b")
    kinds = ("Deployment", "ReplicaSet", "Pod")
    status = read(optional(objects, kinds, keeps_base=keeps_base), lists())
    assert {problem.code for problem in status.problems} == {"missing"}
    problem = status.problems[0].problem
    assert "does not exist" in problem or "is not in the file" in problem
    assert problem.endswith(
        "The references are optional, so a pod that starts now lacks the content"
    )
    assert "MISSING" in text_of(status)
    matrix = text_of(read(optional(objects, kinds), lists(), "deploy/web"))
    assert "MISSING" in matrix


def test_one_required_reference_stops_pods() -> None:
    status = read(optional(stories.deployment("web", "a", "b"), ("Pod",)), lists())
    assert ["optional" in problem.problem for problem in status.problems] == [False]


def test_an_ended_pod_does_not_need_its_revision() -> None:
    objects = optional(stories.deployment("web", "a", "b"), ("Deployment", "ReplicaSet"))
    for item in objects:
        if item["kind"] == "Pod":
            item["status"] = {"phase": "Succeeded"}
    assert ["optional" in item.problem for item in read(objects, lists()).problems] == [True]


def test_an_optional_name_without_a_hash_is_not_missing() -> None:
    objects = json.loads(json.dumps(stories.deployment("web", "a")))
    for item in objects:
        if item["kind"] == "Deployment":
            sources = item["spec"]["template"]["spec"]["containers"][0]["envFrom"]
            sources.append({"configMapRef": {"name": "extra", "optional": True}})
    assert not read(objects, lists()).problems


# Time


def running(objects: Iterable[Json]) -> list[Json]:
    found: list[Json] = json.loads(json.dumps(list(objects)))
    for item in found:
        if item["kind"] == "Job":
            item["status"] = {}
            item["metadata"]["creationTimestamp"] = time_ago(1)
    return found


def test_a_file_of_a_running_job() -> None:
    objects = managed(running(stories.canary_after_its_job()))
    text = text_of(read(objects, lists()))
    assert text.startswith(
        "Job/app-attach-x ran when the file was written, and deletes 1 revision. "
        "To stop it: kubectl annotate configmap,secret --namespace prod "
    )
    assert "Job/app-attach-x, which ran when the file was written, deletes it" in text
    assert "runs now" not in text
    old = text_of(read(objects, lists(), age=3000))
    assert "unused since 2026-11-21 11:02 UTC, the next run deletes it" in old
    assert "To stop it" not in old
    assert "Job/app-attach-x ran when the file was written." in old


NEWEST = "The newest time in the file is 2026-11-21T11:56:00Z. Ages count until this time, "


@pytest.mark.parametrize("targets", [(), ("rollout/shop-web",)])
def test_the_ages_of_an_old_file_count_until_its_newest_time(targets: tuple[str, ...]) -> None:
    objects = managed(STORIES["canary"].objects)
    fresh, old = (read(objects, lists(), *targets, age=age) for age in (-4, 3000))
    assert NEWEST not in text_of(fresh)
    text = text_of(old)
    note = f"{NEWEST}so if the file is newer, the objects are older.\n\n"
    assert text.startswith(note)
    dated = text_of(fresh).replace("since 11:02", "since 2026-11-21 11:02")
    assert text.removeprefix(note) == dated
    document = json.loads(REPORTERS["json"].render(old, Terminal()))
    assert document["time"] == "2026-11-21T11:56:00Z"


def test_an_old_file_says_when_a_run_deletes_and_not_that_it_is_due() -> None:
    objects = managed(STORIES["canary"].objects)
    for item in objects:
        if name_of(item) == UNUSED:
            item["metadata"]["annotations"]["postrender/unused-since"] = time_ago(5)
    fate = "a run after 2026-11-21 12:05 UTC deletes it"
    assert row_of(read(objects, lists(), age=3000), UNUSED).endswith(fate)


@pytest.mark.parametrize(
    ("kind", "fields"),
    [
        ("Lease", {"spec": {"renewTime": "2026-11-21T11:58:30.123456Z"}}),
        ("Node", {"status": {"conditions": [{"lastHeartbeatTime": "2026-11-21T11:58:30Z"}]}}),
        ("Event", {"series": {"lastObservedTime": "2026-11-21T11:58:30.000000Z"}}),
        ("Deployment", {"status": {"conditions": [{"lastUpdateTime": "2026-11-21T11:58:30Z"}]}}),
        ("Certificate", {"metadata": {"creationTimestamp": "2026-11-21T11:58:30Z"}}),
    ],
)
def test_every_object_of_a_file_shows_how_new_it_is(kind: str, fields: Json) -> None:
    body: Json = {"kind": kind, "apiVersion": "example.com/v1", **fields}
    body["metadata"] = {"name": "x", "namespace": "other", **fields.get("metadata", {})}
    future: Json = {**body, "metadata": {**body["metadata"], "creationTimestamp": time_ago(-9000)}}
    more = f"---\n{json.dumps(body)}\n---\n{json.dumps(future)}\n"
    text = text_of(read(STORIES["canary"].objects, more + lists(), age=3000))
    assert "The newest time in the file is 2026-11-21T11:58:30Z. " in text


@pytest.mark.parametrize("is_new", [False, True])
def test_deletions_in_a_file(is_new: bool) -> None:
    message = "attach deleted ConfigMap/shop-web-config-x, unused since 2026-11-21T11:02:00Z."
    event: Json = {"kind": "Event", "metadata": {"name": "e", "namespace": NAMESPACE}}
    if is_new:
        event |= {"apiVersion": "events.k8s.io/v1", "note": message}
        event |= {"deprecatedLastTimestamp": time_ago(4)}
    else:
        event |= {"apiVersion": "v1", "message": message, "lastTimestamp": time_ago(4)}
    more = "".join(
        f"---\n{json.dumps({**event, 'reason': reason})}\n"
        for reason in ("RevisionDeleted", "Pulled")
    )
    text = text_of(read(STORIES["canary"].objects, more + lists()))
    assert text.count(f"Event RevisionDeleted at 2026-11-21T11:56:00Z: {message}\n") == 1


# The command


def test_several_files_and_folders(capfd: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    objects = STORIES["canary"].objects
    for number, part in enumerate((objects[:3], objects[3:])):
        (tmp_path / f"{number}.yaml").write_text(stories.bundle(part))
    names = [str(path) for path in sorted(tmp_path.iterdir())]
    outputs = []
    for words in (
        (*names,),
        ("-f", names[0], "-f", names[1]),
        (str(tmp_path),),
        ("-f", names[0], names[1]),
    ):
        code = main.run(["status", *words])
        out, err = capfd.readouterr()
        assert (code, err) == (0, "")
        outputs.append(out)
    assert len(set(outputs)) == 1
    assert "8 revisions" in outputs[0] or "7 revisions" in outputs[0]


@pytest.mark.parametrize("name", ["configmap/web-2456789bcd", "cm/x", "secrets/x", "ConfigMap/x"])
def test_a_config_map_is_not_a_workload(name: str) -> None:
    with pytest.raises(UsageError, match="which is not a workload") as caught:
        parse_target(name)
    assert "status without an argument" in str(caught.value)


@pytest.mark.random_inputs
@pytest.mark.parametrize("seed", range(examples(16)))
def test_a_value_of_another_type_is_no_bug(seed: int) -> None:
    random = Random(seed)
    for name in random.choices(sorted(STORIES), k=40):
        whole = json.loads(stories.bundle(managed(STORIES[name].objects)))
        text = json.dumps({**whole, "items": with_values(whole["items"], random)})
        with suppress(UserError):
            status = read_status(read_file(read_stream(text.encode(), "bundle"), None, START), [])
            for form in REPORTERS:
                REPORTERS[form].render(status, Terminal(100))


def test_the_type_of_a_condition_may_be_no_text() -> None:
    objects = json.loads(json.dumps(managed(STORIES["canary"].objects)))
    for data in objects:
        data["status"] = {**data.get("status", {}), "conditions": [{"type": [], "status": "True"}]}
    assert text_of(read(objects, lists()))
