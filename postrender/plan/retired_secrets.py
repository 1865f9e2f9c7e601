"""Retired Secrets: revisions of Secrets in earlier outputs, if the setting `secrets` is now false.

The attacher still deletes these revisions after their last use. postrender passes their names to
the attacher. The Role of the attacher permits access only to Secrets with these names.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise

from postrender.inventory.model import Item
from postrender.kubernetes.kinds import SECRET
from postrender.plan.attacher_job import AttachGroup
from postrender.plan.history import PreviousOwners
from postrender.plan.model import PlanContext
from postrender.text.words import WordSet
from postrender.yaml.paths import value_at

_ARGUMENTS = ("spec", "template", "spec", "containers", 0, "args")
_OPTION = "--retired"


def with_retired_secrets(
    context: PlanContext, groups: Sequence[AttachGroup], owners: PreviousOwners
) -> tuple[AttachGroup, ...]:
    """Return all attach groups. A single group gets the retired Secrets in the field `retired`.

    If the stream has several groups, the group of a retired Secret is unknown. The groups then stay
    unchanged. If the setting `secrets` is true, the groups also stay unchanged.
    owners: the owners in the arguments of earlier attachers.
    """
    names = {
        *context.settings.attacher.retired_secrets,
        *owners.secrets,
        *(name for item in context.inventory.items if item.is_attacher for name in _names_in(item)),
    }
    if SECRET in context.settings.revisable or len(groups) != 1 or not names:
        return tuple(groups)
    retired = (("secret", name) for name in sorted(names) if not _is_in_stream(context, name))
    return (groups[0]._replace(retired=tuple(retired)),)


def _names_in(item: Item) -> Iterator[str]:
    """Return the names in the option `--retired` of an attacher in the stream.

    If the input is an output of postrender, and earlier outputs are unknown, only this option has
    the names.
    """
    arguments = value_at(item.content, _ARGUMENTS)
    words = list(map(str, arguments)) if isinstance(arguments, list) else []
    for option, value in pairwise(words):
        if option == _OPTION:
            yield from (ref.removeprefix("secret/") for ref in value.split(","))


def _is_in_stream(context: PlanContext, name: str) -> bool:
    """Return whether the stream contains a name outside of documents with an attacher's objects."""
    attachers = {item.document for item in context.inventory.items if item.is_attacher}
    names = WordSet([name])
    return any(
        names.count_in(document.text)
        for index, document in enumerate(context.inventory.stream.documents)
        if index not in attachers
    )
