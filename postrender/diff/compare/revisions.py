"""The fate of each revision: new, reused, superseded, retained or dropped."""

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
) -> tuple[RevisionChange, ...]:
    """Return the fate of the revisions of both sides, by base name, the current revision first.

    resolver: of the release namespace;
    connected: the pairs whose revisions are reported even if they do not change.
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
        if _is_same(before, after) and identity not in connected_identities:
            continue
        is_retained = after is not None and after.role == EARLIER
        changes.append(
            RevisionChange(identity=identity, name=key.name, change=change, is_retained=is_retained)
        )
    # Redacted before the sort: the order would show which of two hashes is the smaller one.
    shown = redact(changes, secret_names, has_base_names=True)
    return tuple(sorted(shown, key=_sort_key))


def _states(
    objects: Iterable[ComparedObject], identities: Mapping[Identity, Identity], resolver: Resolver
) -> dict[ObjectKey, _State]:
    """Return the state of each revision; identities: of the objects of a side in the preview."""
    states = {}
    for compared in objects:
        if compared.is_content and compared.is_revised and compared.role in (CURRENT, EARLIER):
            identity = identities.get(compared.identity, compared.identity)
            states[resolver.key_of(identity, compared.name)] = _State(compared.role, identity)
    return states


def _is_same(before: _State | None, after: _State | None) -> bool:
    """Return whether a state stays the same. Only one side may write the namespace."""
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
    return after.identity, SUPERSEDED if was_current else RETAINED


def _sort_key(change: RevisionChange) -> tuple[object, ...]:
    return *sort_key(change.identity), _RANKS.index(change.change), change.name
