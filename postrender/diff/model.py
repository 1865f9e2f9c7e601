"""The model of a preview, which postrender.diff.build builds and the formats print.

From the ContentChange of a Secret, postrender.diff.redact removes the keys, the fields and the
revision names. The model does not contain the render IDs in annotations, because a render ID can
cover a Secret's revision name. Every tuple has a stable order.
"""

from __future__ import annotations

from collections.abc import Collection

from postrender.kubernetes.kinds import Identity
from postrender.records import NamedTuple
from postrender.yaml.paths import Json

ADDED, REMOVED, CHANGED, UNCHANGED = "added", "removed", "changed", "unchanged"

# The status of a revision. A revision with the chart's content is current, not retained.
NEW = "new"  # in the newer manifests only
REUSED = "reused"  # current in the newer manifests, and already in the older manifests
SUPERSEDED = "superseded"  # current in the older manifests only
RETAINED = "retained"  # a retained revision in both manifests
DROPPED = "dropped"  # a retained revision in the older manifests only

# The effect on a workload.
ROLLS = "rolls"  # new pods replace the old pods
STARTS = "starts"  # the workload is added
ENDS = "ends"  # the workload is removed
NEXT_RUN = "next run"  # CronJob, AnalysisTemplate …: only later runs use the new template
# ReplicaSet, updateStrategy OnDelete, no replicas: only later pods use the new template.
NEXT_PODS = "next pods"
HOOK = "hook"  # Helm or Argo CD deletes and re-creates the hook
REFUSED = "refused"  # the API server rejects the change
NO_PODS = "no pods"  # PodTemplate, or workload without pods, because a Rollout uses its template
# The pod template does not change, is not in the manifests, or belongs to a workload that is paused
# or to a custom resource that keeps its pods.
STAYS = "stays"
EFFECTS = (ROLLS, STARTS, ENDS, NEXT_RUN, NEXT_PODS, HOOK, REFUSED, NO_PODS, STAYS)

# The outcome of an old revision.
UNTIL_PRUNED = "until pruned"  # the attacher deletes it when no live object uses it
IN_MANIFESTS = "in manifests"  # the newer manifests still have it
LEFT = "left"  # it stays in the cluster, and no attacher deletes it
DELETED = "deleted"  # the apply deletes it

# The kinds of causes.
CONFIG, IMAGE, ENV, TEMPLATE = "config", "image", "env", "template"


def change_of(old: Json, new: Json) -> str:
    """ADDED, REMOVED or CHANGED for two values; an absent value is None."""
    return ADDED if old is None else REMOVED if new is None else CHANGED


class Line(NamedTuple):
    """One line of a unified diff.

    sign: "-" (old only), "+" (new only) or " " (both).
    old and new: the number of the line on each side, from 1; 0 if the side does not have the line.
    text: the line without the line feed at its end.
    is_open: whether the line does not end in a line feed. Only the last line of a text can be open.
    """

    sign: str
    old: int
    new: int
    text: str
    is_open: bool = False


class Hunk(NamedTuple):
    """Changed lines with context, as below a header `@@ -old,old_count +new,new_count @@`.

    old and new: the number of the first line on each side, from 1. As in diff(1), a side without
    lines has the number of the line before the hunk (0 at the start).
    old_count and new_count: the number of lines on each side.
    """

    old: int
    old_count: int
    new: int
    new_count: int
    lines: tuple[Line, ...]


class Blob(NamedTuple):
    """A binary value: its size in bytes, and its sha256 in hex."""

    size: int
    digest: str


class FieldChange(NamedTuple):
    """The change of one field of an object.

    path: the path, such as `spec.template.spec.containers[name=app].image`. If a key such as `port`
    has unique values in a list, the path has the key and the value (`[port=80]`). Otherwise, the
    path has the index on the newer side, or on the older side for a removed item (`[0]`). A path
    that ends in `[]` means the order of a list.
    change: ADDED, REMOVED or CHANGED.
    old and new: the values as plain data, None if the field is absent. For the order of a list, the
    values are the names of the items that both sides have. Both values are None if a null is ADDED
    or REMOVED, and if pod templates differ (CHANGED) only in a revision name or in notation.
    """

    path: str
    change: str
    old: Json
    new: Json


class KeyChange(NamedTuple):
    """The change of one key of a ConfigMap.

    change: ADDED, REMOVED or CHANGED.
    hunks: the hunks of the text; if only one side is text, all lines of that side.
    fields: the paths that differ in JSON or YAML; () for any other text.
    remark: what the hunks do not show, such as "only line endings change", or "".
    old_blob and new_blob: the value on each side if the value is binary, else None.
    """

    key: str
    change: str
    hunks: tuple[Hunk, ...] = ()
    fields: tuple[FieldChange, ...] = ()
    remark: str = ""
    old_blob: Blob | None = None
    new_blob: Blob | None = None


class Cause(NamedTuple):
    """One reason why the pod template of a workload changes.

    kind: CONFIG, IMAGE, ENV or TEMPLATE. The other fields depend on the kind.
    CONFIG: subject is the ConfigMap or Secret, and reason is a phrase such as "content changes".
    If the reason begins with "content changes", keys are the keys of the ConfigMap that change.
    IMAGE: container is the container's name; old and new are the images.
    ENV: container and variable are the names of the container and the variable. old and new are
    the `value` or the `valueFrom` of the variable, None if the variable is absent.
    TEMPLATE: field is the change.
    """

    kind: str
    subject: Identity | None = None
    reason: str = ""
    keys: tuple[str, ...] = ()
    container: str = ""
    variable: str = ""
    old: Json = None
    new: Json = None
    field: FieldChange | None = None


class Fate(NamedTuple):
    """What happens to an old revision that old pods use.

    outcome: one of UNTIL_PRUNED … DELETED.
    holders: for UNTIL_PRUNED, the objects of the controllers that hold the old pod templates, such
    as `ReplicaSets`.
    limits: the values of revisionHistoryLimit that limit the number of holders, sorted.
    is_optional: for DELETED, whether all references are optional, so that pods start without it.
    """

    outcome: str
    holders: tuple[str, ...] = ()
    limits: tuple[int, ...] = ()
    is_optional: bool = False


class ContentChange(NamedTuple):
    """A ConfigMap or Secret that changes.

    An original or an earlier revision can have its own ContentChange, with a note and without
    users.

    identity: the identity with the base name.
    change: ADDED, REMOVED, CHANGED, or UNCHANGED if only the name changes.
    strategy: the strategy on the newer side, or on the older side for an object that is REMOVED.
    reason: why the object has the strategy `ignore`, else "".
    old_revision and new_revision: the name on each side, either a revision name or the base name.
    "" on a side without the object, for a Secret, and for a redacted revision name.
    keys: the keys that change, sorted; always empty for a Secret.
    fields: the changes outside of the data, such as labels; always empty for a Secret.
    users: the objects that reference the object, on either side, except Roles.
    note: a remark without a final period, or "".
    former: the users that reference the object only on the older side.
    fate: of the old revision, None if no pods that stay in the cluster use it.
    parts: of a Secret that is CHANGED, what changes: `data`, `labels`, `annotations` or a field.
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
    fate: Fate | None = None
    parts: tuple[str, ...] = ()
    reason: str = ""


class WorkloadChange(NamedTuple):
    """A workload that changes, that gets new pods, or whose running pods can read new content.

    change: ADDED, REMOVED, CHANGED, or UNCHANGED if only revision names, notation or other objects
    change.
    effect: one of ROLLS … STAYS.
    causes: the reasons why the pod template changes; fields of the pod spec come first.
    via: for a Rollout with a workloadRef, the workload that has the pod template, else None.
    in_place: the ConfigMaps and Secrets that change under the same name, so that running pods can
    read the new content.
    is_mounted: whether the pods read one of these in a mounted file, which changes under them.
    fields: the changes outside of pod templates; all fields of a workload that is ADDED or REMOVED.
    replacement: how new pods replace the old pods, such as `3 pods · canary 5 % → 100 %`, or why
    they do not; "" if there is nothing to say.
    """

    identity: Identity
    change: str
    effect: str
    causes: tuple[Cause, ...] = ()
    via: Identity | None = None
    in_place: tuple[Identity, ...] = ()
    is_mounted: bool = False
    fields: tuple[FieldChange, ...] = ()
    replacement: str = ""


class RevisionChange(NamedTuple):
    """The status of one revision.

    identity: the identity with the base name.
    name: the revision's name, "" for a Secret and for a redacted name.
    change: one of NEW … DROPPED.
    is_retained: whether the newer manifests contain the revision as a retained revision.
    lost_owners: if a REUSED revision loses all owners, these owners as `Kind/name`, else ().
    Kubernetes then deletes the revision.
    """

    identity: Identity
    name: str
    change: str
    is_retained: bool = False
    lost_owners: tuple[str, ...] = ()

    @property
    def is_changed(self) -> bool:
        """True if the status is NEW, SUPERSEDED or DROPPED, or if the revision loses all owners."""
        return self.change not in (REUSED, RETAINED) or bool(self.lost_owners)


class ObjectChange(NamedTuple):
    """A change of an object that no ContentChange or WorkloadChange shows.

    change: ADDED, REMOVED or CHANGED.
    fields: the fields that change; all fields of an object that is ADDED or REMOVED.
    note: a remark without a final period, or "".
    """

    identity: Identity
    change: str
    fields: tuple[FieldChange, ...] = ()
    note: str = ""


class Undecided(NamedTuple):
    """A part of the comparison that diff cannot decide: its location, the problem and a fix."""

    location: str
    problem: str
    fix: str


class Risk(NamedTuple):
    """Something in a change that can break or lose something.

    fact, consequence: a clause, and a sentence without its period. They do not name the object, so
    that equal risks of many objects are one line.
    path: of the field, "" for the whole object.
    code: of the rule, which postrender.diff.risks adds.
    """

    identity: Identity
    fact: str
    consequence: str
    path: str = ""
    code: str = ""


class GraphNode(NamedTuple):
    """An object in the graph of references.

    role: "workload", "config" (a ConfigMap or Secret) or "other" (a Role, an Ingress …).
    change: ADDED, REMOVED, CHANGED or UNCHANGED.
    effect: the effect in the object's WorkloadChange, "" without a WorkloadChange.
    note: for `postrender explain`, a remark such as the new name; "" in a preview.
    """

    identity: Identity
    role: str
    change: str
    effect: str = ""
    note: str = ""


class Edge(NamedTuple):
    """A reference from one object to another object.

    source and target: the indexes of the objects in Graph.nodes.
    label: the kind of the field with the name (`volume`, `env`, …), `workloadRef` or `auto-mount`.
    change: ADDED, REMOVED or UNCHANGED.
    keeps_base_name: for `postrender explain`, whether the reference keeps the base name although
    postrender renames the target; False in a preview.
    """

    source: int
    target: int
    label: str
    change: str = UNCHANGED
    keeps_base_name: bool = False


class Graph(NamedTuple):
    """The references between objects.

    In a preview, each object changes, or is directly or indirectly connected with an object that
    changes.
    """

    nodes: tuple[GraphNode, ...] = ()
    edges: tuple[Edge, ...] = ()


class Preview(NamedTuple):
    """The effect of a change.

    old and new: the names of the two sources.
    only: the sections that the user selected, () for all.
    configuration: the configuration file, "" for none; None does not appear in the formats.
    old_configuration: of the older manifests, None if both sides have the same configuration.
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
    configuration: str | None = None
    old_configuration: str | None = None
    risks: tuple[Risk, ...] = ()

    @property
    def has_certain_changes(self) -> bool:
        """True if there is any change; an undecided part does not count."""
        changes = self.contents or self.workloads or self.objects
        return bool(changes) or any(revision.is_changed for revision in self.revisions)

    @property
    def has_changes(self) -> bool:
        """True if there is any change, for `--exit-code`; an undecided part counts as a change."""
        return self.has_certain_changes or bool(self.undecided)


def only_sections(preview: Preview, names: Collection[str]) -> Preview:
    """A preview with only the sections in `names`, or all sections if `names` is empty.

    The result always has the risks, the undecided parts and the graph.
    """
    if not names:
        return preview
    return preview._replace(
        contents=preview.contents if "configmaps" in names else (),
        workloads=preview.workloads if "workloads" in names else (),
        revisions=preview.revisions if "revisions" in names else (),
        objects=preview.objects if "objects" in names else (),
        only=tuple(dict.fromkeys(names)),
    )
