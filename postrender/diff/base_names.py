"""By what names objects are known where a person reads them: nothing tells what a Secret holds.

A revision's name ends in a hash of its content, and so does that of a ConfigMap that names one.
"""

from __future__ import annotations

from collections.abc import Sequence

from postrender.inventory.model import Item
from postrender.kubernetes.hashing import without_hash
from postrender.kubernetes.kinds import SECRET
from postrender.plan.model import PlanContext
from postrender.text.words import words_of
from postrender.yaml.paths import Json

# The name of a revision, its base name, and what the object holds.
Revised = tuple[str, str, Json]


def base_name_of(item: Item, *, is_revision: bool) -> str:
    """Return the base name of an object that bears a revision's name, or its name.

    is_revision: whether its name is that of its content, whoever named it. A Secret's name that
    looks like one is taken for one: it is not to be shown.
    """
    name = item.identity.name
    if item.is_revision:
        return item.base_name
    has_hash = is_revision or item.identity.group_kind == SECRET
    return (without_hash(name) if has_hash else "") or name


def redacted_names(context: PlanContext) -> dict[str, str]:
    """Return the base names of what a render must not be told with the name of its revision.

    That is every Secret, and what names one.
    """
    redacted: dict[str, str] = {}
    revised: list[Revised] = []
    for decision in context.decisions.values():
        item = decision.item
        base_name = base_name_of(item, is_revision=decision.is_revision)
        names = {item.identity.name, context.revision_of(item)} - {"", base_name}
        revised += [(name, base_name, item.content) for name in names]
        if _tells_of_secrets(context, item):
            redacted |= dict.fromkeys(names, base_name)
    for each in context.retained:
        past = each.past
        revised.append((past.identity.name, past.base_name, dict(past.content)))
        if past.identity.group_kind == SECRET:
            redacted[past.identity.name] = past.base_name
    add_dependents(redacted, revised)
    return redacted


def add_dependents(redacted: dict[str, str], revised: Sequence[Revised]) -> None:
    """Add what holds one of the hidden names: its own ends in a hash of that."""
    found = bool(redacted)
    while found:
        found = False
        for name, base_name, content in revised:
            if name not in redacted and redacted.keys() & words_of(str(content)):
                redacted[name] = base_name
                found = True


def _tells_of_secrets(context: PlanContext, item: Item) -> bool:
    """Tell whether the name of an object's revision depends on what a Secret holds."""
    if item.identity.group_kind == SECRET:
        return True
    seen = {item.key}
    ahead = [item.key]
    while ahead:
        for link in context.links.get(ahead.pop(), ()):
            if link.target.identity.group_kind == SECRET:
                return True
            if link.target.key not in seen:
                seen.add(link.target.key)
                ahead.append(link.target.key)
    return False
