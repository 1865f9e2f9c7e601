"""The Jobs of the attacher in an attach group.

A run of attach does not delete revisions if the Jobs show that a later apply may be under way.

The attacher's Job has one of two forms. In the form *job*, a run deletes the finished Jobs that the
Job of the run supersedes. In the form *hook*, Kubernetes deletes each Job after the time in
ttlSecondsAfterFinished.

In each function, `arguments` is the command line of this process. The process finds its own Job by
these arguments.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta
from operator import attrgetter

from postrender.attach.client import Client
from postrender.attach.live import Object, text_at
from postrender.attach.reconcile import parse_time
from postrender.attach.resources import JOBS
from postrender.kubernetes.annotations import GROUP_LABEL, SYNC_WAVE_ANNOTATION
from postrender.kubernetes.kinds import strings_at
from postrender.records import NamedTuple
from postrender.yaml.paths import mappings_in, value_at

# The Pod of a Job usually starts within this time. START_LIMIT plus the default of --timeout must
# be below five minutes, the default time for which Helm waits for a hook.
START_LIMIT = timedelta(minutes=1)

_log = logging.getLogger(__name__)


class AttacherJob(NamedTuple):
    """A Job of an attach group.

    wave: the sync wave of Argo CD, "" for none.
    created: the creationTimestamp, such as `2026-01-31T12:00:00Z`.
    arguments: the arguments of the container.
    """

    name: str
    uid: str
    wave: str
    created: str
    is_finished: bool
    arguments: tuple[str, ...]


def read_job(data: Object) -> AttacherJob:
    """Return the record of a live Job."""
    conditions = value_at(data, ("status", "conditions"))
    arguments = value_at(data, ("spec", "template", "spec", "containers", 0, "args"))
    return AttacherJob(
        name=text_at(data, "metadata", "name"),
        uid=text_at(data, "metadata", "uid"),
        wave=strings_at(data, "annotations").get(SYNC_WAVE_ANNOTATION, ""),
        created=text_at(data, "metadata", "creationTimestamp"),
        is_finished=any(map(_shows_end, mappings_in(conditions))),
        arguments=tuple(map(str, arguments)) if isinstance(arguments, list) else (),
    )


def _shows_end(condition: Object) -> bool:
    return condition.get("type") in ("Complete", "Failed") and condition.get("status") == "True"


def running_job(jobs: Iterable[AttacherJob], arguments: Sequence[str]) -> AttacherJob | None:
    """Return the newest unfinished Job with the arguments of this process, None if there is none.

    attach treats this Job as the Job of the process, even if a person runs the process by hand.
    """
    return _newest_job((job for job in jobs if not job.is_finished), arguments)


def _newest_job(jobs: Iterable[AttacherJob], arguments: Sequence[str]) -> AttacherJob | None:
    matching = (job for job in jobs if job.arguments == tuple(arguments))
    return max(matching, key=attrgetter("created"), default=None)


def other_job_reason(jobs: Sequence[AttacherJob], arguments: Sequence[str]) -> str:
    """Return why a later apply may be under way, "" if no other Job shows a later apply.

    Another Job shows a later apply if the Job is unfinished, or newer than the Job of this process.
    If the process runs outside of a Job, the function uses the newest Job with the same arguments.
    """
    own_job = running_job(jobs, arguments) or _newest_job(jobs, arguments)
    for job in jobs:
        if job != own_job and not job.is_finished:
            return f"Job/{job.name} of the same attach group is not finished"
        if own_job and job.created > own_job.created:
            return f"Job/{job.name} is newer than the Job of this run"
    return ""


def late_job_reason(
    jobs: Iterable[AttacherJob], arguments: Sequence[str], now: datetime, limit: timedelta
) -> str:
    """Return why a run is too late to delete revisions, "" if the run is in time.

    While Helm 4 or Argo CD waits for a hook, the tool does not start a later apply. If the hook
    starts late, the tool can stop waiting, and start a later apply. The later apply does not have a
    Job at first. Without a `running_job`, a run is never late.
    limit: the maximum age of the Job of a run.
    """
    own_job = running_job(jobs, arguments)
    created = parse_time(own_job.created) if own_job else None
    if own_job is None or created is None or now - created <= limit:
        return ""
    seconds = round(limit.total_seconds())
    return f"the Job of this run, Job/{own_job.name}, is more than {seconds} seconds old"


def find_conflict(client: Client, group_name: str, arguments: Sequence[str], timeout: float) -> str:
    """Return why a run must not delete revisions, "" if no Job of the group prevents the deletion.

    timeout: the maximum time for which the run waits for its workloads, in seconds.
    Raises ApiError.
    """
    jobs, _ = client.list_all(JOBS, read_job, f"{GROUP_LABEL}={group_name}")
    limit = timedelta(seconds=timeout) + START_LIMIT
    return other_job_reason(jobs, arguments) or late_job_reason(
        jobs, arguments, client.now(), limit
    )


def superseded(jobs: Sequence[AttacherJob], arguments: Sequence[str]) -> list[AttacherJob]:
    """Return the finished Jobs that the Job of this process supersedes, [] without a `running_job`.

    A superseded Job has the same wave as the Job of this process, and is not newer. A Job of
    another wave can belong to the same apply. Argo CD would re-create this Job after a deletion.
    """
    running = running_job(jobs, arguments)
    if running is None:
        return []
    return [
        job
        for job in jobs
        if job.is_finished and job.wave == running.wave and job.created <= running.created
    ]


def delete_superseded(client: Client, group_name: str, arguments: Sequence[str]) -> None:
    """Delete the superseded Jobs of an attach group. Raises ApiError."""
    jobs, _ = client.list_all(JOBS, read_job, f"{GROUP_LABEL}={group_name}")
    for job in superseded(jobs, arguments):
        if client.delete(JOBS, job.name, {"uid": job.uid}):
            _log.info(
                f"attach deleted the finished Job/{job.name}, because the Job of this run "
                f"supersedes Job/{job.name}"
            )
