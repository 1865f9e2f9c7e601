"""The reasons for exit code 1, and what a file lacks."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from postrender.attach.content import WRONG_BASE_NAME, find_stuck, stuck_fix
from postrender.attach.live import Revision
from postrender.attach.request import (
    BY_GROUP_KIND,
    CONTROLLER_MADE_KINDS,
    SECRETS,
    RevisionRef,
    cannot_list,
    plurals,
    title,
)
from postrender.kubernetes.annotations import BASE_NAME_ANNOTATION, GROUP_LABEL
from postrender.kubernetes.hashing import without_hash
from postrender.status.model import MISSING, UNKNOWN, Problem, RevisionStatus
from postrender.status.next_run import NextRun
from postrender.status.snapshot import ALL_KINDS, Snapshot
from postrender.text import conjoined

PERMISSION_FIX = "Add the permissions of docs/how-to/operate.md#permissions to the account"
_APPLY = "Delete the finished Job of the attacher, if it exists, then apply the manifests again"
_COLLECT = "Run postrender collect --yes"
_SHOWN_NAMES, _SHOWN_EVENTS = 3, 20


def find_problems(
    snapshot: Snapshot,
    revisions: Sequence[RevisionStatus],
    runs: Sequence[NextRun],
    *,
    is_whole: bool,
) -> Iterator[Problem]:
    """The problems of the revisions, of foreign objects, and of missing permissions.

    is_whole: whether the revisions are all of the runs, and not only those of a workload.
    """
    shown = {status.ref for status in revisions}
    edited: set[RevisionRef] = set()
    used: set[RevisionRef] = set()
    foreign = {ref for run in runs for ref in run.problems}
    collected = {run.group_name for run in runs if run.source.startswith("ConfigMap/")}
    for status in revisions:
        if (status.users and status.state != UNKNOWN) or status.state == MISSING:
            used.add(status.ref)
            fix = _COLLECT if status.group_name in collected else _APPLY
            found = list(_revision_problems(snapshot, status, foreign, fix))
            edited.update(status.ref for problem in found if problem.code == "edited")
            yield from found
    for run in runs:
        for ref, error in run.problems.items():
            # The fix for a revision in use is safer.
            if ref not in edited and (is_whole or ref in shown):
                yield Problem("foreign", (ref,), error.problem, error.fix)
        live = map(snapshot.overview.revisions.get, run.request.in_stream)
        for ref, text in find_stuck(item for item in live if item).items():
            if ref not in used and (is_whole or ref in shown):
                yield Problem("missing", (ref,), text, stuck_fix(ref))
    for kinds, unknown, _ in () if snapshot.is_file else _unread(snapshot, revisions):
        text = f"{cannot_list(kinds)}, so it is unknown {unknown}"
        yield Problem("unreadable", (), text, PERMISSION_FIX)


def find_lacks(snapshot: Snapshot, revisions: Iterable[RevisionStatus]) -> Iterator[str]:
    """A sentence for each thing that a file lacks."""
    if snapshot.is_file:
        yield from (lack for _, _, lack in _unread(snapshot, revisions))
        for time, message in sorted(snapshot.deletions)[-_SHOWN_EVENTS:]:
            yield f"Event RevisionDeleted at {time or 'an unknown time'}: {message}"


def _unread(
    snapshot: Snapshot, revisions: Iterable[RevisionStatus]
) -> Iterator[tuple[list[str], str, str]]:
    """Kinds that were not read, what is therefore unknown, and a sentence about a file."""
    kinds, owners = snapshot.unlisted, plurals(snapshot.unknown_owners)
    if kinds:
        lack = conjoined(kinds, word="or")
        yield (
            kinds,
            "whether objects of these kinds use a revision",
            f"The file has no {lack}. Such an object can use a revision. The command in "
            f"{ALL_KINDS} reads all kinds.",
        )
    if owners:
        lack = conjoined(owners, word="or")
        yield (
            owners,
            "whether such an owner of a revision exists",
            f"The file has no {lack}, so such an owner counts as existing.",
        )
    names = [title(item.ref) for item in revisions if item.state == UNKNOWN and item.users]
    if names:
        unknown = f"whether these exist: {conjoined(names, _SHOWN_NAMES)}"
        lack = f"The file has no secrets, so it is unknown {unknown}."
        yield [SECRETS.plural], unknown, lack


def _revision_problems(
    snapshot: Snapshot, status: RevisionStatus, foreign: set[RevisionRef], attach: str
) -> Iterator[Problem]:
    """The problems of a revision in use.

    foreign: what a run reports itself, if it is not a revision.
    attach: how to add owners.
    """
    name, revision = title(status.ref), status.revision
    users = conjoined([user.title for user in status.users], _SHOWN_NAMES)
    source = f"the manifest of {name} from git or from helm get manifest --revision N"
    apply = f"Apply {source}"

    def problem(code: str, text: str, fix: str) -> Problem:
        return Problem(code, (status.ref,), text, fix)

    if revision is None or revision.is_deleting:
        state = "is not in the file" if snapshot.is_file else "does not exist"
        state = "is being deleted" if revision else state
        fix = f"Wait until {name} is gone, then apply {source}" if revision else apply
        optional = ""
        live = [snapshot.facts[user.uid] for user in snapshot.overview.users.get(status.ref, ())]
        if not revision and not any(
            status.ref in fact.required for fact in live if not fact.is_ended
        ):
            optional = ". The references are optional, so a pod that starts now lacks the content"
        yield problem("missing", f"{name} {state}, but is used by {users}{optional}", fix)
    if revision is None:
        return
    content = snapshot.contents.get(revision.uid)
    if content and content.difference and (revision.group_name or status.ref not in foreign):
        mismatch = f"{content.difference} of {name} does not match the hash in the name"
        fix = (
            f"Save {name} first (kubectl get {'/'.join(status.ref)} -o yaml). Get {source}: the "
            f"current manifests can lack {name}. Only then delete {name}, and apply at once"
        )
        text = f"{mismatch}, but {name} is used by {users}"
        if content.difference == WRONG_BASE_NAME:
            text = f"{mismatch}, but the content is intact"
            fix = f"Do not delete {name}. Set the annotation to {without_hash(revision.name)} again"
        yield problem("edited", text, fix)
    lost = _lost_mark(snapshot, revision)
    if lost:
        intact = ", but the content is intact" if content else ""
        text = f"{lost} of {name} is missing{intact}"
        yield problem("edited", text, f"Do not delete {name}. {apply}")
    added = status.outcome.added if status.outcome else ()
    alive = [owner for owner, exists in status.owners if exists]
    owners = conjoined([str(owner) for owner, _ in status.owners])
    start = f"{name} is used by {users}, but "
    if status.owners and not alive:
        text = f"{start}Kubernetes deletes {name}, because no owner exists any more ({owners} did)"
        yield problem("losing-owner", text, apply)
    elif added and not alive:
        safe = f"{name} is safe for now, but nothing deletes {name} later"
        yield problem("no-owner", f"{start}has no owner", f"{safe}. {attach}")
    elif (
        added and {BY_GROUP_KIND.get(owner.group_kind) for owner in alive} <= CONTROLLER_MADE_KINDS
    ):
        text = f"{start}Kubernetes would delete {name} when {owners} goes"
        yield problem("losing-owner", text, attach)


def _lost_mark(snapshot: Snapshot, revision: Revision) -> str:
    """What somebody has removed from a revision, "" for nothing.

    Without the label, nothing deletes the revision. Without the annotation, the revision counts as
    an original, and Kubernetes deletes it with its workloads.
    """
    marks = {GROUP_LABEL: revision.group_name, BASE_NAME_ANNOTATION: revision.base_name}
    lost = [mark for mark, value in marks.items() if not value]
    users = snapshot.overview.users.get(revision.key, ())
    has_other_mark = len(lost) < len(marks) or revision.our_owners
    content = snapshot.contents.get(revision.uid)
    if (
        not lost
        or not (has_other_mark and without_hash(revision.name))
        or (content and content.difference)
        or not any(snapshot.overview.top_of(user).render_id for user in users)
    ):
        return ""
    return f"the {'label' if lost[0] == GROUP_LABEL else 'annotation'} {lost[0]}"
