"""The deletion of unused revisions, and of the Jobs of earlier runs.

A run deletes a revision whose mark (see the module `reconcile`) is old enough. It does not delete
if the Jobs of the attach group show that a later apply may be under way.

The attacher's Job has one of two forms. In the form *job*, a run deletes the finished Jobs that its
own Job supersedes. In the form *hook*, Kubernetes deletes each Job after the time in
ttlSecondsAfterFinished. A run finds its own Job by `arguments`, the command line of the process.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from itertools import pairwise
from operator import attrgetter

from postrender.attach.client import ApiError, Client
from postrender.attach.content import edit_reason
from postrender.attach.live import Consumer, Object, Revision, text_at
from postrender.attach.observe import (
    read_consumers,
    read_revisions,
    with_consumers,
)
from postrender.attach.reconcile import RunState, consumers_by_revision, find_unused, parse_time
from postrender.attach.request import JOBS, AttachRequest, RevisionRef
from postrender.errors import UserError
from postrender.kubernetes.annotations import GROUP_LABEL, SYNC_WAVE_ANNOTATION
from postrender.kubernetes.kinds import strings_at
from postrender.records import NamedTuple
from postrender.yaml.paths import mappings_in, value_at

# The Pod of a Job usually starts within this time. START_LIMIT plus the default of --timeout must
# be below five minutes, the default time for which Helm waits for a hook.
START_LIMIT = timedelta(minutes=1)

_log = logging.getLogger(__name__)


def sweep(
    client: Client, request: AttachRequest, state: RunState, arguments: Sequence[str]
) -> tuple[list[Revision], list[UserError], list[UserError]]:
    """Delete the unused revisions with an old mark, and return them, and two lists of problems.

    The first list has the refused deletions. The second list has an error for each deleted revision
    that has a consumer again.
    """
    unused = find_unused(state, client.now())
    to_delete = {revision.key for revision in _without_kept(client, unused)}
    if not to_delete:
        return [], [], []
    # The writes of this run took time, so the run reads everything again just before the deletion.
    read = read_revisions(client, request)
    state = state._replace(revisions=read.revisions, others=read.others)
    state = with_consumers(state, *read_consumers(client))
    still_unused: list[Revision] = []
    for revision, keep_reason in find_unused(state, client.now()):
        if keep_reason and revision.key in to_delete:
            _log.info(f"attach keeps the unused {revision}, because {keep_reason}")
        elif revision.key in to_delete:
            still_unused.append(revision)
    # A later apply may have created its ConfigMaps, but not yet the workloads that reference these
    # ConfigMaps.
    conflict = _find_conflict(client, request, state.group_name, arguments)
    if conflict:
        _log.info(
            f"attach does not delete revisions, because a later apply may be under way: {conflict}"
        )
        return [], [], []
    refusals: list[UserError] = []
    deleted = [revision for revision in still_unused if delete(client, revision, refusals)]
    users = consumers_by_revision(read_consumers(client)[0]) if deleted else {}
    return deleted, refusals, list(used_again(deleted, users))


def used_again(
    deleted: Iterable[Revision],
    users: Mapping[RevisionRef, Sequence[Consumer]],
    who: str = "attach",
    place: str = "",
) -> Iterator[UserError]:
    """An error for each deleted revision that has a consumer again.

    A new consumer does not change the revision, so the preconditions of the delete request do not
    prevent the deletion.
    users: the consumers of each revision, read after the deletion.
    """
    for revision in deleted:
        if users.get(revision.key):
            yield UserError(
                f"{who} deleted {revision}{place}, but {users[revision.key][0]} now references "
                f"{revision}",
                f"Apply the manifests that contain {revision}",
            )


def report_unused(client: Client, state: RunState) -> None:
    """Log each unused revision that a run without --no-prune would delete or mark."""
    unused = find_unused(state, client.now(), includes_unmarked=True)
    for revision in _without_kept(client, unused):
        step = "delete" if revision.unused_since else "mark"
        _log.info(f"{revision} is unused, and a run without --no-prune would {step} {revision}")


def _without_kept(client: Client, unused: Sequence[tuple[Revision, str]]) -> Iterator[Revision]:
    """Yield the revisions that attach does not keep, and log why it keeps the others."""
    for revision, keep_reason in unused:
        reason = keep_reason or edit_reason(client, revision, revision.base_name)
        if reason:
            _log.info(f"attach keeps the unused {revision}, because {reason}")
        else:
            yield revision


def delete(client: Client, revision: Revision, refusals: list[UserError]) -> bool:
    """Delete a revision, and return whether it is deleted. Append a refusal to `refusals`."""
    preconditions = {"uid": revision.uid, "resourceVersion": revision.resource_version}
    try:
        is_deleted = client.delete(revision.resource, revision.name, preconditions)
    except ApiError as error:
        if not error.is_answer:
            raise
        refusals.append(error)
        return False
    if is_deleted:
        _log.info(f"attach deleted {revision}, which had been unused since {revision.unused_since}")
    else:
        _log.info(f"attach did not delete {revision}, because the object changed during this run")
    return is_deleted


class AttacherJob(NamedTuple):
    """A Job of an attach group.

    wave: the sync wave of Argo CD, "" for none.
    created: the creationTimestamp, such as `2026-01-31T12:00:00Z`.
    arguments: of the container.
    """

    name: str
    uid: str
    wave: str
    created: str
    is_finished: bool
    arguments: tuple[str, ...]


def read_job(data: Object) -> AttacherJob:
    """The record of a Job of an attach group."""
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


def _own_job(
    jobs: Iterable[AttacherJob], arguments: Sequence[str], *, is_running: bool = True
) -> AttacherJob | None:
    """The newest Job, or the newest unfinished Job, with the arguments of this process.

    The unfinished one counts as the Job of the process, even if a person runs it by hand.
    """
    own = [job for job in jobs if job.arguments == tuple(arguments)]
    own = [job for job in own if not (is_running and job.is_finished)]
    return max(own, key=attrgetter("created"), default=None)


def conflict_of(
    jobs: Sequence[AttacherJob], arguments: Sequence[str], timeout: float, now: datetime
) -> str:
    """Why the Jobs of a group forbid the process with these arguments to delete, "" if they do not.

    Another Job may belong to a later apply if it is unfinished, or newer than the Job of this
    process. And while Helm 4 or Argo CD waits for a hook, the tool does not start a later apply. If
    the hook starts late, the tool can stop waiting, and start a later apply, which has no Job at
    first.
    """
    running = _own_job(jobs, arguments)
    # Outside of a Job, the newest Job with the same arguments is the reference.
    own_job = running or _own_job(jobs, arguments, is_running=False)
    for job in jobs:
        if job != own_job and not job.is_finished:
            return f"the attacher Job/{job.name} is not finished"
        if own_job and job.created > own_job.created:
            return f"Job/{job.name} is newer than the Job of this run"
    limit = timedelta(seconds=timeout) + START_LIMIT
    created = parse_time(running.created) if running else None
    if running and created and now - created > limit:
        seconds = round(limit.total_seconds())
        return f"the Job of this run, Job/{running.name}, is more than {seconds} seconds old"
    return ""


def _find_conflict(
    client: Client, request: AttachRequest, group_name: str, arguments: Sequence[str]
) -> str:
    """Why a run must not delete revisions, "" if no Job of the group or the Rollout prevents it."""
    if group_name:
        jobs, _ = client.list_all(JOBS, read_job, f"{GROUP_LABEL}={group_name}")
    else:
        all_jobs, _ = client.list_all(JOBS, read_job)
        rollouts = {workload.target.name for workload in request.workloads}
        jobs = [job for job in all_jobs if _rollouts_in(job.arguments) & rollouts]
    return conflict_of(jobs, arguments, request.timeout, client.now())


def _rollouts_in(arguments: Sequence[str]) -> set[str]:
    """The Rollout in the arguments of configmap-attacher, such as `-rollout web`."""
    words = [word for argument in arguments for word in argument.split("=", 1)]
    return {name for option, name in pairwise(words) if option in ("-rollout", "--rollout")}


def delete_superseded(
    client: Client, group_name: str, arguments: Sequence[str]
) -> Iterator[UserError]:
    """Delete the finished Jobs that the Job of this process supersedes, and yield the refusals."""
    jobs, _ = client.list_all(JOBS, read_job, f"{GROUP_LABEL}={group_name}")
    own_job = _own_job(jobs, arguments)
    if own_job is None:
        return
    for job in jobs:
        # A Job of another wave can belong to the same apply. Argo CD would re-create it.
        if not job.is_finished or job.wave != own_job.wave or job.created > own_job.created:
            continue
        try:
            is_deleted = client.delete(JOBS, job.name, {"uid": job.uid})
        except ApiError as error:
            if not error.is_answer:
                raise
            yield error
            continue
        if is_deleted:
            _log.info(
                f"attach deleted the finished Job/{job.name}, because the Job of this run "
                f"supersedes Job/{job.name}"
            )
