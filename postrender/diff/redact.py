"""The redaction of Secret content, and of digests of Secret content, in previews and explanations.

A reader of a preview can guess short or common content, and compare the hash of the guess with a
digest. This module therefore also redacts labels and annotations that look like a digest, such as
`checksum/secret`. The module also redacts revision names with a hash that depends on a Secret.

1. `secret_names_of_side` and `secret_names_of_plan` find the revision names to redact.
2. The modules `marks`, `secret_fields` and `secret_values` turn values into `Redacted` text, before
   the comparison. This step needs the object or the key of a value.
3. `redact` walks the whole model, as the last step of diff.build and of explain.build.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from itertools import chain

from postrender.diff.marks import Masked
from postrender.diff.model import Cause, ContentChange, RevisionChange
from postrender.diff.pairs import ComparedObject, base_name_of
from postrender.inventory.model import ItemKey
from postrender.kubernetes.hashing import (
    CONTENT_HASH_LENGTH,
    HASH_SUFFIX,
    without_hash,
)
from postrender.kubernetes.kinds import SECRET, Identity
from postrender.records import NamedTuple, reachable
from postrender.text import words_of
from postrender.yaml.paths import Json
from postrender.yaml.scalars import block_text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, TypeVar

    from postrender.inventory.build import Inventory
    from postrender.plan.model import PlanContext

    Record = TypeVar("Record")

NOT_SHOWN = "(not shown)"

# The end of a revision name. A name with a letter, digit or dash after the hash does not match.
REVISION_END = re.compile(rf"{HASH_SUFFIX}(?![A-Za-z0-9-])")
_NON_TEXT_SCALARS = frozenset({int, bool, float, type(None)})
_SCALARS = _NON_TEXT_SCALARS | {str}


class _Revision(NamedTuple):
    """A revision name, and the facts that decide whether `redact` must replace the name.

    content: the data or, in a plan, the whole object.
    is_secret: whether the object is a Secret. In a plan, also True for an object of the input that
    references a Secret directly or indirectly.
    """

    name: str
    base_name: str
    content: Json
    is_secret: bool


# ------------------------------------------------------------------------------ names of revisions


def secret_names_of_side(
    revisions: Iterable[ComparedObject], inventory: Inventory, data: Mapping[int, Json]
) -> dict[str, str]:
    """The base names of one side of a comparison, by the revision names to redact.

    data: the parsed documents, by index.
    """
    compared = [
        _Revision(
            name=revision.name,
            base_name=revision.identity.name,
            content=revision.data.get("data"),
            is_secret=revision.identity.group_kind == SECRET,
        )
        for revision in revisions
    ]
    references = (
        reference.name
        for item in inventory.items
        for reference in item.references
        if reference.rule.target == SECRET
    )
    # A custom kind can reference a Secret in a field that no rule covers.
    suspects = (
        text
        for index, root in data.items()
        if "ecret" in inventory.stream.texts[index]
        for text in _texts_under_secret_keys(root)
    )
    return _find_secret_names(compared, (*references, *suspects))


def secret_names_of_plan(context: PlanContext) -> dict[str, str]:
    """The base names of a plan, by the revision names to redact."""
    revisions: list[_Revision] = []
    dependents = _dependents_of_secrets(context)
    for decision in context.decisions.values():
        item = decision.item
        base_name = base_name_of(item, is_revision=decision.is_revision)
        is_secret = item.identity.group_kind == SECRET or item.key in dependents
        revisions += [
            _Revision(name=name, base_name=base_name, content=item.content, is_secret=is_secret)
            for name in {item.identity.name, context.revision_of(item)} - {"", base_name}
        ]
    for retained in context.retained:
        earlier = retained.revision
        revisions.append(
            _Revision(
                name=earlier.identity.name,
                base_name=earlier.base_name,
                content=dict(earlier.content),
                is_secret=earlier.identity.group_kind == SECRET,
            )
        )
    return _find_secret_names(revisions)


def _find_secret_names(
    revisions: Sequence[_Revision], suspects: Iterable[str] = ()
) -> dict[str, str]:
    """The base names, by the revision names to redact.

    These are the revisions with `is_secret`, and each revision with content that contains one of
    the names, because its hash covers the content.
    suspects: texts. Each that ends in a hash counts as the revision name of a Secret.
    """
    names = {revision.name: revision.base_name for revision in revisions if revision.is_secret}
    for suspect in suspects:
        if base_name := without_hash(suspect):
            names.setdefault(suspect, base_name)
    # A revision can hold the name of another one, and so on, so the search follows the holders.
    others = [revision for revision in revisions if revision.name not in names]
    searched = {revision.name for revision in others} | names.keys() if names else set()
    holders: dict[str, list[_Revision]] = defaultdict(list)
    for revision in others if names else ():
        for word in searched.intersection(_words_in(revision.content)):
            holders[word].append(revision)
    base_names = {revision.name: revision.base_name for revision in reversed(others)} | names
    found = reachable(names, lambda name: [holder.name for holder in holders.pop(name, ())])
    return {name: base_names[name] for name in found}


def _words_in(data: object) -> Iterator[str]:
    if isinstance(data, str):
        yield from words_of(data)
    elif isinstance(data, Mapping):
        for pair in data.items():
            for part in pair:
                yield from _words_in(part)
    elif isinstance(data, (list, tuple)):
        for part in data:
            yield from _words_in(part)


def _texts_under_secret_keys(data: Json, key: str = "") -> Iterator[str]:
    """The texts at keys with "secret" (`secretName`), and at `name` below these keys."""
    if isinstance(data, str):
        if "secret" in key.lower():
            yield data
    elif isinstance(data, list):
        for value in data:
            yield from _texts_under_secret_keys(value, key)
    elif isinstance(data, dict):
        for name, value in data.items():
            yield from _texts_under_secret_keys(value, key if name == "name" else name)


def _dependents_of_secrets(context: PlanContext) -> Collection[ItemKey]:
    """The Secrets, and the objects that reference a Secret directly or indirectly."""
    sources: dict[ItemKey, list[ItemKey]] = defaultdict(list)
    secrets: set[ItemKey] = set()
    for key, links in context.links.items():
        for link in links:
            sources[link.target.key].append(key)
            if link.target.identity.group_kind == SECRET:
                secrets.add(link.target.key)
    return reachable(secrets, lambda key: sources.pop(key, ()))


# ----------------------------------------------------------------------------- redaction of a model


def redact(
    record: Record, secret_names: Mapping[str, str], *, has_base_names: bool = False
) -> Record:
    """A copy of a model, a record or a list of records, with Secret content redacted.

    secret_names: the base name that replaces each revision name to redact.
    has_base_names: whether every Identity already has a base name. If so, `redact` leaves the
    Identities of other kinds unchanged, because a ConfigMap's base name can equal a Secret's
    revision name.
    """
    redacted: Record = _Redactor(secret_names, has_base_names=has_base_names).redact(record)
    return redacted


class _Redactor:
    """A value of an unknown type, such as Redacted, becomes NOT_SHOWN."""

    __slots__ = ("_has_base_names", "_lengths_by_hash", "_names", "_unchanged")

    def __init__(self, secret_names: Mapping[str, str], *, has_base_names: bool) -> None:
        self._has_base_names = has_base_names
        self._names = secret_names
        # The types of the values that cannot contain a name to redact.
        self._unchanged = _NON_TEXT_SCALARS if secret_names else _SCALARS
        # The lengths of the names with each hash, the longest first, because `_text` replaces the
        # first name that matches.
        self._lengths_by_hash: dict[str, dict[int, None]] = defaultdict(dict)
        for name in sorted(secret_names, key=len, reverse=True):
            self._lengths_by_hash[name[-CONTENT_HASH_LENGTH - 1 :]][len(name)] = None

    def redact(self, value: Any) -> Any:
        kind = value.__class__
        if kind in self._unchanged:
            return value
        if kind is str:
            return self._text(value)
        if kind is tuple:
            is_clean = not value or self._is_clean(value)
            return value if is_clean else tuple(self._redact_all(value))
        if isinstance(value, tuple):
            if isinstance(value, Identity) and self._has_base_names and not _is_secret(value):
                return value
            if kind in _RULES:
                value = _RULES[kind](value, self._names)
            return kind._make(self._redact_all(value))
        if isinstance(value, list):
            return self._redact_all(value)
        if isinstance(value, dict):
            return {self.redact(key): self.redact(item) for key, item in value.items()}
        if kind is Masked:
            return block_text(self.redact(value.data)) + "\n"
        return NOT_SHOWN

    def _redact_all(self, values: Iterable[Any]) -> list[Any]:
        # For most values, this check avoids a call.
        unchanged = self._unchanged
        return [value if value.__class__ in unchanged else self.redact(value) for value in values]

    def _is_clean(self, records: tuple[Any, ...]) -> bool:
        """Whether records have only scalar values, and no names to redact.

        For the lines of a diff, one search in all values is much faster than a copy of the records.
        """
        if not all(isinstance(record, tuple) and type(record) not in _RULES for record in records):
            return False
        values = list(chain.from_iterable(records))
        if not set(map(type, values)) <= _SCALARS:
            return False
        matches = REVISION_END.finditer("\n".join(map(str, values))) if self._names else ()
        return not any(match[0] in self._lengths_by_hash for match in matches)

    def _text(self, text: str) -> str:
        """A text with base names instead of the revision names to redact.

        A name inside a longer word counts, such as `logs.web-4h2mbtbbt6`.
        """
        parts: list[str] = []
        end = 0
        for match in REVISION_END.finditer(text):
            for length in self._lengths_by_hash.get(match[0], ()):
                start = match.end() - length
                name = text[start : match.end()] if start >= end else ""
                if name in self._names:
                    parts += text[end:start], self._names[name]
                    end = match.end()
                    break
        return "".join((*parts, text[end:])) if parts else text


def _is_secret(identity: Identity | None) -> bool:
    return identity is not None and identity.group_kind == SECRET


def _redact_content(change: ContentChange, secret_names: Mapping[str, str]) -> ContentChange:
    if not _is_secret(change.identity):
        old, new = (
            "" if name in secret_names else name
            for name in (change.old_revision, change.new_revision)
        )
        return change._replace(old_revision=old, new_revision=new)
    # A preview shows only these fields of a Secret. If a later version of postrender adds a field
    # to ContentChange, this copy does not contain the field.
    return ContentChange(
        identity=change.identity,
        change=change.change,
        strategy=change.strategy,
        old_revision="",
        new_revision="",
        keys=(),
        fields=(),
        users=change.users,
        note=change.note,
        former=change.former,
        fate=change.fate,
        parts=change.parts,
        reason=change.reason,
    )


def _redact_revision(change: RevisionChange, secret_names: Mapping[str, str]) -> RevisionChange:
    is_redacted = _is_secret(change.identity) or change.name in secret_names
    return change._replace(name="") if is_redacted else change


def _redact_cause(cause: Cause, _: Mapping[str, str]) -> Cause:
    return cause._replace(keys=()) if _is_secret(cause.subject) else cause


# The records that need more than the replacement of revision names in their texts.
_RULES: dict[type, Callable[[Any, Mapping[str, str]], Any]] = {
    ContentChange: _redact_content,
    RevisionChange: _redact_revision,
    Cause: _redact_cause,
}
