"""ConfigMaps and Secrets compared: what they hold, their names, and what follows from both."""

from __future__ import annotations

from postrender.config.settings import CHECKSUM, RENAME
from postrender.diff.compare.data_keys import Content, content_of, find_key_changes
from postrender.diff.compare.fields import differing, find_field_changes
from postrender.diff.compare.normalise import BaseNames, comparable_content, with_base_names
from postrender.diff.compare.pairs import Pair, find_pairs
from postrender.diff.compare.side import MAIN, ORIGINAL, ComparedObject, Side
from postrender.diff.model import ADDED, CHANGED, REMOVED, UNCHANGED, ContentChange, FieldChange
from postrender.kubernetes.kinds import SECRET, Identity
from postrender.startup.records import NamedTuple

_BESIDE = "it is the original that stays beside its revision"


class Users(NamedTuple):
    """The workloads that name an object, on either side; former: on the older one only."""

    all: tuple[Identity, ...] = ()
    former: tuple[Identity, ...] = ()


class Compared(NamedTuple):
    """A ConfigMap or Secret that changes; is_rewritten: whether both sides hold other data."""

    change: ContentChange
    is_rewritten: bool


def compare_content(
    pair: Pair,
    names: BaseNames,
    users: Users,
    context: int,
) -> Compared | None:
    """Return how a ConfigMap or Secret changes, None where it does not.

    context: lines around each change of text.
    """
    old, new = (_content(each) if each else {} for each in (pair.old, pair.new))
    is_rewritten = pair.both is not None and old != new
    fields = _fields(pair, names)
    if pair.both and not (is_rewritten or fields or pair.both[0].name != pair.both[1].name):
        return None
    is_secret = pair.identity.group_kind == SECRET
    change = ContentChange(
        pair.identity,
        _kind(pair, changes=is_rewritten or bool(fields)),
        pair.newest.strategy,
        _name(pair.old, names),
        _name(pair.new, names),
        () if is_secret else find_key_changes(_shown(old, names), _shown(new, names), context),
        () if is_secret else fields,
        users.all,
        _note(pair, users, is_rewritten=is_rewritten),
        users.former,
    )
    return Compared(change, is_rewritten)


def _name(each: ComparedObject | None, names: BaseNames) -> str:
    is_hidden = each is None or each.identity.group_kind == SECRET or each.name in names.of_secrets
    return "" if each is None or is_hidden else each.name


def _content(each: ComparedObject) -> Content:
    return content_of(each.data, is_secret=each.identity.group_kind == SECRET)


def _kind(pair: Pair, *, changes: bool) -> str:
    if pair.both is None:
        return ADDED if pair.new else REMOVED
    return CHANGED if changes else UNCHANGED


def _shown(content: Content, names: BaseNames) -> Content:
    """Return what an object holds without the names of Secrets' revisions."""
    if not names.of_secrets:
        return content
    return {
        key: with_base_names(value, names.of_secrets) if isinstance(value, str) else value
        for key, value in content.items()
    }


def _fields(pair: Pair, names: BaseNames) -> tuple[FieldChange, ...]:
    """Return what differs besides the data: metadata, and whether it is immutable."""
    if pair.both is None:
        return ()
    old, new = pair.both
    before, after = differing(old.data, new.data)
    fields = find_field_changes(comparable_content(before, names), comparable_content(after, names))
    if old.is_immutable != new.is_immutable and old.is_revised == new.is_revised:
        fields.append(FieldChange("immutable", CHANGED, old.is_immutable, new.is_immutable))
    return tuple(fields)


def _note(pair: Pair, users: Users, *, is_rewritten: bool) -> str:
    if pair.new is None and len(users.all) > len(users.former):
        return (
            "it is still named: if nothing else makes it, and the reference is not optional, new "
            "pods do not start"
        )
    if pair.both is None or not is_rewritten or pair.both[0].name != pair.both[1].name:
        return ""
    new = pair.both[1]
    if new.is_revised and new.strategy == RENAME:
        return (
            "its name is that of its old content, and the API server refuses to change what is "
            "immutable: render it from the chart instead of editing the output"
        )
    if new.is_immutable and pair.both[0].is_immutable:
        return "it is immutable, and its name stays: the API server refuses the change"
    if not users.all:
        return ""
    if new.strategy == CHECKSUM:
        return "its name stays: what names it rolls, and old pods that restart read the new content"
    return "its name stays, which by itself rolls nothing: pods that restart read the new content"


def compare_originals(
    old: Side, new: Side, namespace: str, names: BaseNames, context: int
) -> list[ContentChange]:
    """Return the changes of originals that stay beside a revision and do not hold the same."""
    before, after = _odd_originals(old), _odd_originals(new)
    changes = []
    for pair in find_pairs(before, after, namespace):
        compared = compare_content(pair, names, Users(), context)
        if compared:
            changes.append(compared.change._replace(note=_BESIDE))
    return changes


def _odd_originals(side: Side) -> list[ComparedObject]:
    """Return the originals of a side that hold other data than the revision beside them."""
    contents = {each.identity: _content(each) for each in side.main.values() if each.role == MAIN}
    return [
        each
        for each in (*side.main.values(), *side.originals.values())
        if each.role == ORIGINAL and contents.get(each.identity) != _content(each)
    ]
