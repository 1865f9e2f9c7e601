"""Which finished Jobs of the attacher a newer one supersedes (mode *job*, which has no TTL)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from postrender.attach.client import Client
from postrender.attach.live import Object
from postrender.attach.log import Log
from postrender.attach.resources import JOBS
from postrender.kubernetes.annotations import GROUP_LABEL, SYNC_WAVE_ANNOTATION
from postrender.kubernetes.kinds import strings_at
from postrender.startup.records import NamedTuple
from postrender.yaml.paths import value_at


class AttacherJob(NamedTuple):
    """A Job of the set: its arguments, whether it has ended, when it was made, in which wave."""

    name: str
    uid: str
    wave: str
    created: str
    is_finished: bool
    arguments: tuple[str, ...]


def read_job(data: Object) -> AttacherJob:
    """Return what matters of a live Job."""
    metadata, conditions = data.get("metadata"), value_at(data, ("status", "conditions"))
    fields = metadata if isinstance(metadata, dict) else {}
    arguments = value_at(data, ("spec", "template", "spec", "containers", 0, "args"))
    return AttacherJob(
        str(fields.get("name", "")),
        str(fields.get("uid", "")),
        strings_at(data, "annotations").get(SYNC_WAVE_ANNOTATION, ""),
        str(fields.get("creationTimestamp", "")),
        any(map(_ends, conditions if isinstance(conditions, list) else ())),
        tuple(map(str, arguments)) if isinstance(arguments, list) else (),
    )


def _ends(condition: object) -> bool:
    return (
        isinstance(condition, dict)
        and condition.get("type") in ("Complete", "Failed")
        and condition.get("status") == "True"
    )


def superseded(jobs: Iterable[AttacherJob], arguments: Sequence[str]) -> list[AttacherJob]:
    """Return the finished Jobs that were made before the one that runs, for the same wave.

    arguments: those of this run, by which its own Job is known; other waves' Jobs are of the same
    apply, and what applies them would make them anew.
    """
    jobs = list(jobs)
    own = max(
        (job for job in jobs if job.arguments == tuple(arguments) and not job.is_finished),
        key=lambda job: job.created,
        default=None,
    )
    if own is None:
        return []
    return [
        job
        for job in jobs
        if job.is_finished and job.wave == own.wave and job.created <= own.created
    ]


def delete_superseded(client: Client, group_name: str, arguments: Sequence[str], log: Log) -> None:
    """Delete the finished Jobs of a set that the one which runs supersedes. Raises ApiError."""
    found, _ = client.list_all(JOBS, read_job, f"{GROUP_LABEL}={group_name}")
    for job in superseded(found, arguments):
        if client.delete(JOBS, job.name, {"uid": job.uid}):
            log.info(f"Job/{job.name} is deleted: it has ended and a newer one ran")
