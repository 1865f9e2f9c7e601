"""The status of each revision: new, reused, superseded, retained or dropped."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet

from postrender.diff.compare.model import CURRENT, EARLIER, ComparedObject, Side
from postrender.diff.compare.pairs import Pair, sort_key
from postrender.diff.model import DROPPED, NEW, RETAINED, REUSED, SUPERSEDED, RevisionChange
from postrender.diff.redact import redact
from postrender.kubernetes.kinds import Identity, ObjectKey
from postrender.plan.namespaces import Resolver
from postrender.startup.records import NamedTuple

_RANKS = (NEW, REUSED, SUPERSEDED, RETAINED, DROPPED)


class _State(NamedTuple):
    """A revision on one side; role: CURRENT or EARLIER; identity: with the base name."""

    role: str
    identity: Identity


def find_revisions(
    old: Side,
    new: Side,
    resolver: Resolver,
    pairs: Sequence[Pair],
    secret_names: Mapping[str, str],
    connected: AbstractSet[int],
    lost: Mapping[tuple[str, str], tuple[str, ...]],
) -> tuple[RevisionChange, ...]:
    """Return the status of the revisions of both sides, sorted by object and then by status.

    An unchanged revision is left out, unless its pair is connected or its owners are deleted.

    resolver: the resolver with the release namespace;
    connected: the numbers of the pairs in the graph;
    lost: the deleted owners of each revision that is still used, by kind and name.
    """
    identities = {
        compared.identity: pair.identity
        for pair in pairs
        for compared in (pair.old, pair.new)
        if compared is not None and compared.is_content
    }
    connected_identities = {pairs[number].identity for number in connected}
    old_states = _states(old.objects, identities, resolver)
    new_states = _states(new.objects, identities, resolver)
    changes = []
    for key in dict.fromkeys([*new_states, *old_states]):
        before, after = old_states.get(key), new_states.get(key)
        identity, change = _change(before, after)
        owners = lost.get((identity.kind, key.name), ()) if change == REUSED else ()
        if _is_same(before, after) and identity not in connected_identities and not owners:
            continue
        changes.append(
            RevisionChange(
                identity=identity,
                name=key.name,
                change=change,
                is_retained=after is not None and after.role == EARLIER,
                lost_owners=owners,
            )
        )
    # Redacted before the sort: the order would show which of two hashes is the smaller one.
    shown = redact(changes, secret_names, has_base_names=True)
    return tuple(sorted(shown, key=_sort_key))


def _states(
    objects: Iterable[ComparedObject], identities: Mapping[Identity, Identity], resolver: Resolver
) -> dict[ObjectKey, _State]:
    """Return the state of each revision.

    identities: the identities in the preview, by the identities on a side.
    """
    states = {}
    for compared in objects:
        if compared.is_content and compared.is_revised and compared.role in (CURRENT, EARLIER):
            identity = identities.get(compared.identity, compared.identity)
            states[resolver.key_of(identity, compared.name)] = _State(compared.role, identity)
    return states


def _is_same(before: _State | None, after: _State | None) -> bool:
    """Return whether a state stays the same; the namespace may be absent on one side."""
    if before is None or after is None:
        return before is after
    return (before.role, before.identity.name) == (after.role, after.identity.name)


def _change(before: _State | None, after: _State | None) -> tuple[Identity, str]:
    was_current = before is not None and before.role == CURRENT
    if after is None:
        identity = (
            before.identity if before else Identity(group="", kind="", namespace=None, name="")
        )
        return identity, SUPERSEDED if was_current else DROPPED
    if after.role == CURRENT:
        return after.identity, NEW if before is None else REUSED
    if before is None:
        return after.identity, NEW  # also an earlier revision that the older side does not have
    return after.identity, SUPERSEDED if was_current else RETAINED


def _sort_key(change: RevisionChange) -> tuple[object, ...]:
    return *sort_key(change.identity), _RANKS.index(change.change), change.name
