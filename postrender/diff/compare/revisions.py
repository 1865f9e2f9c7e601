"""What becomes of each revision: created, named again, superseded, carried along, dropped."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet

from postrender.diff.compare.normalise import BaseNames
from postrender.diff.compare.pairs import Pair, order_of
from postrender.diff.compare.side import MAIN, RETAINED, ComparedObject, Side
from postrender.diff.model import DROPPED, NEW, REUSED, SUPERSEDED, RevisionChange
from postrender.diff.model import RETAINED as RETAINED_AGAIN
from postrender.kubernetes.kinds import SECRET, Identity

_CURRENT, _EARLIER = "current", "earlier"


def find_revisions(
    old: Side,
    new: Side,
    namespace: str,
    pairs: Sequence[Pair],
    names: BaseNames,
    touched: AbstractSet[int],
) -> tuple[RevisionChange, ...]:
    """Return what becomes of the revisions of both sides; namespace: the release's.

    touched: the pairs whose revisions are told where nothing changes. By base name, and of each one
    first what is current afterwards.
    """
    known = {
        each.identity: pair.identity
        for pair in pairs
        for each in (pair.old, pair.new)
        if each is not None and each.is_content
    }
    bases = {pairs[number].identity for number in touched}
    before, after = (_states(side.objects, known, namespace) for side in (old, new))
    changes = []
    for key in [*after, *(key for key in before if key not in after)]:
        identity, change = _change(before.get(key), after.get(key))
        if _of(before.get(key)) == _of(after.get(key)) and identity not in bases:
            continue
        is_hidden = identity.group_kind == SECRET or key[2] in names.of_secrets
        is_retained = _is(after.get(key), _EARLIER)
        name = "" if is_hidden else key[2]
        changes.append(RevisionChange(identity, name, change, is_retained))
    return tuple(sorted(changes, key=_order))


_State = tuple[str, Identity]


def _states(
    objects: Iterable[ComparedObject], known: Mapping[Identity, Identity], namespace: str
) -> dict[tuple[str, str, str], _State]:
    return dict(_each_state(objects, known, namespace))


def _each_state(
    objects: Iterable[ComparedObject], known: Mapping[Identity, Identity], namespace: str
) -> Iterator[tuple[tuple[str, str, str], _State]]:
    """Yield the state of each revision; known: what an object is called in the whole preview."""
    for each in objects:
        if each.is_content and each.is_revised and each.role in (MAIN, RETAINED):
            identity = known.get(each.identity, each.identity)
            home = identity.namespace or namespace
            state = _CURRENT if each.role == MAIN else _EARLIER
            yield (identity.kind, home, each.name), (state, identity)


def _of(state: _State | None) -> tuple[str, str] | None:
    """Return a state without the namespace, which one side may write and the other not."""
    return (state[0], state[1].name) if state else None


def _is(state: _State | None, what: str) -> bool:
    return state is not None and state[0] == what


def _change(before: _State | None, after: _State | None) -> tuple[Identity, str]:
    if after is None:
        identity = before[1] if before else Identity("", "", None, "")
        return identity, SUPERSEDED if _is(before, _CURRENT) else DROPPED
    if _is(after, _CURRENT):
        return after[1], NEW if before is None else REUSED
    return after[1], SUPERSEDED if _is(before, _CURRENT) else RETAINED_AGAIN


_RANKS = (NEW, REUSED, SUPERSEDED, RETAINED_AGAIN, DROPPED)


def _order(change: RevisionChange) -> tuple[object, ...]:
    return *order_of(change.identity), _RANKS.index(change.change), change.name
