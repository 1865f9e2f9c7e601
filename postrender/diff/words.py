"""The words of a preview, in every format for readers: phrases, the summary line, and groups.

A phrase does not contain markup; a Style formats the names and values in it. A format describes
objects with equal changes, such as a new chart version in each label, once for the whole group, so
that repetitions do not hide other changes.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Hashable, Iterable, Sequence

from postrender.diff.model import (
    ADDED,
    CHANGED,
    CONFIG,
    DROPPED,
    ENDS,
    ENV,
    HOOK,
    IMAGE,
    NEW,
    NEXT_PODS,
    NEXT_RUN,
    NO_PODS,
    REFUSED,
    REMOVED,
    RETAINED,
    REUSED,
    ROLLS,
    STARTS,
    STAYS,
    SUPERSEDED,
    UNCHANGED,
    Cause,
    ContentChange,
    ObjectChange,
    Preview,
    RevisionChange,
    WorkloadChange,
    change_of,
)
from postrender.diff.values import (
    Forms,
    Style,
    counted,
    describe_field,
    describe_values,
    listed,
    name_of,
)
from postrender.records import NamedTuple
from postrender.text import conjoined

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import TypeVar

    Change = TypeVar("Change", WorkloadChange, ContentChange, ObjectChange)

# The title of each section, by the section's field in Preview.
TITLES = {
    "workloads": "Workloads",
    "contents": "ConfigMaps and Secrets",
    "revisions": "Revisions",
    "objects": "Other objects",
    "undecided": "Undecided parts",
    "graph": "References",
}

MARKS = {ADDED: "+", REMOVED: "-", CHANGED: "~", UNCHANGED: "="}

CHANGES = {
    ADDED: Forms("is added", "are added"),
    REMOVED: Forms("is removed", "are removed"),
    CHANGED: Forms("changes", "change"),
    UNCHANGED: Forms("is only renamed", "are only renamed"),
}


class Effect(NamedTuple):
    """The words for an effect.

    one, many: the verb for one workload and for several.
    sentence: the verb for one workload with an explanation.
    badge: the words in a badge of the HTML page.
    drawn: the words in a box of the graph.
    """

    one: str
    many: str
    sentence: str
    badge: str
    drawn: str

    def of(self, count: int) -> str:
        """Return the verb that fits a count."""
        return self.one if count == 1 else self.many


def _effect(
    one: str, many: str, badge: str, *, explained: str = "", drawn: str | None = None
) -> Effect:
    return Effect(one, many, one + explained, badge, one if drawn is None else drawn)


# In order of importance to a reader: failures first, then workloads that roll.
EFFECTS = {
    REFUSED: _effect(
        "is rejected by the API server",
        "are rejected by the API server",
        "rejected",
        explained=". Delete or rename the object before the apply",
        drawn="rejected by the API server",
    ),
    ROLLS: _effect("rolls", "roll", "rolls"),
    HOOK: _effect(
        "runs again",
        "run again",
        "hook",
        explained=": Helm or Argo CD deletes and re-creates the hook",
        drawn="hook, runs again",
    ),
    NEXT_RUN: _effect(
        "uses the change on its next run",
        "use the change on their next run",
        "next run",
        explained=", and does not roll",
    ),
    NEXT_PODS: _effect(
        "changes only new pods",
        "change only new pods",
        "next pods",
        explained=", and does not roll",
    ),
    STARTS: _effect("is added", "are added", "starts", drawn="starts"),
    ENDS: _effect("is removed", "are removed", "ends", drawn="ends"),
    NO_PODS: _effect(
        "does not have its own pods", "do not have their own pods", "no pods", drawn=""
    ),
    STAYS: _effect("does not roll", "do not roll", "no roll"),
}

_REVISIONS = {
    NEW: "new",
    REUSED: "reused from the older manifests",
    RETAINED: "earlier revision, retained in the manifests",
    DROPPED: "earlier revision, dropped from the manifests",
}

# The phrases for a revision that a workload still uses, but that Kubernetes deletes.
LOST = Forms("revision in use", "revisions in use")

_KEPT_NAMES = Forms("the object keeps its name", "the objects keep their names")
_UNCHANGED = Forms("is unchanged", "are unchanged")


class ContentFacts(NamedTuple):
    """Phrases about a ConfigMap or Secret, except for its keys and fields.

    names: a phrase with the revision names. () if workloads use only the base name, or if the
    revision names are redacted.
    shared: the phrases that are equal for all objects of a group from the module `grouping`.
    users: a phrase with the workloads that reference the object, and a phrase with the workloads
    that no longer reference the object.
    """

    names: tuple[str, ...]
    shared: tuple[str, ...]
    users: tuple[str, ...]

    @property
    def all(self) -> tuple[str, ...]:
        """All facts, in order."""
        return (*self.names, *self.shared, *self.users)

    @property
    def individual(self) -> tuple[str, ...]:
        """The facts that can differ between the objects of a group."""
        return (*self.names, *self.users)


def mark_of(change: WorkloadChange | ContentChange | ObjectChange) -> str:
    """Return the mark of a change: `+`, `-`, `~` or `=`.

    An unchanged workload counts as changed if its effect is not STAYS.
    """
    if isinstance(change, WorkloadChange) and change.change == UNCHANGED and change.effect != STAYS:
        return MARKS[CHANGED]
    return MARKS[change.change]


def describe_change(change: str) -> str:
    """Return the verb for a change of one object: `changes`, `is added`."""
    return CHANGES[change].one


def describe_effect(workload: WorkloadChange) -> str:
    """Return the effect on a workload, such as `rolls`. Some effects include an explanation."""
    return EFFECTS[workload.effect].sentence


def describe_pods(workload: WorkloadChange, style: Style) -> list[str]:
    """Return phrases about a shared pod template, and about content that changes in place."""
    phrases = []
    if workload.via:
        phrases.append(f"uses the pod template of {style.code(style.name(workload.via))}")
    if workload.in_place:
        names = listed([style.code(style.name(target)) for target in workload.in_place])
        reason = _KEPT_NAMES.of(len(workload.in_place))
        phrases.append(
            f"pods read the new content of {names} after a restart, or earlier in mounted files, "
            f"because {reason}"
        )
    return phrases


def describe_cause(cause: Cause, style: Style) -> str:
    """Return the reason for a change of a pod template: `image of app: shop:1 -> shop:2`."""
    if cause.kind == CONFIG and cause.subject:
        keys = listed([style.code(key) for key in cause.keys])
        phrase = f"{style.code(style.name(cause.subject))}: {style.prose(cause.reason)}"
        return f"{phrase} ({keys})" if keys else phrase
    if cause.kind in (IMAGE, ENV):
        part = "image" if cause.kind == IMAGE else style.code(cause.variable)
        subject = f"{part} of {style.code(cause.container)}"
        change = change_of(cause.old, cause.new)
        return describe_values(subject, change, cause.old, cause.new, style)
    return describe_field(cause.field, style) if cause.field else style.prose(cause.reason)


def describe_content(content: ContentChange, style: Style) -> ContentFacts:
    """Return the phrases about a ConfigMap or Secret, except for its keys and fields."""
    return ContentFacts(
        tuple(_content_names(content, style)),
        tuple(_shared_facts(content, style)),
        tuple(_content_users(content, style)),
    )


def _content_names(content: ContentChange, style: Style) -> list[str]:
    old, new = content.old_revision, content.new_revision
    if not {old, new} - {"", content.identity.name}:
        return []
    if old and new and old != new:
        return [f"{style.code(old)} {style.arrow} {style.code(new)}"]
    return [style.code(new or old)]


def _shared_facts(content: ContentChange, style: Style) -> list[str]:
    phrases = []
    if content.strategy == "ignore":
        phrases.append(f"not renamed (strategy {style.code(content.strategy)})")
    elif content.strategy != "rename":
        phrases.append(f"strategy {style.code(content.strategy)}")
    if content.note:
        phrases.append(style.prose(content.note))
    if content.identity.kind == "Secret" and content.change == CHANGED:
        phrases.append("diff does not show the content")
    return phrases


def _content_users(content: ContentChange, style: Style) -> list[str]:
    current = [user for user in content.users if user not in content.former]
    return [
        f"{verb} {listed([style.code(style.name(user)) for user in users])}"
        for verb, users in (("referenced by", current), ("no longer referenced by", content.former))
        if users
    ]


def is_metadata_only(content: ContentChange) -> bool:
    """Return whether a ConfigMap changes but its data does not; False for every Secret."""
    return content.change == CHANGED and bool(content.fields) and not content.keys


def shown_revisions(preview: Preview) -> tuple[list[RevisionChange], list[RevisionChange]]:
    """Return the revisions that need a line each, and the revisions that share one line.

    The revisions that share a line are unchanged, and the data of their ConfigMaps is unchanged.
    """
    changed = {
        content.identity
        for content in preview.contents
        if content.old_revision != content.new_revision or not is_metadata_only(content)
    }
    # If `--only` leaves out the contents, only the revisions show which objects change.
    changed |= {revision.identity for revision in preview.revisions if revision.is_changed}
    shown = [revision for revision in preview.revisions if revision.identity in changed]
    others = [revision for revision in preview.revisions if revision.identity not in changed]
    return shown, others


def describe_other_revisions(others: Sequence[RevisionChange]) -> str:
    """Return the line that unchanged revisions share: `2 other revisions are unchanged`."""
    return f"{counted(len(others), 'other revision')} {_UNCHANGED.of(len(others))}"


def describe_revision(revision: RevisionChange, style: Style) -> str:
    """Return the status of a revision, and the owners if the change deletes all owners."""
    status = _describe_status(revision)
    if not revision.lost_owners:
        return status
    owners = conjoined([style.code(owner) for owner in revision.lost_owners])
    return (
        f"deleted by Kubernetes while in use, because the change deletes all owners ({owners}); "
        f"{status}"
    )


def _describe_status(revision: RevisionChange) -> str:
    if revision.change == SUPERSEDED:
        place = "retained" if revision.is_retained else "no longer"
        return f"superseded, {place} in the manifests"
    return _REVISIONS[revision.change]


def revision_name(revision: RevisionChange, style: Style) -> str:
    """Return the name of a revision, or a phrase with the base name if the name is redacted."""
    if not revision.name:
        return f"a revision of {style.code(style.name(revision.identity))}"
    return style.code(name_of(revision.identity._replace(name=revision.name)))


def describe_rest(rest: Sequence[object]) -> str:
    """Return the line between the first object of a group and the rest of the group."""
    return f"the same change in {counted(len(rest), 'more object')}:"


_METADATA_ONLY = Forms("changes outside its data", "change outside their data")
_NO_ROLL = Forms("changes but does not roll", "change but do not roll")
_IN_PLACE = Forms("reads new content but does not roll", "read new content but do not roll")


def summary_line(preview: Preview) -> str:
    """Return the summary of a preview as one line without a final period.

    Example: `1 Rollout rolls, 2 ConfigMaps change, 1 new revision; 3 other objects change`
    """
    main = [*_workloads(preview), *_contents(preview), *_revisions(preview)]
    rest = _other_objects(preview)
    if not main and not rest:
        main = _revisions_with_status(preview, (SUPERSEDED,))
    clauses = [", ".join(group) for group in (main, rest) if group]
    if not clauses and not preview.undecided:
        clauses = [f"no changes in {conjoined(preview.only)}" if preview.only else "no changes"]
    if preview.undecided:
        clauses.append(counted(len(preview.undecided), "undecided part"))
    return "; ".join(clauses)


def _workloads(preview: Preview) -> list[str]:
    # ROLLS is first, because ROLLS is the most frequent effect. The rest has the order of EFFECTS.
    counts = {effect: Counter[str]() for effect in (ROLLS, *EFFECTS)}
    in_place = Counter[str]()
    templates = {workload.via for workload in preview.workloads}
    for workload in preview.workloads:
        if workload.effect == NO_PODS and workload.identity in templates:
            continue  # another workload in the preview has the pods
        counter = in_place if _only_reads_new_content(workload) else counts[workload.effect]
        counter[workload.identity.kind] += 1
    verbs: dict[str, Forms | Effect] = {**EFFECTS, STAYS: _NO_ROLL}
    clauses = [_clause(kinds, verbs[effect]) for effect, kinds in counts.items() if kinds]
    return [*clauses, _clause(in_place, _IN_PLACE)] if in_place else clauses


def _only_reads_new_content(workload: WorkloadChange) -> bool:
    is_unchanged = workload.effect == STAYS and workload.change == UNCHANGED
    return is_unchanged and bool(workload.in_place)


def _contents(preview: Preview) -> list[str]:
    verbs = [CHANGES[change] for change in (CHANGED, ADDED, REMOVED, UNCHANGED)]
    verbs.insert(1, _METADATA_ONLY)
    counts = {verb: Counter[str]() for verb in verbs}
    for content in preview.contents:
        verb = _METADATA_ONLY if is_metadata_only(content) else CHANGES[content.change]
        counts[verb][content.identity.kind] += 1
    return [_clause(kinds, verb) for verb, kinds in counts.items() if kinds]


def _revisions(preview: Preview) -> list[str]:
    lost = sum(1 for revision in preview.revisions if revision.lost_owners)
    clauses = [f"Kubernetes deletes {lost:,} {LOST.of(lost)}"] if lost else []
    return clauses + _revisions_with_status(preview, (NEW, DROPPED))


def _revisions_with_status(preview: Preview, statuses: Iterable[str]) -> list[str]:
    counts = Counter(revision.change for revision in preview.revisions)
    return [counted(counts[status], f"{status} revision") for status in statuses if counts[status]]


def _other_objects(preview: Preview) -> list[str]:
    counts = Counter(change.change for change in preview.objects)
    clauses: list[str] = []
    for change in (CHANGED, ADDED, REMOVED):
        if count := counts[change]:
            subject = f"{count:,}" if clauses else counted(count, "other object")
            clauses.append(f"{subject} {CHANGES[change].of(count)}")
    return clauses


def _clause(kinds: Counter[str], verb: Forms | Effect) -> str:
    """Return a clause such as `2 Rollouts and 1 Job change`; kinds: the counts, by kind."""
    subject = conjoined([counted(count, kind) for kind, count in kinds.items()])
    return f"{subject} {verb.of(sum(kinds.values()))}"


_RANKS = {effect: rank for rank, effect in enumerate(EFFECTS)}


def group_equal(changes: Iterable[Change]) -> list[list[Change]]:
    """Return groups of equal changes.

    Groups with one change are first. Otherwise, the groups are in the order of `changes`.
    """
    groups: dict[Hashable, list[Change]] = defaultdict(list)
    for index, change in enumerate(changes):
        groups[_key(change) or index].append(change)
    return sorted(groups.values(), key=lambda group: len(group) > 1)


def group_by_effect(workloads: Iterable[WorkloadChange]) -> list[list[WorkloadChange]]:
    """Return groups of workloads with equal changes, the most important effect first."""
    return sorted(group_equal(workloads), key=lambda group: _RANKS[group[0].effect])


def _key(change: WorkloadChange | ContentChange | ObjectChange) -> Hashable:
    """Return a value that equal changes share, or None for a change that has its own group.

    The value for a Secret is None, because a group would reveal that Secrets have equal content.
    """
    if isinstance(change, WorkloadChange):
        details = change.causes, change.fields, change.in_place, change.via
        return (change.change, change.effect, repr(details)) if any(details) else None
    if isinstance(change, ContentChange):
        if change.keys or not change.fields or change.change != CHANGED:
            return None
        return change.identity.kind, change.strategy, change.note, repr(change.fields)
    return repr(change.fields) if change.fields else None
