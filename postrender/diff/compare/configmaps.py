"""Changes of ConfigMaps and Secrets: of their data, their names and their metadata."""

from __future__ import annotations

from postrender.config.settings import CHECKSUM, RENAME
from postrender.diff.compare.data_keys import Content, content_of, find_key_changes
from postrender.diff.compare.fields import differing, find_field_changes
from postrender.diff.compare.model import CURRENT, ORIGINAL, ComparedObject, Side
from postrender.diff.compare.normalise import BaseNames, comparable_metadata, with_base_names
from postrender.diff.compare.pairs import Pair, find_pairs
from postrender.diff.model import ADDED, CHANGED, REMOVED, UNCHANGED, ContentChange, FieldChange
from postrender.kubernetes.kinds import SECRET, Identity
from postrender.plan.namespaces import Resolver
from postrender.startup.records import NamedTuple


class Users(NamedTuple):
    """The workloads that reference an object on either side; former: on the older side only."""

    all: tuple[Identity, ...] = ()
    former: tuple[Identity, ...] = ()


class ComparedContent(NamedTuple):
    """A ConfigMap or Secret that changes; is_rewritten: whether both sides have other data."""

    change: ContentChange
    is_rewritten: bool


def compare_content(
    pair: Pair, names: BaseNames, users: Users, context: int
) -> ComparedContent | None:
    """Return the change of a ConfigMap or Secret, None if nothing changes.

    A Secret is compared like a ConfigMap here; postrender.diff.redact removes its keys later.
    context: the number of lines around each change of text.
    """
    old, new = (_content(compared) if compared else {} for compared in (pair.old, pair.new))
    is_rewritten = pair.both is not None and old != new
    fields = _fields(pair, names)
    if pair.both and not (is_rewritten or fields or pair.both[0].name != pair.both[1].name):
        return None
    change = ContentChange(
        identity=pair.identity,
        change=_change(pair, is_changed=is_rewritten or bool(fields)),
        strategy=pair.newest.strategy,
        old_revision=pair.old.name if pair.old else "",
        new_revision=pair.new.name if pair.new else "",
        keys=find_key_changes(
            _without_secret_names(old, names), _without_secret_names(new, names), context
        ),
        fields=fields,
        users=users.all,
        note=_note(pair, users, is_rewritten=is_rewritten),
        former=users.former,
    )
    return ComparedContent(change, is_rewritten)


def _content(compared: ComparedObject) -> Content:
    return content_of(compared.data, is_secret=compared.identity.group_kind == SECRET)


def _change(pair: Pair, *, is_changed: bool) -> str:
    if pair.both is None:
        return ADDED if pair.new else REMOVED
    return CHANGED if is_changed else UNCHANGED


def _without_secret_names(content: Content, names: BaseNames) -> Content:
    """Return content with base names instead of the revision names of Secrets.

    Lines that differ only in these names are then equal. Redaction alone would show a change from
    a base name to the same base name.
    """
    if not names.of_secrets:
        return content
    return {
        key: with_base_names(value, names.of_secrets) if isinstance(value, str) else value
        for key, value in content.items()
    }


def _fields(pair: Pair, names: BaseNames) -> tuple[FieldChange, ...]:
    """Return the changes outside of the data: of metadata and of `immutable`."""
    if pair.both is None:
        return ()
    old, new = pair.both
    before, after = differing(old.data, new.data)
    fields = find_field_changes(
        comparable_metadata(before, names), comparable_metadata(after, names)
    )
    if old.is_immutable != new.is_immutable and old.is_revised == new.is_revised:
        fields.append(
            FieldChange(
                path="immutable", change=CHANGED, old=old.is_immutable, new=new.is_immutable
            )
        )
    return tuple(fields)


def _note(pair: Pair, users: Users, *, is_rewritten: bool) -> str:
    """Return a remark about a change, without the name of the object."""
    kind = pair.identity.kind
    if pair.new is None and len(users.all) > len(users.former):
        return (
            f"the {kind} is still referenced: new pods do not start, unless something else creates "
            f"the {kind} or the reference is optional"
        )
    if pair.both is None or not is_rewritten or pair.both[0].name != pair.both[1].name:
        return ""
    old, new = pair.both
    if new.is_revised and new.strategy == RENAME:
        return (
            "the name has the hash of the old content, and the API server rejects a change of an "
            f"immutable {kind}: render the chart again instead of editing the output"
        )
    if new.is_immutable and old.is_immutable:
        return f"the {kind} is immutable and keeps its name: the API server rejects the change"
    if not users.all:
        return ""
    if new.strategy == CHECKSUM:
        return (
            "the name does not change: workloads that use it roll, and old pods that restart read "
            "the new content"
        )
    return (
        "the name does not change, so no workload rolls because of it: pods that restart read the "
        "new content"
    )


def compare_originals(
    old: Side, new: Side, resolver: Resolver, names: BaseNames, context: int
) -> list[ContentChange]:
    """Return the changes of originals whose data differs from the data of their revision."""
    pairs = find_pairs(_diverging_originals(old), _diverging_originals(new), resolver)
    compared = (compare_content(pair, names, Users(), context) for pair in pairs)
    return [
        content.change._replace(
            note=f"this is the original {content.change.identity.kind}, which stays next to its "
            "revision"
        )
        for content in compared
        if content
    ]


def _diverging_originals(side: Side) -> list[ComparedObject]:
    """Return the originals of a side whose data differs from the data of their revision."""
    contents = {
        compared.identity: _content(compared)
        for compared in side.by_item.values()
        if compared.role == CURRENT
    }
    return [
        compared
        for compared in (*side.by_item.values(), *side.originals.values())
        if compared.role == ORIGINAL and contents.get(compared.identity) != _content(compared)
    ]
