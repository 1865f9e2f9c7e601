"""Tests of `postrender status`: whole reports of stories, and what the next run then does.

`pytest --update-golden` rewrites the reports in the folder `reports`.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from postrender.attach.request import title
from postrender.diff.values import Terminal
from postrender.status import REPORTERS
from postrender.status.build import read_status
from postrender.status.kinds import parse_target
from postrender.status.model import Status
from postrender.status.snapshot import read_cluster, read_file
from postrender.yaml.stream import read_stream
from tests.attach.cluster import START, Cluster, Run
from tests.status import stories
from tests.status.stories import STORIES
from tests.update_golden import CheckFile

FOLDER = Path(__file__).resolve().parent
SCHEMA = FOLDER.parents[1] / "postrender" / "status" / "status.schema.json"


def status_of(
    cluster: Cluster, *targets: str, group: str = "", with_difference: bool = False
) -> Status:
    wanted = [parse_target(target) for target in targets]
    with cluster.clock():
        snapshot = read_cluster(cluster.client(), wanted)
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


@pytest.mark.parametrize("name", STORIES)
@pytest.mark.parametrize("width", [40, 80, 160, None])
def test_no_line_is_wider_than_the_terminal(name: str, width: int | None) -> None:
    story = STORIES[name]
    cluster = Cluster(*story.objects)
    for targets in ((), *((target,) for target in story.targets)):
        text = text_of(status_of(cluster, *targets), width)
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
        snapshot = read_file(read_stream(stories.bundle(story.objects).encode(), "x"), None, START)
        found = read_status(snapshot, targets, with_difference=True)
        live = status_of(Cluster(*story.objects), *story.targets, with_difference=True)
        assert found.workloads == live.workloads
        assert found.differences == live.differences
        assert found.key_counts == live.key_counts


# The next run


def planned(status: Status) -> tuple[set[str], set[str], set[str], dict[str, set[str]]]:
    """Return the revisions to mark, to unmark and to delete, and the new owners by revision."""
    marks, unmarks, deletes = set(), set(), set()
    owners: dict[str, set[str]] = {}
    for revision in status.revisions:
        outcome, name = revision.outcome, title(revision.ref)
        if outcome is None:
            continue
        if outcome.mark:
            marks.add(name)
        elif outcome.mark == "":
            unmarks.add(name)
        if outcome.is_deleted:
            deletes.add(name)
        if outcome.added:
            owners[name] = {owner.uid for owner in outcome.added}
    return marks, unmarks, deletes, owners


@pytest.mark.parametrize("name", STORIES)
def test_the_next_run_does_what_status_says(name: str) -> None:
    story = STORIES[name]
    cluster = Cluster(*story.objects)
    for status_run in status_of(cluster).runs:
        status = status_of(cluster, group=status_run.group_name)
        marks, unmarks, deletes, owners = planned(status)
        before = {key: (cluster.mark(key), set(cluster.owners(key))) for key in cluster.objects}
        run_like(cluster, status)
        gone = {key for key in before if key not in cluster.objects}
        assert gone == deletes
        changed = {
            key: (cluster.mark(key), set(cluster.owners(key)) - owned)
            for key, (mark, owned) in before.items()
            if key in cluster.objects
            and (cluster.mark(key) != mark or set(cluster.owners(key)) - owned)
        }
        assert {key for key, (_, added) in changed.items() if added} == set(owners)
        assert {key: added for key, (_, added) in changed.items() if added} == owners
        assert {
            key for key in changed if cluster.mark(key) and before[key][0] != cluster.mark(key)
        } == marks
        assert {key for key in changed if before[key][0] and not cluster.mark(key)} == unmarks


def run_like(cluster: Cluster, status: Status) -> Run:
    """Run attach with the request that status assumes."""
    [run] = status.runs
    request = run.request
    workloads = [
        f"{item}{f'@{item.render_id}' if item.render_id else ''}="
        + ",".join(f"{kind}/{name}" for kind, name in item.references)
        for item in request.workloads
    ]
    owner = request.release_owner or _owner_of(cluster, run.group_name)
    return Run(
        cluster,
        *workloads,
        group=run.group_name,
        emitted=[f"{kind}/{name}" for kind, name in request.emitted] or ["configmap/nothing"],
        timeout="0s",
        prunes=request.prunes,
        release_owner=str(owner or ""),
        arguments=_arguments(cluster, run.source),
    )


def _owner_of(cluster: Cluster, group: str) -> str:
    return next(
        (key for key in (f"ServiceAccount/{group}", f"Role/{group}") if key in cluster.objects), ""
    )


def _arguments(cluster: Cluster, source: str) -> Sequence[str]:
    data: Any = cluster.objects.get(source)
    return data["spec"]["template"]["spec"]["containers"][0]["args"] if data else ()
