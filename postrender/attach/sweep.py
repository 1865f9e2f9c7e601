"""The Jobs of the attacher in an attach group.

A run of attach does not delete revisions if the Jobs show that a later apply may be under way.

The attacher's Job has one of two forms. In the form *job*, a run deletes the finished Jobs that the
Job of the run supersedes. In the form *hook*, Kubernetes deletes each Job after the time in
ttlSecondsAfterFinished.

In each function, `arguments` is the command line of this process. The process finds its own Job by
these arguments.

The deletion of unused revisions whose mark (see the module `reconcile`) is old enough.

The check that the content of a ConfigMap matches the hash in its name.

The name of a revision ends in a hash of its content. A *foreign* ConfigMap has the name of a
revision, but other content, because another program or a person created the ConfigMap. attach does
not add owners to a foreign ConfigMap.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime, timedelta
from operator import attrgetter

from postrender.attach.client import ApiError, Client
from postrender.attach.live import Object, Revision, text_at
from postrender.attach.observe import read_consumers, read_revisions, read_state
from postrender.attach.reconcile import ClusterState, Scope, find_unused, parse_time
from postrender.attach.request import CONFIG_MAPS, JOBS, AttachRequest
from postrender.errors import UserError
from postrender.kubernetes.annotations import GROUP_LABEL, SYNC_WAVE_ANNOTATION
from postrender.kubernetes.hashing import fits_content, without_hash
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


class SweepProblems(NamedTuple):
    """The problems of one sweep.

    refusals: the deletions that the API server refused.
    deleted_in_use: an error for each deleted revision that has a consumer again.
    """

    refusals: Sequence[UserError] = ()
    deleted_in_use: Sequence[UserError] = ()


def sweep(
    client: Client,
    request: AttachRequest,
    state: ClusterState,
    scope: Scope,
    arguments: Sequence[str],
) -> SweepProblems:
    """Return the problems after deleting the unused revisions with an old mark.

    arguments: the command line of this run, which identifies its own Job.
    Raises ApiError, but not for a refused deletion.
    """
    unused = find_unused(state, scope, request.in_stream, client.now())
    to_delete = {revision.key for revision in _without_kept(client, unused)}
    if not to_delete:
        return SweepProblems()
    # The writes of this run took time, so the run reads everything again just before the deletion.
    group = read_revisions(client, request)
    state = read_state(client, group, scope, state.release_owner)
    still_unused = [
        revision
        for revision, keep_reason in find_unused(state, scope, request.in_stream, client.now())
        if revision.key in to_delete and not keep_reason
    ]
    # A later apply may have created its ConfigMaps, but not yet the workloads that reference these
    # ConfigMaps.
    conflict = find_conflict(client, scope.group_name, arguments, request.timeout)
    if conflict:
        _log.info(
            f"attach does not delete revisions, because a later apply may be under way: {conflict}"
        )
        return SweepProblems()
    refusals: list[UserError] = []
    deleted = [revision for revision in still_unused if _delete(client, revision, refusals)]
    return SweepProblems(refusals, tuple(_deleted_in_use(client, deleted)))


def _deleted_in_use(client: Client, deleted: Sequence[Revision]) -> Iterator[UserError]:
    """Return an error for each deleted revision that has a consumer again.

    A new consumer does not change the revision, so the preconditions of the delete request do not
    prevent the deletion.
    """
    if deleted:
        consumers, _ = read_consumers(client)
        for revision in deleted:
            users = consumers.values()
            consumer = next((item for item in users if revision.key in item.references), None)
            if consumer:
                yield UserError(
                    f"attach deleted {revision}, but {consumer} now references {revision}",
                    f"Apply the manifests that contain {revision}",
                )


def report_unused(
    client: Client, state: ClusterState, request: AttachRequest, scope: Scope
) -> None:
    """Log each unused revision that a run without --no-prune would delete or mark.

    Raises ApiError.
    """
    unused = find_unused(state, scope, request.in_stream, client.now(), includes_unmarked=True)
    for revision in _without_kept(client, unused):
        step = "delete" if revision.unused_since else "mark"
        _log.info(f"{revision} is unused, and a run without --no-prune would {step} {revision}")


def _without_kept(client: Client, unused: Sequence[tuple[Revision, str]]) -> Iterator[Revision]:
    """Return the revisions that attach does not keep, and log why attach keeps the other revisions.

    unused: the result of find_unused. Raises ApiError.
    """
    for revision, keep_reason in unused:
        reason = keep_reason or _edit_reason(client, revision)
        if reason:
            _log.info(f"attach keeps the unused {revision}, because {reason}")
        else:
            yield revision


def _edit_reason(client: Client, revision: Revision) -> str:
    """Return the reason to keep an edited ConfigMap, "" if nobody has edited the ConfigMap.

    For a Secret, the result is "", because attach never reads the content of a Secret. For an
    adopted original, the result is "", because the name has no hash.
    """
    if revision.resource != CONFIG_MAPS or not revision.base_name:
        return ""
    data = client.read(revision.resource, revision.name)
    if data is None or has_expected_content(revision, revision.base_name, data):
        return ""
    return "the content does not match the hash in the name"


def _delete(client: Client, revision: Revision, refusals: list[UserError]) -> bool:
    """Return whether the API server deletes a revision.

    refusals: the list to which this function adds the error if the API server refuses.
    """
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


class ContentCheck:
    """The check of the given ConfigMaps (see AttachRequest.given) in one run of attach.

    The check reads a ConfigMap once, and again if the ConfigMap changes during the run. The check
    skips Secrets, ConfigMaps that are being deleted, and ConfigMaps to which attach has already
    added owners.
    """

    __slots__ = ("_client", "_foreign", "_given", "_verdicts")

    def __init__(self, client: Client, request: AttachRequest) -> None:
        self._client = client
        # If the request has no attach group, the names can have the hashes of another tool, so the
        # check skips all ConfigMaps.
        self._given = frozenset(request.given if request.group_name else ())
        self._verdicts: dict[tuple[str, str], bool] = {}
        self._foreign: tuple[Revision, ...] = ()

    def accepted(self, revisions: Iterable[Revision]) -> tuple[Revision, ...]:
        """Return all revisions except the foreign ConfigMaps among the given ConfigMaps.

        An edited revision stays in the result, but the method logs a warning. Raises ApiError.
        """
        revisions = tuple(revisions)
        self._foreign = tuple(item for item in revisions if self._is_excluded(item))
        return tuple(item for item in revisions if item not in self._foreign)

    def problems(self) -> Iterator[UserError]:
        """Return an error for each revision that the latest call of `accepted` excluded."""
        for revision in self._foreign:
            yield UserError(
                f"the content of {revision} does not match the hash in the name, so attach does "
                "not add owners",
                "If a program needs the content, copy the content to a new ConfigMap. Delete "
                f"{revision}, then apply the manifests again",
            )

    def _is_excluded(self, revision: Revision) -> bool:
        """Return whether a revision is a foreign ConfigMap among the given ConfigMaps.

        Raises ApiError.
        """
        needs_no_check = bool(revision.our_owners) or revision.is_deleting
        if revision.resource != CONFIG_MAPS or revision.key not in self._given or needs_no_check:
            return False
        key = revision.uid, revision.resource_version
        if key not in self._verdicts:
            data = self._client.read(revision.resource, revision.name)
            self._verdicts[key] = data is not None and _is_foreign(revision, data)
        return self._verdicts[key]


def _is_foreign(revision: Revision, data: Object) -> bool:
    """Return whether a ConfigMap is foreign. Log a warning if somebody edited a revision.

    data: the whole object.
    """
    base_name = revision.base_name or without_hash(revision.name)
    if not base_name or has_expected_content(revision, base_name, data):
        return False
    # If postrender created the object, somebody edited the content later. Nobody can edit the
    # content of an immutable object, so an immutable object with other content is foreign.
    is_ours = bool(revision.group_name and revision.base_name)
    if not is_ours or data.get("immutable") is True:
        return True
    _log.warning(
        f"somebody edited {revision}, so the content does not match the hash in the name. "
        "Restore the content from the manifests."
    )
    return False


def has_expected_content(revision: Revision, base_name: str, data: Object) -> bool:
    """Return whether the content of a ConfigMap matches the hash in its name.

    The result is also True for an immutable ConfigMap with binaryData, because the hash can differ
    without an edit.
    """
    if fits_content(revision.name, base_name, revision.resource.group_kind, data):
        return True
    # The API server removes line breaks from base64, but the hash includes the line breaks. Nobody
    # can edit an immutable object, so a mismatch does not show an edit.
    return data.get("immutable") is True and bool(data.get("binaryData"))
