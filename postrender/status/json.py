"""A status as JSON, for programs. status.schema.json describes the format."""

from __future__ import annotations

from datetime import datetime

from postrender.attach.reconcile import TIME_FORMAT
from postrender.attach.request import title
from postrender.diff.formats import Reporter
from postrender.diff.formats.json import as_json
from postrender.status.model import Problem, RevisionStatus, Status, Template, Workload
from postrender.status.next_run import NextRun, Outcome
from postrender.status.text import describe_unused
from postrender.text import JSON_ESCAPES, visible_json

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from postrender.diff.values import Terminal

    Json = dict[str, Any]

VERSION = 1


class JsonReporter(Reporter):
    """The document for programs."""

    file_suffix = "json"
    escapes = JSON_ESCAPES

    def render(self, status: Status, terminal: Terminal) -> str:  # noqa: ARG002
        """A status as JSON that conforms to status.schema.json."""
        document = {
            "version": VERSION,
            "namespace": status.namespace,
            "time": _time(status.now),
            "problems": [_problem(problem) for problem in status.problems],
            "unreadable": list(status.unreadable),
            "runs": [_run(run) for run in status.runs],
            "revisions": [_revision(revision, status) for revision in status.revisions],
            "workloads": [_workload(workload, status) for workload in status.workloads],
            "differences": [
                {
                    "workload": workload,
                    "old": preview.old,
                    "new": preview.new,
                    "contents": as_json(preview.contents),
                }
                for workload, preview in status.differences
            ],
        }
        return visible_json(document)


def _time(time: datetime | None) -> str:
    return time.strftime(TIME_FORMAT) if time else ""


def _problem(problem: Problem) -> Json:
    return {
        "code": problem.code,
        "revisions": list(map(title, problem.refs)),
        "problem": problem.problem,
        "fix": problem.fix,
    }


def _run(run: NextRun) -> Json:
    return {
        "group": run.group_name,
        "source": run.source,
        "runningJob": run.running_job,
        "waits": list(run.waits),
        "prunes": run.request.prunes,
    }


def _revision(revision: RevisionStatus, status: Status) -> Json:
    outcome, live = revision.outcome or Outcome(), revision.revision
    is_unused = bool(live) and not revision.users
    return {
        "kind": title(revision.ref).partition("/")[0],
        "name": revision.ref[1],
        "baseName": revision.base_name,
        "group": revision.group_name,
        "created": _time(revision.created),
        "state": revision.state.lower(),
        "users": [{"title": user.title, "pods": user.pods} for user in revision.users],
        "owners": [{"object": str(owner), "exists": exists} for owner, exists in revision.owners],
        "unusedSince": live.unused_since if live else None,
        "nextRun": {
            "addsOwners": list(map(str, outcome.added)),
            "removesOwners": list(map(str, outcome.removed)),
            "marks": bool(outcome.mark),
            "removesMark": outcome.mark == "",
            "deletes": outcome.is_deleted,
            "keepReason": outcome.keep_reason,
            "deletableFrom": _time(outcome.deletable_from),
            "unknown": outcome.unknown,
        },
        "reason": describe_unused(revision, status) if is_unused else "",
    }


def _workload(workload: Workload, status: Status) -> Json:
    return {
        "object": str(workload.consumer),
        "group": workload.group_name,
        "progress": workload.progress,
        "problems": workload.consumer.status_problems,
        "templates": [_template(template, status) for template in workload.templates],
        "oldPodsStartedLater": [
            {"pod": name, "started": _time(started), "role": role}
            for role, name, started in workload.old_starts
        ],
    }


def _template(template: Template, status: Status) -> Json:
    base_names = {revision.ref: revision.base_name for revision in status.revisions}
    refs = sorted(ref for ref in template.consumer.references if ref in base_names)
    return {
        "object": str(template.consumer),
        "role": template.role,
        "created": _time(template.created),
        "pods": list(template.pods),
        "ready": template.ready,
        "desired": template.desired,
        "images": [{"container": name, "image": image} for name, image in template.images],
        "revisions": [
            {"kind": title(ref).partition("/")[0], "baseName": base_names[ref], "name": ref[1]}
            for ref in refs
        ],
    }
