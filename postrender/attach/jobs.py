"""Finished Jobs of the attacher that a newer Job supersedes (mode *job*, which has no TTL)."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Sequence

from postrender.attach.client import Client
from postrender.attach.live import Object
from postrender.attach.resources import JOBS
from postrender.kubernetes.annotations import GROUP_LABEL, SYNC_WAVE_ANNOTATION
from postrender.kubernetes.kinds import strings_at
from postrender.startup.records import NamedTuple
from postrender.yaml.paths import mapping_at, value_at

_log = logging.getLogger(__name__)


class AttacherJob(NamedTuple):
    """A Job of the attach group.

    wave: the sync wave of Argo CD, "" for none;
    created: the creation time as text;
    arguments: of the container.
    """

    name: str
    uid: str
    wave: str
    created: str
    is_finished: bool
    arguments: tuple[str, ...]


def read_job(data: Object) -> AttacherJob:
    """Return the record of a live Job."""
    metadata = mapping_at(data, ("metadata",))
    conditions = value_at(data, ("status", "conditions"))
    arguments = value_at(data, ("spec", "template", "spec", "containers", 0, "args"))
    return AttacherJob(
        name=str(metadata.get("name", "")),
        uid=str(metadata.get("uid", "")),
        wave=strings_at(data, "annotations").get(SYNC_WAVE_ANNOTATION, ""),
        created=str(metadata.get("creationTimestamp", "")),
        is_finished=any(map(_is_end, conditions if isinstance(conditions, list) else ())),
        arguments=tuple(map(str, arguments)) if isinstance(arguments, list) else (),
    )


def _is_end(condition: object) -> bool:
    return (
        isinstance(condition, dict)
        and condition.get("type") in ("Complete", "Failed")
        and condition.get("status") == "True"
    )


def superseded(jobs: Iterable[AttacherJob], arguments: Sequence[str]) -> list[AttacherJob]:
    """Return the finished Jobs of the same wave that are older than the running Job.

    Jobs of other waves belong to the same apply. The tool that applies would re-create them.
    arguments: of this run, which identify its own Job.
    """
    jobs = list(jobs)
    running = max(
        (job for job in jobs if job.arguments == tuple(arguments) and not job.is_finished),
        key=lambda job: job.created,
        default=None,
    )
    if running is None:
        return []
    return [
        job
        for job in jobs
        if job.is_finished and job.wave == running.wave and job.created <= running.created
    ]


def delete_superseded(client: Client, group_name: str, arguments: Sequence[str]) -> None:
    """Delete the finished Jobs of an attach group that the running Job supersedes.

    Raises ApiError.
    """
    jobs, _ = client.list_all(JOBS, read_job, f"{GROUP_LABEL}={group_name}")
    for job in superseded(jobs, arguments):
        if client.delete(JOBS, job.name, {"uid": job.uid}):
            _log.info(f"Job/{job.name}: deleted, because a newer Job supersedes the finished Job")
