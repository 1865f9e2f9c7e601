"""Which earlier revisions stay in the output, so that a rollback finds them and old pods do too.

Helm 3 cannot roll back to manifests with an object that is live and not in the current manifests.
So what leaves the output must leave the cluster with it: a revision that is to go is emitted once
more without `helm.sh/resource-policy: keep`, and Helm deletes it with the upgrade that drops it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence

from postrender.inventory.model import Item, ItemKey
from postrender.kubernetes.annotations import PAIRING_ANNOTATION
from postrender.kubernetes.kinds import ObjectKey
from postrender.plan.history import EarlierRevision, History, Remains
from postrender.plan.model import DROP, LAST_TIME, REPLACED, RETAIN, PlanContext, Retained
from postrender.plan.namespaces import Resolver
from postrender.plan.numbering import RevisionNumbers
from postrender.startup.records import NamedTuple

# Kubernetes' and Argo Rollouts' own default of spec.revisionHistoryLimit.
_USUAL_LIMIT = 10
# The revision that is current, and that of a canary in flight, beside those of old ReplicaSets.
_BEYOND_LIMIT = 2


class _Current(NamedTuple):
    """The object of the stream that a base name stands for now; name: of its revision."""

    item: Item
    name: str


def find_hook_users(
    items: Sequence[Item], history: History, resolver: Resolver
) -> dict[ItemKey, str]:
    """Return the hook that names each object, of the hooks that Helm stores beside a release."""
    hooks = {
        (kind, resolver.effective_namespace(namespace), name): hook
        for (kind, namespace, name), hook in history.hooks.items()
    }
    found = {}
    for item in items if hooks else ():
        hook = hooks.get(_name_of(item, item.identity.name, resolver))
        if hook:
            found[item.key] = hook
    return found


def find_retained(
    context: PlanContext, numbers: RevisionNumbers, history: History
) -> tuple[Retained, ...]:
    """Return what becomes of everything in a history, as far as it is of a base name of ours."""
    currents = _currents(context, numbers)
    taken = _taken(context)
    consumers = _consumers(context)
    retained: list[Retained] = []
    for base, earlier in numbers.by_base.items():
        current = currents.get(base)
        if current or not all(past.is_original for past in earlier):
            users = consumers.get(current.item.key, ()) if current else ()
            keep = context.settings.history.keep or _usual_keep(users, history)
            retained += _carry(earlier, current, keep, history, taken, base)
    return tuple(retained)


def _carry(
    earlier: Sequence[EarlierRevision],
    current: _Current | None,
    keep: int,
    history: History,
    taken: frozenset[ObjectKey],
    base: ObjectKey,
) -> Iterator[Retained]:
    """Yield what becomes of the revisions of one base name, newest first."""
    key = current.item.key if current else None
    room = keep - (1 if current else 0)
    others = [past for past in earlier if not current or past.identity.name != current.name]
    for position, past in enumerate(others, 1):
        if base._replace(name=past.identity.name) in taken:
            if past.is_original:
                yield Retained(past, REPLACED, "the stream has an object of that name", key)
            continue
        # Helm forgets old revisions of a release; a base name that the chart lost goes with them.
        is_forgotten = not current and bool(history.stored) and past.last < 0
        if not is_forgotten and position < room:
            yield Retained(past, RETAIN, f"one of the last {keep} revisions", key)
        elif not is_forgotten and position == room:
            yield Retained(past, LAST_TIME, f"the oldest of the last {keep} revisions", key)
        else:
            what = DROP if past.live == Remains.UNKEPT else LAST_TIME
            why = "Helm stores no release with it" if is_forgotten else f"{keep} revisions stay"
            yield Retained(past, what, why, key)


def _currents(context: PlanContext, numbers: RevisionNumbers) -> dict[ObjectKey, _Current]:
    """Return what each base name stands for now; carried revisions of the stream are not it."""
    currents = {}
    for key, decision in context.decisions.items():
        item = decision.item
        if key in context.names:
            currents[numbers.base_of(item)] = _Current(item, context.names[key])
        elif decision.is_revision and PAIRING_ANNOTATION in item.annotations:
            currents[numbers.base_of(item)] = _Current(item, item.identity.name)
    return currents


def _taken(context: PlanContext) -> frozenset[ObjectKey]:
    """Return the names that objects of the output bear."""
    taken = set()
    for key, decision in context.decisions.items():
        item = decision.item
        if key in context.names:
            taken.add(_name_of(item, context.names[key], context.resolver))
        if key not in context.names or decision.keep_reason:
            taken.add(_name_of(item, item.identity.name, context.resolver))
    return frozenset(taken)


def _name_of(item: Item, name: str, resolver: Resolver) -> ObjectKey:
    namespace = resolver.effective_namespace(item.identity.namespace)
    return ObjectKey(item.identity.group_kind, namespace, name)


def _consumers(context: PlanContext) -> dict[ItemKey, list[Item]]:
    """Return the workloads that name each object, and the Rollouts that refer to those."""
    rollouts = context.rollouts
    consumers: dict[ItemKey, list[Item]] = defaultdict(list)
    for item in context.inventory.items:
        for target in context.targets(item):
            consumers[target.key] += [item, *rollouts.get(item.key, ())]
    return consumers


def _usual_keep(users: Sequence[Item], history: History) -> int:
    """Return how many revisions of what these workloads name stay by default."""
    limits = [_USUAL_LIMIT if item.history_limit is None else item.history_limit for item in users]
    return max(max(limits or [_USUAL_LIMIT]) + _BEYOND_LIMIT, history.stored)
