"""The report of `postrender explain` as data. The module `build` creates an Explanation."""

from __future__ import annotations

from postrender.diff.model import Graph
from postrender.errors import Finding
from postrender.kubernetes.kinds import Identity
from postrender.records import NamedTuple

# The source of a reference: a field, or the auto-mount annotations of the ConfigMap or Secret.
FROM_FIELD, FROM_AUTO_MOUNT = "reference", "auto-mount"


class ObjectReference(NamedTuple):
    """A reference to a ConfigMap or Secret.

    identity: the object that has the reference.
    line: the line of the field in the input, from 1; 0 for an auto-mount.
    path: the path of the field in the object, "" for an auto-mount.
    source: FROM_FIELD or FROM_AUTO_MOUNT.
    is_rewritten: whether the output references the revision. A Role also keeps the base name.
    """

    identity: Identity
    line: int
    path: str
    source: str
    is_rewritten: bool


class ObjectEntry(NamedTuple):
    """The decision for one ConfigMap or Secret.

    strategy: RENAME, CHECKSUM or IGNORE (module `config.settings`).
    reason: the reason for the strategy.
    revision: the revision name, "" if there is none or if the name could reveal a Secret.
    keep_reason: the reason why the output also has the original, "" if the original does not stay.
    attach_group: the attach group of the revision, "" if there is none.
    references: the references to the object. References that can cause a rename are first.
    """

    identity: Identity
    strategy: str
    reason: str
    revision: str
    keep_reason: str
    attach_group: str
    references: tuple[ObjectReference, ...]


class EarlierEntry(NamedTuple):
    """The decision for one object of earlier outputs.

    number: the value of the annotation postrender/revision-number, 0 for an original.
    decision: RETAIN, LAST_TIME, DROP or REPLACED (module `plan.model`).
    reason: the reason for the decision.
    """

    identity: Identity
    base_name: str
    number: int
    decision: str
    reason: str


class Explanation(NamedTuple):
    """The report for one input.

    objects: the ConfigMaps of the input and, if --secrets is set, the Secrets.
    earlier: the objects of earlier outputs, which --previous provides.
    attach_groups: the names of the attach groups, () if the attacher is off.
    mode: the form of the attachers' Jobs, "job" or "hook"; "" if attach_groups is empty.
    mode_reason: the reason for the mode, "" if attach_groups is empty.
    graph: the reference graph, for the formats mermaid and dot.
    """

    objects: tuple[ObjectEntry, ...] = ()
    earlier: tuple[EarlierEntry, ...] = ()
    attach_groups: tuple[str, ...] = ()
    mode: str = ""
    mode_reason: str = ""
    findings: tuple[Finding, ...] = ()
    graph: Graph = Graph()
