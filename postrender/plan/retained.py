"""Earlier revisions that stay in the output, for rollbacks and for old pods.

A Helm 3 rollback fails if an object of the target manifest is in the cluster, but not in the
deployed manifest. Helm must therefore delete a live revision when postrender drops the revision
from the output. The last output with the revision does not have `helm.sh/resource-policy: keep` on
the revision. Helm therefore deletes the revision when Helm applies the next output.

If the setting `secrets` was turned off, the revisions of Secrets in earlier outputs do not stay.
The attacher still deletes these *retired* Secrets after their last use: it gets their names, and
its Role permits access only to Secrets with these names.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise

from postrender.inventory.model import Item, ItemKey
from postrender.kubernetes.annotations import PAIRING_ANNOTATION
from postrender.kubernetes.kinds import SECRET, ObjectKey
from postrender.plan.attacher_job import AttachGroup, arguments_of
from postrender.plan.history import EarlierRevision, History, LiveState, PreviousOwners
from postrender.plan.model import DROP, LAST_TIME, REPLACED, RETAIN, PlanContext, RetentionDecision
from postrender.plan.names import RevisionNumbers
from postrender.text import WordSet

# The default of spec.revisionHistoryLimit in Kubernetes and Argo Rollouts.
_DEFAULT_LIMIT = 10
# The history limit counts only old ReplicaSets, not the current revision and a canary's revision.
_EXTRA_REVISIONS = 2
_NEWEST = "the newest revision"
_OPTION = "--retired"


def find_retained(
    context: PlanContext, numbers: RevisionNumbers, history: History
) -> tuple[RetentionDecision, ...]:
    """A decision for each revision and original of earlier outputs.

    The result lacks revisions that are in the input, or that the plan creates, and originals whose
    base name does not have a revision.
    """
    if not numbers.by_base:
        return ()
    currents = _currents(context, numbers)
    taken = _taken_keys(context)
    workloads_by_target = _workloads_by_target(context)
    retained: list[RetentionDecision] = []
    for base, revisions in numbers.by_base.items():
        current = currents.get(base)
        if current or not all(revision.is_original for revision in revisions):
            workloads = workloads_by_target.get(current.key, ()) if current else ()
            keep = context.settings.history.keep or _default_keep(workloads, history)
            name = context.names.get(current.key, current.identity.name) if current else ""
            earlier = [revision for revision in revisions if revision.identity.name != name]
            for position, revision in enumerate(earlier, 1):
                if base._replace(name=revision.identity.name) not in taken:
                    decision, reason = _decide(revision, position, current, keep, history)
                elif revision.is_original:
                    decision, reason = REPLACED, f"the input contains {revision.identity}"
                else:
                    continue
                retained.append(
                    RetentionDecision(
                        revision=revision,
                        decision=decision,
                        reason=reason,
                        current=current.key if current else None,
                    )
                )
    return tuple(retained)


def _decide(
    revision: EarlierRevision, position: int, current: Item | None, keep: int, history: History
) -> tuple[str, str]:
    """The decision for one earlier revision or original, and the reason as a clause.

    position: the position among the earlier revisions of the base name, 1 for the newest.
    keep: the number of revisions to keep, including the current revision.
    """
    # The chart has dropped the base name, and the revision was not current in any release revision
    # that Helm stores.
    is_forgotten = current is None and bool(history.stored) and revision.last_current < 0
    last_position = keep - (1 if current else 0)
    if not is_forgotten and position < last_position:
        return RETAIN, f"one of the {keep} newest revisions"
    if not is_forgotten and position == last_position:
        return LAST_TIME, f"the oldest of the {keep} newest revisions" if keep > 1 else _NEWEST
    decision = DROP if revision.live_state == LiveState.WITHOUT_KEEP else LAST_TIME
    if is_forgotten:
        return decision, "the chart had this content only in releases that Helm no longer stores"
    return decision, f"not one of the {keep} newest revisions" if keep > 1 else f"not {_NEWEST}"


def _currents(context: PlanContext, numbers: RevisionNumbers) -> dict[ObjectKey, Item]:
    return {
        numbers.base_of(decision): decision.item
        for key, decision in context.decisions.items()
        if key in context.revision_names
        or (decision.is_revision and PAIRING_ANNOTATION in decision.item.annotations)
    }


def _taken_keys(context: PlanContext) -> set[ObjectKey]:
    """The keys of the ConfigMaps and Secrets of the output, except for retained objects."""
    resolver = context.resolver
    renamed = {
        resolver.key_of(context.decisions[key].item.identity, name)
        for key, name in context.names.items()
    }
    return renamed | {resolver.key_of(item.identity) for item in context.kept_items}


def _workloads_by_target(context: PlanContext) -> Mapping[ItemKey, Sequence[Item]]:
    """By object, the workloads that use it, and the Rollouts that use their pod templates."""
    rollouts = context.rollouts
    workloads: dict[ItemKey, list[Item]] = defaultdict(list)
    for item in context.inventory.items:
        for target in context.targets(item):
            workloads[target.key] += [item, *rollouts.get(item.key, ())]
    return workloads


def _default_keep(workloads: Sequence[Item], history: History) -> int:
    """The default number of revisions to keep, including the current revision.

    It is large enough for the history limits of the workloads that use the object, and for all
    release revisions that Helm stores.
    """
    limits = [
        _DEFAULT_LIMIT if workload.history_limit is None else workload.history_limit
        for workload in workloads
    ]
    return max(max(limits, default=_DEFAULT_LIMIT) + _EXTRA_REVISIONS, history.stored)


def with_retired_secrets(
    context: PlanContext, groups: Sequence[AttachGroup], owners: PreviousOwners
) -> tuple[AttachGroup, ...]:
    """All attach groups. A single group gets the retired Secrets in the field `retired`.

    If the stream has several groups, the group of a retired Secret is unknown.
    """
    names = {
        *context.settings.attacher.retired_secrets,
        *owners.secrets,
        *(name for item in context.inventory.items if item.is_attacher for name in _names_in(item)),
    }
    if SECRET in context.settings.revisable or len(groups) != 1 or not names:
        return tuple(groups)
    retired = (("secret", name) for name in sorted(names - _names_in_stream(context, names)))
    return (groups[0]._replace(retired=tuple(retired)),)


def _names_in(item: Item) -> Iterator[str]:
    """The names in the option `--retired` of an attacher in the stream.

    If the input is an output of postrender, and earlier outputs are unknown, only this option has
    the names.
    """
    for option, value in pairwise(arguments_of(item.content)):
        if option == _OPTION:
            yield from (ref.removeprefix("secret/") for ref in value.split(","))


def _names_in_stream(context: PlanContext, names: set[str]) -> set[str]:
    """The names in documents without objects of an attacher."""
    attachers = {item.document for item in context.inventory.items if item.is_attacher}
    words = WordSet(names)
    return {
        name
        for index, text in enumerate(context.inventory.stream.texts)
        if index not in attachers and words.may_be_in(text)
        for name in words.in_words(text)
    }
