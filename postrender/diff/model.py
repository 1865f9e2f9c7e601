"""What a change will do, as data: postrender.diff.build builds it, the formats print it.

Nothing in it says more of a Secret than its base name and that it changed: keys, sizes, digests and
revision names are empty there, and no render id is anywhere, because one covers the names of
Secrets' revisions, which end in a hash of what they hold. Every tuple has a stable order.
"""

from __future__ import annotations

from postrender.kubernetes.kinds import Identity
from postrender.startup.records import NamedTuple
from postrender.yaml.paths import Json

ADDED, REMOVED, CHANGED, UNCHANGED = "added", "removed", "changed", "unchanged"

# What becomes of a revision. REUSED: nothing is created, its content is there already; SUPERSEDED:
# current before, and no longer; CARRIED: an earlier one that stays in the manifests; DROPPED: an
# earlier one that no longer does.
NEW, REUSED, SUPERSEDED, RETAINED, DROPPED = "new", "reused", "superseded", "carried", "dropped"

# What a change of its pod template does to a workload.
ROLLS = "rolls"  # new pods take the place of the old ones
STARTS = "starts"  # it is added
ENDS = "ends"  # it is removed
NEXT_RUN = "next run"  # a CronJob, an AnalysisTemplate: what runs next has the new template
NEXT_PODS = "next pods"  # ReplicaSet, updateStrategy OnDelete: pods stay until they are replaced
HOOK = "hook"  # Helm or Argo CD deletes it and runs it anew
REFUSED = "refused"  # a Job or a bare Pod: the API server refuses to change it
NO_PODS = "no pods"  # it has none of its own: a PodTemplate, a workload that a Rollout refers to
STAYS = "stays"  # its pod template does not change

# Why the pod template of a workload changes.
CONFIG, IMAGE, ENV, TEMPLATE = "config", "image", "env", "template"


def change_of(old: Json, new: Json) -> str:
    """Return ADDED, REMOVED or CHANGED; None: there is nothing on that side."""
    return ADDED if old is None else REMOVED if new is None else CHANGED


class Line(NamedTuple):
    """One line of a unified diff.

    sign: "-" (old only), "+" (new only) or " "; old and new: its number on that side from 1, 0
    where it is not there; text: without its line end; is_open: whether it has none in the value
    (the last line of a text that does not end in a line break).
    """

    sign: str
    old: int
    new: int
    text: str
    is_open: bool = False


class Hunk(NamedTuple):
    """Lines that change, with some that do not around them: `@@ -old,… +new,… @@`.

    old and new: the number of the first line on each side, as diff(1) has it (0 for none at all);
    old_count and new_count: how many lines of each side there are.
    """

    old: int
    old_count: int
    new: int
    new_count: int
    lines: tuple[Line, ...]


class Blob(NamedTuple):
    """A value that is no text: its size in bytes, and the sha256 of it as hex."""

    size: int
    digest: str


class KeyChange(NamedTuple):
    """One key of a ConfigMap that changes: ADDED, REMOVED or CHANGED.

    hunks: of its text; old_blob and new_blob: on the side where it is binary, else None. A key that
    goes from one to the other has a blob on one side and all lines of the text in hunks.
    """

    key: str
    change: str
    hunks: tuple[Hunk, ...] = ()
    old_blob: Blob | None = None
    new_blob: Blob | None = None


class FieldChange(NamedTuple):
    """One field of an object that changes.

    path: `spec.template.spec.containers[name=app].image`, items of lists by their name, or by their
    number (`[0]`) where they have none; change: ADDED, REMOVED, CHANGED; old and new: what stands
    there as plain data, None where nothing does. A list of named items in another order is a
    CHANGED field whose values are lists of these names, and whose path ends in `[]`. CHANGED from
    None to None: it is the same by base names, or as it is read, and only written in another way.
    """

    path: str
    change: str
    old: Json
    new: Json


class Cause(NamedTuple):
    """One reason why the pod template of a workload changes.

    kind: CONFIG, IMAGE, ENV or TEMPLATE.
    CONFIG: subject is the ConfigMap or Secret; what says in words what is with it ("its content
    changes"); keys: those of its keys that change.
    IMAGE: subject_name is the container; old and new: its images.
    ENV: subject_name is the container; what is the variable; old and new: its value, or what it
    is taken from, as plain data; None where it is not there.
    TEMPLATE: field is the change.
    """

    kind: str
    subject: Identity | None = None
    container: str = ""
    what: str = ""
    keys: tuple[str, ...] = ()
    old: Json = None
    new: Json = None
    field: FieldChange | None = None


class ContentChange(NamedTuple):
    """A ConfigMap or Secret that changes, known by its base name.

    change: ADDED, REMOVED, CHANGED; UNCHANGED where only its name does (another strategy);
    old_revision and new_revision: its names as the workloads have it, which are base names where
    it is not revised; "" on a side where it is not, and always for a Secret; strategy: of the newer
    side; keys: in order; fields: of its metadata and the like; users: workloads that name it on
    either side; note: something to know about it, as a sentence without a full stop; former: those
    of the users that name it on the older side only.
    """

    identity: Identity
    change: str
    strategy: str
    old_revision: str
    new_revision: str
    keys: tuple[KeyChange, ...]
    fields: tuple[FieldChange, ...]
    users: tuple[Identity, ...]
    note: str = ""
    former: tuple[Identity, ...] = ()


class WorkloadChange(NamedTuple):
    """A workload that changes, or whose pods will read other content.

    change: ADDED, REMOVED, CHANGED, or UNCHANGED where nothing of itself changes (before names are
    rewritten); effect: ROLLS … STAYS; causes: why its pod template changes, in order of kind; via:
    the workload whose pod template it uses (workloadRef), None for its own; in_place: ConfigMaps
    and Secrets that it names, whose content changes under a name that stays, so that its running
    pods may read the new one; fields: what else of it changes, outside of pod templates.
    """

    identity: Identity
    change: str
    effect: str
    causes: tuple[Cause, ...] = ()
    via: Identity | None = None
    in_place: tuple[Identity, ...] = ()
    fields: tuple[FieldChange, ...] = ()


class RevisionChange(NamedTuple):
    """What becomes of one revision: NEW … DROPPED.

    identity: the base name; name: the revision's, "" for a Secret; is_carried: whether the new
    manifests have it as an earlier one.
    """

    identity: Identity
    name: str
    change: str
    is_retained: bool = False


class ObjectChange(NamedTuple):
    """Any other object that is ADDED, REMOVED or CHANGED."""

    identity: Identity
    change: str
    fields: tuple[FieldChange, ...] = ()


class Undecided(NamedTuple):
    """Something that could not be told: where, what, and what to do about it, as clauses."""

    location: str
    problem: str
    fix: str


class GraphNode(NamedTuple):
    """An object in the graph of who names what; change: as in the rest of the model.

    role: "workload", "config" (a ConfigMap or Secret) or "other" (a Role, an Ingress …); effect: of
    a workload, else ""; note: more about it in words (what it becomes, or why nothing), else "".
    """

    identity: Identity
    role: str
    change: str
    effect: str = ""
    note: str = ""


class Edge(NamedTuple):
    """One object names another: numbers of nodes; change: ADDED, REMOVED or UNCHANGED.

    label: by what, as words for a person: `volume`, `envFrom`, `env`, `workloadRef`, `auto-mount`,
    or the last part of the path; stays: whether it keeps the base name, whatever its target is
    called (a Job, a bare Pod, a hook).
    """

    source: int
    target: int
    label: str
    change: str = UNCHANGED
    keeps_base_name: bool = False


class Graph(NamedTuple):
    """Who names what: all that a change touches, with whatever is connected with it."""

    nodes: tuple[GraphNode, ...] = ()
    edges: tuple[Edge, ...] = ()


class Preview(NamedTuple):
    """What a change will do.

    old and new: what the two sides are called; only: the sections that were asked for, () for all.
    """

    old: str
    new: str
    contents: tuple[ContentChange, ...] = ()
    workloads: tuple[WorkloadChange, ...] = ()
    revisions: tuple[RevisionChange, ...] = ()
    objects: tuple[ObjectChange, ...] = ()
    undecided: tuple[Undecided, ...] = ()
    graph: Graph = Graph()
    only: tuple[str, ...] = ()

    @property
    def has_changes(self) -> bool:
        """Whether anything changes (`--exit-code`)."""
        return bool(self.contents or self.workloads or self.objects or self._other_revisions)

    @property
    def _other_revisions(self) -> list[RevisionChange]:
        return [each for each in self.revisions if each.change not in (REUSED, RETAINED)]
