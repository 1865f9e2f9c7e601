"""What a preview says about several changes: the summary line, and groups of equal risks."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from postrender.diff.model import (
    ADDED,
    CHANGED,
    DELETED,
    DROPPED,
    NEW,
    NO_PODS,
    REMOVED,
    ROLLS,
    STAYS,
    SUPERSEDED,
    UNCHANGED,
    ContentChange,
    Preview,
    RevisionChange,
    Risk,
)
from postrender.diff.values import Forms, counted
from postrender.diff.words import CHANGES, EFFECTS, LOST, NOUNS, OUTSIDE_DATA
from postrender.records import grouped
from postrender.text import conjoined


def is_metadata_only(content: ContentChange) -> bool:
    """Whether a ConfigMap or Secret changes but its data does not."""
    is_outside = content.fields or (content.parts and "data" not in content.parts)
    return content.change == CHANGED and bool(is_outside) and not content.keys


def shown_revisions(preview: Preview) -> list[RevisionChange]:
    """The revisions that the change drops, or that lose all owners.

    What happens to every other revision follows from its ConfigMap or Secret.
    """
    return [
        revision
        for revision in preview.revisions
        if revision.lost_owners or revision.change == DROPPED
    ]


def group_risks(risks: Iterable[Risk]) -> list[list[Risk]]:
    """Groups of risks with one consequence, in the given order."""
    return list(grouped(risks, lambda risk: (risk.code, risk.consequence)).values())


METADATA_ONLY = Forms(f"changes {OUTSIDE_DATA.one}", f"change {OUTSIDE_DATA.many}")
_NO_ROLL = Forms("changes but does not roll", "change but do not roll")
_IN_PLACE = Forms("reads new content but does not roll", "read new content but do not roll")


def summary_line(preview: Preview) -> str:
    """The summary of a preview as one line without a final period.

    Example: `2 risks; 1 Rollout rolls, 2 ConfigMaps change, 1 new revision; 3 other objects change`
    """
    main = [*_workloads(preview), *_contents(preview), *_revisions(preview)]
    rest = _other_objects(preview)
    if not main and not rest:
        main = _revisions_with_status(preview, (SUPERSEDED,))
    clauses = [", ".join(group) for group in (main, rest) if group]
    if not clauses and not preview.undecided:
        clauses = [f"no changes in {conjoined(preview.only)}" if preview.only else "no changes"]
    if count := len(preview.risks):
        clauses.insert(0, counted(count, NOUNS["risks"].one))
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
        is_unchanged = workload.effect == STAYS and workload.change == UNCHANGED
        counter = in_place if is_unchanged and workload.in_place else counts[workload.effect]
        counter[workload.identity.kind] += 1
    clauses = [
        _clause(kinds, _NO_ROLL if effect == STAYS else EFFECTS[effect].verb)
        for effect, kinds in counts.items()
        if kinds
    ]
    return [*clauses, _clause(in_place, _IN_PLACE)] if in_place else clauses


def _contents(preview: Preview) -> list[str]:
    verbs = [CHANGES[change] for change in (CHANGED, ADDED, REMOVED, UNCHANGED)]
    verbs.insert(1, METADATA_ONLY)
    counts = {verb: Counter[str]() for verb in verbs}
    for content in preview.contents:
        verb = METADATA_ONLY if is_metadata_only(content) else CHANGES[content.change]
        counts[verb][content.identity.kind] += 1
    return [_clause(kinds, verb) for verb, kinds in counts.items() if kinds]


def _revisions(preview: Preview) -> list[str]:
    lost = sum(1 for revision in preview.revisions if revision.lost_owners)
    clauses = [f"Kubernetes deletes {lost:,} {LOST.of(lost)}"] if lost else []
    fates = (content.fate for content in preview.contents)
    if deleted := sum(1 for fate in fates if fate and fate.outcome == DELETED):
        clauses.append(f"the apply deletes {deleted:,} {LOST.of(deleted)}")
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


def _clause(kinds: Counter[str], verb: Forms) -> str:
    subject = conjoined([counted(count, kind) for kind, count in kinds.items()])
    return f"{subject} {verb.of(sum(kinds.values()))}"
