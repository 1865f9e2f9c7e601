"""The model of a status, which postrender.status.build builds and the formats print.

A Secret is here only by its name: status never reads the content of a Secret.
"""

from __future__ import annotations

from datetime import datetime

from postrender.attach.live import Consumer, Owner, Revision
from postrender.attach.request import RevisionRef
from postrender.diff.model import Preview
from postrender.records import NamedTuple
from postrender.status.next_run import NextRun, Outcome

# The states of a revision.
CURRENT_STATE = "current"  # the current pod template of a workload references it
KEPT = "kept"  # only earlier pod templates or pods reference it
USED = "used"  # an object references it whose workload could not be read
UNUSED = "unused"  # nothing references it
UNKNOWN = "unknown"  # nothing that status could read references it, or Secrets could not be read
EDITED = "EDITED"  # the content is not what the name stands for
MISSING = "MISSING"  # an object references it, and it does not exist
NO_OWNER = "NO OWNER"  # it is in use without an owner
LOST = "BEING LOST"  # it is in use, and Kubernetes deletes it, or would with its last owner
STATES = (CURRENT_STATE, KEPT, USED, UNUSED, UNKNOWN, EDITED, MISSING, NO_OWNER, LOST)
# The states of the problems of a revision that exists, the worst last.
STATE_OF_PROBLEM = {"no-owner": NO_OWNER, "losing-owner": LOST, "missing": LOST}

# The roles of the pod templates of a workload.
STABLE, CANARY, ACTIVE, PREVIEW = "stable", "canary", "active", "preview"
OLD, NEWEST, CURRENT = "old", "new", "current"
RUN, EXPERIMENT, EARLIER = "run", "experiment", ""


class Template(NamedTuple):
    """A pod template of a workload: a ReplicaSet, a ControllerRevision, a Job or the workload.

    role: EARLIER if it is kept only for a rollback.
    label: the hash of the template, or the name of the object.
    pods: the names of the live Pods with the template.
    ready, desired: how many Pods are ready, and should be; None if unknown.
    images: by container.
    """

    consumer: Consumer
    role: str
    label: str
    created: datetime | None
    pods: tuple[str, ...]
    ready: int | None
    desired: int | None
    images: tuple[tuple[str, str], ...]


class Workload(NamedTuple):
    """A workload and its pod templates, the newest last.

    progress: such as `canary paused at step 1 of 4, weight 25 %`, "" for none.
    old_starts: the role, the name and the start of each Pod that started with the old pod template
        while Pods with the new one ran.
    unread: the kind that could not be listed, so that templates or Pods are unknown, "" for none.
    """

    consumer: Consumer
    group_name: str
    progress: str
    templates: tuple[Template, ...]
    old_starts: tuple[tuple[str, str, datetime], ...]
    unread: str = ""

    @property
    def columns(self) -> tuple[Template, ...]:
        """The templates with a role."""
        return tuple(template for template in self.templates if template.role != EARLIER)


class User(NamedTuple):
    """A use of a revision.

    title: such as `Rollout/web canary`.
    pods: the number of Pods, None for an object without Pods, such as a CronJob.
    is_known: whether the number of Pods is known.
    """

    title: str
    pods: int | None
    is_known: bool = True


class RevisionStatus(NamedTuple):
    """The status of a revision, or of an adopted original.

    revision: None if the revision is missing, or if Secrets could not be read.
    owners: with whether each owner exists.
    outcome: None if the next run changes nothing, and does not count the revision as unused.
    condition: the beginning of a sentence about `if_met` such as `if the namespace has no cronjobs`
        if a file lacks kinds that the namespace need not have; "" otherwise.
    if_met: the outcome under the condition.
    """

    ref: RevisionRef
    base_name: str
    group_name: str
    revision: Revision | None
    created: datetime | None
    state: str
    users: tuple[User, ...]
    owners: tuple[tuple[Owner, bool], ...]
    outcome: Outcome | None
    condition: str = ""
    if_met: Outcome | None = None


class Problem(NamedTuple):
    """A reason for exit code 1.

    code: such as `missing`.
    refs: the revisions.
    """

    code: str
    refs: tuple[RevisionRef, ...]
    problem: str
    fix: str


class Status(NamedTuple):
    """The status of a namespace, of a release or of workloads.

    is_file, is_old: as in Snapshot.
    workloads: the workloads that the user asked for, () for all revisions.
    unreadable: the kinds of possible users that could not be listed, or that the file lacks.
    notes: what the file lacks.
    key_counts: the number of keys that differ between two revisions of a base name.
    differences: each workload, and what differs between its first and its last column, if the user
        asked for it.
    diff_command: the command that shows the differences, "" if unknown.
    """

    namespace: str
    now: datetime
    is_file: bool
    is_old: bool
    workloads: tuple[Workload, ...]
    revisions: tuple[RevisionStatus, ...]
    runs: tuple[NextRun, ...]
    problems: tuple[Problem, ...]
    unreadable: tuple[str, ...]
    notes: tuple[str, ...]
    key_counts: dict[tuple[RevisionRef, RevisionRef], int]
    differences: tuple[tuple[str, Preview], ...] = ()
    diff_command: str = ""
