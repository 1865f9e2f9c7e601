"""The deletion of unused revisions whose mark (see the module `reconcile`) is old enough."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence

from postrender.attach.client import ApiError, Client
from postrender.attach.content import has_expected_content
from postrender.attach.jobs import find_conflict
from postrender.attach.live import Revision
from postrender.attach.observe import read_consumers, read_revisions, read_state
from postrender.attach.reconcile import ClusterState, Scope, find_unused
from postrender.attach.request import AttachRequest
from postrender.attach.resources import CONFIG_MAPS
from postrender.errors import UserError
from postrender.records import NamedTuple

_log = logging.getLogger(__name__)


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
